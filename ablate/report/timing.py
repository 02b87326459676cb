"""How fast variants are, in words and as tables: for the page, the terminal, MLflow and papers."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence

from ablate.base import wording
from ablate.core.evidence import Evidence
from ablate.core.facts import BASELINE, Facts
from ablate.core.short_names import in_short_names
from ablate.core.speed import BUSY, COLUMNS, LEAST, SpeedFacts
from ablate.report.palette import EXPLORATORY
from ablate.report.tables import (
    NOTHING,
    Column,
    Row,
    Table,
    decimals,
    fixed,
    interval,
    is_true,
    number,
    shown,
    text,
)

STEP, MEMORY = "step_seconds", "step_memory"
CALLS = {
    STEP: "a training step",
    "forward_seconds": "a forward pass",
    "generation_seconds": "generation",
}
"""What was timed, what matters first, as a sentence names it."""
MEASURES = {**CALLS, MEMORY: "the peak memory of a step"}
HEADS = {
    STEP: "Step",
    "forward_seconds": "Forward pass",
    "generation_seconds": "Generation",
    MEMORY: "Memory",
}
WORDS = {"better": "faster", "worse": "slower"}
"""Of verdicts about time."""
LESS = {"better": "less", "worse": "more"}
"""Of verdicts about memory."""
MAX_PLACES = 3
"Of a ratio."


def verdict(row: Row) -> str:
    """As it is shown: `slower` of time, `more` of memory."""
    found = text(row["verdict"])
    return (LESS if row["metric"] == MEMORY else WORDS).get(found, found)


def ratio(row: Row) -> str:
    """`×1.93 [1.90, 1.96]`, to the digits of its interval."""
    low, high = row["ci_low"], row["ci_high"]
    places = min(decimals(low, high), MAX_PLACES)
    found, *ends = (fixed(end, places) for end in (row["ratio"], low, high))
    if found == NOTHING:
        return NOTHING
    # Memory hardly varies.
    return f"×{found}" + (f" {interval(low, high, places)}" if len({*ends}) > 1 else "")


def value(row: Row, side: str = "variant") -> str:
    """`3.21 ms` or `12.4 MB`."""
    memory = row["metric"] == MEMORY
    return shown(
        row[f"value_{side}"], lambda known: wording.size(round(known)) if memory else wording.seconds(known)
    )


def own(rows: Sequence[Row]) -> list[Row]:
    """Those at the size that the study trains."""
    return [row for row in rows if is_true(row["own"])]


def of(rows: Sequence[Row], metric: str, task: str | None = None) -> list[Row]:
    """Those of one metric, and of one task."""
    return [row for row in rows if row["metric"] == metric and task in (None, row["task"])]


def call_shown(rows: Sequence[Row]) -> str:
    """The call that is shown where there is room for one: a training step where it was timed."""
    return next((call for call in CALLS if of(rows, call)), STEP)


def on_task(rows: Sequence[Row], task: str) -> str:
    """` on recall`, where there are several tasks."""
    return f" on {text(task)}" if len({row["task"] for row in rows}) > 1 else ""


def brief_tables(rows: Sequence[Row], names: Mapping[str, str]) -> Iterator[Table]:
    """Time and memory of a training step at the study's own size, a table a task, in 80 columns."""
    rows = own(rows)
    call = call_shown(rows)
    for task in dict.fromkeys(row["task"] for row in rows):
        timed = of(rows, call, task)
        memory = {row["variant"]: value(row) for row in of(rows, MEMORY, task)}
        columns = [
            Column("variant", "Variant"),
            Column("time", HEADS[call], True),
            Column("ratio", f"vs {BASELINE} [95 %]", True),
            # Under the key of a verdict it would carry a filled mark, which is for those of the families.
            Column("said", "Verdict"),
            *([Column("memory", HEADS[MEMORY], True)] if memory else []),
        ]
        cells = [
            {
                "variant": text(names.get(row["variant"], row["variant"])),
                "time": value(row),
                "ratio": ratio(row) if row["variant"] != row["baseline"] else NOTHING,
                "said": verdict(row) or NOTHING,
                "memory": memory.get(row["variant"], NOTHING),
            }
            for row in timed
        ]
        n = max((int(number(row["n"]) or 0) for row in timed), default=0)
        noise = "".join(f", noise floor {wording.in_percent(floor)}" for floor in floors(timed).values())
        caption = f"speed: {MEASURES[call]}{on_task(rows, task)}, {_processes(n)}{noise}; {EXPLORATORY}"
        yield Table(columns, cells, caption, "speed.csv")


def speed_table(
    rows: Sequence[Row], metric: str, facts: Facts, names: Mapping[str, str], *, sized: bool = False
) -> Table:
    """Rows of `analysis.speed` on one call as strings, a step with its memory; task and size where they vary."""
    mine = of(rows, metric)
    memory = (
        {(r["variant"], r["task"], number(r["size"])): r for r in of(rows, MEMORY)} if metric == STEP else {}
    )
    over = speed.over.rpartition(".")[2] if (speed := SpeedFacts.of(facts)) else ""
    columns = [
        Column("variant", "Variant"),
        *([Column("task", "Task")] if len({row["task"] for row in mine}) > 1 else []),
        *([Column("size", over or "Size", True)] if sized else []),
        Column("time", "Time", True),
        Column("ratio", f"vs {BASELINE} [95 %]", True),
        Column("verdict", "Verdict", words=True),
        Column("examples", "Examples/s", True),
        Column("flops", "FLOPs", True),
        *(
            [Column("memory", "Memory", True), Column("memory_ratio", "Memory vs baseline", words=True)]
            if memory
            else []
        ),
        *([] if sized else [Column("parameters", "Parameters", True)]),
        Column("note", "Note", below=True),
    ]
    cells = []
    alike = shared_notes(mine)
    for row in mine:
        taken = memory.get((row["variant"], row["task"], number(row["size"])))
        cells.append(
            {
                "variant": text(row["variant"]),
                "task": text(row["task"]),
                "size": shown(row["size"], wording.brief),
                "time": value(row),
                "ratio": ratio(row),
                "verdict": _marked(row),
                "examples": shown(row["examples_per_second"], compact),
                "flops": shown(row["flops"], compact),
                "memory": NOTHING if taken is None else value(taken),
                "memory_ratio": NOTHING
                if taken is None or row["variant"] == row["baseline"]
                else f"{ratio(taken)}, {verdict(taken)}",
                "parameters": shown(row["parameters"], lambda count: f"{count:,.0f}"),
                "note": "; ".join(own_notes(row, alike, names)),
            }
        )
    caption = "; ".join([f"{_capital(MEASURES[metric])} of each variant", EXPLORATORY, *alike])
    return Table(columns, cells, caption, "speed.csv")


def shared_notes(rows: Sequence[Row]) -> list[str]:
    """What is noted of every row, to be said once in the caption."""
    notes = [_pieces(row) for row in rows]
    return [piece for piece in notes[0] if all(piece in note for note in notes)]


def own_notes(row: Row, shared: Collection[str], names: Mapping[str, str]) -> list[str]:
    """What is noted of a row and not of all."""
    return [in_short_names(piece, names) for piece in _pieces(row) if piece not in shared]


def _pieces(row: Row) -> list[str]:
    """The notes of a row, but for how busy the machine was, which `how_measured` says of all."""
    found = text(row["note"]).split("; ")
    return [piece for piece in found if piece and not piece.startswith("other processes kept")]


def _marked(row: Row) -> str:
    if row["variant"] == row["baseline"]:
        return "two copies"
    return f"{verdict(row)} ({EXPLORATORY})"


def compact(amount: float) -> str:
    """`369k`, to three digits."""
    return wording.compact(amount, 3) if amount >= 1 else wording.significant(amount)


def _processes(count: int) -> str:
    return f"{count} process{'' if count == 1 else 'es'}"


def _capital(words: str) -> str:
    return words[:1].upper() + words[1:]


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
    found = floors(rows)
    if not found:
        return ""
    each = wording.joined(
        [f"{wording.in_percent(floor)} ({MEASURES[call]})" for call, floor in found.items()]
    )
    return (
        f"Two copies of the {BASELINE} differ by up to {each}: the noise floor. Nothing below it, or below "
        f"{wording.in_percent(LEAST)}, is called faster or slower."
    )


def how_measured(evidence: Evidence) -> str:
    """In how many processes and blocks, on what, and beside what, in a sentence or two; empty: nothing was timed."""
    speed, timed = SpeedFacts.of(evidence.facts), evidence.frame("speed", COLUMNS)
    if speed is None or timed.empty:
        return ""
    blocks, busy = timed["blocks"].astype(float).median(), timed["busy"].astype(float).mean()
    on = f" of {text(speed.machine)}" if speed.machine else ""
    beside = (
        f" Other programs kept {wording.significant(busy)} cores busy meanwhile, on average."
        if busy >= BUSY
        else ""
    )
    return (
        f"Timed in {_processes(timed['process'].nunique())}, one after the other, each with {blocks:.0f} blocks in "
        f"random order, interleaved with those of the {BASELINE}, on {wording.counted(speed.threads, 'thread')}{on}; "
        f"the unit is the process.{beside}"
    )


def more_differ(count: int) -> str:
    """`; 2 more differ`; nothing of none."""
    return f"; {count} more {'differs' if count == 1 else 'differ'}" if count > 0 else ""
