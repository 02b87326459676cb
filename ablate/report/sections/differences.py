"""Differences from the baseline: a forest plot, and over training steps."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from ablate.analysis.learning import trajectory
from ablate.base import wording
from ablate.core.facts import Facts
from ablate.report.draw import marks
from ablate.report.draw.marks import Limits, views
from ablate.report.draw.panels import Entry, Look, entries, left_out, lines, multiples, panels
from ablate.report.palette import EXPLORATORY, colour
from ablate.report.section import Block, Material, Picture, Section, by_task
from ablate.report.tables import (
    difference,
)
from ablate.report.verdicts import level_of, names_of, planned_rows
from ablate.report.words import say


class Forest(Section):
    """A figure a task."""

    place = 50
    title = "Differences from the baseline"
    open = True

    def blocks(self, material: Material) -> Iterator[Block]:
        facts, level = material.facts, level_of(planned_rows(material.comparisons))
        for task, end, of in by_task(facts):
            data = forest(facts, material.comparisons, task.name)
            if data["value"].isna().all():
                continue
            span = task.metrics[facts.metric].span if facts.metric in task.metrics else None
            closer, placebo = len(_views(data, facts.margin, span)) > 1, bool(data["placebo"].any())
            known = level if data["low"].notna().any() else ""
            caption = say("figures.forest", facts.metric, known, facts.margin, placebo, closer)
            counts = data.loc[~data["placebo"], "verdict"].value_counts()
            alt = say("figures.forest_alt", len(data), facts.metric + of, list(counts.items()))
            options = facts.metric, facts.margin, span
            yield Picture(f"forest{end}", f"{self.title}{of}", caption, alt, data, draw_forest, options)


def forest(facts: Facts, comparisons: pd.DataFrame, task: str) -> pd.DataFrame:
    """One row a comparison on the primary metric of a task, the planned ones first, placebos last.

    Columns: variant, label, placebo, verdict (`exploratory` of what was not planned), value, low, high, told.
    """
    found = comparisons[(comparisons["task"] == task) & (comparisons["metric"] == facts.metric)]
    found = found.rename(columns={"diff": "value", "ci_low": "low", "ci_high": "high"})
    order = {entry.variant: i for i, entry in enumerate(entries(facts))}
    found = found.sort_values("variant", key=lambda names: names.map(order).fillna(-1), kind="stable")
    placebos = [variant.name for variant in facts.variants if variant.placebo]
    ends = ["value", "low", "high"]
    return found.assign(
        label=found["variant"].replace(names_of(facts)),
        placebo=found["variant"].isin(placebos),
        verdict=found["verdict"].mask(found["exploratory"].astype(bool), EXPLORATORY),
        told=[difference(*row) for row in found[ends].to_numpy(float)],
    )[["variant", "label", "placebo", "verdict", *ends, "told"]].astype(dict.fromkeys(ends, float))


def draw_forest(data: pd.DataFrame, metric: str, margin: float | None, span: float | None = None) -> Figure:
    """Paired differences with their intervals, over the margin and the placebo's interval.

    `data` is what `forest` returns, `span` the largest difference that the metric can show. Where a few differences
    dwarf the rest, a second axis looks closer.
    """
    band = ((-margin, margin), f"margin ±{wording.exact(margin)}") if margin else None
    placebo = data.loc[data["placebo"], ["low", "high"]].to_numpy(float).ravel()
    dotted = (placebo, "placebo") if len(placebo) and not np.isnan(placebo).any() else ((), "")
    measured = f"difference in {metric}, right is better"
    return marks.forest(data, _views(data, margin, span), measured, band=band, dotted=dotted)[0]


def _views(data: pd.DataFrame, margin: float | None, span: float | None) -> list[Limits]:
    """Of the views that show every interval as far as there can be such a difference."""
    # One seed has a difference but no interval.
    lows, highs = data["low"].fillna(data["value"]), data["high"].fillna(data["value"])
    reach = math.inf if span is None else max(span, data["value"].abs().max())
    return views(lows.clip(-reach), highs.clip(upper=reach), (-margin, margin) if margin else (0.0, 0.0))


class OverSteps(Section):
    """A figure a task."""

    place = 650
    title = "Difference over training steps"
    inside = "whether a variant is worse or only slower"

    def blocks(self, material: Material) -> Iterator[Block]:
        facts, found = material.facts, trajectory(material.evidence)
        shown = panels(facts, material.comparisons)
        for task, end, of in by_task(facts):
            data = found[found["task"] == task.name]
            if shown and data["step"].nunique() > 1:
                caption = say("figures.over_steps", facts.metric, facts.margin, left_out(facts, shown))
                alt = say("figures.over_steps_alt", of, len(shown))
                known = task.metrics.get(facts.metric)
                options = shown, facts.metric, facts.margin, known.span if known else None
                yield Picture(
                    f"over-steps{end}", f"{self.title}{of}", caption, alt, data, draw_over_steps, options
                )


def draw_over_steps(
    data: pd.DataFrame,
    shown: Mapping[str, Sequence[Entry]],
    metric: str,
    margin: float | None,
    span: float | None = None,
) -> Figure:
    """In each panel the levels of one factor; `data` is what `trajectory` returns, of one task.

    `span` is the largest difference that the metric can show, at which intervals are cut.
    """
    if span is not None:
        reach = max(span, data["diff"].abs().max())
        data = data.assign(low=data["low"].clip(-reach), high=data["high"].clip(upper=reach))

    def draw(ax: Axes, of: dict[str, Look]) -> None:
        if margin:
            ax.axhspan(-margin, margin, color=colour("band"), lw=0, zorder=0)
        ax.axhline(0.0, color=colour("ink"), lw=0.8, zorder=1)
        lines(ax, data, of, "step", "diff")
        ax.xaxis.set_major_locator(MaxNLocator(4, integer=True))

    return multiples(shown, set(data["variant"]), draw, "step", f"difference in {metric}")
