"""The mean over conditions whose seed numbers differ and were declared to be independent.

    V = Σ v_t,   v_t = s_t²/(n_t·u_t²·T²),   df = V²/Σ(v_t²/(n_t − 1))

with a v for each side where runs are unpaired. With seeds that are shared it errs in 0.07 to 0.60 of comparisons.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ablate.analysis.conditions import Condition, Refusal, blocks_of, refusal_of, scaled_means, scales_of
from ablate.analysis.paired import NAN, Differences, StandardError, sd_of
from ablate.analysis.unpaired import OfSummaries, Unpaired
from ablate.analysis.variance_components import (
    VarianceComponent,
    components_of_examples,
    norm_of,
    satterthwaite,
)

LEAST_INDEPENDENT = 5
"""Seeds of each condition below which conditions are not taken for independent."""


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
        scaled_means(differences, scales),
        norm_of(weights, [one.floor for one in differences]),
        blocks=blocks_of(conditions),
        resolution=norm_of(weights, [one.resolution for one in differences]),
        conditions=differences,
        scales=scales,
    )


def refusal_of_seeds(conditions: Sequence[Condition]) -> Refusal | None:
    """Returns why seeds cannot be independent: conditions share numbers, or have too few; None where they can."""
    num_conditions: Counter[int] = Counter()
    for condition in conditions:
        num_conditions.update({*condition.seeds})
    sharing = [one.name for one in conditions if any(num_conditions[seed] > 1 for seed in one.seeds)]
    if sharing:
        return Refusal("shared_seeds", sharing)
    few = [one.name for one in conditions if one.differences.n < LEAST_INDEPENDENT]
    fewest = min(one.differences.n for one in conditions)
    return Refusal("few_seeds", few, fewest) if few else None
