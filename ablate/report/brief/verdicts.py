"""Each variant against the baseline: the verdicts, with a guide to them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ablate.base.wording import counted
from ablate.core.facts import BASELINE
from ablate.core.short_names import in_short_names, short_names
from ablate.report.brief.noise_floor import MARK
from ablate.report.palette import EXPLORATORY
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
    share,
    shown,
    significant,
    text,
)

GUIDE = {
    "better": "Better than the baseline on the same seeds. A difference this large would be rare if there were none.",
    "worse": "Worse than the baseline on the same seeds. A difference this large would be rare if there were none.",
    "equivalent": "The difference lies within the margin that the study declared as too small to matter.",
    "inconclusive": "Neither was shown. This is no evidence of no difference: see what could have been detected.",
    "saturated": "Both sides are as good as the metric can show, or no better than guessing: no room for a difference.",
    "unstable": "Some runs diverged, too few to call a side worse. How often they do is the result.",
    "degenerate": "Every difference is exactly zero: the change changed no result.",
    "incomplete": "A planned run failed or is missing: no verdict before it has an outcome.",
}
"""The meaning of each verdict, in a line."""
BRIEF = ("variant", "verdict", "difference", "note")
"""The columns that fit 80 characters."""
COLUMNS = {
    "Difference": "variant minus baseline over paired seeds, turned so that positive is better, with its 95 % interval",
    MARK: "before a difference: neither side was shown to be better, and it is smaller than what is detectable",
    "p (family)": "probability of so large a difference if there were none, times the planned comparisons; .05 decides",
    "Solved": "share of the variant’s runs that reached the threshold at which the task counts as solved",
    "Detectable": "smallest difference that these seeds would find with 80 % power; none: none that there can be",
}


class Verdicts(Section):
    """The confirmatory comparisons, a table a metric."""

    place = 100
    title = "Verdicts"
    open = True

    def blocks(self, material: Material) -> Iterator[Block]:
        rows = verdict_rows(material.comparisons)
        if not rows:
            return
        present = {row["verdict"] for row in rows}
        guide = {verdict: meaning for verdict, meaning in GUIDE.items() if verdict in present} or GUIDE
        names = short_names(material.facts)
        for metric in material.facts.judged:
            if mine := [row for row in rows if row["metric"] == metric]:
                yield verdict_table(
                    mine, f"Each variant against the {BASELINE} on {metric}{_at(mine)}", names
                )
        rated = any(row["decided_by"] == "rate" for row in rows)
        terms = Terms(
            [*guide.items(), *((name, said) for name, said in COLUMNS.items() if rated or name != "Solved")]
        )
        yield Folded("How to read a verdict", [terms])

    def brief(self, read: Brief) -> Iterator[Table]:
        rows = verdict_rows(read.comparisons)
        several = len({row["task"] for row in rows}) > 1
        for task, metric in dict.fromkeys((row["task"], row["metric"]) for row in rows):
            mine = [row for row in rows if (row["task"], row["metric"]) == (task, metric)]
            of = f"{text(task)}, " if several else ""
            counts = {int(number(row["n"]) or 0) for row in mine}
            seeds = f", {counted(counts.pop(), 'seed')}" if len(counts) == 1 else ""
            title = f"{of}{text(metric)}: variant − {text(mine[0]['baseline'])}{seeds}"
            yield verdict_table(mine, title + _at(mine), read.names, brief=True)


def _at(rows: Sequence[Row]) -> str:
    """`, at lr 0.003, not tuned`: what the verdicts are conditional on, where it was not tuned."""
    return f", {found}" if (found := text(rows[0].get("at"))) else ""


def verdict_rows(comparisons: Any) -> list[Row]:
    """The confirmatory rows of a frame or of a sequence of mappings."""
    return [row for row in rows_of(comparisons) if not is_true(row.get("exploratory"))]


def verdict_table(
    rows: Sequence[Row], caption: str = "", names: Mapping[str, str] | None = None, *, brief: bool = False
) -> Table:
    """Comparisons as strings, variants by their `names` for readers; `brief` keeps what fits 80 columns.

    A task or metric column is there only where it varies.
    """
    varying = [key for key in ("task", "metric") if len({row[key] for row in rows}) > 1]
    columns = [
        Column("variant", "Variant"),
        *(Column(key, key.capitalize()) for key in varying),
        Column("verdict", "Verdict"),
        Column("difference", "Difference [95 %]", True),
        Column("mean_variant", "Variant mean", True),
        Column("mean_baseline", "Baseline mean", True),
        Column("p_adjusted", "p (family)", True),
        Column("n", "Seeds", True),
        *([Column("solved", "Solved", True)] if any(r.get("decided_by") == "rate" for r in rows) else []),
        Column("mde", "Detectable", True),
        Column("note", "Note", below=True),
    ]
    if brief:
        columns = [column for column in columns if column.key in (*BRIEF, *varying)]
    cells = []
    for row in rows:
        known = text((names or {}).get(row["variant"], row["variant"]))
        note = in_short_names(text(row.get("note")), names or {})
        named = {"variant": known, "variant title": text(row["variant"]), "note": note}
        cells.append(comparison_cells(row) | named)
        if is_true(row.get("within_noise")):
            cells[-1]["difference"] = f"{MARK} {cells[-1]['difference']}"
    return Table(columns, cells, caption, "comparisons.csv")


def comparison_cells(row: Row) -> dict[str, str]:
    """The cells of one comparison, by column key."""
    places = decimals(row.get("ci_low"), row.get("ci_high"))
    return {
        "variant": text(row["variant"]),
        "task": text(row["task"]),
        "metric": text(row["metric"]),
        "verdict": text(row["verdict"]) + (f" ({EXPLORATORY})" if is_true(row.get("exploratory")) else ""),
        "difference": difference(row.get("diff"), row.get("ci_low"), row.get("ci_high")),
        "mean_variant": fixed(row.get("mean_variant"), places),
        "mean_baseline": fixed(row.get("mean_baseline"), places),
        "p": p_value(row.get("p")),
        "p_adjusted": p_value(row.get("p_adjusted")),
        "n": count(row.get("n")),
        "solved": share(row.get("solved_rate")),
        "mde": shown(row.get("mde"), lambda mde: significant(mde) if math.isfinite(mde) else "none"),
        "correlation": fixed(row.get("correlation"), 2),
        "note": text(row.get("note")),
    }
