"""The objectives of a setting, from the records of its tuning seeds."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ablate.core.metric import Description, sign
from ablate.core.record import Record
from ablate.core.search_table import Objective

NAN = math.nan
LOST = ("diverged", "failed")
"""Statuses of a training that ended without a value, for a reason of its setting."""


def worst(objective: Objective) -> float:
    """The worst value that an objective can have."""
    return -sign(objective) * math.inf


def measured(record: Record, metric: str, at: str) -> tuple[float, str]:
    """Returns a metric of one finished trial, NaN if it has no value, and its source.

    The source is `validation`, or `own` if the workload does not measure the metric on validation data. `at` is `last`,
    or `best_validation`: the step at which it was best on validation.
    """
    name = f"validation_{metric}"
    curve = record.curves.get(name)
    if at == "best_validation" and curve is not None:
        step = record.metrics.get(f"{metric}_best_step")
        found = curve.values[curve.steps == step] if step is not None else []
        if len(found):
            return float(found[0]), "validation"
    if name in record.metrics:
        return _number(record.metrics[name]), "validation"
    if curve is not None and len(curve.values):
        return float(curve.values[-1]), "validation"
    own = f"{metric}_at_{at}" if at != "last" and f"{metric}_at_{at}" in record.metrics else metric
    return _number(record.metrics.get(own)), "own"


def _number(value: float | None) -> float:
    return NAN if value is None else float(value)


def reported(metrics: Mapping[str, float], metric: str) -> float:
    """Returns a metric of one report, on validation data if it has it; NaN if the report lacks the metric."""
    return _number(metrics.get(f"validation_{metric}", metrics.get(metric)))


def intermediate(record: Record, metric: str) -> dict[int, float]:
    """Step → value on validation data, as the trial reported it.

    An evaluation at which a trial diverged was not reported any more.
    """
    curve = record.curves.get(f"validation_{metric}", record.curves.get(metric))
    if curve is None:
        return {}
    found = {int(step): float(value) for step, value in zip(curve.steps, curve.values, strict=True)}
    last = (c.values[-1] for n, c in record.curves.items() if n.startswith("validation_") and len(c.values))
    if found and record.status == "diverged" and not all(map(math.isfinite, last)):
        found.popitem()
    return found


def summarised(
    records: Sequence[Record], objectives: Sequence[Objective], description: Description, at: str
) -> tuple[list[float], dict[str, Any]]:
    """Returns the value of each objective, and more for the row of a setting; that of a metric is its mean over seeds.

    A seed that diverged, or ran out of memory or time, counts as guessing if the metric declares the value of
    guessing. If it does not, or if a completed seed has no value, the setting has the worst possible value. The row:
    `values` of the first objective by seed; `spread`, their standard deviation, or that of the first metric;
    `diverged` seeds; `own`, whether some metric was not measured on validation data.
    """
    lost = [record.status in LOST for record in records]
    own = False
    by_seed: list[list[float]] = []
    for objective in objectives:
        column = [NAN] * len(records)
        if objective.source in ("validation", "own"):
            found = [measured(record, objective.name, at) for record in records]
            own |= any(source == "own" for _, source in found)
            floor = worst(objective) if objective.floor is None else objective.floor
            column = [floor if gone else value for gone, (value, _) in zip(lost, found, strict=True)]
        by_seed.append(column)
    metric = next((column for column in by_seed if not np.isnan(column).all()), [])
    finite = [value for value in metric if math.isfinite(value)]
    spread = float(np.std(finite, ddof=1)) if len(finite) > 1 else NAN
    known = {"divergence_rate": sum(lost) / len(records), "seed_spread": spread}
    known |= {name: _number(getattr(description, name)) for name in ("parameters", "flops", "compute")}
    values = [
        float(np.mean(column)) if objective.source in ("validation", "own") else known[objective.name]
        for objective, column in zip(objectives, by_seed, strict=True)
    ]
    values = [worst(o) if math.isnan(value) else value for o, value in zip(objectives, values, strict=True)]
    return values, {"values": by_seed[0], "spread": spread, "diverged": sum(lost), "own": own}
