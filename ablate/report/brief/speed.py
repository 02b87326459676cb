"""How fast each variant is beside the baseline, and how much memory a training step of it takes."""

from __future__ import annotations

import math
from collections.abc import Iterator

from ablate.core.facts import BASELINE
from ablate.core.short_names import short_names, with_name
from ablate.core.speed import SpeedFacts
from ablate.report import timing
from ablate.report.section import Block, Brief, Folded, Material, Section, Text
from ablate.report.tables import Row, Table, decimals, fixed, number, rows_of

MAX_NAMES = 3
"""The most variants that the answer names; the table has all."""
WITHIN = "How to read it"
GUIDE = (
    "The ratio is the time of the variant over that of the baseline, with its 95 % interval: below 1 is faster. FLOPs "
    "are those of the matrix products of one call on a batch; what parts compute beside them is under “What was "
    "compared”. Memory is the peak of a training step. Every row is exploratory; only claims are confirmed."
)


class Speed(Section):
    """A table a call at the study's own size; those of other sizes are folded."""

    place = 150
    title = "Speed"
    open = True
    needs_trials = False

    def applies(self, material: Material) -> bool:
        return len(material.speeds) > 0

    def answers(self, material: Material) -> list[str]:
        rows, names = timing.own(rows_of(material.speeds)), short_names(material.facts)
        call = timing.call_shown(rows)
        found = []
        for task in material.facts.tasks:
            decided = [r for r in timing.of(rows, call, task.name) if r["verdict"] in ("better", "worse")]
            decided.sort(key=lambda row: -abs(math.log(row["ratio"])))
            if timed := timing.of(rows, call, task.name):
                on = f"{task.name}: " if len(material.facts.tasks) > 1 else ""
                found.append(f"{on}{_sentence(call, decided, names, len(timed) - 1)}")
        return found

    def findings(self, material: Material) -> list[str]:
        speed = SpeedFacts.of(material.facts)
        loud = {
            call: floor
            for call, floor in timing.floors(rows_of(material.speeds)).items()
            if speed is not None and floor > speed.margin
        }
        if not loud:
            return []
        return [f"Speed: {timing.floor_words(rows_of(material.speeds))}"]

    def blocks(self, material: Material) -> Iterator[Block]:
        facts, rows = material.facts, rows_of(material.speeds)
        names, mine = short_names(facts), timing.own(rows)
        first = timing.call_shown(mine)
        yield timing.speed_table(mine, first, facts, names)
        yield Text(f"{timing.how_measured(material.evidence)} {timing.floor_words(rows)}".strip())
        others = [call for call in timing.CALLS if call != first and timing.of(mine, call)]
        if others:
            title = " and ".join(timing.HEADS[call].lower() for call in others).capitalize()
            yield Folded(title, [timing.speed_table(mine, call, facts, names) for call in others])
        sized = sorted((row for row in rows if number(row["size"]) is not None), key=lambda row: row["size"])
        if calls := [c for c in timing.CALLS if len({row["size"] for row in timing.of(sized, c)}) > 1]:
            tables = [timing.speed_table(sized, call, facts, names, sized=True) for call in calls]
            yield Folded("At every size", tables)
        yield Folded(WITHIN, [Text(GUIDE)])

    def brief(self, read: Brief) -> Iterator[Table]:
        yield from timing.brief_tables(read.speeds, read.names)


def _sentence(call: str, rows: list[Row], names: dict[str, str], variants: int) -> str:
    """`Generation takes 1.93 times as long with additive scoring as with the baseline, and .80 times with 1 head.`"""
    said: list[str] = []
    words = timing.MEASURES[call]
    for row in rows[:MAX_NAMES]:
        places = min(2, max(1, decimals(row["ci_low"], row["ci_high"]) - 1))
        own = with_name(names[row["variant"]])
        than = f"as long {own} as with the {BASELINE}" if not said else own
        said.append(f"{fixed(row['ratio'], places)} times {than}")
    if not said:
        return f"No variant was shown to be faster or slower in {words}."
    listed = said[0] if len(said) == 1 else f"{', '.join(said[:-1])}, and {said[-1]}"
    more = timing.more_differ(len(rows) - MAX_NAMES)
    silent = variants == len(said) or any(row["verdict"] == "better" for row in rows)
    none = "" if silent else "; none was shown to be faster"
    return f"{words[:1].upper()}{words[1:]} takes {listed}{more}{none}."
