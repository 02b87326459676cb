"""The answer and the verdicts of a finished study in the terminal, read from its files without pandas and torch.

Serves the run that finds everything done.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial

from rich.cells import cell_len
from rich.console import Console
from rich.padding import Padding
from rich.table import Table as RichTable
from rich.text import Text

from ablate.base.errors import AblateError
from ablate.base.output import plain
from ablate.base.printable import printable
from ablate.core.short_names import short_claim, short_names
from ablate.records.folder import StudyFolder
from ablate.records.verdicts import SPEED
from ablate.report.palette import VERDICTS
from ablate.report.section import Brief, sections
from ablate.report.tables import Column, Row, Table

COLOURS = {"blue": "blue", "orange": "red", "green": "green", "purple": "magenta", "soft": "dim"}
"Of the palette → those of a terminal."
GAP, INDENT, MIN_FIRST = 2, 2, 12
"""Columns of the terminal between those of a table; before a note; the fewest for the names of rows."""


def print_verdicts(folder: StudyFolder, console: Console, *, of_speed: bool = False) -> None:
    """Prints the answer and the brief tables of all sections for `results/<study>/`; `of_speed`: of speed and claims.

    Raises `AblateError` when the folder holds no comparisons.
    """
    read = brief_of(folder)
    if not of_speed:
        console.print()
        for paragraph in folder.answer():
            console.print(_text(paragraph, console, "bold"))
    for section in sections(brief=True):
        for table in () if of_speed and section.needs_trials else section.brief(read):
            print_table(table, console)
    with suppress(AblateError):  # the tables are shown without them
        if not of_speed and (looks := folder.facts().looks_in_words):
            console.print()
            console.print(_text(f"{looks}.", console))


def brief_of(folder: StudyFolder) -> Brief:
    """What the terminal and MLflow show of a report."""
    read = Brief(folder.comparisons(), folder.claims(), speeds=folder.beside(SPEED))
    with suppress(AblateError):  # of facts that cannot be read, variants have their own names
        facts = folder.facts()
        read = replace(read, names=short_names(facts), claim=partial(short_claim, facts=facts))
    return read


def print_table(table: Table, console: Console) -> None:
    """Prints one table; lines end between words.

    A first column that is too wide for what the others leave of the line is wrapped between words, or, where a word is
    too wide itself, has lines of its own above its rows.
    """
    columns = [column for column in table.columns if not column.below]
    below = [column for column in table.columns if column.below]
    widths = [max(map(cell_len, (c.heading, *(row[c.key] for row in table.rows)))) for c in columns]
    room = max(MIN_FIRST, console.width - sum(widths[1:]) - GAP * len(widths[1:]))
    words = [word for row in table.rows for word in row[columns[0].key].split()]
    stacked = any(cell_len(word) > room for word in words)
    first = min(widths[0], room) if not stacked else min(room, MIN_FIRST)
    console.print()
    if table.caption:
        console.print(_text(table.caption, console, "bold"))
    grid = partial(_grid, columns, [first, *widths[1:]], console)
    if not below and not stacked:
        grid(table.rows, heading=True)
        return
    grid([], heading=True)
    for row in table.rows:
        if stacked:
            console.print(_text(row[columns[0].key], console))
        grid([row | {columns[0].key: ""} if stacked else row])
        for column in below:
            if row[column.key]:
                console.print(
                    Padding(_text(row[column.key], console, "dim"), (0, 0, 0, INDENT), expand=False)
                )


def _grid(
    columns: Sequence[Column],
    widths: Sequence[int],
    console: Console,
    rows: Sequence[Row],
    heading: bool = False,
) -> None:
    """Prints the lines of a table that stand in columns."""
    shown = RichTable(box=None, pad_edge=False, padding=(0, GAP, 0, 0), show_header=heading)
    for column, width in zip(columns, widths, strict=True):
        fixed = None if column.words else width
        shown.add_column(column.heading, justify="right" if column.numeric else "left", width=fixed)
    for row in rows:
        cells = []
        for column in columns:
            mark = VERDICTS.get(row[column.key]) if column.key == "verdict" else None
            cells.append(_text(row[column.key], console, COLOURS[mark.colour] if mark else ""))
        shown.add_row(*cells)
    console.print(shown)


def _text(words: str, console: Console, style: str = "") -> Text:
    words = printable(words)
    return Text(plain(words) if console.options.ascii_only else words, style=style)
