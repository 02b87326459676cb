"""Differences from the baseline: a forest plot."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from ablate.base import wording
from ablate.core.facts import BASELINE, Facts
from ablate.report.draw import style
from ablate.report.draw.hover import named, tell
from ablate.report.draw.marks import Limits, verdict_handles, verdicts, views
from ablate.report.draw.rows import axes, placed, write_right
from ablate.report.entries import entries
from ablate.report.palette import DOTTED, EXPLORATORY, colour
from ablate.report.section import Block, Material, Picture, Section, by_task
from ablate.report.tables import difference


class Forest(Section):
    """A figure a task."""

    place = 50
    title = "Differences from the baseline"
    open = True

    def blocks(self, material: Material) -> Iterator[Block]:
        facts = material.facts
        for task, end, of in by_task(facts):
            data = forest(facts, material.comparisons, task.name)
            if not data["diff"].isna().all():
                span = task.metrics[facts.metric].span if facts.metric in task.metrics else None
                caption, alt = _caption(data, facts, span), _alt(data, facts.metric + of)
                options = facts.metric, facts.margin, span
                yield Picture(f"forest{end}", f"{self.title}{of}", caption, alt, data, figure, options)


def _caption(data: pd.DataFrame, facts: Facts, span: float | None) -> str:
    margin = f" The band is the margin, ±{wording.exact(facts.margin)}." if facts.margin else ""
    floor = " Dotted: the interval of the placebo." if data["placebo"].any() else ""
    closer = (
        " The right axis looks closer at most of them; its arrows point to what it leaves out."
        if len(_limits(data, facts.margin, span)) > 1
        else ""
    )
    return (
        f"Mean paired difference in {facts.metric} from the baseline with the interval that decides; right of zero "
        f"is better.{margin}{floor}{closer}"
    )


def _alt(data: pd.DataFrame, measured: str) -> str:
    counts = data["verdict"].value_counts()
    verdicts = ", ".join(f"{n} {verdict}" for verdict, n in counts.items())
    return f"Forest plot of {len(data)} differences from the baseline in {measured}: {verdicts}."


def forest(facts: Facts, comparisons: pd.DataFrame, task: str) -> pd.DataFrame:
    """One row a variant, in the order of `entries`: its place and its comparison on the primary metric.

    Columns: variant, group, label, placebo, verdict (or `exploratory`), diff, ci_low, ci_high. Of a design that crosses
    its factors the main effects, by their levels. Variants without a comparison on `task` are left out.
    """
    places = pd.DataFrame([vars(e) for e in entries(facts)], columns=["variant", "group", "label", "placebo"])
    numbers = ["diff", "ci_low", "ci_high"]
    mine = comparisons[(comparisons["task"] == task) & (comparisons["metric"] == facts.metric)]
    mine = mine.assign(verdict=mine["verdict"].mask(mine["exploratory"].astype(bool), EXPLORATORY))
    effects = mine[mine["baseline"] != BASELINE]
    if len(effects):
        levels = effects["variant"].str.rpartition("=")
        mine = effects
        places = pd.DataFrame(
            {"variant": mine["variant"], "group": levels[0], "label": mine["variant"], "placebo": False}
        )
    mine = mine.drop_duplicates("variant")[["variant", "verdict", *numbers]]
    return places.merge(mine, on="variant", how="inner").astype(dict.fromkeys(numbers, float))


def figure(data: pd.DataFrame, metric: str, margin: float | None, span: float | None = None) -> Figure:
    """Paired differences with their intervals, over the margin and the placebo's interval.

    `data` is what `forest` returns, `span` the largest difference that the metric can show. Where a few differences
    dwarf the rest, a second axis looks closer.
    """
    heights, labels = placed(data)
    data = data.assign(y=data["variant"].map(heights))
    limits = _limits(data, margin, span)
    result, found = axes(labels, limits, f"difference in {metric}, right is better", pitch=0.24)
    told = [difference(*row) for row in data[["diff", "ci_low", "ci_high"]].itertuples(index=False)]
    words = [
        f"{named(label, variant)}\n{verdict}: {numbers}"
        for label, variant, verdict, numbers in zip(
            data["label"], data["variant"], data["verdict"], told, strict=True
        )
    ]
    for ax in found:
        _view(ax, data, margin)
        tell(ax, data["diff"], data["y"], words)
    # A narrow figure, in a column of a paper, leaves them to the table.
    if style.width() >= style.WIDTH:
        write_right(found[-1], dict(zip(data["y"], told, strict=True)), colour("ink"))
    result.legend(handles=_handles(data, margin), loc="outside upper left", ncols=4)
    return result


def _limits(data: pd.DataFrame, margin: float | None, span: float | None) -> list[Limits]:
    """Of the views that show every interval as far as there can be such a difference."""
    # One seed has a difference but no interval.
    lows, highs = data["ci_low"].fillna(data["diff"]), data["ci_high"].fillna(data["diff"])
    reach = math.inf if span is None else max(span, data["diff"].abs().max())
    return views(lows.clip(-reach), highs.clip(upper=reach), (-margin, margin) if margin else (0.0, 0.0))


def _view(ax: Axes, data: pd.DataFrame, margin: float | None) -> None:
    if margin:
        ax.axvspan(-margin, margin, color=colour("band"), lw=0, zorder=0)
    ax.axvline(0.0, color=colour("ink"), lw=0.8, zorder=1)
    for edge in data.loc[data["placebo"], ["ci_low", "ci_high"]].to_numpy().ravel():
        ax.axvline(edge, color=colour("soft"), lw=0.9, ls=DOTTED, zorder=1)
    verdicts(ax, data, "diff", "y", "x", ("ci_low", "ci_high", 1.6))


def _handles(data: pd.DataFrame, margin: float | None) -> list[Any]:
    soft = colour("soft")
    band = Patch(color=colour("band"), lw=0, label=f"margin ±{wording.exact(margin or 0)}")
    placebo = Line2D([], [], color=soft, lw=0.9, ls=DOTTED, label="placebo")
    return [
        *verdict_handles(data["verdict"]),
        Line2D([], [], color=soft, lw=1.6, label="interval"),
        *([band] if margin else []),
        *([placebo] if data["placebo"].any() else []),
    ]
