"""The mean over conditions that are taken for a sample: what is found speaks of conditions like these.

Where the seeds of conditions are independent, t of the T means d̄_t/u_t on T − 1 degrees of freedom. With shared seeds
conditions and seeds are two crossed random factors (`paired.MeanSquares`, with conditions in the place of seeds, and
seeds in that of examples): a plain t over conditions errs in 0.09 to 0.64 of comparisons there. Neither the bound on
the degrees of freedom nor the second p of `paired.Differences` is taken. Below eight conditions or five seeds it errs
in 0.063 to 0.072.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ablate.analysis.conditions import (
    Condition,
    Refusal,
    blocks_of,
    on_shared_seeds,
    refusal_of,
    scaled_means,
    scales_of,
    unpaired_names,
)
from ablate.analysis.independent_conditions import LEAST_INDEPENDENT, refusal_of_seeds
from ablate.analysis.paired import Differences, MeanSquares, StandardError
from ablate.analysis.variance_components import (
    VarianceComponent,
    components_of_examples,
    norm_of,
    satterthwaite,
)

LEAST_CONDITIONS = 8
"""Conditions below which they are not taken for a sample."""


@dataclass(frozen=True)
class SampleOfConditions(Differences):
    """The mean over conditions and others like them; `values` of shape (T,) are d̄_t/u_t."""

    unit: str = "conditions"
    shared_seeds: MeanSquares | None = None
    """Mean squares of conditions and seeds, where conditions share their seeds; else None."""

    def errors_at(self, n: int) -> list[StandardError]:
        """Returns the standard error that n ≥ 2 conditions would have, with these seeds."""
        if self.shared_seeds is None:
            return super().errors_at(n)
        squares = self.shared_seeds.at(n)
        of_conditions = VarianceComponent(squares.seeds / (squares.n * squares.m), squares.n - 1)
        return [satterthwaite([of_conditions, *components_of_examples(squares, 1.0)])]


def sample_of(
    conditions: Sequence[Condition], *, independent_seeds: bool = False
) -> SampleOfConditions | Refusal:
    """Returns the mean over conditions as a sample of others, in the scaled unit, or why there is none.

    independent_seeds: whether seed numbers were declared to be independent.
    """
    refusal = _refusal_of_sample(conditions, independent_seeds=independent_seeds)
    if refusal is not None:
        return refusal
    scales = scales_of(conditions)
    assert scales is not None
    differences = (
        [one.differences for one in conditions] if independent_seeds else on_shared_seeds(conditions)
    )
    # With these the norm is the root of the mean square over conditions, as their means are what varies.
    weights = 1 / (np.array(scales) * len(scales) ** 0.5)
    floor = norm_of(weights, [one.floor for one in differences])
    squares = None
    if not independent_seeds:
        by_seed = np.stack([one.values / scale for one, scale in zip(differences, scales, strict=True)])
        squares = MeanSquares.of(by_seed, floor)
    return SampleOfConditions(
        scaled_means(differences, scales),
        floor,
        blocks=blocks_of(conditions),
        resolution=norm_of(weights, [one.resolution for one in differences]),
        shared_seeds=squares,
    )


def _refusal_of_sample(conditions: Sequence[Condition], *, independent_seeds: bool) -> Refusal | None:
    """Returns why conditions cannot be a sample; None where they can."""
    names = [condition.name for condition in conditions]
    if len(conditions) < LEAST_CONDITIONS:
        return Refusal("few", names)
    refusal = refusal_of(conditions)
    if refusal is not None:
        return refusal
    if independent_seeds:
        return refusal_of_seeds(conditions)
    unpaired = unpaired_names(conditions)
    if unpaired:
        return Refusal("seeds", unpaired)
    num_shared = on_shared_seeds(conditions)[0].n
    return Refusal("few_seeds", names, num_shared) if num_shared < LEAST_INDEPENDENT else None
