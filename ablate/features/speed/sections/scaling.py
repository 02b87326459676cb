"""How time and memory of each variant grow with the size."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from ablate.core.facts import BASELINE, Facts
from ablate.features.speed import timing
from ablate.report.draw import style
from ablate.report.draw.marks import ticks, unit_label
from ablate.report.draw.panels import MAX_CURVES, Look, entries, looks
from ablate.report.draw.style import named, tell
from ablate.report.palette import colour
from ablate.report.section import Block, Material, Picture, Section, by_task
from ablate.report.tables import NOTHING, Column, Row, Table, decimals, fixed, rows_of, tabulated, text
from ablate.report.verdicts import Names, names_of
from ablate.report.words import say

HEIGHT = 1.7
"Inches of a panel."
MAX_TICKS = 6
"Sizes that are written at an axis."


class Scaling(Section):
    """A figure a task, and the slopes."""

    place = 265
    title = "Scaling"
    inside = "how time and memory grow with the size"
    needs_trials = False

    def applies(self, material: Material) -> bool:
        return len(material.table("scaling")) > 0

    def answers(self, material: Material) -> list[str]:
        facts, names, found = material.facts, names_of(material.facts), []
        slopes, size = rows_of(material.table("scaling")), timing.over(material.facts)
        call = timing.call_shown(slopes)
        for task in facts.tasks:
            rows = apart(timing.only(slopes, call, task.name))
            powers = [say("speed.power", size, power(row), names[row["variant"]]) for row in rows]
            on = f"{task.name}: " if len(facts.tasks) > 1 else ""
            found += [say("speed.grows", on, timing.MEASURES[call], powers)] if len(powers) > 1 else []
        return found

    def blocks(self, material: Material) -> Iterator[Block]:
        facts, size = material.facts, timing.over(material.facts)
        slopes = rows_of(material.table("scaling"))
        for task, end, of in by_task(facts):
            data, left = lines(material.table("speed"), task.name)
            if len(data):
                caption = say("speed.scaling_caption", size, left)
                alt = say("speed.scaling_alt", data["variant"].nunique(), data["size"].nunique(), of)
                yield Picture(f"scaling{end}", f"{self.title}{of}", caption, alt, data, figure, (facts, size))
                yield slope_table([row for row in slopes if row["task"] == task.name], names_of(facts), size)


def apart(rows: Sequence[Row]) -> list[Row]:
    """Of slopes that of the baseline, and those whose intervals lie beside its own, the furthest first."""
    mine = [row for row in rows if row["variant"] == BASELINE]
    for base in mine:
        others = [row for row in rows if row["ci_low"] > base["ci_high"] or row["ci_high"] < base["ci_low"]]
        return [base, *sorted(others, key=lambda row: -abs(row["slope"] - base["slope"]))]
    return mine


def power(row: Row) -> str:
    """A slope to the digits of its interval, at most two decimals."""
    return fixed(row["slope"], min(2, decimals(row["ci_low"], row["ci_high"])))


def slope_table(rows: Sequence[Row], names: Names, size: str) -> Table:
    """Of one task: a row a variant and a column a call, and one for memory."""
    cells: dict[str, dict[str, str]] = {}
    for row in rows:
        said = timing.with_interval(row["slope"], row["ci_low"], row["ci_high"])
        cells.setdefault(row["variant"], dict.fromkeys(timing.MEASURES, NOTHING))[row["metric"]] = said
    columns = [Column("variant", "Variant", show=lambda row: text(names[row["variant"]]))]
    columns += [Column(metric, timing.HEADS[metric], True) for metric in timing.MEASURES]
    variants = [{"variant": variant, **found} for variant, found in cells.items()]
    return tabulated(columns, variants, say("speed.slopes", size), "scaling.csv")


def lines(speeds: pd.DataFrame, task: str) -> tuple[pd.DataFrame, int]:
    """The value of each variant by size and metric, those furthest from the baseline where there are many.

    Columns: variant, metric, size, value. Also, how many variants are left out.
    """
    mine = speeds[(speeds["task"] == task) & speeds["size"].notna()]
    mine = mine.drop_duplicates(["variant", "metric", "size"])
    far = np.log(mine["ratio"].astype(float)).abs().groupby(mine["variant"]).max()
    order = far.drop(BASELINE, errors="ignore").sort_values(ascending=False).index
    kept = {BASELINE, *order[: MAX_CURVES - 1]}
    grown = mine.groupby("metric")["size"].transform("nunique") > 1
    shown = mine[grown & mine["variant"].isin(kept)].rename(columns={"value_variant": "value"})
    shown = shown[["variant", "metric", "size", "value"]].astype({"size": float, "value": float})
    return shown.sort_values("size", kind="stable", ignore_index=True), max(0, len(order) + 1 - len(kept))


def figure(data: pd.DataFrame, facts: Facts, size: str) -> Figure:
    """A panel a call, and one for memory; `data` is of `lines`."""
    metrics, timed = [m for m in timing.MEASURES if m in set(data["metric"])], set(data["variant"])
    across = min(2, len(metrics))
    shown = [entry for entry in entries(facts) if entry.variant in timed]
    drawn = {name: look for name, look in looks(shown).items() if name in timed}
    height = -(-len(metrics) // across) * HEIGHT * (1.4 if across == 1 else 1.1)
    result = style.new_figure(height + 0.3 + 0.14 * -(-len(drawn) // 2))
    # Three leave one place of four empty.
    names: list[Any] = [[*metrics, "."][row : row + across] for row in range(0, len(metrics), across)]
    for metric, ax in result.subplot_mosaic(names, sharex=True).items():
        _panel(ax, data[data["metric"] == metric], drawn, metric, size)
        ax.xaxis.set_tick_params(labelbottom=metric in metrics[-across:])
    style.legend(result, [look.handle(marker="o", ms=2.5) for look in drawn.values()])
    result.supxlabel(f"{size}, log scale", size=style.SMALL)
    return result


def _panel(ax: Axes, data: pd.DataFrame, drawn: dict[str, Look], metric: str, size: str) -> None:
    shown = timing.in_units(metric)
    for variant, look in drawn.items():
        rows, name = data[data["variant"] == variant], named(look.label, variant)
        ax.plot(rows["size"], rows["value"], color=look.colour, ls=look.style, marker="o", ms=2.5)
        told = [f"{name}\n{size} {at:g}: {shown(value)}" for at, value in rows[["size", "value"]].to_numpy()]
        tell(ax, rows["size"], rows["value"], told)
    ax.set(xscale="log", yscale="log", title=timing.HEADS[metric])
    sizes = sorted(set(data["size"]))
    at = sizes[:: -(-len(sizes) // (MAX_TICKS if style.width() >= style.WIDTH else MAX_TICKS // 2))]
    ax.set_xticks(at, [f"{tick:g}" for tick in at])
    at = ticks(float(data["value"].min()), float(data["value"].max()), log=True, most=5)
    ax.set_yticks(at, [unit_label(value, shown) for value in at])
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_minor_locator(NullLocator())
    ax.grid(axis="y", color=colour("line"), lw=0.3)
