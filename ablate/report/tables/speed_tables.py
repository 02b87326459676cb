"""Measurements of speed as tables and sentences say them, read from rows without pandas."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ablate.base import wording
from ablate.core.derived import STEP_MEMORY as MEMORY
from ablate.core.facts import BASELINE, StudyFacts
from ablate.core.speed_facts import SpeedFacts
from ablate.core.spelling import spelled
from ablate.report.tables.verdicts import Names, variant_column
from ablate.report.words import (
    NOTHING,
    Column,
    Row,
    Table,
    compact,
    decimals,
    fixed,
    interval,
    is_true,
    message,
    number,
    shown,
    tabulated,
    text,
)

STEP = "step_seconds"
# What was timed, what matters first, as a sentence names it.
CALLS_OF_MODELS = {
    STEP: "a training step",
    "forward_seconds": "a forward pass",
    "generation_seconds": "generation",
}
WHOLE_RUNS = {
    "reported_step_seconds": "a reported step",
    "whole_run_seconds": "a whole run",
    "whole_run_cpu_seconds": "a whole run in CPU time",
}
CALLS = CALLS_OF_MODELS | WHOLE_RUNS
MEASURES = CALLS | {MEMORY: "the peak memory of a step"}
HEADS = {
    STEP: "Step",
    "forward_seconds": "Forward pass",
    "generation_seconds": "Generation",
    MEMORY: "Memory",
    "reported_step_seconds": "Reported step",
    "whole_run_seconds": "Whole run",
    "whole_run_cpu_seconds": "CPU time",
}


def are_of_runs(rows: Sequence[Row]) -> bool:
    """Returns whether whole runs were timed, and not the calls of a model."""
    return any(row["metric"] in WHOLE_RUNS for row in rows)


def replicates_of(rows: Sequence[Row]) -> str:
    """Returns what intervals are over, in words."""
    return "blocks" if are_of_runs(rows) else "processes"


def measures_of(rows: Sequence[Row]) -> list[str]:
    """Returns the metrics by which the variants of a study may be timed."""
    return [*WHOLE_RUNS] if are_of_runs(rows) else [*CALLS_OF_MODELS, MEMORY]


def with_interval(value: Any, low: Any, high: Any, mark: str = "") -> str:
    """Formats `1.93 [1.90, 1.96]` after a mark; leaves out an interval that shows no width."""
    if number(value) is None:
        return NOTHING
    places = min(decimals(low, high), 3)
    words = f"{mark}{fixed(value, places)}"
    has_width = len({fixed(end, places) for end in (value, low, high)}) > 1
    return f"{words} {interval(low, high, places)}" if has_width else words


def ratio(row: Row | None) -> str:
    """Returns `×1.93 [1.90, 1.96]`; memory hardly varies, and is its own in the row of the baseline."""
    if row is None or (row["metric"] == MEMORY and row["variant"] == row["baseline"]):
        return NOTHING
    return with_interval(row["ratio"], row["ci_low"], row["ci_high"], "×")


def in_units(metric: str) -> Callable[[float], str]:
    """Returns how values of a metric are said: `3.21 ms` or `12.4 MB`."""
    return _memory if metric == MEMORY else wording.seconds


def _memory(size: float) -> str:
    """Returns bytes, which the ticks of an axis give as numbers with fractions, in words."""
    return wording.size(round(size))


# Metric → the label of its axis, and how a value is said.
COSTS = {
    STEP: ("time of a training step", in_units(STEP)),
    MEMORY: ("peak memory of a training step", in_units(MEMORY)),
}


def value(row: Row | None) -> str:
    """Returns `3.21 ms` or `12.4 MB`."""
    return NOTHING if row is None else shown(row["value_variant"], in_units(row["metric"]))


def beyond(row: Row) -> bool:
    """Returns whether the interval of a ratio lies beyond the noise floor and 2 %."""
    low = number(row["ci_low"])
    high = number(row["ci_high"])
    slack = number(row["slack"])
    if low is None or high is None or slack is None or row["variant"] == row["baseline"]:
        return False
    return low > 1 + slack or high < 1 / (1 + slack)


def own(rows: Sequence[Row]) -> list[Row]:
    """Returns the rows at the size that the study trains."""
    return [row for row in rows if is_true(row["own"])]


def only(rows: Sequence[Row], metric: str, task: str | None = None) -> list[Row]:
    """Returns the rows of one metric, and of one task."""
    return [row for row in rows if row["metric"] == metric and task in (None, row["task"])]


def call_shown(rows: Sequence[Row]) -> str:
    """Returns the call that is shown where there is room for one: a training step where it was timed."""
    return next((call for call in CALLS if only(rows, call)), STEP)


def brief_tables(rows: Sequence[Row], names: Names) -> Iterator[Table]:
    """Yields time and memory at the study's own size, of the call that matters most, a table a task."""
    of_size = own(rows)
    call = call_shown(of_size)
    for task in dict.fromkeys(row["task"] for row in only(of_size, call)):
        yield speed_table(of_size, names, call, task)


def speed_table(rows: Sequence[Row], names: Names, call: str, task: str) -> Table:
    """Returns the table of one call and task at the study's own size, a step with its memory."""
    timed = only(rows, call, task)
    columns = [
        variant_column(names),
        Column("time", HEADS[call], True, show=value),
        Column("ratio", f"vs {BASELINE} [95 %]", True, show=ratio),
    ]
    if call not in WHOLE_RUNS:
        columns += _columns_of_memory(rows, call, task)
    where = task if len({row["task"] for row in rows}) > 1 else ""
    number_of_replicates = max(int(number(row["n"]) or 0) for row in timed)
    floor = floors(rows).get(call)
    shown_floor = wording.in_percent(floor) if floor else ""
    replicates = message("speed.blocks" if call in WHOLE_RUNS else "speed.processes", number_of_replicates)
    caption = message("speed.caption", MEASURES[call], where, replicates, shown_floor)
    return tabulated(columns, timed, caption, "speed.csv")


def _columns_of_memory(rows: Sequence[Row], call: str, task: str) -> list[Column]:
    """Returns the columns of the memory of a step, empty for other calls, and of FLOPs."""
    memory = {row["variant"]: row for row in only(rows, MEMORY, task) if call == STEP}
    return [
        Column("memory", HEADS[MEMORY], True, show=lambda row: value(memory.get(row["variant"]))),
        Column(
            "memory_ratio",
            f"vs {BASELINE}",
            True,
            show=lambda row: ratio(memory.get(row["variant"])),
            spare=True,
        ),
        Column("flops", "FLOPs", True, show=lambda row: shown(row["flops"], compact), spare=True),
    ]


def floors(rows: Sequence[Row]) -> dict[str, float]:
    """Returns call → the largest noise floor of the study's own size, a share of time, where it is known."""
    largest = {}
    for call in CALLS:
        floors_of_call = [number(row["noise_floor"]) for row in only(own(rows), call)]
        known = [floor for floor in floors_of_call if floor is not None]
        if known:
            largest[call] = max(known)
    return largest


def floor_words(rows: Sequence[Row]) -> str:
    """Returns the noise floor of each call in a sentence; empty where it is not known."""
    words = [message("speed.floor_of", floor, MEASURES[call]) for call, floor in floors(rows).items()]
    return message("speed.floor", words) if words else ""


def size_name(facts: StudyFacts) -> str:
    """Returns the name of the path whose values are the sizes, in words: `sequence length`."""
    speed = facts.of(SpeedFacts)
    return "size" if speed is None else spelled(text(speed.over))
