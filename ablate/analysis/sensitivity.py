"""How much a wrong learning rate costs each variant, by the runs of `stress:` on a grid of learning rates.

The sensitivity of a variant is the mean over learning rates η of min(ℓ(η), ℓ₀) − ℓ*, with ℓ* = min_η ℓ(η) (Wortsman et
al. 2023, arXiv:2309.14322). ℓ is the held-out loss, ℓ₀ that at initialisation, which a diverged run counts with. ℓ* is
at most ℓ₀ as well. The grid is a sample too: a verdict must hold on every grid that lacks one of its rates.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from ablate.analysis.agreeing import Groups, IntersectionUnion, Plain
from ablate.analysis.measure import Estimator, Measure, few
from ablate.analysis.paired import Flags, Floats, mean_interval
from ablate.analysis.runs import Runs, Side
from ablate.core.facts import Evidence, StudyFacts, frame_of
from ablate.core.reason import Reason
from ablate.core.record import lost_to_its_variant

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = ("id", "name", "variant", "task", "seed", "value", "status", "reason", "test_loss", "initial_loss")
"""Of the frame `stress` of the evidence, one row a trial of the grid: value is the float at the path; the losses are
NaN where the run has none."""
LEAST_RATES = 5  # Learning rates below which their grid is no sample.


@dataclass(frozen=True)
class Grid:
    """Of one variant on one task."""

    # The held-out loss of each run, shape (num_seeds, num_rates): infinite where it diverged or was lost to its
    # variant, NaN where it has no outcome.
    reached: Floats
    # The loss before the first step, which is the same at every learning rate; shape (num_seeds, 1), NaN where
    # unknown.
    initial: Floats

    @property
    def losses(self) -> Floats:
        """`reached`, at most the initial loss, with which a run that diverged counts."""
        return np.minimum(self.reached, self.initial)


def grids(evidence: Evidence) -> dict[tuple[str, str], Grid]:
    """Variant and task → its runs, seeds in the order of the plan and learning rates in that of the study."""
    facts, rates = evidence.facts, rates_of(evidence.facts)
    frame = evidence.frame("stress", COLUMNS)
    diverged = (frame["status"] == "diverged") | np.array(
        [lost_to_its_variant(str(a), str(b)) for a, b in zip(frame["status"], frame["reason"], strict=True)],
        bool,
    )
    loss = frame["test_loss"].astype(float).fillna(np.inf).where(frame["status"] == "completed")
    frame = frame.assign(
        reached=loss.mask(diverged, np.inf),
        initial=frame["initial_loss"].astype(float).replace(np.inf, np.nan),
    )
    found = {}
    for variant, task in itertools.product(facts.variants, facts.tasks):
        mine = frame[(frame["variant"] == variant.name) & (frame["task"] == task.name)]
        reached, initial = (
            mine.pivot(index="seed", columns="value", values=name)
            .reindex(index=facts.seeds, columns=rates)
            .to_numpy(float)
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
    return frame_of(rows, columns).sort_values(["task", "value"], kind="stable", ignore_index=True)


def rates_of(facts: StudyFacts) -> Sequence[float]:
    """The learning rates of the grid, rising; none where there is no grid."""
    return next(iter(facts.features.get("stress", {}).values()), [])


def _grid(side: Side) -> Grid:
    return side.runs.memo("stress", grids)[side.variant, side.task.name]


def sensitivity_by_seed(side: Side, left_out: int | None) -> Floats:
    """Returns the sensitivity of a variant on each seed, shape (num_seeds,), without the rate at index `left_out`."""
    losses = _grid(side).losses[: len(side.runs.seeds)]
    if left_out is not None:
        losses = np.delete(losses, left_out, axis=1)
    return np.asarray((losses - losses.min(axis=1, keepdims=True)).mean(axis=1))


def untrained(side: Side) -> Reason | None:
    """Returns the reason of a variant that no learning rate trains on some seed; None where each is trained."""
    # Seeds of which every run has an outcome, and none a loss below the initial one: by the formula such a variant
    # would be the least sensitive of all.
    grid = _grid(side)
    above: Flags = grid.reached >= np.nan_to_num(grid.initial, nan=np.inf)
    found = np.atleast_1d(above[: len(side.runs.seeds)].all(axis=1))
    return Reason("untrained", {"seeds": int(found.sum()), "of": len(found)}) if found.any() else None


def estimate(measure: Measure, runs: Runs, groups: Groups) -> IntersectionUnion:
    """Returns the paired mean over the whole grid, with those on the grids that lack one rate, which must agree."""

    def on_grid(left_out: int | None) -> Plain:
        by_seed = partial(sensitivity_by_seed, left_out=left_out)
        estimator = Estimator(by_seed, untrained)
        return replace(measure, estimator=estimator).contrast(runs, groups).estimate()

    rates = rates_of(runs.facts)
    whole = on_grid(None)
    without_one: list[tuple[Reason, Plain]] = []
    if len(rates) > 1:
        without_one = [(Reason("rate", {"rate": rate}), on_grid(index)) for index, rate in enumerate(rates)]
    blocks = few(whole.blocks, "rates", len(rates), LEAST_RATES)
    return IntersectionUnion(replace(whole, blocks=blocks), without_one, without_one)
