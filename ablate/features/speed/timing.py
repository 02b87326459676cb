"""How fast variants are, as tables and in words: for page, terminal, MLflow and papers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from ablate.base import wording
from ablate.core.evidence import Evidence
from ablate.core.facts import BASELINE, Facts
from ablate.features.speed.facts import BUSY, COLUMNS, SpeedFacts
from ablate.report.tables import (
    NOTHING,
    Column,
    Row,
    Table,
    compact,
    decimals,
    fixed,
    interval,
    is_true,
    number,
    shown,
    tabulated,
    text,
)
from ablate.report.verdicts import Names
from ablate.report.words import say

STEP, MEMORY = "step_seconds", "step_memory"
CALLS = {STEP: "a training step", "forward_seconds": "a forward pass", "generation_seconds": "generation"}
"""What was timed, what matters first, as a sentence names it."""
MEASURES = {**CALLS, MEMORY: "the peak memory of a step"}
HEADS = {
    STEP: "Step",
    "forward_seconds": "Forward pass",
    "generation_seconds": "Generation",
    MEMORY: "Memory",
}
MAX_PLACES = 3
"Of a ratio."


def ratio(row: Row) -> str:
    """`×1.93 [1.90, 1.96]`, to the digits of its interval."""
    low, high = row["ci_low"], row["ci_high"]
    places = min(decimals(low, high), MAX_PLACES)
    found, *ends = (fixed(end, places) for end in (row["ratio"], low, high))
    if found == NOTHING:
        return NOTHING
    # Memory hardly varies.
    return f"×{found}" + (f" {interval(low, high, places)}" if len({*ends}) > 1 else "")


def value(row: Row) -> str:
    """`3.21 ms` or `12.4 MB`."""
    say = (lambda size: wording.size(round(size))) if row["metric"] == MEMORY else wording.seconds
    return shown(row["value_variant"], say)


def beyond(row: Row) -> bool:
    """Whether the interval of a ratio lies beyond the noise floor and 2 %."""
    low, high, slack = (number(row[name]) for name in ("ci_low", "ci_high", "slack"))
    if low is None or high is None or slack is None or row["variant"] == row["baseline"]:
        return False
    return low > 1 + slack or high < 1 / (1 + slack)


def own(rows: Sequence[Row]) -> list[Row]:
    """Those at the size that the study trains."""
    return [row for row in rows if is_true(row["own"])]


def of(rows: Sequence[Row], metric: str, task: str | None = None) -> list[Row]:
    """Those of one metric, and of one task."""
    return [row for row in rows if row["metric"] == metric and task in (None, row["task"])]


def call_shown(rows: Sequence[Row]) -> str:
    """The call that is shown where there is room for one: a training step where it was timed."""
    return next((call for call in CALLS if of(rows, call)), STEP)


def brief_tables(rows: Sequence[Row], names: Names) -> Iterator[Table]:
    """Time and memory at the study's own size, of the call that matters most, a table a task."""
    rows = own(rows)
    call = call_shown(rows)
    for task in dict.fromkeys(row["task"] for row in of(rows, call)):
        yield speed_table(
            of(rows, call, task),
            of(rows, MEMORY, task),
            call,
            names,
            several=len({r["task"] for r in rows}) > 1,
        )


def speed_table(
    rows: Sequence[Row],
    memory: Sequence[Row],
    call: str,
    names: Names,
    *,
    several: bool = False,
    over: str = "",
) -> Table:
    """Rows of one call, a step with its memory; at each size where `over` names it."""
    taken = {(row["variant"], number(row["size"])): row for row in memory if call == STEP}

    def beside(row: Row, show: str) -> str:
        found = taken.get((row["variant"], number(row["size"])))
        if found is None or (show == "ratio" and row["variant"] == row["baseline"]):
            return NOTHING
        return value(found) if show == "value" else ratio(found)

    columns = [
        Column("variant", "Variant", show=lambda row: text(names.get(row["variant"], row["variant"]))),
        *([Column("size", over, True, show=lambda row: shown(row["size"], wording.brief))] if over else []),
        Column("time", HEADS[call], True, show=value),
        Column("ratio", f"vs {BASELINE} [95 %]", True, show=ratio),
        Column("memory", HEADS[MEMORY], True, show=lambda row: beside(row, "value")),
        Column("memory_ratio", f"vs {BASELINE}", True, show=lambda row: beside(row, "ratio"), spare=True),
        Column("flops", "FLOPs", True, show=lambda row: shown(row["flops"], compact), spare=True),
    ]
    task, n = text(rows[0]["task"]), max(int(number(row["n"]) or 0) for row in rows)
    floor = floors(rows).get(call)
    said = (
        say("speed.sizes", MEASURES[call], over)
        if over
        else say("speed.caption", MEASURES[call], task if several else "", n, floor)
    )
    return tabulated(columns, rows, said, "speed.csv", title="variant")


def floors(rows: Sequence[Row]) -> dict[str, float]:
    """Call → the largest noise floor of the study's own size, a share of time; those that are known."""
    found: dict[str, float] = {}
    for call in CALLS:
        known = [floor for row in of(own(rows), call) if (floor := number(row["noise_floor"])) is not None]
        if known and math.isfinite(max(known)):
            found[call] = max(known)
    return found


def floor_words(rows: Sequence[Row]) -> str:
    """The noise floor of each call in a sentence; empty where it is not known."""
    found = [(MEASURES[call], floor) for call, floor in floors(rows).items()]
    return say("speed.floor", found) if found else ""


def how_measured(evidence: Evidence) -> str:
    """In how many processes and blocks, on what, and beside what; empty: nothing was timed."""
    speed, timed = SpeedFacts.of(evidence.facts), evidence.frame("speed", COLUMNS)
    if speed is None or timed.empty:
        return ""
    blocks, busy = timed["blocks"].astype(float).median(), timed["busy"].astype(float).mean()
    busy = busy if busy >= BUSY else 0.0
    return say(
        "speed.measured", timed["process"].nunique(), round(blocks), speed.threads, text(speed.machine), busy
    )


def over(facts: Facts) -> str:
    """The end of the path whose values are the sizes."""
    return text(speed.over.rpartition(".")[2]) if (speed := SpeedFacts.of(facts)) else "size"
