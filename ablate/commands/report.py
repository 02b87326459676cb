"""`ablate report`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ablate.commands.options import REPORTED, RESULTS, saying

if TYPE_CHECKING:
    from rich.console import Console


@click.command("report")
@REPORTED
@RESULTS
def command(study: Path, results: Path) -> None:
    """Rewrite the comparisons, figures and page of a study.

    STUDY is a study file, the name of a study, or its results folder. The command reads only the
    results folder, and trains nothing.
    """
    from rich.console import Console

    rebuild(study, results, Console())


def rebuild(study: Path, results: Path, console: Console) -> None:
    """Writes the report of a study again; `study` is a study file, the name of a study, or its results folder."""
    from ablate.stages.choose import report_folder
    from ablate.stages.publish import print_results, publish

    folder = report_folder(study, results)
    publish(folder, saying(console, "warning"))
    print_results(folder, console)
