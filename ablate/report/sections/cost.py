"""The primary metric against what a variant costs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from ablate.analysis.paired import mean_interval
from ablate.analysis.runs import runs_of
from ablate.base import wording
from ablate.core.facts import Evidence, VariantFacts
from ablate.core.spelling import spelled
from ablate.report.figures.cost import CostAxis, against_cost
from ablate.report.figures.facets import figure_names
from ablate.report.section import Block, Picture, ReportData, Section, by_task
from ablate.report.tables.speed_tables import COSTS
from ablate.report.words import is_true, message, rows_of

FLOPS = "training_flops"
PARAMETERS = "parameters"
LEAST_SPREAD = 1.02
"""The largest cost over the smallest below which a figure would show nothing."""


def known_costs() -> list[CostAxis]:
    """Returns the costs that a figure may show, those known before training first."""
    return [
        CostAxis(FLOPS, "training FLOPs", partial(wording.compact, digits=3)),
        CostAxis(PARAMETERS, "parameters", partial(wording.compact, digits=6)),
        *(CostAxis(metric, label, say_value) for metric, (label, say_value) in COSTS.items()),
    ]


class Cost(Section, title="Against cost", inside="the mean of each variant against what it costs"):
    """A figure a task, with a panel a cost."""

    def blocks(self, report_data: ReportData) -> Iterator[Block]:
        metric = report_data.facts.metric
        for task, end, of in by_task(report_data.facts):
            if metric not in task.metrics:
                continue
            data = tradeoff(report_data.evidence, task.name, report_data.tables)
            shown = varying(data)
            if not shown:
                continue
            against = [cost.label for cost in shown]
            yield Picture(
                f"cost{end}",
                f"{self.title}{of}",
                message("figures.cost", metric, against),
                message("figures.cost_alt", metric, len(data), of, against),
                data,
                against_cost,
                (shown, task.metrics[metric], spelled(metric)),
            )


def varying(data: pd.DataFrame) -> list[CostAxis]:
    """Returns the costs of `tradeoff` in which its variants differ by at least 2 %; parameters where FLOPs do not."""
    costs = []
    for cost in known_costs():
        if cost.column in data and data[cost.column].max() >= LEAST_SPREAD * data[cost.column].min():
            costs.append(cost)
    if costs and costs[0].column == FLOPS:
        costs = [cost for cost in costs if cost.column != PARAMETERS]
    return costs


def tradeoff(evidence: Evidence, task: str, tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Returns a row a variant with completed runs, the baseline first, placebos left out.

    Columns: variant, label, the costs (NaN where unknown; those of `tables` at the study's own size), n, mean, low and
    high: mean of the primary metric over the completed runs, in its own units, with its marginal 95 % t interval (NaN
    for one run).
    """
    facts = evidence.facts
    names = figure_names(facts)
    costs = _costs(facts.variants, task, tables)
    columns = [cost.column for cost in known_costs()]
    placebos = facts.placebos
    rows: list[dict[str, Any]] = []
    for side in runs_of(evidence).sides():
        if side.task.name != task or side.variant in placebos:
            continue
        values = side.values(facts.metric)
        values = np.sort(values[~np.isnan(values)])
        if not len(values):
            continue
        mean, (low, high) = mean_interval(values)
        row: dict[str, Any] = {"variant": side.variant, "label": names[side.variant]}
        row |= {column: costs.get((side.variant, column)) for column in columns}
        rows.append(row | {"n": len(values), "mean": mean, "low": low, "high": high})
    found = pd.DataFrame(rows, columns=["variant", "label", *columns, "n", "mean", "low", "high"])
    return found.astype(dict.fromkeys((*columns, "mean", "low", "high"), float))


def _costs(
    variants: list[VariantFacts], task: str, tables: Mapping[str, pd.DataFrame]
) -> dict[tuple[str, str], float | None]:
    """Returns (variant, column of a cost) → its value on a task."""
    costs: dict[tuple[str, str], float | None] = {}
    timed = rows_of(tables["speed"]) if "speed" in tables else []
    for row in timed:
        if is_true(row["own"]) and row["task"] == task:
            costs[row["variant"], row["metric"]] = row["value_variant"]
    for variant in variants:
        costs[variant.name, PARAMETERS] = variant.parameters.get(task)
        flops = variant.training_flops.get(task)
        examples = variant.examples.get(task)
        costs[variant.name, FLOPS] = None if flops is None or examples is None else flops * examples
    return costs
