"""Metrics that no single run has and that claims may use: rates over seeds, their spread, learning-rate sensitivity.

Each is one entry of `DERIVED`: what it is, what a study must give for it, and its values by seed. How a difference in
it is decided depends on its kind alone; see `ablate.analysis.measures`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from ablate.core.metric import Metric

Floats = NDArray[np.float64]
Kind = Literal["mean", "rate", "spread"]
"""mean: a number by seed, whose paired differences decide. rate: 0 or 1 by seed. spread: the standard deviation over
seeds of the primary metric."""


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


@dataclass(frozen=True)
class Offer:
    """What a study gives on one task."""

    metrics: Mapping[str, Metric]
    stressed: bool
    "Whether every variant is trained on a grid of learning rates."
    rate_path: str | None = None
    "The path of the learning rate; None where the workload has none."


@dataclass(frozen=True)
class Derived:
    """One of them."""

    metric: Metric
    kind: Kind
    by_seed: Callable[[Any], Floats]
    "Of `Seen`: the value on each seed, NaN where there is none."
    lacks: Callable[[Offer], str] = lambda _: ""
    "What a study would have to give for it, in a sentence; nothing where it does."
    obstacle: Callable[[Any], str] = lambda _: ""
    "Of `Seen`: why its values say nothing; nothing where they do."
    event: str = ""
    "What has happened to a run that counts 1, of a rate."


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


def _untrained(runs: Seen) -> str:
    # By the formula such a variant would be the least sensitive of all.
    count, of = int(runs.untrained.sum()), len(runs.untrained)
    return f"no learning rate of the grid trains it on {count} of {of} seeds" if count else ""


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


DERIVED: Mapping[str, Derived] = {
    "solved_rate": Derived(
        Metric("max", floor=0.0, ceiling=1.0), "rate", _solved, _needs_solved, event="solved the task"
    ),
    "divergence_rate": Derived(Metric("min", floor=1.0, ceiling=0.0), "rate", _diverged, event="diverged"),
    "lr_sensitivity": Derived(Metric("min"), "mean", _lr_sensitivity, _needs_stress, _untrained),
    "seed_spread": Derived(Metric("min"), "spread", lambda runs: runs.judged),
}
"""By name."""
