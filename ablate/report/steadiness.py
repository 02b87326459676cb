"""How steadily variants train, in words and as a table: for the page, the markdown and MLflow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ablate.base.errors import listed
from ablate.base.wording import plus, share
from ablate.report.reason_words import words_of
from ablate.report.tables import (
    NOTHING,
    Column,
    Row,
    Table,
    count,
    decimals,
    difference,
    fixed,
    interval,
    number,
    p_value,
    text,
)

RATE = "divergence_rate"
MAX_NAMES = 6
"""The most variants that a sentence names; the table has all."""


def notable(rows: Sequence[Row]) -> list[Row]:
    """The rates of variants of which a run diverged, or whose baseline did."""
    return [
        row
        for row in rows
        if row["metric"] == RATE and (number(row["mean_variant"]) or number(row["mean_baseline"]))
    ]


def finding(rows: Sequence[Row], names: Mapping[str, str]) -> str:
    """Which runs diverged, in a sentence: `Runs diverged: 2 of 5 of post norm.`; nothing where none did."""
    several = len({row["task"] for row in rows}) > 1
    found: dict[tuple[str, str], tuple[int, str]] = {}
    for row in notable(rows):
        n, task = int(number(row["n"]) or 0), text(row["task"])
        for side in ("variant", "baseline"):
            place, lost = (text(row[side]), task), round((number(row[f"mean_{side}"]) or 0.0) * n)
            if lost and n > found.get(place, (0, ""))[0]:
                on = f" on {task}" if several else ""
                found[place] = n, f"{share(lost, n)} of {names.get(row[side], row[side])}{on}"
    return f"Runs diverged: {listed([words for _, words in found.values()], MAX_NAMES)}." if found else ""


def stability_table(rows: Sequence[Row], caption: str, names: Mapping[str, str]) -> Table:
    """Rows of `analysis.stability` as strings; task and seeds have a column only where they vary."""
    columns = [
        Column("variant", "Variant"),
        *([Column("task", "Task")] if len({row["task"] for row in rows}) > 1 else []),
        Column("metric", "Metric"),
        Column("mean_variant", "Variant [95 %]", True),
        Column("mean_baseline", "Baseline [95 %]", True),
        Column("difference", "Difference [95 %]", True),
        Column("p", "p", True),
        *([Column("n", "Seeds", True)] if len({number(row["n"]) for row in rows}) > 1 else []),
        Column("reason", "Reason", below=True),
    ]
    cells = [
        {
            "variant": text(names.get(row["variant"], row["variant"])),
            "variant title": text(row["variant"]),
            "task": text(row["task"]),
            "metric": text(row["metric"]),
            "mean_variant": _value(row, "variant"),
            "mean_baseline": _value(row, "baseline"),
            "difference": _difference(row),
            "p": p_value(row["p"]),
            "n": count(row["n"]),
            "reason": words_of(row.get("reason")),
        }
        for row in rows
    ]
    return Table(columns, cells, caption, "stability.csv")


def _difference(row: Row) -> str:
    """With its interval; of rates, which have none, with two digits."""
    if row["kind"] != "rate":
        return difference(row["diff"], row["ci_low"], row["ci_high"])
    diff = number(row["diff"])
    return NOTHING if diff is None else plus(diff, 2)


def _value(row: Row, side: str) -> str:
    """`2 of 5 [.05, .85]` of a rate, `.12 [.10, .14]` of anything else."""
    low, high, mean = (number(row[f"{of}_{side}"]) for of in ("low", "high", "mean"))
    if mean is None:
        return NOTHING
    places = 2 if row["kind"] == "rate" else decimals(low, high)
    n = int(number(row["n"]) or 0)
    shown = share(round(mean * n), n) if row["kind"] == "rate" else fixed(mean, places)
    return shown if low is None or low == high else f"{shown} {interval(low, high, places)}"
