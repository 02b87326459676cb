"""`ablate run`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ablate.commands.options import FAIL_FAST, JOBS, RESULTS, SEEDS, SETS, STUDY, TRACKING_URI


@click.command("run")
@STUDY
@JOBS
@SEEDS
@SETS
@click.option(
    "--only",
    multiple=True,
    metavar="VARIANT",
    help="Train only this variant and the baseline; may be repeated.",
)
@click.option("--seed", type=click.IntRange(0), metavar="N", help="Train only this seed.")
@RESULTS
@TRACKING_URI
@click.option("--fresh", is_flag=True, help="Train finished trials again; keeps the results of searches.")
@FAIL_FAST
@click.option("--gate", is_flag=True, help="Exit with 1 if a claim is refuted.")
def command(study: Path, gate: bool, **options: Any) -> int:
    """Train the missing trials of a study, compare, and report.

    STUDY is a study file.

    Exit codes: 0: done; 1: some trials failed, or with --gate a claim is refuted; 2: the study or the call is
    wrong; 130: interrupted.
    """
    from rich.console import Console

    from ablate.records.declared import read_claims
    from ablate.stages.run import Options, execute

    outcome = execute(study, Options(**options), Console(soft_wrap=False))
    refuted = [
        row["claim"] for row in read_claims(outcome.folder / "claims.csv") if row["verdict"] == "refuted"
    ]
    for claim in refuted if gate else []:
        click.echo(f"refuted: {claim}", err=True)
    return 1 if outcome.failed or (gate and refuted) else 0
