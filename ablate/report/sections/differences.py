"""Differences from the baseline: a forest plot."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ablate.base import wording
from ablate.core.facts import Facts
from ablate.report.draw import marks, style
from ablate.report.draw.marks import Limits, views
from ablate.report.draw.panels import entries
from ablate.report.draw.style import DOTTED, EXPLORATORY, MARKS, colour
from ablate.report.section import Block, Material, Picture, Section, by_task
from ablate.report.verdicts import compared_with, level_of, names_of, planned_rows, row_name
from ablate.report.words import (
    difference,
    in_lines,
    rows_of,
    say,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Forest(Section, place=50, title="Differences", open=True):
    """A figure a task."""

    def blocks(self, material: Material) -> Iterator[Block]:
        facts, level = material.facts, level_of(planned_rows(material.comparisons))
        for task, end, of in by_task(facts):
            data = forest(facts, material.comparisons, task.name)
            if data["value"].isna().all():
                continue
            counts = data.loc[~data["placebo"], "verdict"].value_counts()
            alt = say("figures.forest_alt", len(data), facts.metric + of, list(counts.items()))
            # Those that were planned before others.
            rank = 2 * data["placebo"] + (data["verdict"] != EXPLORATORY)
            data, left = marks.largest(data, data["value"].abs() + rank * data["value"].abs().max())
            span = task.metrics[facts.metric].span
            caption = say(
                "figures.forest",
                facts.metric,
                compared_with(facts),
                level if data["low"].notna().any() else "",
                facts.margin,
                bool(data["placebo"].any()),
                len(_views(data, facts.margin, span)) > 1,
                left,
                facts.given,
            )
            yield Picture(
                f"forest{end}",
                f"{self.title}{of}",
                caption,
                alt,
                data,
                draw_forest,
                (facts.metric, facts.margin, span),
            )


def forest(facts: Facts, comparisons: pd.DataFrame, task: str) -> pd.DataFrame:
    """One row a comparison on the primary metric of a task, the planned ones first, placebos last.

    Columns: variant, label, placebo, verdict (`exploratory` of what was not planned), value, low, high, told.
    """
    found = comparisons[(comparisons["task"] == task) & (comparisons["metric"] == facts.metric)]
    found = found.rename(columns={"diff": "value", "ci_low": "low", "ci_high": "high"})
    order = {entry.variant: i for i, entry in enumerate(entries(facts))}
    placebos = [variant.name for variant in facts.variants if variant.placebo]
    found = found.assign(
        placebo=found["variant"].isin(placebos), order=found["variant"].map(order).fillna(-1)
    ).sort_values(["placebo", "exploratory", "order"], kind="stable")
    ends, names = ["value", "low", "high"], names_of(facts)
    return found.assign(
        label=[row_name(row, names) for row in rows_of(found)],
        verdict=found["verdict"].mask(found["exploratory"].astype(bool), EXPLORATORY),
        told=[difference(*row) for row in found[ends].to_numpy(float)],
    )[["variant", "label", "placebo", "verdict", *ends, "told"]].astype(dict.fromkeys(ends, float))


def draw_forest(data: pd.DataFrame, metric: str, margin: float | None, span: float | None = None) -> Figure:
    """Paired differences with their intervals, over the margin and the placebo's interval.

    `data` is what `forest` returns, `span` the largest difference that the metric can show. Where a few differences
    dwarf the rest, a second axis looks closer.
    """
    # A row each: a variant may be compared with several.
    labels = [in_lines(label, marks.LABEL, 2) for label in data["label"]]
    data, shown = data.assign(y=np.arange(len(data), dtype=float)), _views(data, margin, span)
    figure, found = marks.axes(labels, shown, f"difference in {metric}, right is better")
    placebo = data.loc[data["placebo"], ["low", "high"]].dropna().to_numpy(float).ravel()
    for ax, limits in zip(found, shown, strict=True):
        if margin:
            ax.axvspan(-margin, margin, color=colour("band"), lw=0, zorder=0)
        ax.axvline(0.0, color=colour("ink"), lw=0.8, zorder=1)
        for edge in placebo:
            ax.axvline(edge, color=colour("soft"), lw=0.9, ls=DOTTED, zorder=1)
        for verdict, rows in data.groupby("verdict", sort=False):
            mark, shade = MARKS[verdict].marker, colour(MARKS[verdict].colour)
            ax.hlines(rows["y"], rows["low"], rows["high"], color=shade, lw=1.6)
            ax.scatter(rows["value"], rows["y"], s=30, marker=mark, fc=shade, ec="white", lw=0.6, zorder=4)
        ax.set(xlim=limits)
    # A narrow figure, in a column of a paper, leaves them to the table.
    if style.width() >= style.WIDTH:
        marks.write_right(found[-1], dict(zip(data["y"], data["told"], strict=True)), colour("ink"))
    handles = [
        style.handle(name, marker=mark.marker, color=colour(mark.colour), ls="", mec="white", mew=0.6)
        for name, mark in MARKS.items()
        if name in set(data["verdict"])
    ]
    handles += [style.handle("interval", color=colour("soft"), lw=1.6)]
    if margin:
        margins = f"margin ±{wording.exact(margin)}"
        handles += [style.handle(margins, color=colour("band"), lw=7, solid_capstyle="butt")]
    handles += [style.handle("placebo", color=colour("soft"), lw=0.9, ls=DOTTED)] if len(placebo) else []
    style.legend(figure, handles)
    return figure


def _views(data: pd.DataFrame, margin: float | None, span: float | None) -> list[Limits]:
    """Those that show every interval as far as `span`, beyond which no difference can be."""
    reach = math.inf if span is None else max(span, data["value"].abs().max())
    # One seed has a difference but no interval.
    low, high = (data[end].fillna(data["value"]).clip(-reach, reach) for end in ("low", "high"))
    return views(low, high, (-margin, margin) if margin else (0.0, 0.0))
