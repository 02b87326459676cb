"""`ablate export`: tables, figures and the statistical methods for a paper."""

from __future__ import annotations

import re
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ablate.base.errors import listed
from ablate.base.text import masked
from ablate.base.wording import counted
from ablate.commands.options import REPORTED, RESULTS, safe, warn

if TYPE_CHECKING:
    from ablate.records.folder import StudyFolder

WIDTHS = {"one": 3.25, "two": 6.75}
"""Inches of one column of a page, and of both."""
UNITS = {"in": 1.0, "mm": 1 / 25.4, "cm": 1 / 2.54, "pt": 1 / 72.27, "": 1.0}
NARROWEST, WIDEST = 2.5, 12.0


class Width(click.ParamType):
    """A width in inches: `one`, `two`, or a number with a unit."""

    name = "width"

    def convert(self, value: str | float, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Inches."""
        if isinstance(value, float):
            return value
        found = re.fullmatch(r"(\d+\.?\d*|\.\d+) ?(in|mm|cm|pt|)", value.strip())
        if value not in WIDTHS and found is None:
            self.fail(
                f"{value!r} is no width; allowed: one, two, or a number with in, mm, cm or pt.", param, ctx
            )
        inches = WIDTHS[value] if found is None else float(found[1]) * UNITS[found[2]]
        if not NARROWEST <= inches <= WIDEST:
            self.fail(
                f"{value!r} must lie between {NARROWEST} and {WIDEST} inches (64 and 305 mm).", param, ctx
            )
        return inches


@click.command("export")
@REPORTED
@RESULTS
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Folder to write to (default: paper/ in the study's results folder).",
)
@click.option(
    "--width",
    type=Width(),
    default="one",
    show_default=True,
    metavar="WIDTH",
    help="Width of the figures: one or two columns (3.25 and 6.75 inches), or a number with in, mm, cm or pt.",
)
@click.option(
    "--only",
    multiple=True,
    metavar="NAME",
    help="Write only this table or figure, for instance forest, or methods; may be repeated.",
)
@click.option(
    "--optuna",
    metavar="URL",
    help="Write the searches of the study to an Optuna storage instead, for instance sqlite:///search.db.",
)
def command(
    study: Path, results: Path, out: Path | None, width: float, only: tuple[str, ...], optuna: str | None
) -> int:
    """Write tables, figures and the statistical methods for a paper.

    STUDY is a study file, the name of a study, or its results folder. The command reads only the
    results folder, and trains nothing.
    """
    from ablate.base.files import write_files
    from ablate.report.paper import for_paper
    from ablate.route.choose import report_folder
    from ablate.route.publish import material

    folder, faults = report_folder(study, results), list[str]()
    if optuna is not None:
        return _exported(folder, optuna)
    out = out or folder.paper
    found = material(folder)
    made = for_paper(found, width, only, faults.append, out.as_posix())
    write_files(out, made)
    if not only and not faults:
        _remove_old(out, found.facts.study, made)
    click.echo(
        safe(f"Wrote {counted(len(made), 'file')} to {out}/; each begins with the packages that it needs:")
    )
    for name in (Path(name) for name in made if name.endswith(".tex")):
        click.echo(safe(f"\\input{{{(out / name.stem).as_posix()}}}"))
    for fault in faults:
        warn(fault)
    return 1 if faults else 0


def _exported(folder: StudyFolder, url: str) -> int:
    """Writes the searches of a study into a storage of Optuna's."""
    from ablate.base.errors import AblateError
    from ablate.core.feature import features

    evidence = folder.evidence()
    names = [name for feature in features() for name in feature.export(evidence, url)]
    if not names:
        raise AblateError(
            f"{folder.path}: has no table of a search; run a study with `search:` or `tune:` first"
        )
    click.echo(
        safe(
            f"Wrote {'a search' if len(names) == 1 else f'{len(names)} searches'} to {masked(url)}: {listed(names, 4)}"
        )
    )
    return 0


def _remove_old(out: Path, study: str, written: Collection[str]) -> None:
    """Removes what an earlier export of this study wrote and this one did not; a figure's caption answers for it."""
    from ablate.report.paper import mark

    for path in (path for end in ("tex", "md", "bib") for path in out.glob(f"*.{end}")):
        first = path.read_text("utf-8", "replace").partition("\n")[0]
        if path.name not in written and first.partition(",")[0].strip("%<!-> ") == mark(study):
            for old in (path, path.with_suffix(".pdf"), path.with_suffix(".svg")):
                if old.name not in written:
                    old.unlink(missing_ok=True)
