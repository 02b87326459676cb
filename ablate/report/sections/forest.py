"""Differences from the baseline: a forest plot."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from ablate.base import wording
from ablate.core.facts import Facts
from ablate.report.draw.marks import Limits, verdict_handles, verdicts, views
from ablate.report.draw.rows import axes, placed, write_right
from ablate.report.entries import entries
from ablate.report.palette import DOTTED, EXPLORATORY, colour
from ablate.report.section import Block, Material, Picture, Section, by_task
from ablate.report.tables import difference


class Forest(Section):
    """A figure a task."""

    place = 600
    title = "Differences from the baseline"

    def blocks(self, material: Material) -> Iterator[Block]:
        facts = material.facts
        for task, end, of in by_task(facts):
            data = forest(facts, material.comparisons, task.name)
            if not data["diff"].isna().all():
                caption, alt = _caption(data, facts), _alt(data, facts.metric + of)
                options = facts.metric, facts.margin
                yield Picture(f"forest{end}", f"{self.title}{of}", caption, alt, data, figure, options)


def _caption(data: pd.DataFrame, facts: Facts) -> str:
    margin = f" The band is the margin, ±{wording.exact(facts.margin)}." if facts.margin else ""
    floor = " Dotted: the interval of the placebo, the noise floor." if data["placebo"].any() else ""
    return (
        f"Mean paired difference in {facts.metric} from the baseline over seeds, right of zero is better. Thick: "
        f"95 % interval; thin: at the level of the family, cut at the edge of the axis.{margin}{floor} "
        "Where a few differences dwarf the rest, the right axis looks closer, and an arrow points to what it "
        "leaves out."
    )


def _alt(data: pd.DataFrame, measured: str) -> str:
    counts = data.loc[~data["placebo"], "verdict"].value_counts()
    verdicts = ", ".join(f"{n} {verdict}" for verdict, n in counts.items())
    return f"Forest plot of {len(data)} differences from the baseline in {measured}: {verdicts}."


def forest(facts: Facts, comparisons: pd.DataFrame, task: str) -> pd.DataFrame:
    """One row a variant, in the order of `entries`: its place and its comparison on the primary metric.

    Columns: variant, group, label, placebo, verdict (of a placebo `exploratory`), diff, ci_low, ci_high, family_low,
    family_high. Variants without a comparison on `task` are left out.
    """
    places = pd.DataFrame([vars(e) for e in entries(facts)], columns=["variant", "group", "label", "placebo"])
    numbers = ["diff", "ci_low", "ci_high", "family_low", "family_high"]
    mine = comparisons[(comparisons["task"] == task) & (comparisons["metric"] == facts.metric)]
    mine = mine.drop_duplicates("variant")[["variant", "verdict", *numbers]]
    found = places.merge(mine, on="variant", how="inner").astype(dict.fromkeys(numbers, float))
    return found.assign(verdict=found["verdict"].mask(found["placebo"].astype(bool), EXPLORATORY))


def figure(data: pd.DataFrame, metric: str, margin: float | None) -> Figure:
    """Paired differences with their 95 % intervals and those of the family, over the margin and the placebo's interval.

    `data` is what `forest` returns. Where a few differences dwarf the rest, a second axis looks closer.
    """
    heights, labels = placed(data)
    data = data.assign(y=data["variant"].map(heights))
    # One seed has a difference but no interval.
    lows, highs = data["ci_low"].fillna(data["diff"]), data["ci_high"].fillna(data["diff"])
    always = (-margin, margin) if margin else (0.0, 0.0)
    limits = [_widened(view, data) for view in views(lows, highs, always)]
    result, found = axes(labels, limits, f"difference in {metric}, right is better", pitch=0.24)
    for ax in found:
        _view(ax, data, margin)
    told = [difference(*row) for row in data[["diff", "ci_low", "ci_high"]].itertuples(index=False)]
    write_right(found[-1], dict(zip(data["y"], told, strict=True)), colour("ink"))
    result.legend(handles=_handles(data, margin), loc="outside upper left", ncols=4)
    return result


def _widened(limits: Limits, data: pd.DataFrame) -> Limits:
    """Limits with room for the intervals of the family of what they show, at most half as wide again."""
    low, high = limits
    room = (high - low) / 4
    shown = data[(data["ci_low"] >= low) & (data["ci_high"] <= high)]
    least, most = shown["family_low"].min() - room / 10, shown["family_high"].max() + room / 10
    # In this order, a comparison with NaN keeps the limits.
    return min(low, max(least, low - room)), max(high, min(most, high + room))


def _view(ax: Axes, data: pd.DataFrame, margin: float | None) -> None:
    if margin:
        ax.axvspan(-margin, margin, color=colour("band"), lw=0, zorder=0)
    ax.axvline(0.0, color=colour("ink"), lw=0.8, zorder=1)
    for edge in data.loc[data["placebo"], ["ci_low", "ci_high"]].to_numpy().ravel():
        ax.axvline(edge, color=colour("soft"), lw=0.9, ls=DOTTED, zorder=1)
    family, own = ("family_low", "family_high", 0.8), ("ci_low", "ci_high", 2.4)
    verdicts(ax, data, "diff", "y", "x", family, own)


def _handles(data: pd.DataFrame, margin: float | None) -> list[Any]:
    soft = colour("soft")
    band = Patch(color=colour("band"), lw=0, label=f"margin ±{wording.exact(margin or 0)}")
    placebo = Line2D([], [], color=soft, lw=0.9, ls=DOTTED, label="placebo, 95 %")
    return [
        *verdict_handles(data["verdict"]),
        Line2D([], [], color=soft, lw=2.4, label="95 % interval"),
        Line2D([], [], color=soft, lw=0.8, label="of the family"),
        *([band] if margin else []),
        *([placebo] if data["placebo"].any() else []),
    ]
