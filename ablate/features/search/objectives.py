"""The objectives of a setting, from the records of its tuning seeds."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ablate.core.metric import Description, sign
from ablate.core.record import Record, on_validation
from ablate.features.search.table import Objective

# Statuses of a training that ended without a value, for a reason of its setting.
LOST = ("diverged", "failed")


def worst(objective: Objective) -> float:
    """The worst value that an objective can have."""
    return -sign(objective) * math.inf


def seed_value(record: Record, objective: Objective, at: str) -> float:
    """What one seed has of an objective that is a metric.

    One that diverged, or ran out of memory or time, counts as guessing if the metric declares the value of guessing.
    """
    if record.status in LOST and objective.floor is not None:
        return objective.floor
    return on_validation(record, objective.name, at)[0]


def reported(metrics: Mapping[str, float], metric: str) -> float:
    """Returns a metric of one report, on validation data if it has it; NaN if the report lacks the metric."""
    return float(metrics.get(f"validation_{metric}", metrics.get(metric, math.nan)))


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

    Where a seed that was lost has no value of guessing, or a completed one no value, the setting has the worst possible
    value. The row: `values` of the first objective by seed; `spread`, their standard deviation, or that of the first
    metric; `diverged` seeds; `own`, whether some metric was not measured on validation data.
    """
    lost = [record.status in LOST for record in records]
    metrics = [objective for objective in objectives if objective.measured]
    columns = {
        o.name: [
            worst(o) if gone and o.floor is None else seed_value(r, o, at)
            for r, gone in zip(records, lost, strict=True)
        ]
        for o in metrics
    }
    finite = [value for value in next(iter(columns.values()), []) if math.isfinite(value)]
    known: dict[str, float | None] = {
        "divergence_rate": sum(lost) / len(records),
        "seed_spread": float(np.std(finite, ddof=1)) if len(finite) > 1 else math.nan,
        **{name: getattr(description, name) for name in ("parameters", "flops", "compute")},
        **{name: float(np.mean(column)) for name, column in columns.items()},
    }
    values = [known[objective.name] for objective in objectives]
    own = any(on_validation(r, o.name, at)[1] == "own" for o in metrics for r in records)
    return [
        worst(o) if value is None or math.isnan(value) else float(value)
        for o, value in zip(objectives, values, strict=True)
    ], {
        "values": columns.get(objectives[0].name, [math.nan] * len(records)),
        "spread": known["seed_spread"],
        "diverged": sum(lost),
        "own": own,
    }
