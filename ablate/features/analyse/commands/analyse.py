"""`ablate analyse`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import click

from ablate.base.text import saying
from ablate.route.console import AS_JSON, GATE, RESULTS, STRICT, ended, printing

FILE = click.Path(path_type=Path, dir_okay=False)
WAY = click.Choice(["max", "min"])
ROLE = click.Choice(["variant", "task", "seed", "example", "source"])
MADE = click.Choice(["evaluation", "data", "machine", "commit"])
# Name, type, placeholder and help of each option.
OPTIONS: tuple[tuple[str, Any, str, str], ...] = (
    ("--baseline", str, "NAME", "Variant that the others are compared with."),
    ("--metric", str, "NAME", "Column that is judged."),
    ("--direction", WAY, "max|min", "Whether more of it is better, or less."),
    ("--margin", float, "X", "Variants are equivalent within ±X."),
    ("--floor", float, "X", "Value of guessing, with which a diverged run counts."),
    ("--ceiling", float, "X", "Best possible value."),
    ("--resolution", float, "X", "Smallest possible difference: 1/N of an accuracy over N examples."),
    ("--solved", float, "X", "Value from which on a run counts as solved."),
    ("--tracking-uri", str, "URI", "RUNS is the name of an experiment of this MLflow."),
    ("--known-noise", FILE, "FILE", "Judge single runs against the kept runs of a baseline in FILE."),
    ("--keep-noise", FILE, "FILE", "Keep the runs of the baseline in FILE, and judge nothing."),
    ("--name", str, "NAME", "Name of the report (default: that of RUNS)."),
)
SEVERAL: tuple[tuple[str, Any, str, str], ...] = (
    ("--claim", str, "CLAIM", "'A beats B on METRIC [by X]' and the like; may be repeated."),
    ("--also", (str, WAY), "METRIC max|min", "Another metric, for claims; may be repeated."),
    (
        "--column",
        (ROLE, str),
        "ROLE NAME",
        "Column that is variant, task, seed, example or source; may be repeated.",
    ),
    (
        "--made-with",
        (MADE, str),
        "WHAT VALUE",
        "Digest of evaluation, data or machine, or commit, of the runs; may be repeated.",
    ),
)


def declared(command: Any) -> Any:
    """The click options of both lists."""
    for several, options in ((True, SEVERAL), (False, OPTIONS)):
        for name, kind, metavar, text in reversed(options):
            command = click.option(name, type=kind, metavar=metavar, help=text, multiple=several)(command)
    return command


@click.command("analyse")
@click.argument("runs")
@declared
@click.option(
    "--all-or-nothing", is_flag=True, help="Runs solve the task or do not: those that do are counted."
)
@click.option(
    "--card", is_flag=True, help="Print the evidence card, markdown for a pull request, and no tables."
)
@RESULTS
@GATE
@STRICT
@AS_JSON
def command(runs: str, results: Path, gate: bool, strict: bool, as_json: bool, **options: Any) -> int:
    """Judge runs that exist, of any training code: verdicts, claims and report.

    RUNS is a CSV or parquet file with a row a run and columns variant, seed and metrics, and task where there are
    several; with a column example, a row an example of a run; or a folder of `lm-eval --log_samples`; or, with
    --tracking-uri, an MLflow experiment. Runs that share seeds are paired; others are compared by Welch's t. It trains
    nothing. See `ablate guide analyse`.

    Exit codes: 0: done; 1: with --gate, a claim is refuted; 2: the runs or the call are wrong; 3: with --strict, no
    claim is refuted, and one is inconclusive.
    """
    from ablate.features.analyse.report import keep_noise, report
    from ablate.records.folder import StudyFolder
    from ablate.route.publish import print_results

    with printing(as_json) as console:
        if options["keep_noise"]:
            saying(console)("\n".join(keep_noise(runs, options["keep_noise"], options)))
            return 0
        name = options["name"] or re.sub(r"[^A-Za-z0-9._-]+", "-", Path(runs).stem)
        folder = StudyFolder(results, name)
        report(folder, runs, options, saying(console, "warning"))
        if options["card"]:
            console.out((folder.path / "card.md").read_text("utf-8"), highlight=False)
        else:
            print_results(folder, console)
    return ended(folder.path, None, as_json, gate, strict)
