"""`ablate sweep`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ablate.commands.options import (
    AS_JSON,
    FAIL_FAST,
    JOBS,
    RESULTS,
    SEEDS,
    SETS,
    STUDY,
    TRACKING_URI,
    printing,
)


@click.command("sweep")
@STUDY
@JOBS
@click.option(
    "--trials", type=click.IntRange(1), metavar="N", help="Number of settings to try (default: the study's)."
)
@click.option(
    "--storage",
    metavar="URL",
    help="Optuna storage of the search; several machines can share it (default: SQLite in the study's folder).",
)
@SEEDS
@SETS
@RESULTS
@TRACKING_URI
@FAIL_FAST
@AS_JSON
def command(study: Path, trials: int | None, storage: str | None, as_json: bool, **options: Any) -> int:
    """Search with Optuna, then compare the winners with the baseline.

    STUDY is a study file with a `search:` section. The winners and the baseline are trained on the seeds of the
    study, which the search has not used. An interrupted search continues where it stopped; a larger --trials
    extends it.

    Exit codes: 0: done; 1: some trials failed; 2: the study or the command line is invalid; 130: interrupted.
    """
    from ablate.commands.run import ended, execute
    from ablate.stages.options import Options

    given = {"search.trials": trials, "search.storage": storage}
    more = [f"{path}={value}" for path, value in given.items() if value is not None]
    options["sets"] = (*options["sets"], *more)
    with printing(as_json) as console:
        outcome = execute(study, Options(**options, sweep=True), console)
    return ended(outcome, as_json)
