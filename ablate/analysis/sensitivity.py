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
from ablate.core.facts import Evidence, StudyFacts
from ablate.core.reason import Reason
from ablate.core.record import lost_to_its_variant
from ablate.core.rows import frame_of_rows
from ablate.core.stress_facts import StressFacts

if TYPE_CHECKING:
    import pandas as pd

LEAST_RATES = 5
"""The learning rates below which their grid is no sample."""


@dataclass(frozen=True)
class Grid:
    """The runs of one variant on one task at each learning rate; seeds and rates in the order of the study."""

    reached: Floats
    """The held-out loss of each run, shape (num_seeds, num_rates): infinite where it diverged or was lost to its
    variant, NaN where it has no outcome."""
    initial: Floats
    """The loss before the first step, which is the same at every learning rate, shape (num_seeds, 1); NaN where it is
    not known."""

    @property
    def losses(self) -> Floats:
        """`reached`, at most the initial loss, with which a run that diverged counts."""
        return np.minimum(self.reached, self.initial)


def grids(evidence: Evidence) -> dict[tuple[str, str], Grid]:
    """Returns the grid of each variant and task."""
    facts = evidence.facts
    rates = rates_of(facts)
    runs = _with_losses(evidence.frame(StressFacts))

    def by_seed_and_rate(of_variant: pd.DataFrame, column: str) -> Floats:
        by_seed = of_variant.pivot(index="seed", columns="value", values=column)
        return np.asarray(by_seed.reindex(index=facts.seeds, columns=rates), float)

    grid_of = {}
    for variant, task in itertools.product(facts.variants, facts.tasks):
        of_variant = runs[(runs["variant"] == variant.name) & (runs["task"] == task.name)]
        # Some of the runs of a seed may lack their initial loss.
        initial = np.fmax.reduce(by_seed_and_rate(of_variant, "initial"), axis=1, initial=np.nan)
        reached = by_seed_and_rate(of_variant, "reached")
        grid_of[variant.name, task.name] = Grid(reached, initial[:, None])
    return grid_of


def _with_losses(frame: pd.DataFrame) -> pd.DataFrame:
    """Returns the frame of `StressFacts` with two columns more: `reached` and `initial`, as `Grid` has them."""
    lost = [
        lost_to_its_variant(str(status), str(reason))
        for status, reason in zip(frame["status"], frame["reason"], strict=True)
    ]
    diverged = (frame["status"] == "diverged") | np.array(lost, bool)
    of_completed = frame["test_loss"].astype(float).fillna(np.inf).where(frame["status"] == "completed")
    return frame.assign(
        reached=of_completed.mask(diverged, np.inf),
        initial=frame["initial_loss"].astype(float).replace(np.inf, np.nan),
    )


@dataclass(frozen=True)
class RateRow:
    """The held-out loss of a variant on one task at one learning rate, over the seeds whose run has an outcome."""

    variant: str
    task: str
    value: float
    """The learning rate."""
    loss: float
    """The mean over seeds, as `Grid.losses`."""
    low: float
    """The lower end of its 95 % interval; NaN below two seeds."""
    high: float
    """The upper end of its 95 % interval; NaN below two seeds."""
    n: int
    """The number of seeds."""
    diverged: int
    """The number of runs that diverged or were lost to the variant."""


def rate_curves(evidence: Evidence) -> pd.DataFrame:
    """Returns a table of `RateRow` by task and learning rate; variants in the order of the study."""
    rows = []
    for (variant, task), grid in grids(evidence).items():
        for index, rate in enumerate(rates_of(evidence.facts)):
            losses = grid.losses[:, index]
            known = losses[~np.isnan(losses)]
            if not len(known):
                continue
            loss, (low, high) = mean_interval(known)
            diverged = int(np.isinf(grid.reached[:, index]).sum())
            rows.append(RateRow(variant, task, rate, loss, low, high, n=len(known), diverged=diverged))
    table = frame_of_rows(rows, RateRow)
    return table.sort_values(["task", "value"], kind="stable", ignore_index=True)


def rates_of(facts: StudyFacts) -> Sequence[float]:
    """Returns the learning rates of the grid, rising; none where there is no grid."""
    stress = facts.of(StressFacts)
    return [] if stress is None else stress.rates


def _grid(side: Side) -> Grid:
    """Returns the grid of a variant on a task."""
    return side.runs.memo(grids, "grids")[side.variant, side.task.name]


def sensitivity_by_seed(side: Side, left_out: int | None) -> Floats:
    """Returns the sensitivity of a variant on each seed, shape (num_seeds,), without the rate at index `left_out`."""
    losses = _grid(side).losses[: len(side.runs.seeds)]
    if left_out is not None:
        losses = np.delete(losses, left_out, axis=1)
    lowest = losses.min(axis=1, keepdims=True)
    return np.asarray((losses - lowest).mean(axis=1))


def untrained(side: Side) -> Reason | None:
    """Returns the reason of a variant that no learning rate trains on some seed; None where each is trained."""
    # Seeds of which every run has an outcome, and none a loss below the initial one: by the formula such a variant
    # would be the least sensitive of all.
    grid = _grid(side)
    above: Flags = grid.reached >= np.nan_to_num(grid.initial, nan=np.inf)
    untrained_seeds = np.asarray(above[: len(side.runs.seeds)].all(axis=1))
    if not untrained_seeds.any():
        return None
    return Reason("untrained", {"seeds": int(untrained_seeds.sum()), "of": len(untrained_seeds)})


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
