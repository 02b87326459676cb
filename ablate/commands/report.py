"""`ablate report`."""

from __future__ import annotations

from pathlib import Path

import click

from ablate.commands.options import RESULTS, STUDY


@click.command("report")
@STUDY
@RESULTS
def command(study: Path, results: Path) -> None:
    """Rewrite the comparisons, figures and page of a study.

    STUDY is a study file, the name of a study, or its results folder. Reads the results folder alone; trains
    nothing.
    """
    from rich.console import Console

    from ablate.stages.publish import rebuild

    rebuild(study, results, Console())
