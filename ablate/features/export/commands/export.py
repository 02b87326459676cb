"""`ablate export`: tables, figures and the statistical methods for a paper."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ablate.base.errors import AblateError, listed
from ablate.base.wording import counted
from ablate.route.console import REPORTED, RESULTS, safe, warn

if TYPE_CHECKING:
    from ablate.features.export.paper import Paper

WIDTHS = {"one": "3.25in", "two": "6.75in"}
"""Of one column of a page, and of both."""
UNITS = {"in": 1.0, "mm": 1 / 25.4, "cm": 1 / 2.54, "pt": 1 / 72.27, "": 1.0}
NARROWEST, WIDEST = 2.5, 12.0


class Width(click.ParamType):
    """A width in inches: `one`, `two`, or a number with a unit."""

    name = "width"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Inches."""
        found = re.fullmatch(r"(\d+\.?\d*|\.\d+) ?(in|mm|cm|pt|)", WIDTHS.get(value, value.strip()))
        inches = float(found[1]) * UNITS[found[2]] if found else 0.0
        if not NARROWEST <= inches <= WIDEST:
            allowed = f"one, two, or a number with in, mm, cm or pt, from {NARROWEST} to {WIDEST} inches"
            self.fail(f"{value!r} is no width; allowed: {allowed}.", param, ctx)
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
    from ablate.core.feature import features
    from ablate.features.export.paper import for_paper
    from ablate.route.choose import report_folder
    from ablate.route.publish import material

    folder, faults = report_folder(study, results), list[str]()
    if optuna is not None:
        names = [name for each in features() for name in each.export(folder.evidence(), optuna)]
        if not names:
            rule = "has no table of a search; run a study with `search:` or `tune:` first"
            raise AblateError(f"{folder.path}: {rule}")
        click.echo(safe(f"Wrote to {optuna}: {listed(names, 4)}"))
        return 0
    out = out or folder.paper
    made = for_paper(material(folder), width, only, faults.append, out.as_posix())
    write_files(out, made.files)
    click.echo(safe(_how_to_take_in(made, out)))
    for fault in faults:
        warn(fault)
    return 1 if faults else 0


def _how_to_take_in(made: Paper, out: Path) -> str:
    """What was written, and how a paper takes it in."""
    from ablate.features.export.paper import METHODS

    packages = [*(["booktabs"] if made.tables else []), *(["graphicx"] if made.figures else [])]
    lines = [f"Wrote {counted(len(made.files), 'file')} to {out}/", ""]
    lines += [f"Preamble: \\usepackage{{{','.join(packages)}}}"] if packages else []
    lines += [f"Table:    \\input{{{(out / name).as_posix()}}}" for name in made.tables]
    if made.methods:
        cited = f"\\bibliography{{{(out / 'references').as_posix()}}}"
        lines.append(f"Methods:  \\input{{{(out / METHODS).as_posix()}}} with {cited}")
    for figure in made.figures:
        size = f"{figure.width:.2f} × {figure.height:.1f} in"
        lines.append(f"Figure:   \\input{{{(out / figure.name).as_posix()}}}  % {size}")
    return "\n".join(lines)
