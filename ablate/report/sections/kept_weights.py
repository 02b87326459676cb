"""What was found of kept weights, without training again."""

from __future__ import annotations

import math
import re
import statistics
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ablate.core.facts import Facts
from ablate.records.evaluated import TEST
from ablate.report.section import Block, Material, Section, Text
from ablate.report.tables import NOTHING, Column, Table, fixed

CAPTION = "Mean ± standard deviation over seeds, without training again; exploratory"
GUIDE = (
    "“Slice” is the test split of the study’s own task, or of one that differs as it says. “Attention entropy” is in "
    "nats, the mean over layers, heads and queries. “Head similarity” is one minus the Jensen–Shannon distance of two "
    "heads’ weights: 1 where all heads look alike, 0 where no two share a key."
)


class KeptWeights(Section):
    """A table of the evaluations, and which were left out."""

    place = 300
    title = "From kept weights"

    def blocks(self, material: Material) -> Iterator[Block]:
        if material.evaluated and (table := evaluation_table(material.evaluated.rows, material.facts)):
            yield from (table, Text(GUIDE, aside=True))
        if material.left_out:
            yield Text(material.left_out, aside=True)


def evaluation_table(rows: Sequence[Mapping[str, Any]], facts: Facts) -> Table | None:
    """A row per variant, task and slice: mean ± standard deviation over seeds of each metric; None without rows.

    Numbers of single layers are left to the file.
    """
    metrics = list(dict.fromkeys(row["metric"] for row in rows if "/" not in row["metric"]))
    if not metrics:
        return None
    order = {variant.name: i for i, variant in enumerate(facts.variants)}
    cells: dict[tuple[str, str, str], dict[str, list[float]]] = {}
    for row in rows:
        place = (row["variant"], row["task"], row["slice"])
        cells.setdefault(place, {}).setdefault(row["metric"], []).append(row["value"])
    columns = [
        Column("variant", "Variant"),
        *([Column("task", "Task")] if len(facts.tasks) > 1 else []),
        Column("slice", "Slice", words=True),
        Column("n", "Seeds", True),
        *(Column(metric, metric.replace("_", " ").capitalize(), True) for metric in metrics),
    ]
    # By variant, its own task first, then in the order of the slices.
    ordered = sorted(cells, key=lambda c: (order.get(c[0], len(order)), c[1], c[2] != TEST, c[2]))
    entries = [
        {
            "variant": variant,
            "task": task,
            "slice": re.sub(r"(^|, )task\.", r"\1", of),
            "n": str(max(map(len, cells[variant, task, of].values()))),
        }
        | {metric: _spread(cells[variant, task, of].get(metric, [])) for metric in metrics}
        for variant, task, of in ordered
    ]
    return Table(columns, entries, CAPTION)


def _spread(values: Sequence[float]) -> str:
    finite = [value for value in values if math.isfinite(value)]
    if not finite:
        return NOTHING
    mean = fixed(statistics.fmean(finite), 3)
    return mean if len(finite) == 1 else f"{mean} ± {fixed(statistics.stdev(finite), 3)}"
