"""The verdicts of a finished study in the terminal, read from its CSV files alone.

Serves the run that finds everything done, so that it imports neither pandas nor torch.
"""

from __future__ import annotations

import csv
from pathlib import Path

from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from ablate.base.errors import AblateError
from ablate.base.output import plain
from ablate.base.printable import printable
from ablate.report.palette import VERDICTS
from ablate.report.section import sections
from ablate.report.tables import Column, Table, wrapped

COLOURS = {"blue": "blue", "orange": "red", "green": "green", "purple": "magenta", "soft": "dim"}
"Of the palette → those of a terminal."


def print_verdicts(folder: Path, console: Console) -> None:
    """Prints the brief tables of all sections for `results/<study>/`.

    Raises `AblateError` when the folder holds no comparisons.
    """
    if not (folder / "comparisons.csv").is_file():
        raise AblateError(
            f"{folder}: has no comparisons.csv; run the study first, or name a folder of results/"
        )
    comparisons, claims = (_read(folder / name) for name in ("comparisons.csv", "claims.csv"))
    for section in sections(brief=True):
        for table in section.brief(comparisons, claims):
            print_table(table, console)


def _read(path: Path) -> list[dict[str, str]]:
    if not path.is_file():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def print_table(table: Table, console: Console) -> None:
    """Prints one table, its first column wrapped into what the others leave of the line."""
    ascii_only = console.options.ascii_only
    widths = [max(len(c.heading), *(len(row[c.key]) for row in table.rows)) for c in table.columns]
    gaps = 2 * (len(widths) - 1)
    first = max(12, min(widths[0], console.width - gaps - sum(widths[1:])))
    shown = RichTable(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for column in table.columns:
        shown.add_column(
            column.heading,
            justify="right" if column.numeric else "left",
            overflow="fold",
            width=first if column is table.columns[0] else None,
        )
    for row in table.rows:
        shown.add_row(*(_cell(row[c.key], c, first, table, ascii_only) for c in table.columns))
    caption = printable(table.caption)
    console.print()
    console.print(Text(plain(caption) if ascii_only else caption, style="bold"))
    console.print(shown)


def _cell(value: str, column: Column, first: int, table: Table, ascii_only: bool) -> Text:
    colour, value = "", printable(value)
    if column.key == "verdict" and value in VERDICTS:
        colour = COLOURS[VERDICTS[value].colour]
    if column is table.columns[0]:
        value = "\n".join(wrapped(value, first))
    return Text(plain(value) if ascii_only else value, style=colour)
