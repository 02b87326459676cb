"""The evaluations of kept weights, made without training again."""

from __future__ import annotations

import math
import re
import statistics
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from ablate.core.facts import Facts
from ablate.records.evaluated import TEST
from ablate.report.section import Block, Material, Section, Text
from ablate.report.tables import NOTHING, Column, Table, fixed
from ablate.report.words import say


class KeptWeights(Section):
    """A table of the evaluations, and which were left out."""

    place = 300
    title = "From kept weights"
    inside = "evaluations of the trained models, without training again"

    def blocks(self, material: Material) -> Iterator[Block]:
        if material.evaluated and (table := evaluation_table(material.evaluated.rows, material.facts)):
            yield from (table, Text(say("cost.weights_guide"), aside=True))
        if material.left_out:
            yield Text(material.left_out, aside=True)


def evaluation_table(rows: Sequence[Mapping[str, Any]], facts: Facts) -> Table | None:
    """A row per variant, task and slice: mean ± standard deviation over seeds of each metric; None without rows.

    Numbers of single layers are left to the file.
    """
    found = pd.DataFrame(rows, columns=["variant", "task", "slice", "metric", "value"])
    found = found[~found["metric"].str.contains("/", regex=False)]
    if found.empty:
        return None
    order = {variant.name: i for i, variant in enumerate(facts.variants)}
    metrics = found["metric"].unique()
    cells = []
    for (variant, task, of), mine in found.groupby(["variant", "task", "slice"]):
        values = {metric: list(group) for metric, group in mine.groupby("metric")["value"]}
        cells.append(
            {"variant": variant, "task": task, "slice": of, "n": str(max(map(len, values.values())))}
            | {metric: _spread(values.get(metric, [])) for metric in metrics}
        )
    # By variant, its own task first, then in the order of the slices.
    cells.sort(key=lambda c: (order.get(c["variant"], len(order)), c["task"], c["slice"] != TEST, c["slice"]))
    columns = [
        Column("variant", "Variant"),
        *([Column("task", "Task")] if len(facts.tasks) > 1 else []),
        Column("slice", "Slice", words=True),
        Column("n", "Seeds", True),
        *(Column(metric, metric.replace("_", " ").capitalize(), True) for metric in metrics),
    ]
    shown = [cell | {"slice": re.sub(r"(^|, )task\.", r"\1", cell["slice"])} for cell in cells]
    return Table(columns, shown, say("cost.weights"), "evaluation.csv")


def _spread(values: Sequence[float]) -> str:
    finite = [value for value in values if math.isfinite(value)]
    if not finite:
        return NOTHING
    mean = fixed(statistics.fmean(finite), 3)
    return mean if len(finite) == 1 else f"{mean} ± {fixed(statistics.stdev(finite), 3)}"
