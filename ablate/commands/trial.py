"""`ablate trial`."""

from pathlib import Path
from typing import Any

import click

from ablate.commands._console import STUDY, SWEEP, output_console
from ablate.commands._options import options_of
from ablate.session.option import read_options
from ablate.session.options import RunCall


@click.command("trial")
@STUDY
@click.argument("trial_id", metavar="ID")
@options_of(RunCall, "seeds", "sets", "condition", "confirm")
@SWEEP
@options_of(RunCall, "results")
def command(study: Path, trial_id: str, **options: Any) -> None:
    """Train one trial of a study alone, as a job of a scheduler.

    `ablate plan STUDY --commands FILE` writes the calls: ID is the id of a trial that the study lacks, and the options
    are those of the plan. The trial is trained without MLflow and report, and leaves one file in
    results/store/inbox, which the next run of the study adopts. One that is trained already is not trained again. See
    `ablate guide cluster`.

    Exit codes: 0: done; 1: the trial failed; 2: the study or the command line is invalid; 130: interrupted.
    """
    from ablate.pipeline.jobs.alone import train_alone

    with output_console(as_json=False) as console:
        train_alone(study, trial_id, read_options(RunCall, {**options, "jobs": 1}), console)
