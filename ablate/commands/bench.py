"""`ablate bench`: times the variants of a study, adds what it found to the report of the study, and trains nothing."""

from pathlib import Path
from typing import Any

import click

from ablate.base.numerals import Domain
from ablate.base.text import saying
from ablate.commands._console import AS_JSON, STUDY, TRUST, exit_code_of, output_console
from ablate.commands._options import options_of
from ablate.session.option import read_options
from ablate.session.option_types import NumberType
from ablate.session.options import Options


@click.command("bench")
@STUDY
@click.option(
    "--processes",
    type=NumberType(Domain(least=5, most=1000, whole=True)),
    metavar="N",
    help="Number of processes that time the variants, one after the other (default: the study's, or 8).",
)
@options_of(Options, "sets", "results")
@options_of(Options, "fresh", help="Measure again, although measurements are kept.")
@TRUST
@AS_JSON
def command(study: Path, processes: int | None, trust: bool, as_json: bool, **options: Any) -> int:
    """Time a study's variants beside one another; train nothing.

    STUDY is a study file, or the name of a study that has been run. Fresh processes, one after the other, time a
    forward pass, a training step and generation of every variant, by the `speed:` of the study or its defaults; your
    own code is timed by whole runs. What was measured is kept in results/store/speed, and the report of the study shows
    it; leave the machine alone meanwhile. See `ablate guide speed`.

    Exit codes: 0: done; 1: a variant cannot be timed; 2: the study or the command line is invalid; 130: interrupted.
    """
    from ablate.pipeline.bench import bench
    from ablate.pipeline.next_steps import print_places
    from ablate.report.terminal import print_verdicts

    with output_console(as_json) as console:
        folder = bench(
            study,
            read_options(Options, options),
            processes,
            say=saying(console),
            warn=saying(console, "warning"),
            trust=trust,
        )
        facts = folder.facts()
        print_verdicts(folder, facts, console, measured=True)
        print_places(folder, facts, console)
    return exit_code_of(folder.path, None, as_json)
