"""How fast each variant is beside the baseline, how much memory a step takes, and how both grow with the size."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ablate.core.facts import BASELINE, Facts
from ablate.features.speed.ratios import size_name
from ablate.features.speed.section import SpeedFacts
from ablate.features.speed.tables import (
    CALLS,
    HEADS,
    MEASURES,
    beyond,
    brief_tables,
    call_shown,
    floor_words,
    floors,
    in_units,
    only,
    own,
    ratio,
    speed_table,
    with_interval,
)
from ablate.report.draw import style
from ablate.report.draw.marks import ticks, unit_label
from ablate.report.draw.panels import MAX_CURVES, entries, lines, looks, ticked
from ablate.report.section import Block, Folded, Material, Picture, Section, Text, by_task
from ablate.report.verdicts import Names, names_of, variant_column
from ablate.report.words import NOTHING, Column, Row, Table, fixed, rows_of, say, tabulated

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Speed(
    Section, place=260, title="Speed", inside="the time and the memory of each variant", needs_trials=False
):
    """A table of the call that matters most, at the study's own size; the others are folded."""

    def applies(self, material: Material) -> bool:
        return len(material.table("speed")) > 0

    def answers(self, material: Material) -> list[str]:
        rows, names = own(rows_of(material.table("speed"))), names_of(material.facts)
        call, tasks, found = call_shown(rows), material.facts.tasks, []
        for task in tasks:
            decided = [row for row in only(rows, call, task.name) if beyond(row)]
            decided.sort(key=lambda row: -abs(math.log(row["ratio"])))
            ratios = [say("speed.times", ratio(row), names[row["variant"]]) for row in decided]
            found.append(say("speed.answer", task.name if len(tasks) > 1 else "", MEASURES[call], ratios))
        return found

    def findings(self, material: Material) -> list[str]:
        rows, speed = rows_of(material.table("speed")), SpeedFacts.of(material.facts)
        return [floor_words(rows)] if speed and max(floors(rows).values(), default=0) > speed.margin else []

    def blocks(self, material: Material) -> Iterator[Block]:
        rows, names = own(rows_of(material.table("speed"))), names_of(material.facts)
        first = call_shown(rows)
        yield from brief_tables(rows, names)
        yield Text(f"{floor_words(rows)} {say('speed.guide')}".strip(), aside=True)
        others = dict.fromkeys(
            (row["task"], row["metric"]) for row in rows if row["metric"] in {*CALLS} - {first}
        )
        if found := [speed_table(rows, names, call, task) for task, call in others]:
            yield Folded(say("speed.more"), found)


class Scaling(
    Section, place=265, title="Scaling", inside="how time and memory grow with the size", needs_trials=False
):
    """A figure a task, and the slopes."""

    def applies(self, material: Material) -> bool:
        return len(material.table("scaling")) > 0

    def answers(self, material: Material) -> list[str]:
        """The slope of the baseline, and those whose intervals do not meet its own."""
        rows, names, found = rows_of(material.table("scaling")), names_of(material.facts), []
        call, size = call_shown(rows), size_name(material.facts)
        for base in (row for row in only(rows, call) if row["variant"] == BASELINE):
            apart = [
                row
                for row in only(rows, call, base["task"])
                # By more than processors differ in rounding.
                if max(row["ci_low"] - base["ci_high"], base["ci_low"] - row["ci_high"]) > 1e-9
            ]
            powers = [(fixed(row["slope"], 2), names[row["variant"]]) for row in (base, *apart)]
            task = base["task"] if len(material.facts.tasks) > 1 else ""
            found += [say("speed.grows", task, MEASURES[call], size, powers)] if apart else []
        return found

    def blocks(self, material: Material) -> Iterator[Block]:
        facts, size = material.facts, size_name(material.facts)
        slopes = rows_of(material.table("scaling"))
        for task, end, of in by_task(facts):
            data, left = by_size(material.table("speed"), task.name)
            if len(data):
                yield Picture(
                    f"scaling{end}",
                    f"{self.title}{of}",
                    say("speed.scaling_caption", size, left),
                    say("speed.scaling_alt", size, of),
                    data,
                    scaling_figure,
                    (facts, size),
                )
                yield slope_table([row for row in slopes if row["task"] == task.name], names_of(facts), size)


def slope_table(rows: Sequence[Row], names: Names, size: str) -> Table:
    """Of one task: a row a variant and a column a call, and one for memory."""
    cells: dict[str, dict[str, str]] = {}
    for row in rows:
        said = with_interval(row["slope"], row["ci_low"], row["ci_high"])
        cells.setdefault(row["variant"], dict.fromkeys(MEASURES, NOTHING))[row["metric"]] = said
    columns = [variant_column(names), *(Column(m, HEADS[m], True) for m in MEASURES)]
    return tabulated(
        columns,
        [{"variant": variant, **found} for variant, found in cells.items()],
        say("speed.slopes", size),
        "scaling.csv",
    )


def by_size(speeds: pd.DataFrame, task: str) -> tuple[pd.DataFrame, int]:
    """The value of each variant by size and metric, those furthest from the baseline where there are many.

    Columns: variant, metric, size, value, low, high (its ends, without width). Also, how many variants are left out.
    """
    mine = speeds[(speeds["task"] == task) & speeds["size"].notna()]
    mine = mine.drop_duplicates(["variant", "metric", "size"]).sort_values("size", kind="stable")
    far = np.log(mine["ratio"].astype(float)).abs().groupby(mine["variant"]).max()
    order = far.drop(BASELINE, errors="ignore").sort_values(ascending=False).index
    grown = mine.groupby("metric")["size"].transform("nunique") > 1
    shown = mine[grown & mine["variant"].isin([BASELINE, *order[: MAX_CURVES - 1]])].reset_index(drop=True)
    values = shown["value_variant"].astype(float)
    shown = shown[["variant", "metric", "size"]].assign(value=values, low=values, high=values)
    return shown, max(0, len(order) - MAX_CURVES + 1)


def scaling_figure(data: pd.DataFrame, facts: Facts, size: str) -> Figure:
    """A panel a call, and one for memory; `data` is of `by_size`."""
    metrics, timed = [m for m in MEASURES if m in set(data["metric"])], set(data["variant"])
    shown = looks([entry for entry in entries(facts) if entry.variant in timed])
    result = style.new_figure(len(metrics) * 1.7 + 0.3 + 0.14 * -(-len(shown) // 2))
    sizes: list[Any] = sorted(set(data["size"]))
    axes = result.subplots(len(metrics), sharex=True, squeeze=False)[:, 0]
    for ax, metric in zip(axes, metrics, strict=True):
        rows, said = data[data["metric"] == metric], in_units(metric)
        ax.set(xscale="log", yscale="log", title=HEADS[metric])
        lines(ax, rows, shown, "size", "value", marker="o", ms=2.5)
        ax.set(**ticked(sizes))
        at = ticks(float(rows["value"].min()), float(rows["value"].max()), log=True, most=5)
        ax.set_yticks(at, [unit_label(value, said) for value in at])
        ax.minorticks_off()
    style.legend(result, [look.handle(marker="o", ms=2.5) for name, look in shown.items() if name in timed])
    result.supxlabel(f"{size}, log scale", size=style.SMALL)
    return result
