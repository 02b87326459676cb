"""How time and memory of each variant grow with the size."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import NullLocator

from ablate.base import wording
from ablate.core.facts import BASELINE, Facts
from ablate.core.short_names import short_names, with_name
from ablate.core.speed import SpeedFacts
from ablate.report import timing
from ablate.report.draw import style
from ablate.report.draw.hover import named, tell
from ablate.report.draw.panels import Look, looks
from ablate.report.draw.settings import ticks, unit_label
from ablate.report.entries import MAX_CURVES, entries
from ablate.report.palette import colour
from ablate.report.section import Block, Material, Picture, Section, by_task
from ablate.report.tables import (
    NOTHING,
    Column,
    Row,
    Table,
    decimals,
    fixed,
    interval,
    rows_of,
    shortened,
    text,
)

HEIGHT = 1.7
"Inches of a panel."
MAX_TICKS = 6
"Sizes that are written at an axis."
MAX_SLOPES = 4
"Slopes in the answer."
LABEL = 30
"Characters of the name of a variant."
SLOPES = (
    "Slope of log time, or log memory, over log {}, with its 95 % interval: 1 is proportional, 2 quadratic"
)


class Scaling(Section):
    """A figure a task, and the slopes."""

    place = 160
    title = "Scaling"
    open = True
    needs_trials = False

    def applies(self, material: Material) -> bool:
        return len(material.scaling) > 0

    def answers(self, material: Material) -> list[str]:
        facts, names = material.facts, short_names(material.facts)
        found = []
        for task in facts.tasks:
            slopes = [row for row in rows_of(material.scaling) if row["task"] == task.name]
            call = timing.call_shown(slopes)
            mine = [*apart(timing.of(slopes, call))]
            if not mine:
                continue
            on = f"{task.name}: " if len(facts.tasks) > 1 else ""
            grows = [
                f"{over(facts)}^{power(row)} {with_name(names[row['variant']])}" for row in mine[:MAX_SLOPES]
            ]
            words = (
                f"{on}the time of {timing.MEASURES[call]} grows as "
                f"{wording.joined(grows)}{'; no other slope can be told from it' * (len(mine) == 1)}"
                f"{timing.more_differ(len(mine) - MAX_SLOPES)}"
            )
            found.append(f"{words[:1].upper()}{words[1:]}.")
        return found

    def blocks(self, material: Material) -> Iterator[Block]:
        facts = material.facts
        for task, end, of in by_task(facts):
            data, left = lines(facts, material.speeds, task.name)
            if data.empty:
                continue
            sizes = sorted(set(data["size"]))
            fewer = f" Of {left + MAX_CURVES} variants, those furthest from the baseline are shown." * bool(
                left
            )
            caption = (
                f"Time and peak memory of each variant by {over(facts)}, both axes logarithmic: geometric means over "
                f"processes.{fewer}"
            )
            alt = f"Time and memory of {data['variant'].nunique()} variants at {len(sizes)} sizes{of}."
            yield Picture(
                f"scaling{end}", f"{self.title}{of}", caption, alt, data, figure, (facts, over(facts))
            )
            yield slope_table([row for row in rows_of(material.scaling) if row["task"] == task.name], facts)


def over(facts: Facts) -> str:
    """The end of the path whose values are the sizes."""
    return text(speed.over.rpartition(".")[2]) if (speed := SpeedFacts.of(facts)) else "size"


def apart(rows: Sequence[Row]) -> Iterator[Row]:
    """Of slopes that of the baseline, and those whose intervals lie beside its own, the furthest first."""
    base = next((row for row in rows if row["variant"] == BASELINE), None)
    if base is None:
        return
    yield base
    others = [row for row in rows if row["ci_low"] > base["ci_high"] or row["ci_high"] < base["ci_low"]]
    yield from sorted(others, key=lambda row: -abs(row["slope"] - base["slope"]))


def power(row: Row) -> str:
    """A slope to the digits of its interval, at most two decimals."""
    return fixed(row["slope"], min(2, decimals(row["ci_low"], row["ci_high"])))


def slope_table(rows: Sequence[Row], facts: Facts) -> Table:
    """Of one task: a row a variant and a column a call, and one for memory."""
    metrics = [metric for metric in timing.MEASURES if timing.of(rows, metric)]
    slopes = {(row["variant"], row["metric"]): row for row in rows}
    columns = [
        Column("variant", "Variant"),
        *(Column(metric, timing.HEADS[metric], True) for metric in metrics),
    ]
    cells = [
        {"variant": text(variant)} | {metric: _slope(slopes.get((variant, metric))) for metric in metrics}
        for variant in dict.fromkeys(row["variant"] for row in rows)
    ]
    return Table(columns, cells, SLOPES.format(over(facts)), "scaling.csv")


def _slope(row: Row | None) -> str:
    if row is None:
        return NOTHING
    places = min(3, decimals(row["ci_low"], row["ci_high"]))
    found, *ends = (fixed(row[name], places) for name in ("slope", "ci_low", "ci_high"))
    return found + (f" {interval(row['ci_low'], row['ci_high'], places)}" if len({*ends}) > 1 else "")


def lines(facts: Facts, speeds: pd.DataFrame, task: str) -> tuple[pd.DataFrame, int]:
    """The value of each variant by size and metric, those furthest from the baseline where there are many.

    Columns: variant, metric, size, value. Also, how many variants are left out.
    """
    mine = speeds[(speeds["task"] == task) & speeds["size"].notna()]
    mine = mine.drop_duplicates(["variant", "metric", "size"])
    far = (
        np.log(mine["ratio"].astype(float)).abs().groupby(mine["variant"]).max().sort_values(ascending=False)
    )
    kept = [BASELINE, *[name for name in far.index if name != BASELINE][: MAX_CURVES - 1]]
    grown = mine.groupby("metric")["size"].transform("nunique") > 1
    shown = mine[grown & mine["variant"].isin(kept)].rename(columns={"value_variant": "value"})
    shown = shown[["variant", "metric", "size", "value"]].astype({"size": float, "value": float})
    return shown.sort_values("size", kind="stable").reset_index(drop=True), max(0, len(far) - len(kept))


def figure(data: pd.DataFrame, facts: Facts, size: str) -> Figure:
    """A panel a call, and one for memory; `data` is of `lines`."""
    metrics = [metric for metric in timing.MEASURES if metric in set(data["metric"])]
    across = 1 if len(metrics) == 1 else 2
    down = -(-len(metrics) // across)
    shown = [entry for entry in entries(facts) if entry.variant in set(data["variant"])]
    of = {name: look for name, look in looks(shown).items() if name in set(data["variant"])}
    result = style.new_figure(down * HEIGHT * (1.4 if across == 1 else 1.1) + 0.3 + 0.14 * -(-len(of) // 2))
    found = result.subplots(down, across, sharex=True, squeeze=False).ravel()
    for ax, metric in zip(found, metrics, strict=False):
        _panel(ax, data[data["metric"] == metric], of, metric, size)
    for ax in found[len(metrics) :]:
        ax.remove()
    for ax in found[: len(metrics)][-across:]:
        ax.xaxis.set_tick_params(labelbottom=True)
    handles = [
        Line2D(
            [],
            [],
            color=look.colour,
            ls=look.style,
            marker="o",
            ms=2.5,
            label=shortened(text(look.label), LABEL),
        )
        for look in of.values()
    ]
    result.legend(handles=handles, loc="outside upper left", ncols=2)
    result.supxlabel(f"{size}, log scale", size=style.SMALL)
    return result


def _panel(ax: Axes, data: pd.DataFrame, of: Mapping[str, Look], metric: str, size: str) -> None:
    say = (lambda value: wording.size(round(value))) if metric == timing.MEMORY else wording.seconds
    for variant, look in of.items():
        rows = data[data["variant"] == variant]
        ax.plot(rows["size"], rows["value"], color=look.colour, ls=look.style, marker="o", ms=2.5)
        told = zip(rows["size"], rows["value"], strict=True)
        name = named(look.label, variant)
        tell(ax, rows["size"], rows["value"], [f"{name}\n{size} {at:g}: {say(value)}" for at, value in told])
    ax.set(xscale="log", yscale="log")
    sizes = sorted(set(data["size"]))
    most = MAX_TICKS if style.width() >= style.WIDTH else MAX_TICKS // 2
    shown = sizes[:: -(-len(sizes) // most)]
    ax.set_xticks(shown, [f"{at:g}" for at in shown])
    at = ticks(float(data["value"].min()), float(data["value"].max()), log=True, most=5)
    ax.set_yticks(at, [unit_label(value, say) for value in at])
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_minor_locator(NullLocator())
    ax.grid(axis="y", color=colour("line"), lw=0.3)
    head = timing.HEADS[metric]
    ax.set_title(head if metric != timing.MEMORY else "Peak memory of a step", size=style.SMALL)
