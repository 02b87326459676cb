"""How fast each variant is beside the baseline, and how much memory a training step of it takes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from ablate.base import wording
from ablate.core.facts import BASELINE
from ablate.features.speed import timing
from ablate.features.speed.section import SpeedFacts
from ablate.report.draw.marks import forest, padded, ticks
from ablate.report.palette import EXPLORATORY
from ablate.report.section import Block, Folded, Material, Picture, Section, Text, by_task
from ablate.report.tables import Row, Table, decimals, fixed, number, rows_of
from ablate.report.verdicts import Names, names_of
from ablate.report.words import say

MAX_NAMES = 3
"""The most variants that the answer names; the table has all."""
COPIES = "baseline, second copy"


class Speed(Section):
    """A figure and a table of the call that matters most, at the study's own size; the rest is folded."""

    place = 260
    title = "Speed"
    inside = "the time and the memory of each variant"
    needs_trials = False

    def applies(self, material: Material) -> bool:
        return len(material.table("speed")) > 0

    def answers(self, material: Material) -> list[str]:
        rows, names = timing.own(rows_of(material.table("speed"))), names_of(material.facts)
        call, tasks = timing.call_shown(rows), material.facts.tasks
        timed = {task.name: found for task in tasks if (found := timing.only(rows, call, task.name))}
        on = "{}: " if len(tasks) > 1 else ""
        return [on.format(task) + _sentence(call, found, names) for task, found in timed.items()]

    def findings(self, material: Material) -> list[str]:
        rows, speed = rows_of(material.table("speed")), SpeedFacts.of(material.facts)
        loud = speed is not None and any(floor > speed.margin for floor in timing.floors(rows).values())
        return [timing.floor_words(rows)] if loud else []

    def blocks(self, material: Material) -> Iterator[Block]:
        rows, names = rows_of(material.table("speed")), names_of(material.facts)
        own = timing.own(rows)
        first, said = timing.call_shown(own), timing.how_measured(material.evidence)
        for task, end, of in by_task(material.facts):
            timed = timing.only(own, first, task.name)
            if len(timed) > 1 and (data := ratios(names, timed))["value"].notna().any():
                call, title = timing.MEASURES[first], f"Time over the baseline’s{of}"
                caption = say("speed.ratio_caption", call, said)
                alt = say("speed.ratio_alt", call, len(timed) - 1, of)
                yield Picture(f"speed-ratios{end}", title, caption, alt, data, figure, [call])
        yield from timing.brief_tables(own, names)
        yield Text(f"{timing.floor_words(rows)} {say('speed.guide')}".strip(), aside=True)
        if others := list(_others(rows, first, names, timing.over(material.facts))):
            yield Folded(say("speed.more"), others)


def _others(rows: Sequence[Row], first: str, names: Names, over: str) -> Iterator[Table]:
    """The other calls at the study's own size, and all at every size."""
    own = timing.own(rows)
    sized = sorted((row for row in rows if number(row["size"]) is not None), key=lambda row: row["size"])
    for task in dict.fromkeys(row["task"] for row in rows):
        for call in timing.CALLS:
            if call != first and timing.only(own, call, task):
                yield timing.speed_table(own, names, call, task)
            if len({row["size"] for row in timing.only(sized, call, task)}) > 1:
                yield timing.speed_table(sized, names, call, task, over)


def _sentence(call: str, rows: Sequence[Row], names: Names) -> str:
    """`Generation takes 1.93 times as long with additive scoring as with the baseline, .80 times with 1 head.`"""
    decided = sorted(filter(timing.beyond, rows), key=lambda row: -abs(math.log(row["ratio"])))
    if not decided:
        return say("speed.alike", timing.MEASURES[call])
    said: list[str] = []
    for row in decided[:MAX_NAMES]:
        places = min(2, max(1, decimals(row["ci_low"], row["ci_high"]) - 1))
        said.append(say("speed.times", fixed(row["ratio"], places), names[row["variant"]], not said))
    return say("speed.answer", timing.MEASURES[call], said, max(0, len(decided) - MAX_NAMES))


def ratios(names: Names, rows: Sequence[Row]) -> pd.DataFrame:
    """Of rows of one call and task, the baseline's second copy first.

    Columns: variant, label, verdict (its mark), value, low, high, slack (as a ratio), told.
    """
    frame = pd.DataFrame(rows)
    copy, ends = frame["variant"] == frame["baseline"], {"ratio": "value", "ci_low": "low", "ci_high": "high"}
    return frame[["variant"]].assign(
        label=frame["variant"].map(names).mask(copy, COPIES),
        verdict=np.where(copy, BASELINE, EXPLORATORY),
        **{name: frame[column].astype(float) for column, name in ends.items()},
        slack=1 + frame["slack"].astype(float),
        told=[timing.ratio(row) for row in rows],
    )


def figure(data: pd.DataFrame, call: str) -> Figure:
    """A row a variant on a log axis; `data` is of `ratios`."""
    slack = float(data["slack"].max())
    ends = np.log([*data["low"].fillna(data["value"]), *data["high"].fillna(data["value"]), slack, 1 / slack])
    low, high = np.exp(padded(float(np.nanmin(ends)), float(np.nanmax(ends))))
    band = ((1 / slack, slack), "noise") if np.isfinite(slack) else None
    measured = f"time of {call} over the {BASELINE}’s, log scale, left is faster"
    result, (ax,) = forest(data, [(low, high)], measured, zero=1.0, band=band)
    ax.set_xscale("log")
    ax.set(xlim=(low, high))
    at = max((ticks(low, high, log=log, most=5) for log in (True, False)), key=len)
    ax.set_xticks(at, [f"×{wording.exact(round(tick, 6))}" for tick in at])
    ax.xaxis.set_minor_locator(NullLocator())
    return result
