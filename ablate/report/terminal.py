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
from ablate.report.tables import Column, Table, claim_table, text, verdict_rows, verdict_table, wrapped

STYLES = {
    "better": "blue",
    "supported": "blue",
    "worse": "red",
    "refuted": "red",
    "equivalent": "green",
    "unstable": "magenta",
    "inconclusive": "dim",
    "degenerate": "dim",
}


def print_verdicts(folder: Path, console: Console) -> None:
    """Prints the verdict and the claims table of `results/<study>/`.

    Raises `AblateError` when the folder holds no comparisons.
    """
    if not (folder / "comparisons.csv").is_file():
        raise AblateError(
            f"{folder}: has no comparisons.csv; run the study first, or name a folder of results/"
        )
    rows = verdict_rows(_read(folder / "comparisons.csv"))
    tasks = list(dict.fromkeys(row["task"] for row in rows))
    for task in tasks:
        mine = [row for row in rows if row["task"] == task]
        metric, baseline = mine[0]["metric"], mine[0]["baseline"]
        of = f"{text(task)}, " if len(tasks) > 1 else ""
        print_table(
            verdict_table(mine, brief=True), f"{of}{text(metric)}: variant − {text(baseline)}", console
        )
    known = _read(folder / "claims.csv") if (folder / "claims.csv").is_file() else []
    if claims := [row for row in known if row["verdict"]]:
        print_table(claim_table(claims, brief=True), "claims", console)


def _read(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def print_table(table: Table, title: str, console: Console) -> None:
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
    console.print()
    console.print(Text(_ascii(title) if ascii_only else title, style="bold"))
    console.print(shown)


def _cell(value: str, column: Column, first: int, table: Table, ascii_only: bool) -> Text:
    if column is table.columns[0]:
        value = "\n".join(wrapped(value, first))
    if ascii_only:
        value = _ascii(value)
    return Text(value, style=STYLES.get(value, "") if column.key == "verdict" else "")


def _ascii(value: str) -> str:
    for fancy, plain in {"−": "-", "–": "-", "∞": "inf", "…": "..."}.items():
        value = value.replace(fancy, plain)
    return value.encode("ascii", "backslashreplace").decode("ascii")
