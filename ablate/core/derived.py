"""Metrics that claims may use beside those of a task: rates over seeds, their spread, steps to a target.

Each is one entry of `DERIVED`, or of a feature's `metrics`: what it is, what a study must give for it, and its values
by seed. How a difference in it is decided depends on its kind; see `ablate.analysis.measures`. `runs` are those of one
variant on one task, an `ablate.analysis.runs.Side`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ablate.core.metric import Metric
from ablate.core.reason import Reason

Floats = NDArray[np.float64]
# mean: a number by seed, whose paired differences decide. rate: 0 or 1 by seed. spread: the standard deviation over
# seeds of the primary metric. ratio: measured apart from the runs, and compared by the log of ratios.
Kind = Literal["mean", "rate", "spread", "ratio"]


@dataclass(frozen=True)
class Offer:
    """What a study gives on one task."""

    metrics: Mapping[str, Metric]
    # Key of a feature → its section, or what the study keeps of it.
    asked: Mapping[str, Any] = field(default_factory=dict)
    rate_path: str | None = None  # The path of the learning rate; None where the workload has none.
    target: Mapping[str, float] = field(default_factory=dict)  # Metric → the value that counts as learned.


@dataclass(frozen=True)
class Derived:
    """One of them."""

    metric: Metric
    kind: Kind
    # Of the runs: the value on each seed, NaN where there is none; infinite where it counts with the metric's floor.
    # Of kind `spread` and `ratio` there is none by seed.
    by_seed: Callable[[Any], Floats] = lambda _: np.empty(0)
    # What a study would have to give for it, in a sentence; nothing where it does.
    lacks: Callable[[Offer], str] = lambda _: ""
    # Of the runs: why their values say nothing; None where they do.
    obstacle: Callable[[Any], Reason | None] = lambda _: None
    # The metric and the runs → the metric with what these runs tell of it.
    refined: Callable[[Metric, Any], Metric] = lambda metric, _: metric
    # Its own estimate of a difference, where the kind does not say it: of an `analysis` measure, the runs, and the
    # groups of variants.
    estimate: Callable[[Any, Any, Any], Any] | None = None
    # Of a measure and the runs: what a difference must exceed.
    slack: Callable[[Any, Any], float] = lambda measure, runs: 0.0
    described: bool = False  # Whether the table of stability has it.


def _needs_solved(offer: Offer) -> str:
    said = any(metric.solved is not None for metric in offer.metrics.values())
    return "" if said else "It takes a metric that says at which value the task counts as solved"


def _late(runs: Any) -> Reason | None:
    # What others would count with is more than it had time for.
    arrived, never = runs.arrived, int(np.isinf(runs.arrived.first).sum())
    if not never or arrived.trained == arrived.longest:
        return None
    return Reason("late", {"runs": never, "steps": arrived.trained, "longest": arrived.longest})


def _needs_target(offer: Offer) -> str:
    if offer.target.keys() & offer.metrics.keys():
        return ""
    name, metric = next(iter(offer.metrics.items()), ("accuracy", Metric("max")))
    value = 0.95 if metric.solved is None else metric.solved
    return f"Say which value of {name} counts as learned: metric: {{target: {value:g}}}"


# By name.
DERIVED: Mapping[str, Derived] = {
    "solved_rate": Derived(
        Metric("max", floor=0.0, ceiling=1.0),
        "rate",
        lambda runs: np.where(runs.ended, runs.solved, np.nan),
        _needs_solved,
    ),
    "divergence_rate": Derived(
        Metric("min", floor=1.0, ceiling=0.0),
        "rate",
        lambda runs: np.where(runs.ended, runs.status == "diverged", np.nan),
        described=True,
    ),
    "seed_spread": Derived(Metric("min"), "spread", described=True),
    "steps_to_target": Derived(
        Metric("min"),
        "mean",
        lambda runs: runs.arrived.first,
        _needs_target,
        _late,
        refined=lambda metric, runs: replace(
            metric, floor=runs.arrived.trained, resolution=runs.arrived.every
        ),
    ),
}
