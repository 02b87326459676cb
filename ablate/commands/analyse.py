"""`ablate analyse`."""

import sys
from pathlib import Path
from typing import Any

import click

from ablate.base.errors import Invalid
from ablate.base.numerals import FINITE, NOT_NEGATIVE, POSITIVE
from ablate.base.text import saying
from ablate.commands._console import AS_JSON, GATE, RESULTS, STRICT, exit_code_of, output_console, warn
from ablate.session.option_types import NumberType

FILE = click.Path(path_type=Path, dir_okay=False)
WAY = click.Choice(["max", "min"])


@click.command("analyse")
@click.argument("runs")
@click.option("--baseline", default="", metavar="NAME", help="Variant that the others are compared with.")
@click.option("--metric", default="", metavar="NAME", help="Column of the metric that is judged.")
@click.option("--direction", type=WAY, help="max: more is better; min: less is better.")
@click.option("--margin", type=NumberType(POSITIVE), metavar="X", help="Variants are equivalent within ±X.")
@click.option(
    "--claim", multiple=True, metavar="CLAIM", help="'A beats B on METRIC' and the like; may be repeated."
)
@click.option(
    "--floor",
    type=NumberType(FINITE),
    metavar="X",
    help="Value of guessing; a diverged run counts as this.",
)
@click.option("--ceiling", type=NumberType(FINITE), metavar="X", help="Best possible value.")
@click.option(
    "--resolution",
    type=NumberType(NOT_NEGATIVE),
    default=0.0,
    metavar="X",
    help="Smallest possible difference: 1/N for an accuracy over N examples.",
)
@click.option(
    "--all-or-nothing",
    type=NumberType(FINITE),
    metavar="X",
    help="Compare how often runs solve the task, which they do at X or better.",
)
@click.option("--also", type=(str, WAY), multiple=True, help="Another metric, for claims; may be repeated.")
@click.option(
    "--column",
    type=(click.Choice(["variant", "task", "seed", "example", "source", "status"]), str),
    multiple=True,
    metavar="ROLE NAME",
    help="Column that is variant, task, seed, example, source or status; may be repeated. A variant may be several: "
    "`variant A,B`.",
)
@click.option("--variant", metavar="COLUMN[,COLUMN]", help="Column of the variants, or several.")
@click.option(
    "--seed",
    default="",
    metavar="COLUMN|PATTERN",
    help="Column of the seeds, or a pattern that finds them in names.",
)
@click.option(
    "--where",
    multiple=True,
    metavar="CONDITION",
    help="Read only rows with COLUMN=VALUE, or that meet a query of pandas; may be repeated.",
)
@click.option(
    "--at",
    default="",
    metavar="'last|best METRIC|step N'",
    help="Row of a run that counts, where it has one for each step (default: last).",
)
@click.option("--compare", type=click.Choice(["all_pairs"]), help="Compare each variant with each other.")
@click.option(
    "--read",
    multiple=True,
    metavar="NAME=PATTERN",
    help="Metric that a pattern finds in the lines of logs; may be repeated.",
)
@click.option(
    "--experiment", default="", metavar="NAME", help="Experiment of MLflow, where RUNS has several."
)
@click.option(
    "--replicates", is_flag=True, help="Take rows of one variant as replicates although other columns differ."
)
@click.option(
    "--tracking-uri",
    metavar="URI",
    help="MLflow server or database; RUNS is then the name of an experiment there.",
)
@click.option("--known-noise", type=FILE, help="Judge single runs against the kept runs of a baseline.")
@click.option("--keep-noise", type=FILE, help="Keep the baseline's runs in this file, and judge nothing.")
@click.option(
    "--made-with",
    type=(click.Choice(["evaluation", "data", "machine", "commit"]), str),
    multiple=True,
    metavar="WHAT VALUE",
    help="What the runs were made with: digest of evaluation, data or machine, or the commit; may be repeated.",
)
@click.option("--name", metavar="NAME", help="Name of the report (default: that of RUNS).")
@RESULTS
@GATE
@STRICT
@AS_JSON
def command(runs: str, results: Path, gate: bool, strict: bool, as_json: bool, **given: Any) -> int:
    """Judge runs that exist, of any training code: verdicts, claims and report.

    RUNS is a table with one row per run; a folder of runs as Hydra, Lightning, Hugging Face, Ray Tune or timm write
    them; TensorBoard's or MLflow's folder; what lm-eval wrote; or logs, with --read. The output says as what it was
    read, and what was guessed. Runs that share seeds are paired; others are compared by Welch's t. It trains nothing.
    See `ablate guide analyse`.

    Exit codes: 0: done; 1: with --gate, a claim is refuted; 2: the runs or the call are wrong; 3: with --strict, no
    claim is refuted, and one is inconclusive.
    """
    from ablate.pipeline.next_steps import print_results
    from ablate.records.environment import command_line
    from ablate.runs import noise, report
    from ablate.runs.checking import checked
    from ablate.runs.options import AnalysisOptions
    from ablate.runs.reading import read, reading_of

    given["read"] = [_named_pattern(text) for text in given["read"]]
    variant = given.pop("variant")
    if variant:
        given["column"] = [("variant", variant), *given["column"]]
    options = AnalysisOptions(**given, command=command_line(sys.argv))
    with output_console(as_json) as console:
        say = saying(console)
        table = read(runs, options)
        options = table.options
        reading = reading_of(table)
        say(reading)
        if options.keep_noise is not None:
            given_runs = checked(table, options.metrics())
            say(noise.keep_noise(given_runs, options, options.keep_noise, has_seeds=table.has_seeds))
            return 0
        if options.known_noise is not None:
            table = noise.beside_noise(table, options, options.known_noise)
        folder = report.folder_for(results, options.name, runs)
        folder = report.judge(folder, table, runs, say, warn)
        facts = folder.facts()
        for caution in facts.cautions:
            if caution != reading:
                say(caution)
        print_results(folder, facts, console)
        say(f"Card for a pull request: {folder.path / 'card.md'}")
    return exit_code_of(folder.path, None, as_json, gate, strict)


def _named_pattern(text: str) -> tuple[str, str]:
    """Returns name and pattern of `NAME=PATTERN`. Raises `Invalid`."""
    name, sign, pattern = text.partition("=")
    if not (name and sign and pattern):
        raise Invalid(
            "--read", "must be NAME=PATTERN", text, hint="For example: --read 'loss=loss: ([0-9.]+)'"
        )
    return name, pattern
