"""How steadily each variant trains: divergence, learning-rate sensitivity, spread of seeds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ablate.base import wording
from ablate.report.section import Block, Folded, Material, Section, Terms, Text
from ablate.report.tables import (
    NOTHING,
    Column,
    Row,
    Table,
    decimals,
    difference,
    fixed,
    interval,
    number,
    rows_of,
    tabulated,
    text,
)
from ablate.report.verdicts import Names, names_of, reason_column, variant_column
from ablate.report.words import codes, say

RATE = "divergence_rate"


class Stability(Section):
    """What differs, and where runs diverged; the rest is folded."""

    place = 270
    title = "Stability"
    inside = "divergence, learning-rate sensitivity and the spread over seeds"

    def applies(self, material: Material) -> bool:
        return any(row["n"] > 0 for row in rows_of(material.table("stability")))

    def findings(self, material: Material) -> list[str]:
        found = lost(rows_of(material.table("stability")), names_of(material.facts))
        return [say("stability.diverged", found)] if found else []

    def blocks(self, material: Material) -> Iterator[Block]:
        facts, rows = material.facts, rows_of(material.table("stability"))
        names, some = names_of(facts), [row for row in rows if notable(row)]
        yield stability_table(some, rows, names) if some else Text(say("stability.nothing"))
        known = codes("stability") & {row["metric"] for row in rows}
        terms = Terms([(metric, say(f"stability.{metric}")) for metric in sorted(known)])
        if len(some) < len(rows):
            yield Folded(say("stability.every", len(rows)), [stability_table(rows, rows, names), terms])
        else:
            yield Folded(say("stability.meaning"), [terms])


def notable(row: Row) -> bool:
    """Whether its interval excludes 0, or a run diverged."""
    low, high = number(row["ci_low"]), number(row["ci_high"])
    if row["metric"] == RATE:
        return bool(number(row["mean_variant"]) or number(row["mean_baseline"]))
    return low is not None and high is not None and (low > 0 or high < 0)


def lost(rows: Sequence[Row], names: Names) -> list[str]:
    """`2 of 5 with post norm`, for each variant and task of which some run diverged, on the most seeds of any pair."""
    several = len({row["task"] for row in rows}) > 1
    found: dict[tuple[str, str], tuple[int, str]] = {}
    for row in (row for row in rows if row["metric"] == RATE):
        n, task = int(number(row["n"]) or 0), text(row["task"])
        for side in ("variant", "baseline"):
            count = round((number(row[f"mean_{side}"]) or 0.0) * n)
            if count and n > found.get((row[side], task), (0, ""))[0]:
                said = say(
                    "stability.lost", count, n, names.get(row[side], row[side]), task if several else ""
                )
                found[row[side], task] = n, said
    return [said for _, said in found.values()]


def stability_table(rows: Sequence[Row], every: Sequence[Row], names: Names) -> Table:
    """Rows of `analysis.stability`; its caption says how many of `every` would exclude 0 by chance."""
    columns = [
        variant_column(names),
        Column("task", "Task", varying=True),
        Column("metric", "Metric"),
        Column("mean_variant", "Variant [95 %]", True, show=lambda row: side_words(row, "variant")),
        Column("mean_baseline", "Baseline [95 %]", True, show=lambda row: side_words(row, "baseline")),
        Column("difference", "Difference [95 %]", True, show=_difference),
        reason_column(names),
    ]
    tested = sum(number(row["p"]) is not None for row in every)
    caption = say("stability.caption", tested, wording.exact(round(0.05 * tested, 1)))
    return tabulated(columns, rows, caption, "stability.csv")


def _difference(row: Row) -> str:
    return difference(row["diff"], row["ci_low"], row["ci_high"]) if row["kind"] != "rate" else NOTHING


def side_words(row: Row, side: str) -> str:
    """`2 of 5 [.05, .85]` of a rate, `.12 [.10, .14]` of anything else."""
    low, high, mean = (number(row[f"{of}_{side}"]) for of in ("low", "high", "mean"))
    if mean is None:
        return NOTHING
    places, n = 2 if row["kind"] == "rate" else decimals(low, high), int(number(row["n"]) or 0)
    shown = say("stability.rate", round(mean * n), n) if row["kind"] == "rate" else fixed(mean, places)
    return shown if low is None or low == high else f"{shown} {interval(low, high, places)}"
