"""`ablate sweep`."""

from pathlib import Path
from typing import Any

import click

from ablate.base.numerals import MAX_WHOLE, Domain
from ablate.commands._console import AS_JSON, STUDY, exit_code_of, output_console
from ablate.commands._options import options_of
from ablate.session.option import read_options
from ablate.session.option_types import NumberType
from ablate.session.options import RunCall


@click.command("sweep")
@STUDY
@options_of(RunCall, "jobs", "engine")
@click.option(
    "--trials",
    type=NumberType(Domain(least=1, most=MAX_WHOLE, whole=True)),
    metavar="N",
    help="Number of settings to try (default: the study's).",
)
@options_of(
    RunCall, "seeds", "sets", "results", "tracking_uri", "retrain", "keep_finished", "fail_fast", "keep_going"
)
@AS_JSON
def command(study: Path, trials: int | None, as_json: bool, **options: Any) -> int:
    """Search with Optuna, then compare the winners with the baseline.

    STUDY is a study file with a `search:` section. The winners and the baseline are trained on the seeds of the
    study, which the search has not used. An interrupted search continues where it stopped; a larger --trials
    extends it.

    A failed training ends the search, since later settings depend on it: the first of all at once, unless --keep-going
    is given, a later one after its batch.

    Exit codes: 0: done; 1: some trials failed; 2: the study or the command line is invalid; 130: interrupted.
    """
    from ablate.pipeline.run import run_study

    if trials is not None:
        options["sets"] = (*options["sets"], f"search.trials={trials}")
    with output_console(as_json) as console:
        outcome = run_study(study, read_options(RunCall, {**options, "sweep": True}), console)
    return exit_code_of(outcome.folder, outcome, as_json)
