"""Differences from the baseline: a forest plot."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from ablate.base import wording
from ablate.core.facts import Facts
from ablate.report.draw import rows
from ablate.report.draw.marks import Limits, views
from ablate.report.entries import entries
from ablate.report.palette import EXPLORATORY
from ablate.report.section import Block, Material, Picture, Section, by_task
from ablate.report.tables import difference
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
            closer, placebo = len(_limits(data, facts.margin, span)) > 1, bool(data["placebo"].any())
            caption = say(
                "figures.forest",
                facts.metric,
                level if data["low"].notna().any() else "",
                facts.margin,
                placebo,
                closer,
            )
            counts = data.loc[~data["placebo"], "verdict"].value_counts()
            alt = say("figures.forest_alt", len(data), facts.metric + of, list(counts.items()))
            options = facts.metric, facts.margin, span
            yield Picture(f"forest{end}", f"{self.title}{of}", caption, alt, data, figure, options)


def forest(facts: Facts, comparisons: pd.DataFrame, task: str) -> pd.DataFrame:
    """One row a comparison on the primary metric of a task, the planned ones first, placebos last.

    Columns: variant, label, placebo, verdict (`exploratory` of what was not planned), value, low, high, told.
    """
    mine = comparisons[(comparisons["task"] == task) & (comparisons["metric"] == facts.metric)]
    mine = mine.rename(columns={"diff": "value", "ci_low": "low", "ci_high": "high"})
    order = {entry.variant: i for i, entry in enumerate(entries(facts))}
    mine = mine.sort_values("variant", key=lambda names: names.map(order).fillna(-1), kind="stable")
    names, placebos = names_of(facts), [variant.name for variant in facts.variants if variant.placebo]
    return mine.assign(
        label=mine["variant"].map(lambda name: names.get(name, name)),
        placebo=mine["variant"].isin(placebos),
        verdict=mine["verdict"].mask(mine["exploratory"].astype(bool), EXPLORATORY),
        told=[difference(*row) for row in mine[["value", "low", "high"]].to_numpy(float)],
    )[["variant", "label", "placebo", "verdict", "value", "low", "high", "told"]].astype(
        dict.fromkeys(("value", "low", "high"), float)
    )


def figure(data: pd.DataFrame, metric: str, margin: float | None, span: float | None = None) -> Figure:
    """Paired differences with their intervals, over the margin and the placebo's interval.

    `data` is what `forest` returns, `span` the largest difference that the metric can show. Where a few differences
    dwarf the rest, a second axis looks closer.
    """
    band = ((-margin, margin), f"margin ±{wording.exact(margin)}") if margin else None
    placebo = data.loc[data["placebo"], ["low", "high"]].to_numpy(float).ravel()
    dotted = (placebo, "placebo") if len(placebo) and not np.isnan(placebo).any() else ((), "")
    measured = f"difference in {metric}, right is better"
    return rows.forest(data, _limits(data, margin, span), measured, band=band, dotted=dotted)[0]


def _limits(data: pd.DataFrame, margin: float | None, span: float | None) -> list[Limits]:
    """Of the views that show every interval as far as there can be such a difference."""
    # One seed has a difference but no interval.
    lows, highs = data["low"].fillna(data["value"]), data["high"].fillna(data["value"])
    reach = math.inf if span is None else max(span, data["value"].abs().max())
    return views(lows.clip(-reach), highs.clip(upper=reach), (-margin, margin) if margin else (0.0, 0.0))
