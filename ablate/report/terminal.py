"""What page, terminal and MLflow show alike of a finished study: question, answer, verdicts, claims.

Read from the files of a report without pandas and torch, so that a run that finds everything done answers at once.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from rich.console import Console
from rich.measure import Measurement
from rich.padding import Padding
from rich.table import Table as RichTable
from rich.text import Text

from ablate.base.text import printable
from ablate.base.wording import joined
from ablate.core.facts import StudyFacts
from ablate.records.folder import CONDITIONS, SPEED, TRENDS, StudyFolder
from ablate.report.sentences.levels import level_of_claims
from ablate.report.sentences.verdict_words import verdict_parts
from ablate.report.tables.claim_tables import claim_table
from ablate.report.tables.over_conditions import judged_tables
from ablate.report.tables.speed_tables import brief_tables
from ablate.report.tables.verdicts import names_of, planned_rows
from ablate.report.words import Column, Table, message, text

INTERACTIONS = "interactions.csv"
MANY_ROWS = 3
"""The rows from which on a note that they share is said once."""
COLOURS = {
    "better": "blue",
    "worse": "red",
    "equivalent": "green",
    "inconclusive": "dim",
    "supported": "blue",
    "refuted": "red",
}


def print_verdicts(
    folder: StudyFolder, facts: StudyFacts, console: Console, *, measured: bool = False
) -> None:
    """Prints the summary of `results/<study>/`; `measured`: of claims and measurements alone.

    facts: those of the folder. Raises `AblateError` when it holds no comparisons.
    """
    tables = summary(folder, facts, measured=measured)
    answer = [] if measured else folder.answer()
    if answer:
        console.print()
    for line in answer:
        console.print(_text(line, "bold"))
    for table in tables:
        print_table(table, console)


def summary(folder: StudyFolder, facts: StudyFacts, *, measured: bool = False) -> list[Table]:
    """Returns the tables of the last report, or those of claims and measurements alone; see `print_verdicts`."""
    comparisons = folder.comparisons()
    tables: list[Table] = []
    if not measured:
        tables += judged_tables(
            comparisons,
            facts,
            interactions=folder.beside(INTERACTIONS),
            conditions=folder.beside(CONDITIONS),
            trends=folder.beside(TRENDS),
        )
    claims = [row for row in folder.claims() if text(row["verdict"])]
    if claims:
        tables.append(claim_table(claims, facts, level_of_claims(planned_rows(comparisons), facts)))
    tables += brief_tables(folder.beside(SPEED), names_of(facts))
    return tables


def print_table(table: Table, console: Console) -> None:
    """Prints one table, without its last spare columns where the line has no room; what stands below rows, below it.

    Lines end between words.
    """
    columns = [column for column in table.columns if not column.below]
    spare = [column for column in columns if column.spare]
    num_across = 1 + len(spare)
    shown = _laid_out(table, columns)
    while spare and _width(shown, console) > console.width:
        columns.remove(spare.pop())
        shown = _laid_out(table, columns)
    console.print()
    if table.caption:
        console.print(_text(table.caption, "bold"))
    console.print(shown)
    if table.across and len(spare) + 1 < num_across:
        words = message("terminal.no_room", len(spare) + 1, num_across, table.across)
        console.print(Padding(_text(words, "dim"), (0, 0, 0, 2), expand=False))
    for note in _notes(table):
        console.print(Padding(_text(note, "dim"), (0, 0, 0, 2), expand=False))


def _notes(table: Table) -> Iterator[str]:
    """Yields what stands below the rows of a table, each after the name of its row; what many share once for all."""
    name = table.columns[0].key
    below = [column.key for column in table.columns if column.below]
    notes: list[tuple[str, str]] = []
    for row in table.rows:
        notes += [(row[name], row[key]) for key in below if row[key]]
    names_by_note: dict[str, list[str]] = {}
    for row_name, note in notes:
        names_by_note.setdefault(note, []).append(row_name)

    shared: set[str] = set()
    for row_name, note in notes:
        names = names_by_note[note]
        if len(names) < MANY_ROWS:
            yield f"{row_name}: {note}"
        elif note not in shared:
            shared.add(note)
            yield f"{joined([*dict.fromkeys(names)])}: {note}"


def _width(shown: RichTable, console: Console) -> int:
    """Returns the columns of a terminal that a table takes where no line is broken."""
    return Measurement.get(console, console.options.update(max_width=9999), shown).maximum


def _laid_out(table: Table, columns: Sequence[Column]) -> RichTable:
    """Returns a table of the terminal with these columns; words take several lines, and numbers one."""
    shown = RichTable(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for column in columns:
        whole = column is not columns[0] and not column.words
        side: Any = "right" if column.numeric else "left"
        shown.add_column(column.heading, justify=side, no_wrap=whole, overflow="fold")
    for row in table.rows:
        cells = [_text(row[c.key], _colour(row[c.key]) if c.key == "verdict" else "") for c in columns]
        shown.add_row(*cells)
    return shown


def _colour(verdict: str) -> str:
    word, _ = verdict_parts(verdict)
    return COLOURS.get(word, "")


def _text(words: str, style: str = "") -> Text:
    return Text(printable(words), style=style)
