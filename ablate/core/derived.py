"""Metrics that claims may use beside those of a task: rates over seeds, their spread, learning-rate sensitivity, speed.

Each is one entry of `DERIVED`: what it is, what a study must give for it, and its values by seed. How a difference in
it is decided depends on its kind alone; see `ablate.analysis.measures`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from ablate.core.metric import Metric
from ablate.core.reason import Reason
from ablate.core.speed import CALLS, TimedCall

Floats = NDArray[np.float64]
Kind = Literal["mean", "rate", "spread", "time"]
"""mean: a number by seed, whose paired differences decide. rate: 0 or 1 by seed. spread: the standard deviation over
seeds of the primary metric. time: of processes, not of runs."""


class Seen(Protocol):
    """The runs of one variant on one task; arrays have shape (num_seeds,)."""

    @property
    def ended(self) -> NDArray[np.bool_]:
        """Whether the run has an outcome."""

    @property
    def status(self) -> NDArray[np.object_]:
        """The status of each run; `diverged` too where it was lost to its variant."""

    @property
    def solved(self) -> NDArray[np.bool_]:
        """Whether it solved the task."""

    @property
    def judged(self) -> Floats:
        """The primary metric; NaN where the run did not complete."""

    @property
    def stressed(self) -> Floats:
        """Held-out loss at each learning rate, shape (num_seeds, num_rates), at most the initial loss; NaN: unknown."""

    @property
    def untrained(self) -> NDArray[np.bool_]:
        """Whether no learning rate of the grid brought the loss below the initial one."""

    @property
    def arrived(self) -> Arrived:
        """When each held the target."""


class Arrived(Protocol):
    """When the runs of one variant on one task first held the target; in steps."""

    @property
    def first(self) -> Floats:
        """Of each run, shape (num_seeds,): infinite where it never did, NaN where it has no outcome."""

    @property
    def trained(self) -> float:
        """The length of its training."""

    @property
    def longest(self) -> float:
        """The length of the longest training of any variant."""

    @property
    def every(self) -> float:
        """Between two reports."""


@dataclass(frozen=True)
class Offer:
    """What a study gives on one task."""

    metrics: Mapping[str, Metric]
    stressed: bool
    "Whether every variant is trained on a grid of learning rates."
    rate_path: str | None = None
    "The path of the learning rate; None where the workload has none."
    timed: Collection[str] = ()
    "The calls that are timed, of `core.speed.CALLS`."
    target: Mapping[str, float] = field(default_factory=dict)
    "Metric → the value that counts as learned."


@dataclass(frozen=True)
class Derived:
    """One of them."""

    metric: Metric
    kind: Kind
    by_seed: Callable[[Any], Floats] = lambda _: np.empty(0)
    """Of `Seen`: the value on each seed, NaN where there is none; infinite where it counts with the metric's floor. Of
    kind `time` there is none by seed."""
    lacks: Callable[[Offer], str] = lambda _: ""
    "What a study would have to give for it, in a sentence; nothing where it does."
    obstacle: Callable[[Any], Reason | None] = lambda _: None
    "Of `Seen`: why its values say nothing; None where they do."
    event: str = ""
    "What has happened to a run that counts 1, of a rate; or to one that counts with the metric's floor."
    refined: Callable[[Metric, Any], Metric] = lambda metric, _: metric
    "The metric and `Seen` → the metric with what these runs tell of it."


def _solved(runs: Seen) -> Floats:
    return np.where(runs.ended, runs.solved, np.nan)


def _diverged(runs: Seen) -> Floats:
    return np.where(runs.ended, runs.status == "diverged", np.nan)


def _lr_sensitivity(runs: Seen) -> Floats:
    """The mean over learning rates η of min(ℓ(η), ℓ₀) − ℓ*, with ℓ* = min_η ℓ(η).

    Wortsman et al. 2023, arXiv:2309.14322. ℓ is the held-out loss, ℓ₀ that at initialisation, which a diverged run
    counts with. ℓ* is at most ℓ₀ as well.
    """
    losses = runs.stressed
    return np.asarray((losses - losses.min(axis=1, keepdims=True)).mean(axis=1))


def _untrained(runs: Seen) -> Reason | None:
    # By the formula such a variant would be the least sensitive of all.
    count, of = int(runs.untrained.sum()), len(runs.untrained)
    return Reason("untrained", {"seeds": count, "of": of}) if count else None


def _needs_solved(offer: Offer) -> str:
    if any(metric.solved is not None for metric in offer.metrics.values()):
        return ""
    return "It takes a metric that says at which value the task counts as solved"


def _needs_stress(offer: Offer) -> str:
    if offer.stressed:
        return ""
    if offer.rate_path is None:
        return "It takes a workload that has a learning rate"
    return (
        f"Train every variant on a grid of learning rates: stress: {{{offer.rate_path}: [1e-3, 3e-3, 1e-2]}}"
    )


def _late(runs: Seen) -> Reason | None:
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


def _time(call: TimedCall) -> Derived:
    def lacks(offer: Offer) -> str:
        if call in offer.timed:
            return ""
        if not offer.timed:
            return "Time the variants: speed: on"
        calls = ", ".join(one for one in CALLS if one in (*offer.timed, call))
        return f"Time this call too: speed: {{calls: [{calls}]}}"

    return Derived(Metric("min"), "time", lacks=lacks)


DERIVED: Mapping[str, Derived] = {
    "solved_rate": Derived(
        Metric("max", floor=0.0, ceiling=1.0), "rate", _solved, _needs_solved, event="solved the task"
    ),
    "divergence_rate": Derived(Metric("min", floor=1.0, ceiling=0.0), "rate", _diverged, event="diverged"),
    "lr_sensitivity": Derived(Metric("min"), "mean", _lr_sensitivity, _needs_stress, _untrained),
    "seed_spread": Derived(Metric("min"), "spread", lambda runs: runs.judged),
    **{f"{call}_seconds": _time(call) for call in CALLS},
    "step_memory": _time("step"),
    "steps_to_target": Derived(
        Metric("min"),
        "mean",
        lambda runs: runs.arrived.first,
        _needs_target,
        _late,
        event="did not get there in all of its steps",
        refined=lambda metric, runs: replace(
            metric, floor=runs.arrived.trained, resolution=runs.arrived.every
        ),
    ),
}
"""By name."""
