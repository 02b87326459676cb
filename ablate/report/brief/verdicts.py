"""The planned comparisons."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ablate.base.wording import counted
from ablate.core.facts import BASELINE
from ablate.core.short_names import short_names
from ablate.report.reason_words import words_of
from ablate.report.section import Block, Brief, Folded, Material, Section, Terms
from ablate.report.tables import (
    Column,
    Row,
    Table,
    count,
    decimals,
    difference,
    fixed,
    is_true,
    number,
    p_value,
    rows_of,
    shown,
    significant,
    text,
)

GUIDE = {
    "better": "Better than the baseline on the same seeds: the whole interval lies above 0.",
    "worse": "Worse than the baseline on the same seeds: the whole interval lies below 0.",
    "equivalent": "The whole interval lies within the margin that the study declared as too small to matter.",
    "inconclusive": "Neither was shown. This is no evidence of no difference: see what could have been detected.",
}
"""The meaning of each verdict, in a line."""
DETECTABLE = "Smallest difference that these seeds would find with 80 % power; ∞: exceeds the metric's range."
BRIEF = ("variant", "verdict", "difference", "reason")
"""The columns that fit 80 characters."""


class Verdicts(Section):
    """One table of the planned comparisons."""

    place = 100
    title = "Verdicts"
    open = True

    def blocks(self, material: Material) -> Iterator[Block]:
        rows, facts = verdict_rows(material.comparisons), material.facts
        if not rows:
            return
        at = f", at {facts.rate}, not tuned" if facts.rate else ""
        yield verdict_table(
            rows, f"Each variant against the {BASELINE} on {facts.metric}{at}", short_names(facts)
        )
        present = {row["verdict"] for row in rows}
        guide = [(verdict, meaning) for verdict, meaning in GUIDE.items() if verdict in present]
        yield Folded("How to read a verdict", [Terms([*guide, ("Detectable", DETECTABLE)])])

    def brief(self, read: Brief) -> Iterator[Table]:
        rows = verdict_rows(read.comparisons)
        several = len({row["task"] for row in rows}) > 1
        for task, metric in dict.fromkeys((row["task"], row["metric"]) for row in rows):
            mine = [row for row in rows if (row["task"], row["metric"]) == (task, metric)]
            of = f"{text(task)}, " if several else ""
            counts = {int(number(row["n"]) or 0) for row in mine}
            seeds = f", {counted(counts.pop(), 'seed')}" if len(counts) == 1 else ""
            against = {text(row["baseline"]) for row in mine}
            title = f"{of}{text(metric)}: variant − {against.pop() if len(against) == 1 else BASELINE}{seeds}"
            yield verdict_table(mine, title, read.names, brief=True)


def verdict_rows(comparisons: Any) -> list[Row]:
    """The planned rows of a frame or of a sequence of mappings."""
    return [row for row in rows_of(comparisons) if not is_true(row.get("exploratory"))]


def level_of(rows: Sequence[Row]) -> str:
    """` [99.4 %]`: the level of the intervals, where they share one."""
    found = {number(row.get("level")) for row in rows}
    (level,) = found if len(found) == 1 else (None,)
    return "" if level is None else f" [{100 * level:.3g} %]"


def verdict_table(
    rows: Sequence[Row], caption: str = "", names: Mapping[str, str] | None = None, *, brief: bool = False
) -> Table:
    """Comparisons as strings, variants by their `names` for readers; `brief` keeps what fits 80 columns.

    A task column is there only where it varies.
    """
    varying = [key for key in ("task", "metric") if len({row[key] for row in rows}) > 1]
    columns = [
        Column("variant", "Variant"),
        *(Column(key, key.capitalize()) for key in varying),
        Column("verdict", "Verdict"),
        Column("difference", f"Difference{level_of(rows)}", True),
        Column("mean_variant", "Variant mean", True),
        Column("mean_baseline", "Baseline mean", True),
        Column("mde", "Detectable", True),
        Column("reason", "Reason", below=True),
    ]
    if brief:
        columns = [column for column in columns if column.key in (*BRIEF, *varying)]
    cells = []
    for row in rows:
        known = text((names or {}).get(row["variant"], row["variant"]))
        cells.append(comparison_cells(row) | {"variant": known, "variant title": text(row["variant"])})
    return Table(columns, cells, caption, "comparisons.csv")


def comparison_cells(row: Row) -> dict[str, str]:
    """The cells of one comparison, by column key."""
    places = decimals(row.get("ci_low"), row.get("ci_high"))
    rated = number(row.get("only_variant")) is not None
    said = difference(row.get("diff"), row.get("ci_low"), row.get("ci_high"))
    if rated:
        said += f" ({count(row['only_variant'])}:{count(row['only_baseline'])})"
    means = {side: fixed(row.get(f"mean_{side}"), places) for side in ("variant", "baseline")}
    if rated:
        means = {
            side: f"{mean} ({count(row[f'solved_{side}'])} of {count(row['n'])} solved)"
            for side, mean in means.items()
        }
    return {
        "variant": text(row["variant"]),
        "task": text(row["task"]),
        "metric": text(row["metric"]),
        "verdict": text(row["verdict"]),
        "difference": said,
        **{f"mean_{side}": mean for side, mean in means.items()},
        "p": p_value(row.get("p")),
        "n": count(row.get("n")),
        "mde": shown(row.get("mde"), lambda mde: _detectable(mde, rated)),
        "reason": words_of(row.get("reason", row.get("note"))),
    }


def _detectable(mde: float, rated: bool) -> str:
    if not math.isfinite(mde):
        return "∞"
    return f"{mde:.0f}:0 seeds" if rated else significant(mde)
