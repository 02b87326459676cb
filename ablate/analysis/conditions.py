"""A condition of a comparison: a task, a data set, a size, a budget; when differences in several can be added.

u_t, the scale of condition t, divides its differences before they are added (`scales_of`). `sums_of_conditions` has the
sums on the seeds that conditions share, `independent_conditions` the mean over conditions whose seeds are independent,
`sample_of_conditions` that over conditions which stand for others. No other function gives one number over tasks:
`compare` judges each pair on each task. A mean takes the place of its rows where a study says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from ablate.analysis.clusters import Clustered, OverSources
from ablate.analysis.contrast import Contrast
from ablate.analysis.estimates import Rate
from ablate.analysis.paired import SMALLEST_SD, Differences, Floats
from ablate.analysis.unpaired import OfSummaries, Unpaired
from ablate.core.metric import Metric
from ablate.core.over import common_scales
from ablate.core.reason import Block, Reason

LEAST_SEEDS = 2
"""The fewest seeds that conditions must share for their differences to be added on each."""

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
    """Whether all runs of both sides have the same value; False where a rate is judged."""

    @property
    def differences(self) -> Differences:
        """The differences; of a rate, those on all seeds, whichever side solved them."""
        return self.difference.differences if isinstance(self.difference, Rate) else self.difference

    @property
    def scale(self) -> float | None:
        """The declared scale, else the range of the metric; None where it has neither."""
        return self.declared_scale or self.metric.span

    @property
    def is_paired(self) -> bool:
        """True where there is a difference for each seed, so that runs are paired."""
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
        """Returns the condition as if its values lay on no grid, so that it adds nothing to the floor of a sum."""
        return replace(self, difference=replace(self.differences, floor=SMALLEST_SD, resolution=0.0))


@dataclass(frozen=True)
class Refusal:
    """The reason why there is no estimate over conditions."""

    code: RefusalCode
    conditions: Sequence[str]
    """The conditions that the reason is about."""
    seeds: int = 0
    """The number of seeds, where they are too few; else 0."""


def scales_of(conditions: Sequence[Condition]) -> list[float] | None:
    """Returns u_t: the declared scale, else the metric's range, else 1 where none has one and all share a metric.

    None where conditions are not comparable.
    """
    scales = [condition.scale for condition in conditions]
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
        return Refusal("scales", [one.name for one in conditions if not one.scale])
    return None


def _is_over_documents(condition: Condition) -> bool:
    """Returns whether documents, or their sources, are what is independent in a condition."""
    is_clustered = isinstance(condition.difference, Clustered | OverSources)
    return is_clustered or condition.differences.unit == "documents"


def have_as_many_examples(conditions: Sequence[Condition]) -> bool:
    """Returns whether all conditions have the same number of test examples, which are then taken for the same ones.

    Where the examples differ after all, adding them one by one estimates the same variance.
    """
    counts = set()
    for condition in conditions:
        examples = condition.differences.examples
        counts.add(None if examples is None else examples.shape[1])
    return len(counts) == 1 and None not in counts


def unpaired_names(conditions: Sequence[Condition]) -> list[str]:
    """Returns the names of the conditions whose runs are no pairs, so that their seeds cannot be added."""
    return [condition.name for condition in conditions if not condition.is_paired]


def scaled_means(differences: Sequence[Differences], scales: Sequence[float]) -> Floats:
    """Returns d̄_t/u_t of each condition, shape (T,); scales: u_t."""
    return np.array([one.mean / scale for one, scale in zip(differences, scales, strict=True)])


def seeds_of_all(conditions: Sequence[Condition]) -> list[int]:
    """Returns the seeds that all conditions have, in the order of the first condition."""
    shared = set.intersection(*[{*condition.seeds} for condition in conditions])
    return [seed for seed in conditions[0].seeds if seed in shared]


def on_shared_seeds(conditions: Sequence[Condition]) -> list[Differences]:
    """Returns the differences of each condition on the seeds that all have, in the order of the first condition."""
    seeds = seeds_of_all(conditions)
    by_condition = []
    for condition in conditions:
        places = [list(condition.seeds).index(seed) for seed in seeds]
        by_condition.append(condition.differences.on(places))
    return by_condition


def on_added_seeds(conditions: Sequence[Condition]) -> list[Differences]:
    """Returns the differences of each condition on the seeds that all share.

    Where fewer than `LEAST_SEEDS` are shared, or runs are no pairs, each condition has all of its own seeds.
    """
    if all(one.is_paired for one in conditions):
        shared = on_shared_seeds(conditions)
        if shared[0].n >= LEAST_SEEDS:
            return shared
    return [one.differences for one in conditions]


def blocks_of(conditions: Sequence[Condition]) -> list[Block]:
    """Returns the blocks of a number over conditions: those of its conditions, first those that block every verdict.

    A condition at its ceiling, or with ties alone, blocks likeness; where every condition is, all verdicts are blocked.
    """
    single = [any(block.reason.code in SINGLE_CODES for block in one.difference.blocks) for one in conditions]
    blocks = []
    for condition in conditions:
        for block in condition.difference.blocks:
            is_single = block.reason.code in SINGLE_CODES
            blocks.append(replace(block, wholly=all(single)) if is_single else block)
    return sorted(blocks, key=lambda block: not block.wholly)


def blocking_condition(conditions: Sequence[Condition], reason: Reason | None) -> str:
    """Returns the name of the first condition that is blocked for this reason; empty where none is."""
    for condition in conditions:
        if any(block.reason == reason for block in condition.difference.blocks):
            return condition.name
    return ""
