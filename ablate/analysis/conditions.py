"""One estimate over conditions: tasks, data sets, sizes, budgets.

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
comparisons (two to eight conditions, five seeds), a trend in 0.003 to 0.14. `same_examples` says that they have, and
the L of each example are then judged as the differences of one condition are.

`mean_of_independent` is for conditions whose seed numbers differ and were declared to be independent:

    V = Σ v_t,   v_t = s_t²/(n_t·u_t²·T²),   df = V²/Σ(v_t²/(n_t − 1))

with a v for each side where runs are unpaired. With seeds that are shared it errs in 0.07 to 0.60 of comparisons.

No other function gives one number over tasks: `compare` judges each pair on each task. `mean_over` takes the place of
its rows where a study says so.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ablate.analysis.clusters import Clustered, OverSources
from ablate.analysis.contrast import Contrast
from ablate.analysis.estimates import Rate
from ablate.analysis.paired import NAN, SMALLEST_SD, Differences, Floats, MeanSquares, StandardError, sd_of
from ablate.analysis.unpaired import OfSummaries, Unpaired
from ablate.core.metric import Metric
from ablate.core.over import LEAST_TREND, common_scales
from ablate.core.reason import Block, Reason

LEAST_INDEPENDENT = 5
"""Seeds of each condition below which conditions are not taken for independent."""
LEAST_SEEDS = 2
"""Seeds that conditions must share."""

RefusalCode = Literal[
    "all_or_nothing", "directions", "scales", "sources", "seeds", "shared_seeds", "few_seeds", "few", "sizes"
]
"""Why there is no estimate over conditions.

    all_or_nothing   runs solve the task or do not, which no mean describes; `every` judges it
    directions       of some metrics more is better, of others less
    scales           metrics differ, and some have neither a declared scale nor floor and ceiling
    sources          documents in clusters, or single models on documents, of which the rule does not speak
    seeds            runs are unpaired, or no two seeds are shared by all
    shared_seeds     seed numbers that were to be independent occur in several conditions
    few_seeds        too few seeds in a condition
    few              too few conditions
    sizes            the numbers of a trend are not positive, or not all different
"""
SINGLE_CODES = ("ceiling", "degenerate")
"""Codes of blocks that say that one condition cannot show a difference, while others may."""


@dataclass(frozen=True)
class Condition:
    """A condition, with the difference of A from B in it."""

    name: str
    difference: Differences | Rate
    """In the units of the metric, with its blocks."""
    metric_name: str
    metric: Metric
    seeds: Sequence[int] = ()
    """The seed numbers of the pairs in their order, or of all unpaired runs; none where runs have no numbers."""
    declared_scale: float | None = None
    """The scale that the study declares, in the units of the metric; None where it declares none."""
    near_bound: bool = False
    """Whether the mean of a side lies so near floor or ceiling that a difference of differences says nothing."""
    has_one_value: bool = False
    """Whether all runs of both sides have one value, by a mean."""

    @property
    def differences(self) -> Differences:
        """Its differences, of a rate those on all seeds."""
        return self.difference.differences if isinstance(self.difference, Rate) else self.difference

    @property
    def is_paired(self) -> bool:
        """Whether it has a difference for each of its seeds."""
        unpaired = isinstance(self.differences, Unpaired | OfSummaries)
        return not unpaired and len(self.seeds) == len(self.differences.values)

    @classmethod
    def of_contrast(
        cls,
        name: str,
        contrast: Contrast,
        metric_name: str,
        *,
        margin: float | None = None,
        declared_scale: float | None = None,
    ) -> Condition:
        """Returns the condition of a contrast; margin: the one that the study declares for the metric."""
        return cls(
            name,
            contrast.estimate(margin),
            metric_name,
            contrast.metric,
            seeds=contrast.seeds,
            declared_scale=declared_scale,
            near_bound=contrast.has_mean_near_bound(margin or 0.0),
            has_one_value=contrast.has_one_value and not contrast.by_rate,
        )

    def without_grid(self) -> Condition:
        """Returns the condition as one whose values lie on no grid, which adds nothing to the floor of a sum."""
        return replace(self, difference=replace(self.differences, floor=SMALLEST_SD, resolution=0.0))


@dataclass(frozen=True)
class Refusal:
    """The reason why there is no estimate over conditions."""

    code: RefusalCode
    conditions: Sequence[str]
    """The conditions that the reason is about."""
    seeds: int = 0
    """Of too few seeds, how many there are."""


@dataclass(frozen=True)
class SharedExamples:
    """The test examples of one condition that all of its seeds share."""

    squares: MeanSquares
    """Mean squares of the differences, in the units of the metric."""
    weight: float
    """w_t/u_t."""


@dataclass(frozen=True)
class VarianceComponent:
    """A part of the variance of an estimate."""

    variance: float
    """Below 0 where it is subtracted."""
    df: float


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
        of_examples = [
            component
            for examples in self.shared_examples
            for component in components_of_examples(examples.squares.at(n), examples.weight)
        ]
        if of_examples:
            over_seeds = self._error_over_seeds(n)
            of_seeds = VarianceComponent(over_seeds.se**2, over_seeds.df)
            errors.append(satterthwaite([of_seeds, *of_examples], least_df=n - 1))
        return errors


@dataclass(frozen=True)
class OfIndependentConditions(Differences):
    """The mean over conditions without a common seed; `values` of shape (T,) are d̄_t/u_t."""

    conditions: Sequence[Differences] = ()
    """The differences of each condition, in the units of its metric."""
    scales: Sequence[float] = ()
    """u_t of each condition."""

    def without_examples(self) -> OfIndependentConditions:
        """Returns the estimate as if the test examples were all that there are."""
        return replace(self, conditions=[one.without_examples() for one in self.conditions])

    @property
    def n(self) -> int:
        """Number of seeds of the condition that has the fewest."""
        return min(differences.n for differences in self.conditions)

    @cached_property
    def sd(self) -> float:
        """√n times the standard error over seeds."""
        return math.sqrt(self.n) * self.errors[0].se if self.n > 1 else NAN

    def _vary_by_less(self, sd: float) -> bool:
        """Returns whether the mean varies by less than `sd`."""
        return self.sd < sd

    def errors_at(self, n: int) -> list[StandardError]:
        """Returns the standard errors of these seeds or, for another `n`, of as many in each condition."""
        of_seeds = []
        of_examples = []
        for differences, scale in zip(self.conditions, self.scales, strict=True):
            num_seeds = differences.n if n == self.n else n
            weight = 1 / (scale * len(self.scales))
            of_seeds += _of_seeds(differences, weight, num_seeds)
            if differences.squares is not None:
                of_examples += components_of_examples(differences.squares.at(num_seeds), weight)
        errors = [satterthwaite(of_seeds)]
        if of_examples:
            errors.append(satterthwaite([*of_seeds, *of_examples], least_df=n - 1))
        return errors


def satterthwaite(components: Sequence[VarianceComponent], least_df: float = 0.0) -> StandardError:
    """Returns the standard error of a sum of variances, with the degrees of freedom of Satterthwaite 1946."""
    total = math.fsum(component.variance for component in components)
    # As shares of the total, whose square may be too small for a float.
    parts = math.fsum((component.variance / total) ** 2 / component.df for component in components)
    return StandardError(total**0.5, max(1 / parts, least_df))


def components_of_examples(squares: MeanSquares, weight: float) -> list[VarianceComponent]:
    """Returns what shared test examples add to the variance: MS_E less MS_R, or nothing where that is not above 0."""
    if squares.examples <= squares.rest:
        return []
    n = squares.n
    m = squares.m
    share = weight**2 / (n * m)
    return [
        VarianceComponent(share * squares.examples, m - 1),
        VarianceComponent(-share * squares.rest, (n - 1) * (m - 1)),
    ]


def _of_seeds(differences: Differences, weight: float, n: int) -> list[VarianceComponent]:
    """Returns what the seeds of one condition add to the variance: one part, or one for each side of unpaired runs."""
    if isinstance(differences, Unpaired) and not differences.known:
        sds = [sd_of(differences.values), sd_of(differences.others)]
        counts = [len(differences.values), len(differences.others)]
    elif isinstance(differences, OfSummaries):
        sds = [*differences.sds]
        counts = [*differences.counts]
    else:
        (error,) = differences.without_examples().errors_at(n)
        return [VarianceComponent((weight * error.se) ** 2, error.df)]
    if n != differences.n:
        counts = [n, n]
    components = []
    for sd, count in zip(sds, counts, strict=True):
        variance = (weight * max(sd, differences.floor)) ** 2 / count
        components.append(VarianceComponent(variance, count - 1))
    return components


def scales_of(conditions: Sequence[Condition]) -> list[float] | None:
    """Returns u_t: the declared scale, else the metric's range, else 1 where none has one and all share a metric.

    None where conditions are not comparable.
    """
    scales = [condition.declared_scale or condition.metric.span for condition in conditions]
    return common_scales(scales, one_metric=len({condition.metric_name for condition in conditions}) == 1)


def refusal_of(conditions: Sequence[Condition]) -> Refusal | None:
    """Returns why the differences of these conditions cannot be added; None where they can."""
    by_rate = [one.name for one in conditions if isinstance(one.difference, Rate)]
    if by_rate:
        return Refusal("all_or_nothing", by_rate)
    in_sources = [one.name for one in conditions if _is_over_documents(one)]
    if in_sources:
        return Refusal("sources", in_sources)
    if len({one.metric.direction for one in conditions}) > 1:
        return Refusal("directions", [one.name for one in conditions])
    if scales_of(conditions) is None:
        return Refusal("scales", [one.name for one in conditions if not _has_scale(one)])
    return None


def _has_scale(condition: Condition) -> bool:
    return bool(condition.declared_scale or condition.metric.span)


def _is_over_documents(condition: Condition) -> bool:
    """Returns whether documents, or their sources, are what is independent in a condition."""
    is_clustered = isinstance(condition.difference, Clustered | OverSources)
    return is_clustered or condition.differences.unit == "documents"


def have_as_many_examples(conditions: Sequence[Condition]) -> bool:
    """Returns whether all conditions have as many test examples, which are then taken for the same ones.

    Where they are others after all, adding them one by one estimates the same variance.
    """
    counts = set()
    for condition in conditions:
        examples = condition.differences.examples
        counts.add(None if examples is None else examples.shape[1])
    return len(counts) == 1 and None not in counts


def mean_over(conditions: Sequence[Condition], *, same_examples: bool = False) -> OverConditions | Refusal:
    """Returns the mean over conditions that have the same seed numbers, in the scaled unit."""
    weights = np.full(len(conditions), 1 / len(conditions))
    return _weighted_sum(conditions, weights, same_examples=same_examples)


def trend_along(
    conditions: Sequence[Condition], sizes: Sequence[float], *, same_examples: bool = False
) -> OverConditions | Refusal:
    """Returns by how much the difference grows with each doubling of a number, in the scaled unit.

    sizes: the number in each condition.
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


def mean_of_independent(conditions: Sequence[Condition]) -> OfIndependentConditions | Refusal:
    """Returns the mean over conditions whose seeds were declared to be independent, in the scaled unit."""
    refusal = refusal_of(conditions) or refusal_of_seeds(conditions)
    if refusal is not None:
        return refusal
    scales = scales_of(conditions)
    assert scales is not None
    differences = [condition.differences for condition in conditions]
    weights = 1 / (np.array(scales) * len(scales))
    return OfIndependentConditions(
        np.array([one.mean / scale for one, scale in zip(differences, scales, strict=True)]),
        norm_of(weights, [one.floor for one in differences]),
        blocks=blocks_of(conditions),
        resolution=norm_of(weights, [one.resolution for one in differences]),
        conditions=differences,
        scales=scales,
    )


def refusal_of_seeds(conditions: Sequence[Condition]) -> Refusal | None:
    """Returns why seeds are not independent: numbers that several conditions have, or too few; None where they are."""
    num_conditions = Counter(seed for condition in conditions for seed in {*condition.seeds})
    sharing = [one.name for one in conditions if any(num_conditions[seed] > 1 for seed in one.seeds)]
    if sharing:
        return Refusal("shared_seeds", sharing)
    few = [one.name for one in conditions if one.differences.n < LEAST_INDEPENDENT]
    fewest = min(one.differences.n for one in conditions)
    return Refusal("few_seeds", few, fewest) if few else None


def _weighted_sum(
    conditions: Sequence[Condition], weights: Floats, *, same_examples: bool
) -> OverConditions | Refusal:
    """Returns Σ w_t·d_it/u_t of each seed that all conditions have; weights: w_t, shape (T,)."""
    refusal = refusal_of(conditions)
    if refusal is not None:
        return refusal
    scales = scales_of(conditions)
    assert scales is not None
    unpaired = [one.name for one in conditions if not one.is_paired]
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


def on_shared_seeds(conditions: Sequence[Condition]) -> list[Differences]:
    """Returns the differences of each condition on the seeds that all have, in the order of the first condition."""
    shared = set.intersection(*[{*condition.seeds} for condition in conditions])
    seeds = [seed for seed in conditions[0].seeds if seed in shared]
    by_condition = []
    for condition in conditions:
        places = [list(condition.seeds).index(seed) for seed in seeds]
        differences = condition.differences
        examples = None if differences.examples is None else differences.examples[places]
        by_condition.append(replace(differences, values=differences.values[places], examples=examples))
    return by_condition


def on_added_seeds(conditions: Sequence[Condition]) -> list[Differences]:
    """Returns the differences of each condition on the seeds of the mean: those that all share, or else its own."""
    if all(one.is_paired for one in conditions):
        shared = on_shared_seeds(conditions)
        if shared[0].n >= LEAST_SEEDS:
            return shared
    return [one.differences for one in conditions]


def _same_examples(differences: Sequence[Differences], weights: Floats) -> NDArray[np.floating] | None:
    """Returns Σ w_t·d_ijt/u_t, shape (n, m); None where a condition draws its examples afresh."""
    examples = [one.examples for one in differences if one.examples is not None]
    if len(examples) < len(differences):
        return None
    return np.asarray(np.tensordot(weights, np.stack(examples), 1))


def norm_of(weights: Floats, steps: Sequence[float]) -> float:
    """Returns √Σ(w_t·g_t/u_t)², the standard deviation of L where that of each condition is g_t."""
    return float(np.linalg.norm(weights * np.array(steps)))


def blocks_of(conditions: Sequence[Condition]) -> list[Block]:
    """Returns the blocks of a mean over conditions: those of its conditions, whole ones first.

    A condition that is at its ceiling, or has ties alone, blocks likeness; where all are, they block everything.
    """
    single = [any(block.reason.code in SINGLE_CODES for block in one.difference.blocks) for one in conditions]
    blocks = []
    for condition in conditions:
        for block in condition.difference.blocks:
            is_single = block.reason.code in SINGLE_CODES
            blocks.append(replace(block, wholly=all(single)) if is_single else block)
    return sorted(blocks, key=lambda block: not block.wholly)


def _blocked_near_bounds(estimate: OverConditions, conditions: Sequence[Condition]) -> OverConditions:
    """Returns a difference of differences, blocked where a condition is near a bound of its metric."""
    if not any(condition.near_bound for condition in conditions):
        return estimate
    return replace(estimate, blocks=[Block(Reason("scale")), *estimate.blocks])


def blocking_condition(conditions: Sequence[Condition], reason: Reason | None) -> str:
    """Returns the name of the first condition that is blocked for this reason; empty where none is."""
    for condition in conditions:
        if any(block.reason == reason for block in condition.difference.blocks):
            return condition.name
    return ""
