"""Learning-rate sensitivity: how much a wrong learning rate costs a variant, from the runs of `stress:`.

The mean over learning rates η of min(ℓ(η), ℓ₀) − ℓ*, with ℓ* = min_η ℓ(η) (Wortsman et al. 2023, arXiv:2309.14322).
ℓ is the held-out loss, ℓ₀ that at initialisation, which a diverged run counts with. ℓ* is at most ℓ₀ as well. The grid
is a sample too: a verdict must hold on every grid that lacks one of its rates.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from ablate.analysis.estimates import Mean
from ablate.analysis.measures import Measure, few
from ablate.analysis.paired import Flags, Floats, mean_interval
from ablate.analysis.runs import Runs, Side
from ablate.core.derived import Derived, Offer
from ablate.core.facts import Evidence, Facts
from ablate.core.metric import Metric
from ablate.core.reason import Reason
from ablate.core.record import lost_to_its_variant

LEAST_RATES = 5
"""Learning rates below which their grid is no sample."""


@dataclass(frozen=True)
class Grid:
    """Of one variant on one task."""

    reached: Floats
    """The held-out loss of each run, shape (num_seeds, num_rates): infinite where it diverged or was lost to its
    variant, NaN where it has no outcome."""
    initial: Floats
    "The loss before the first step, which is the same at every learning rate; shape (num_seeds, 1), NaN where unknown."

    @property
    def losses(self) -> Floats:
        """`reached`, at most the initial loss, with which a run that diverged counts."""
        return np.minimum(self.reached, self.initial)

    @property
    def untrained(self) -> Flags:
        """Whether every run of a seed has an outcome, and none a loss below the initial one; shape (num_seeds,)."""
        return np.asarray((self.reached >= np.nan_to_num(self.initial, nan=np.inf)).all(axis=1))


def grids(evidence: Evidence) -> dict[tuple[str, str], Grid]:
    """Variant and task → its runs, seeds in the order of the plan and learning rates in that of the study."""
    facts, rates = evidence.facts, rates_of(evidence.facts)
    frame = evidence.frame("stress", ("variant", "task", "seed", "value", "status", "reason"))
    lost = [
        lost_to_its_variant(*map(str, of)) for of in frame.reindex(columns=["status", "reason"]).to_numpy()
    ]
    completed, diverged = (
        frame["status"] == "completed",
        (frame["status"] == "diverged") | np.array(lost, bool),
    )
    loss = frame.get("test_loss", pd.Series(dtype=float)).astype(float).fillna(np.inf)
    frame = frame.assign(
        reached=loss.where(completed).mask(diverged, np.inf),
        initial=frame.get("initial_loss", pd.Series(dtype=float)).astype(float).replace(np.inf, np.nan),
    )
    found = {}
    for variant in facts.variants:
        for task in facts.tasks:
            mine = frame[(frame["variant"] == variant.name) & (frame["task"] == task.name)]
            table = mine.pivot(index="seed", columns="value", values=["reached", "initial"])
            reached, initial = (
                table.get(name, pd.DataFrame()).reindex(index=facts.seeds, columns=rates).to_numpy(float)
                for name in ("reached", "initial")
            )
            found[variant.name, task.name] = Grid(
                reached, np.fmax.reduce(initial, axis=1, initial=np.nan)[:, None]
            )
    return found


def rate_curves(evidence: Evidence) -> pd.DataFrame:
    """One row a variant, task and learning rate at which a run has an outcome, in the order of the study.

    Columns: variant, task, value (the learning rate), loss (the mean over seeds, as `Grid.losses`), low, high (its 95 %
    interval; NaN below two seeds), n, diverged (the number of runs that did).
    """
    rows = []
    for (variant, task), grid in grids(evidence).items():
        for rate, losses, reached in zip(
            rates_of(evidence.facts), grid.losses.T, grid.reached.T, strict=True
        ):
            known = losses[~np.isnan(losses)]
            if len(known):
                mean, ends = mean_interval(known)
                rows.append((variant, task, rate, mean, *ends, len(known), int(np.isinf(reached).sum())))
    columns = ["variant", "task", "value", "loss", "low", "high", "n", "diverged"]
    return pd.DataFrame(rows, columns=columns).sort_values(
        ["task", "value"], kind="stable", ignore_index=True
    )


def rates_of(facts: Facts) -> Sequence[float]:
    """The learning rates of the grid, rising; none where there is no grid."""
    return next(iter(facts.features.get("stress", {}).values()), [])


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
