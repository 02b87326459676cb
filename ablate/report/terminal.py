"""The answer and the verdicts of a finished study in the terminal, without pandas and torch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

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
GAP = 2
"Columns of the terminal between those of a table."


def print_verdicts(folder: StudyFolder, console: Console, *, measured: bool = False) -> None:
    """Prints the summary of `results/<study>/`; `measured`: of claims and measurements alone.

    Raises `AblateError` when the folder holds no comparisons.
    """
    found = summary(folder, measured=measured)
    if found.answer:
        console.print()
    for line in found.answer:
        console.print(_text(line, "bold"))
    for table in found.tables:
        print_table(table, console)


def print_table(table: Table, console: Console) -> None:
    """Prints one table, without its spare columns where the line has no room; what stands below rows, below it.

    Lines end between words.
    """
    columns = [column for column in table.columns if not column.below]
    if sum(_room(column, table.rows) + GAP for column in columns) - GAP > console.width:
        columns = [column for column in columns if not column.spare]
    first = columns[0]
    shown = RichTable(box=None, pad_edge=False, padding=(0, GAP, 0, 0))
    for column in columns:
        flexible = column is first or column.words
        width = None if flexible else _room(column, table.rows)
        side: Any = "right" if column.numeric else "left"
        shown.add_column(column.heading, justify=side, width=width, overflow="fold")
    for row in table.rows:
        colours = [_colour(row[column.key]) if column.key == "verdict" else "" for column in columns]
        cells = zip((row[column.key] for column in columns), colours, strict=True)
        shown.add_row(*(_text(words, colour) for words, colour in cells))
    console.print()
    if table.caption:
        console.print(_text(table.caption, "bold"))
    console.print(shown)
    below = [column for column in table.columns if column.below]
    for note in (f"{row[first.key]}: {row[c.key]}" for row in table.rows for c in below if row[c.key]):
        console.print(Padding(_text(note, "dim"), (0, 0, 0, GAP), expand=False))


def _room(column: Column, rows: Sequence[Row]) -> int:
    return max(map(cell_len, (column.heading, *(row[column.key] for row in rows))))


def _colour(verdict: str) -> str:
    return COLOURS[VERDICTS[verdict].colour] if verdict in VERDICTS else ""


def _text(words: str, style: str = "") -> Text:
    return Text(printable(words), style=style)
