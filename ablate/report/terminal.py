"""The answer and the verdicts of a finished study in the terminal, without pandas and torch."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len
from rich.console import Console
from rich.padding import Padding
from rich.table import Table as RichTable
from rich.text import Text

from ablate.base.text import printable
from ablate.records.folder import StudyFolder
from ablate.report.palette import VERDICTS
from ablate.report.summary import summary
from ablate.report.tables import Column, Row, Table

COLOURS = {"blue": "blue", "orange": "red", "green": "green", "purple": "magenta", "soft": "dim"}
"Of the palette → those of a terminal."
GAP, INDENT, MIN_FIRST = 2, 2, 12
"""Columns of the terminal between those of a table; before what stands below a row; the fewest of a first column."""


def print_verdicts(folder: StudyFolder, console: Console, *, measured: bool = False) -> None:
    """Prints the summary of `results/<study>/`; `measured`: of claims and measurements alone.

    Raises `AblateError` when the folder holds no comparisons.
    """
    found = summary(folder, measured=measured)
    if found.answer:
        console.print()
    for line in found.answer:
        console.print(_text(line, console, "bold"))
    for table in found.tables:
        print_table(table, console)


def print_table(table: Table, console: Console) -> None:
    """Prints one table, without its spare columns where the line has no room; lines end between words."""
    columns = [column for column in table.columns if not column.below]
    below = [column for column in table.columns if column.below]
    if _width(columns, table.rows) > console.width:
        columns = [column for column in columns if not column.spare]
    others = sum(_room(column, table.rows) + GAP for column in columns[1:])
    first = min(_room(columns[0], table.rows), max(MIN_FIRST, console.width - others))
    # A name stays whole, so that it can be copied: one that is too wide has a line of its own above its row.
    words = [word for row in table.rows for word in row[columns[0].key].split()]
    stacked = any(cell_len(word) > first for word in words)
    first = MIN_FIRST if stacked else first
    widths = [first, *(_room(column, table.rows) for column in columns[1:])]
    console.print()
    if table.caption:
        console.print(_text(table.caption, console, "bold"))
    # Such rows, and those that have something below them, are tables of their own, which agree in their columns.
    apart = stacked or any(row[column.key] for column in below for row in table.rows)
    groups = [*([[]] if stacked else []), *([[row] for row in table.rows] if apart else [table.rows])]
    for i, rows in enumerate(groups):
        shown = RichTable(box=None, pad_edge=False, padding=(0, GAP, 0, 0), show_header=i == 0)
        for column, width in zip(columns, widths, strict=True):
            fixed = None if column.words else width
            shown.add_column(column.heading, justify="right" if column.numeric else "left", width=fixed)
        for row in rows:
            name = "" if stacked else row[columns[0].key]
            shown.add_row(_text(name, console), *(_cell(row, column, console) for column in columns[1:]))
            if stacked:
                console.print(_text(row[columns[0].key], console))
        console.print(shown)
        for note in (row[column.key] for row in rows for column in below if row[column.key]):
            console.print(Padding(_text(note, console, "dim"), (0, 0, 0, INDENT), expand=False))


def _room(column: Column, rows: Sequence[Row]) -> int:
    return max(map(cell_len, (column.heading, *(row[column.key] for row in rows))))


def _width(columns: Sequence[Column], rows: Sequence[Row]) -> int:
    return sum(_room(column, rows) + GAP for column in columns) - GAP


def _cell(row: Row, column: Column, console: Console) -> Text:
    mark = VERDICTS.get(row[column.key]) if column.key == "verdict" else None
    return _text(row[column.key], console, COLOURS[mark.colour] if mark else "")


def _text(words: str, console: Console, style: str = "") -> Text:
    return Text(printable(words), style=style)
