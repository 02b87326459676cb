"""Margins so wide for their metric that nearly every variant is equivalent within them."""

from dataclasses import dataclass

import numpy as np

from ablate.analysis.paired import Floats, sd_of
from ablate.analysis.runs import Runs, Side
from ablate.core.facts import BASELINE, TaskFacts
from ablate.core.metric import Metric

SPREADS = 50.0
"""The standard deviations of the baseline's runs from which on a margin is wide."""
LEAST_RUNS = 3
"""The runs of the baseline from which their standard deviation says something."""
SHARE = 0.5
"""The share of the range of the metric from which on a margin is wide."""
POINTS = 100.0
"""The points of a share of 1."""


@dataclass(frozen=True)
class WideMargin:
    """A margin that is wide for the metric of a task, and by what."""

    margin: float
    spreads: float | None
    """The standard deviations of the baseline's runs that it is; None where that is no reason."""
    share: float | None
    """The share of the range of the metric that it is; None where that is no reason."""
    largest: float | None
    """The largest size of any run, where the margin is no smaller and nothing else is a reason."""
    in_points: float | None
    """The margin if it was meant in points of a share; None where the metric does not look like one."""


def wide_margin(runs: Runs, task: TaskFacts, name: str, margin: float | None) -> WideMargin | None:
    """Returns why a margin is wide for the metric `name` of a task; None where it is not."""
    if margin is None or name not in task.metrics:
        return None
    metric = task.metrics[name]
    values = [_finite_values(side, name) for side in runs.sides() if side.task.name == task.name]
    sizes = np.abs(np.concatenate(values)) if values else np.empty(0)
    if not len(sizes):
        return None

    spreads = _spreads(margin, _finite_values(runs.of(BASELINE, task), name), metric)
    is_share = _is_share(metric, sizes)
    span = 1.0 if metric.span is None and is_share else metric.span
    share = margin / span if span and margin >= SHARE * span else None
    is_largest = spreads is None and share is None and margin >= sizes.max() > 0
    if spreads is None and share is None and not is_largest:
        return None
    return WideMargin(
        margin=margin,
        spreads=spreads,
        share=share,
        largest=float(sizes.max()) if is_largest else None,
        in_points=margin / POINTS if is_share else None,
    )


def _finite_values(side: Side, name: str) -> Floats:
    """Returns the metric of the completed runs that have a finite value."""
    values = side.values(name)
    return values[~np.isnan(values)]


def _spreads(margin: float, values: Floats, metric: Metric) -> float | None:
    """Returns the standard deviations of the baseline's runs that a wide margin is."""
    if len(values) < LEAST_RUNS:
        return None
    spread = max(sd_of(values), metric.resolution)
    # Runs that are all the same show no noise.
    return margin / spread if 0 < spread <= margin / SPREADS else None


def _is_share(metric: Metric, sizes: Floats) -> bool:
    """Returns whether a metric is a share of 1, as far as it is declared and by the runs."""
    if metric.ceiling is not None and metric.ceiling != 1:
        return False
    return metric.direction == "max" and bool(sizes.max() <= 1)
