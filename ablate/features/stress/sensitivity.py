"""Learning-rate sensitivity: how much a wrong learning rate costs a variant.

The mean over learning rates η of min(ℓ(η), ℓ₀) − ℓ*, with ℓ* = min_η ℓ(η) (Wortsman et al. 2023, arXiv:2309.14322).
ℓ is the held-out loss, ℓ₀ that at initialisation, which a diverged run counts with. ℓ* is at most ℓ₀ as well. The grid
is a sample too: a verdict must hold on every grid that lacks one of its rates.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from ablate.analysis.estimates import Mean
from ablate.analysis.measures import Measure, few
from ablate.analysis.paired import Floats
from ablate.analysis.runs import Runs, Side
from ablate.core.derived import Derived, Offer
from ablate.core.metric import Metric
from ablate.core.reason import Reason
from ablate.features.stress.losses import Grid, grids, rates_of

LEAST_RATES = 5
"""Learning rates below which their grid is no sample."""


def _grid(side: Side) -> Grid:
    found: Grid = side.runs.memo("stress", grids)[side.variant, side.task.name]
    return found


def _by_seed(side: Side, without: int | None = None) -> Floats:
    losses = _grid(side).losses[: len(side.runs.seeds)]
    losses = losses if without is None else np.delete(losses, without, axis=1)
    return np.asarray((losses - losses.min(axis=1, keepdims=True)).mean(axis=1))


def _untrained(side: Side) -> Reason | None:
    # By the formula such a variant would be the least sensitive of all.
    found = _grid(side).untrained[: len(side.runs.seeds)]
    return Reason("untrained", {"seeds": int(found.sum()), "of": len(found)}) if found.any() else None


def _lacks(offer: Offer) -> str:
    if offer.asked.get("stress"):
        return ""
    if offer.rate_path is None:
        return "It takes a workload that has a learning rate"
    return (
        f"Train every variant on a grid of learning rates: stress: {{{offer.rate_path}: [1e-3, 3e-3, 1e-2]}}"
    )


def _estimate(measure: Measure, runs: Runs, groups: Sequence[Sequence[str]]) -> Mean:
    """The paired mean, with those on the grids that lack one rate, which must agree."""

    def on(without: int | None) -> Mean:
        derived = replace(SENSITIVITY[measure.name], by_seed=partial(_by_seed, without=without))
        found: Any = replace(measure, derived=derived).contrast(runs, groups).estimate()
        return found

    rates, whole = rates_of(runs.facts), on(None)
    also = [(Reason("rate", {"rate": rate}), on(i)) for i, rate in enumerate(rates) if len(rates) > 1]
    return replace(whole, blocks=few(whole.blocks, "rates", len(rates), LEAST_RATES), also=also)


SENSITIVITY = {
    "lr_sensitivity": Derived(
        Metric("min"), "mean", _by_seed, _lacks, _untrained, estimate=_estimate, described=True
    )
}
