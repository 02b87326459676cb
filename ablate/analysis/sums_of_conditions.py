"""One estimate over conditions that share their seeds.

d_it is the oriented difference on seed i in condition t = 1 … T, and u_t the scale of the condition. On each seed the
conditions are added with weights w_t,

    L_i = Σ_t w_t · d_it/u_t

    mean      w_t = 1/T                            `mean_over`
    trend     w_t = (l_t − l̄)/Σ(l_t − l̄)²         `trend_along`: the least-squares slope on l_t = log₂ x_t, per doubling
    by more   w = 1 here, −1 there                 `by_more_at`

and L is judged as any paired mean, by t over the n seeds. Seeds are what is independent: least squares over all runs at
once errs in up to 0.11 of comparisons at 0.05. The standard deviation is never below √Σ(w_t·g_t/u_t)², of the
resolutions g_t. Where the seeds of a condition share their test examples, their mean squares (`MeanSquares`) add

    c_t · max(0, MS_E − MS_R),   c_t = w_t²/(n·m_t·u_t²)

to s²/n, with degrees of freedom after Satterthwaite, not below n − 1; the larger p of both counts. This takes the test
sets of conditions for independent: where all conditions have the same examples a mean errs in 0.10 to 0.37 of
comparisons (two to eight conditions, five seeds), a trend in 0.003 to 0.14. `same_examples` says so, and
the L of each example are then judged as the differences of one condition are.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ablate.analysis.conditions import (
    LEAST_SEEDS,
    Condition,
    Refusal,
    blocks_of,
    on_shared_seeds,
    refusal_of,
    scales_of,
    unpaired_names,
)
from ablate.analysis.paired import Differences, Floats, MeanSquares, StandardError
from ablate.analysis.variance_components import (
    VarianceComponent,
    components_of_examples,
    norm_of,
    satterthwaite,
)
from ablate.core.over import LEAST_TREND
from ablate.core.reason import Block, Reason


@dataclass(frozen=True)
class SharedExamples:
    """The test examples of one condition that all of its seeds share."""

    squares: MeanSquares
    """Mean squares of the differences, in the units of the metric."""
    weight: float
    """w_t/u_t."""


@dataclass(frozen=True)
class OverConditions(Differences):
    """An estimate over conditions by one value L_i for each seed that all have; `values` of shape (n,)."""

    shared_examples: Sequence[SharedExamples] = ()
    """The test examples of each condition whose seeds share them."""

    def without_examples(self) -> OverConditions:
        """Returns the estimate as if the test examples were all that there are."""
        return replace(self, examples=None, shared_examples=())

    def errors_at(self, n: int) -> list[StandardError]:
        """Returns the standard errors that n ≥ 2 seeds would have."""
        errors = super().errors_at(n)
        of_examples: list[VarianceComponent] = []
        for examples in self.shared_examples:
            of_examples += components_of_examples(examples.squares.at(n), examples.weight)
        if of_examples:
            over_seeds = self._error_over_seeds(n)
            of_seeds = VarianceComponent(over_seeds.se**2, over_seeds.df)
            errors.append(satterthwaite([of_seeds, *of_examples], least_df=n - 1))
        return errors


def mean_over(conditions: Sequence[Condition], *, same_examples: bool = False) -> OverConditions | Refusal:
    """Returns the mean over conditions that share seed numbers, in the scaled unit, or why there is none.

    same_examples: whether all conditions have the same test examples, as the module says.
    """
    weights = np.full(len(conditions), 1 / len(conditions))
    return _weighted_sum(conditions, weights, same_examples=same_examples)


def trend_along(
    conditions: Sequence[Condition], sizes: Sequence[float], *, same_examples: bool = False
) -> OverConditions | Refusal:
    """Returns by how much the difference grows with each doubling of a number, in the scaled unit.

    sizes: the number in each condition. same_examples: as in `mean_over`.
    """
    names = [condition.name for condition in conditions]
    if len(conditions) < LEAST_TREND:
        return Refusal("few", names)
    if min(sizes) <= 0 or len({*sizes}) < len(sizes):
        return Refusal("sizes", names)
    trend = _weighted_sum(conditions, _slope_weights(sizes), same_examples=same_examples)
    return trend if isinstance(trend, Refusal) else _blocked_near_bounds(trend, conditions)


def fitted_at(
    conditions: Sequence[Condition], sizes: Sequence[float], size: float, *, same_examples: bool = False
) -> OverConditions | Refusal:
    """Returns the difference at a size by the line of `trend_along`, in the scaled unit.

    sizes: the number in each condition, positive and not all one.
    """
    beyond_mean = math.log2(size) - float(np.log2(np.array(sizes, float)).mean())
    weights = 1 / len(conditions) + beyond_mean * _slope_weights(sizes)
    return _weighted_sum(conditions, weights, same_examples=same_examples)


def _slope_weights(sizes: Sequence[float]) -> Floats:
    """Returns the weights by which differences add to their least-squares slope on log₂ of the sizes, shape (T,)."""
    doublings = np.log2(np.array(sizes, float))
    centred = doublings - doublings.mean()
    return np.asarray(centred / (centred**2).sum())


def by_more_at(here: Condition, there: Condition, *, same_examples: bool = False) -> OverConditions | Refusal:
    """Returns by how much more A beats B in one condition than in another, in the scaled unit."""
    more = _weighted_sum([here, there], np.array([1.0, -1.0]), same_examples=same_examples)
    return more if isinstance(more, Refusal) else _blocked_near_bounds(more, [here, there])


def _weighted_sum(
    conditions: Sequence[Condition], weights: Floats, *, same_examples: bool
) -> OverConditions | Refusal:
    """Returns Σ w_t·d_it/u_t of each seed that all conditions have; weights: w_t, shape (T,)."""
    refusal = refusal_of(conditions)
    if refusal is not None:
        return refusal
    scales = scales_of(conditions)
    assert scales is not None
    unpaired = unpaired_names(conditions)
    differences = [] if unpaired else on_shared_seeds(conditions)
    if unpaired or (differences[0].n < LEAST_SEEDS <= min(one.differences.n for one in conditions)):
        return Refusal("seeds", unpaired or [one.name for one in conditions])

    weights = weights / np.array(scales)
    examples = _same_examples(differences, weights) if same_examples else None
    shared_examples = []
    for one, weight in zip(differences, weights, strict=True):
        if examples is None and one.squares is not None:
            shared_examples.append(SharedExamples(one.squares, float(weight)))
    return OverConditions(
        np.tensordot(weights, np.stack([one.values for one in differences]), 1),
        norm_of(weights, [one.floor for one in differences]),
        examples=examples,
        overlap=max(one.overlap for one in differences),
        blocks=blocks_of(conditions),
        unit=differences[0].unit,
        resolution=norm_of(weights, [one.resolution for one in differences]),
        shared_examples=shared_examples,
    )


def _same_examples(differences: Sequence[Differences], weights: Floats) -> NDArray[np.floating] | None:
    """Returns Σ w_t·d_ijt/u_t, shape (n, m); None where a condition draws its examples afresh."""
    examples = [one.examples for one in differences if one.examples is not None]
    if len(examples) < len(differences):
        return None
    return np.asarray(np.tensordot(weights, np.stack(examples), 1))


def _blocked_near_bounds(estimate: OverConditions, conditions: Sequence[Condition]) -> OverConditions:
    """Returns a difference of differences, blocked where a condition is near a bound of its metric."""
    if not any(condition.near_bound for condition in conditions):
        return estimate
    return replace(estimate, blocks=[Block(Reason("scale")), *estimate.blocks])
