"""`ablate export`: tables, figures and the statistical methods for a paper."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ablate.base.errors import AblateError, listed
from ablate.base.numerals import Domain
from ablate.base.text import safe
from ablate.base.wording import counted
from ablate.commands._console import RESULTS, STUDY, warn
from ablate.session.option_types import FolderType, NumberType

if TYPE_CHECKING:
    from ablate.records.folder import StudyFolder

SECTIONS = ("task", "conditions", "model", "training", "config")
"""The sections of a study that hold settings of its baseline."""


@click.command("export")
@STUDY
@RESULTS
@click.option(
    "--out",
    type=FolderType(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Folder to write to (default: paper/ in the study's results folder).",
)
@click.option(
    "--overwrite",
    is_flag=True,
    help="Overwrite files that no export of this study wrote, or that were edited since.",
)
@click.option(
    "--width",
    type=NumberType(Domain(least=2.5, most=12)),
    default=3.25,
    show_default=True,
    metavar="INCHES",
    help="Width of the figures: 3.25 for one column of a page, 6.75 for two.",
)
@click.option(
    "--percent", is_flag=True, help="Show shares, such as an accuracy, in percent in the table of results."
)
@click.option(
    "--only",
    multiple=True,
    metavar="NAME",
    help="Write only this table or figure, for instance forest, methods, or summary, the picture for a README; may be "
    "repeated.",
)
@click.option(
    "--optuna",
    metavar="URL",
    help="Write the searches of the study to an Optuna storage instead, for instance sqlite:///search.db.",
)
def command(
    study: Path,
    results: Path,
    out: Path | None,
    overwrite: bool,
    width: float,
    percent: bool,
    only: tuple[str, ...],
    optuna: str | None,
) -> int:
    """Write tables, figures and the statistical methods for a paper.

    STUDY is a study file, the name of a study, or its results folder. The command reads only the
    results folder, and trains nothing.
    """
    from ablate.pipeline.judging import judge_evidence
    from ablate.records.named_folder import report_folder
    from ablate.report.export.exported import write_exported
    from ablate.report.export.optuna_export import export_searches
    from ablate.report.export.paper import Wanted, for_paper

    folder = report_folder(study, results)
    if optuna is not None:
        names = export_searches(folder.evidence(), optuna)
        if not names:
            raise AblateError(
                f"{folder.path}: has no table of a search; run a study with `search:` or `tune:` first"
            )
        click.echo(safe(f"Wrote to {optuna}: {listed(names, 4)}"))
        return 0
    out = out or folder.paper
    faults: list[str] = []
    wanted = Wanted(width, only, out.as_posix(), percent, _settings(folder))
    files = for_paper(judge_evidence(folder), wanted, faults.append)
    write_exported(out, files, folder.name, overwrite=overwrite)
    click.echo(
        safe(f"Wrote {counted(len(files), 'file')} to {out}/; each begins with the packages that it needs:")
    )
    for name in files:
        if name.endswith(".tex"):
            included = out / Path(name).stem
            click.echo(safe(f"\\input{{{included.as_posix()}}}"))
    for fault in faults:
        warn(fault)
    return 1 if faults else 0


def _settings(folder: StudyFolder) -> dict[str, Any]:
    """Returns the resolved settings of the baseline, by section; empty where the folder has no study."""
    from ablate.study.document import read_document

    if not folder.study_file.is_file():
        return {}
    document = read_document(folder.study_file)
    return {name: document.data[name] for name in SECTIONS if name in document.data}
