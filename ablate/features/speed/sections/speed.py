"""How fast each variant is beside the baseline, how much memory a step takes, and how both grow with the size."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from ablate.base import wording
from ablate.core.facts import BASELINE, Facts
from ablate.features.speed import timing
from ablate.features.speed.section import SpeedFacts
from ablate.report.draw import style
from ablate.report.draw.marks import forest, padded, ticks, unit_label
from ablate.report.draw.panels import MAX_CURVES, entries, lines, looks
from ablate.report.draw.style import EXPLORATORY
from ablate.report.section import Block, Folded, Material, Picture, Section, Text, by_task
from ablate.report.verdicts import Names, names_of, variant_column
from ablate.report.words import NOTHING, Column, Row, Table, fixed, rows_of, say, tabulated

COPIES = "baseline, second copy"
HEIGHT = 1.7
"Inches of a panel."


class Speed(Section):
    """A figure and a table of the call that matters most, at the study's own size; the others are folded."""

    place = 260
    title = "Speed"
    inside = "the time and the memory of each variant"
    needs_trials = False

    def applies(self, material: Material) -> bool:
        return len(material.table("speed")) > 0

    def answers(self, material: Material) -> list[str]:
        rows, names = timing.own(rows_of(material.table("speed"))), names_of(material.facts)
        call, tasks, found = timing.call_shown(rows), material.facts.tasks, []
        for task in tasks:
            decided = [row for row in timing.only(rows, call, task.name) if timing.beyond(row)]
            decided.sort(key=lambda row: -abs(math.log(row["ratio"])))
            ratios = [say("speed.times", timing.ratio(row), names[row["variant"]]) for row in decided]
            found.append(
                say("speed.answer", task.name if len(tasks) > 1 else "", timing.MEASURES[call], ratios)
            )
        return found

    def findings(self, material: Material) -> list[str]:
        rows, speed = rows_of(material.table("speed")), SpeedFacts.of(material.facts)
        loud = speed is not None and any(floor > speed.margin for floor in timing.floors(rows).values())
        return [timing.floor_words(rows)] if loud else []

    def blocks(self, material: Material) -> Iterator[Block]:
        rows, names = timing.own(rows_of(material.table("speed"))), names_of(material.facts)
        first = timing.call_shown(rows)
        for task, end, of in by_task(material.facts):
            timed = timing.only(rows, first, task.name)
            if len(timed) > 1:
                caption, alt = say("speed.ratio_caption", timing.MEASURES[first]), say("speed.ratio_alt", of)
                data, title = ratios(names, timed), f"Time over the baseline’s{of}"
                yield Picture(f"speed-ratios{end}", title, caption, alt, data, ratio_figure, [first])
        yield from timing.brief_tables(rows, names)
        yield Text(f"{timing.floor_words(rows)} {say('speed.guide')}".strip(), aside=True)
        others = {
            (row["task"], row["metric"]): row for row in rows if row["metric"] in {*timing.CALLS} - {first}
        }
        if others:
            found = [timing.speed_table(rows, names, call, task) for task, call in others]
            yield Folded(say("speed.more"), found)


def ratios(names: Names, rows: Sequence[Row]) -> pd.DataFrame:
    """Of rows of one call and task, the baseline's second copy first.

    Columns: variant, label, verdict (its mark), value, low, high, slack (as a ratio), told.
    """
    frame = pd.DataFrame(rows).rename(columns={"ratio": "value", "ci_low": "low", "ci_high": "high"})
    copy = frame["variant"] == frame["baseline"]
    return frame[["variant", "value", "low", "high"]].assign(
        label=frame["variant"].map(names).mask(copy, COPIES),
        verdict=np.where(copy, BASELINE, EXPLORATORY),
        slack=1 + frame["slack"].astype(float),
        told=[timing.ratio(row) for row in rows],
    )


def ratio_figure(data: pd.DataFrame, call: str) -> Figure:
    """A row a variant on a log axis; `data` is of `ratios`."""
    slack = float(data["slack"].max())
    ends = np.log([*data["low"].fillna(data["value"]), *data["high"].fillna(data["value"]), slack, 1 / slack])
    low, high = np.exp(padded(float(np.nanmin(ends)), float(np.nanmax(ends))))
    band = ((1 / slack, slack), "noise") if np.isfinite(slack) else None
    measured = f"time of {timing.MEASURES[call]} over the {BASELINE}’s, log scale, left is faster"
    result, (ax,) = forest(data, [(low, high)], measured, zero=1.0, band=band)
    ax.set(xscale="log", xlim=(low, high))
    at = max((ticks(low, high, log=log, most=5) for log in (True, False)), key=len)
    ax.set_xticks(at, [f"×{wording.exact(round(tick, 6))}" for tick in at])
    ax.xaxis.set_minor_locator(NullLocator())
    return result


class Scaling(Section):
    """A figure a task, and the slopes."""

    place = 265
    title = "Scaling"
    inside = "how time and memory grow with the size"
    needs_trials = False

    def applies(self, material: Material) -> bool:
        return len(material.table("scaling")) > 0

    def answers(self, material: Material) -> list[str]:
        """The slope of the baseline, and those whose intervals do not meet its own."""
        rows, names, found = rows_of(material.table("scaling")), names_of(material.facts), []
        call, size = timing.call_shown(rows), timing.over(material.facts)
        for base in (row for row in timing.only(rows, call) if row["variant"] == BASELINE):
            mine = timing.only(rows, call, base["task"])
            apart = [
                row for row in mine if row["ci_low"] > base["ci_high"] or row["ci_high"] < base["ci_low"]
            ]
            powers = [(size, fixed(row["slope"], 2), names[row["variant"]]) for row in (base, *apart)]
            task = base["task"] if len(material.facts.tasks) > 1 else ""
            found += [say("speed.grows", task, timing.MEASURES[call], powers)] if apart else []
        return found

    def blocks(self, material: Material) -> Iterator[Block]:
        facts, size = material.facts, timing.over(material.facts)
        slopes = rows_of(material.table("scaling"))
        for task, end, of in by_task(facts):
            data, left = by_size(material.table("speed"), task.name)
            if len(data):
                caption, alt = say("speed.scaling_caption", size, left), say("speed.scaling_alt", size, of)
                options = facts, size
                yield Picture(
                    f"scaling{end}", f"{self.title}{of}", caption, alt, data, scaling_figure, options
                )
                yield slope_table([row for row in slopes if row["task"] == task.name], names_of(facts), size)


def slope_table(rows: Sequence[Row], names: Names, size: str) -> Table:
    """Of one task: a row a variant and a column a call, and one for memory."""
    cells: dict[str, dict[str, str]] = {}
    for row in rows:
        said = timing.with_interval(row["slope"], row["ci_low"], row["ci_high"])
        cells.setdefault(row["variant"], dict.fromkeys(timing.MEASURES, NOTHING))[row["metric"]] = said
    columns = [variant_column(names), *(Column(m, timing.HEADS[m], True) for m in timing.MEASURES)]
    variants = [{"variant": variant, **found} for variant, found in cells.items()]
    return tabulated(columns, variants, say("speed.slopes", size), "scaling.csv")


def by_size(speeds: pd.DataFrame, task: str) -> tuple[pd.DataFrame, int]:
    """The value of each variant by size and metric, those furthest from the baseline where there are many.

    Columns: variant, metric, size, value, low, high (its ends, without width). Also, how many variants are left out.
    """
    mine = speeds[(speeds["task"] == task) & speeds["size"].notna()]
    mine = mine.drop_duplicates(["variant", "metric", "size"]).sort_values("size", kind="stable")
    far = np.log(mine["ratio"].astype(float)).abs().groupby(mine["variant"]).max()
    order = far.drop(BASELINE, errors="ignore").sort_values(ascending=False).index
    grown = mine.groupby("metric")["size"].transform("nunique") > 1
    shown = mine[grown & mine["variant"].isin([BASELINE, *order[: MAX_CURVES - 1]])]
    shown = shown[["variant", "metric", "size"]].assign(value=shown["value_variant"].astype(float))
    shown = shown.assign(low=shown["value"], high=shown["value"]).reset_index(drop=True)
    return shown, max(0, len(order) - MAX_CURVES + 1)


def scaling_figure(data: pd.DataFrame, facts: Facts, size: str) -> Figure:
    """A panel a call, and one for memory; `data` is of `by_size`."""
    metrics, timed = [m for m in timing.MEASURES if m in set(data["metric"])], set(data["variant"])
    shown = looks([entry for entry in entries(facts) if entry.variant in timed])
    result = style.new_figure(len(metrics) * HEIGHT + 0.3 + 0.14 * -(-len(shown) // 2))
    sizes: list[Any] = sorted(set(data["size"]))
    for ax, metric in zip(
        result.subplots(len(metrics), sharex=True, squeeze=False)[:, 0], metrics, strict=True
    ):
        rows, in_units = data[data["metric"] == metric], timing.in_units(metric)
        ax.set(xscale="log", yscale="log", title=timing.HEADS[metric])
        lines(ax, rows, shown, "size", "value", marker="o", ms=2.5)
        ax.set_xticks(sizes[:: -(-len(sizes) // 6)], [f"{tick:g}" for tick in sizes[:: -(-len(sizes) // 6)]])
        at = ticks(float(rows["value"].min()), float(rows["value"].max()), log=True, most=5)
        ax.set_yticks(at, [unit_label(value, in_units) for value in at])
        ax.minorticks_off()
    style.legend(result, [look.handle(marker="o", ms=2.5) for name, look in shown.items() if name in timed])
    result.supxlabel(f"{size}, log scale", size=style.SMALL)
    return result
