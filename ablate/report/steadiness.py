"""How steadily variants train, in words and as a table: for the page, the markdown and MLflow."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ablate.base.errors import listed
from ablate.base.wording import counted, plus, share
from ablate.core.facts import BASELINE
from ablate.core.short_names import in_short_names
from ablate.report.palette import EXPLORATORY
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
    is_true,
    number,
    p_value,
    text,
)

WORDS = {"better": "steadier", "worse": "less steady", "degenerate": "alike"}
"""Of verdicts about stability, where they differ from those of other comparisons."""
SAID = {"lr_sensitivity": "learning-rate sensitivity"}
"""Metrics as a sentence names them, where that is more than their words."""
RATE = "divergence_rate"
MAX_NAMES = 6
"""The most variants that a sentence names; the table has all."""


def decided(rows: Sequence[Row]) -> list[Row]:
    """Those by which a variant is steadier or less steady than the baseline."""
    return [row for row in rows if row["verdict"] in ("better", "worse")]


def notable(rows: Sequence[Row]) -> list[Row]:
    """Those that are decided, and the rates of variants of which a run diverged."""
    return [row for row in rows if row["verdict"] in ("better", "worse") or _diverged(row)]


def chance(rows: Sequence[Row]) -> str:
    """How many verdicts to expect of so many exploratory comparisons were nothing different."""
    some, often = _expected(rows)
    seeds = {int(number(row["n"]) or 0) for row in rows}
    on = f" on {counted(seeds.pop(), 'seed')}" if len(seeds) == 1 else ""
    each = f"each judged at .05 alone: about {often} would be decided by chance"
    return f"{counted(some, 'comparison')}{on}, {each}"


def _expected(rows: Sequence[Row]) -> tuple[int, str]:
    some = sum(number(row["p"]) is not None for row in rows)
    return some, f"{0.05 * some:.1f}".removesuffix(".0")


def finding(rows: Sequence[Row], names: Mapping[str, str]) -> str:
    """What a reader should know at first, in a sentence; nothing where no run diverged and nothing is decided."""
    mine = [row for row in rows if not is_true(row.get("placebo"))]
    parts = [
        f"{WORDS[verdict]} than the {BASELINE} by {'; by '.join(found)}"
        for verdict in ("better", "worse")
        if (found := list(_named(mine, verdict, names)))
    ]
    if lost := _lost(rows, names):
        parts.insert(0, f"runs diverged, {listed(lost, MAX_NAMES)}")
    if not parts:
        return ""
    some, often = _expected(rows)
    limits = f" ({EXPLORATORY}; about {often} of {some} by chance)" if decided(mine) else ""
    return f"Stability: {'; '.join(parts)}{limits}."


def _named(rows: Sequence[Row], verdict: str, names: Mapping[str, str]) -> Iterator[str]:
    """`seed spread: 1 head and batch norm`, for each metric."""
    by_metric: dict[str, dict[str, None]] = {}
    for row in rows:
        if row["verdict"] == verdict:
            by_metric.setdefault(text(row["metric"]), {})[names.get(row["variant"], row["variant"])] = None
    for metric, variants in by_metric.items():
        yield f"{SAID.get(metric, metric.replace('_', ' '))}: {listed(list(variants), MAX_NAMES)}"


def _diverged(row: Row) -> bool:
    return row["metric"] == RATE and bool(number(row["mean_variant"]) or number(row["mean_baseline"]))


def _lost(rows: Sequence[Row], names: Mapping[str, str]) -> list[str]:
    """`2 of 5 of post norm`, for each variant and task of which some run diverged, on the most seeds of any pair."""
    several = len({row["task"] for row in rows}) > 1
    found: dict[tuple[str, str], tuple[int, str]] = {}
    for row in rows:
        n, task = int(number(row["n"]) or 0), text(row["task"])
        for side in ("variant", "baseline") if row["metric"] == RATE else ():
            place, lost = (text(row[side]), task), round((number(row[f"mean_{side}"]) or 0.0) * n)
            if lost and n > found.get(place, (0, ""))[0]:
                on = f" on {task}" if several else ""
                found[place] = n, f"{share(lost, n)} of {names.get(row[side], row[side])}{on}"
    return [words for _, words in found.values()]


def stability_table(rows: Sequence[Row], caption: str, names: Mapping[str, str]) -> Table:
    """Rows of `analysis.stability` as strings; task and seeds have a column only where they vary."""
    columns = [
        Column("variant", "Variant"),
        *([Column("task", "Task")] if len({row["task"] for row in rows}) > 1 else []),
        Column("metric", "Metric"),
        Column("verdict", "Verdict", words=True),
        Column("mean_variant", "Variant [95 %]", True),
        Column("mean_baseline", "Baseline [95 %]", True),
        Column("difference", "Difference [95 %]", True),
        Column("p", "p", True),
        *([Column("n", "Seeds", True)] if len({number(row["n"]) for row in rows}) > 1 else []),
        Column("note", "Note", below=True),
    ]
    cells = [
        {
            "variant": text(names.get(row["variant"], row["variant"])),
            "variant title": text(row["variant"]),
            "task": text(row["task"]),
            "metric": text(row["metric"]),
            "verdict": WORDS.get(text(row["verdict"]), text(row["verdict"])) + f" ({EXPLORATORY})",
            "mean_variant": _value(row, "variant"),
            "mean_baseline": _value(row, "baseline"),
            "difference": _difference(row),
            "p": p_value(row["p"]),
            "n": count(row["n"]),
            "note": in_short_names(text(row["note"]), names),
        }
        for row in rows
    ]
    return Table(columns, cells, caption, "stability.csv")


def _difference(row: Row) -> str:
    """With its interval; of rates and spreads, which have none, with the digits of the variant's."""
    if number(row["ci_low"]) is not None or row["kind"] == "mean":
        return difference(row["diff"], row["ci_low"], row["ci_high"])
    diff = number(row["diff"])
    if diff is None:
        return NOTHING
    places = 2 if row["kind"] == "rate" else decimals(row["low_variant"], row["high_variant"])
    return plus(diff, places)


def _value(row: Row, side: str) -> str:
    """`2 of 5 [.05, .85]` of a rate, `.12 [.10, .14]` of anything else."""
    low, high, mean = (number(row[f"{of}_{side}"]) for of in ("low", "high", "mean"))
    if mean is None:
        return NOTHING
    places = 2 if row["kind"] == "rate" else decimals(low, high)
    n = int(number(row["n"]) or 0)
    shown = share(round(mean * n), n) if row["kind"] == "rate" else fixed(mean, places)
    return shown if low is None or low == high else f"{shown} {interval(low, high, places)}"
