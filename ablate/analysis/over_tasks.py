"""The estimates of a study over its conditions, from its runs.

Conditions are made of the runs of each task, what cannot be added becomes an estimate that is blocked, and runner-up
settings are varied.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Literal, assert_never

from ablate.analysis.agreeing import Estimated, Groups, over_settings
from ablate.analysis.conditions import (
    Condition,
    Refusal,
    have_as_many_examples,
    on_added_seeds,
    scales_of,
    seeds_of_all,
)
from ablate.analysis.contrast import Contrast
from ablate.analysis.independent_conditions import LEAST_INDEPENDENT, mean_of_independent
from ablate.analysis.measure import Measure
from ablate.analysis.over_conditions import scaled_margin, shared_scale, span_of_mean
from ablate.analysis.paired import Differences, Floats
from ablate.analysis.runs import Runs
from ablate.analysis.sample_of_conditions import LEAST_CONDITIONS, sample_of
from ablate.analysis.sums_of_conditions import by_more_at, mean_over, trend_along
from ablate.core.metric import plain
from ablate.core.over import LEAST_TREND
from ablate.core.reason import Block, Reason

Sum = Literal["mean", "sample", "trend", "by_more"]
"""How conditions are added to one number."""
_Place = tuple[int, tuple[tuple[str, ...], ...]]
"""The index of a task, and the variants of each side."""


@dataclass(frozen=True)
class OverTasks:
    """Groups of variants that are compared by one metric on several tasks, the conditions of a study."""

    runs: Runs
    measures: Sequence[Measure]
    """The metric on each task."""
    groups: Groups
    """As `Claim.sides` has them."""
    _at_settings: dict[_Place, Condition] = field(default_factory=dict)

    @cached_property
    def contrasts(self) -> list[Contrast]:
        """The contrast on each task, at the chosen settings."""
        return [measure.contrast(self.runs, self.groups) for measure in self.measures]

    @cached_property
    def conditions(self) -> list[Condition]:
        """The condition of each task, at the chosen settings."""
        return self._conditions_at([self.groups] * len(self.measures))

    def _condition_of(self, contrast: Contrast, index: int, margin: float | None) -> Condition:
        """Returns the condition of a contrast on the task of this index."""
        measure = self.measures[index]
        return Condition.of_contrast(
            measure.task.name,
            contrast,
            measure.name,
            margin=margin,
            declared_scale=self._declared.get(measure.task.name),
        )

    @property
    def _declared(self) -> dict[str, float]:
        """Condition → the scale that the study declares; none of another metric than the primary one."""
        facts = self.runs.facts
        is_primary = all(plain(measure.name) == plain(facts.metric) for measure in self.measures)
        return facts.over.scales if is_primary else {}

    @cached_property
    def _without_margins(self) -> list[Condition]:
        """The conditions without margins, on which scales and units do not depend."""
        return [self._condition_of(contrast, index, None) for index, contrast in enumerate(self.contrasts)]

    @cached_property
    def scales(self) -> list[float]:
        """u_t of each condition; empty where conditions are not comparable."""
        return scales_of(self._without_margins) or []

    @property
    def unit(self) -> float:
        """The scale that all conditions share, which gives differences in units of their metric; else 1."""
        return shared_scale(self._without_margins)

    @property
    def is_in_own_unit(self) -> bool:
        """True where differences are shown in the unit of the metric, as all conditions have one scale."""
        return not self.scales or len({*self.scales}) == 1

    @property
    def span(self) -> float | None:
        """The largest difference over conditions, in the scaled unit; None where a metric has no range."""
        return span_of_mean(self._without_margins)

    @property
    def sides_on_added_seeds(self) -> list[tuple[Floats, Floats]]:
        """The scores of both sides in each condition, on the seeds whose differences are added."""
        added = on_added_seeds(self.conditions)
        shared = seeds_of_all(self.conditions)
        sides = []
        for contrast, differences in zip(self.contrasts, added, strict=True):
            if differences.n == contrast.n:
                sides.append((contrast.a, contrast.b))
                continue
            places = [place for place, seed in enumerate(contrast.seeds) if seed in shared]
            sides.append((contrast.a[:, places], contrast.b[:, places]))
        return sides

    def scaled_mean(self, values: Sequence[float]) -> float:
        """Returns the mean of the values over conditions, each first divided by the scale of its condition.

        The mean is in the unit in which differences are shown.
        """
        scales = self.scales or [1.0] * len(values)
        shares = [value / scale for value, scale in zip(values, scales, strict=True)]
        return self.unit * math.fsum(shares) / len(shares)

    def scaled(self, x: float) -> float:
        """Returns a declared difference, as a margin, in the scaled unit."""
        return scaled_margin(self._without_margins, x)

    @property
    def margin(self) -> float | None:
        """The margin of the study in the scaled unit; None where it declares none for the metric."""
        facts = self.runs.facts
        is_primary = all(measure.name == facts.metric for measure in self.measures)
        return self.scaled(facts.margin) if is_primary and facts.margin is not None else None

    @cached_property
    def margins(self) -> list[float | None]:
        """The margin of the study in the units of each condition; None where it declares none for the metric."""
        margin = self.margin
        scales = self.scales or [1.0] * len(self.measures)
        return [None if margin is None else margin * scale for scale in scales]

    def estimate(self, how: Sum) -> Estimated:
        """Returns one estimate over the tasks in the scaled unit, with those at runner-up settings."""
        tasks = [measure.task for measure in self.measures]
        return over_settings(
            self.runs,
            tasks,
            self.groups,
            partial(self._estimate_at, how),
            has_both_signs=has_both_signs(how),
        )

    def plain_estimate(self, how: Sum) -> Differences:
        """Returns one estimate over the tasks in the scaled unit, at the chosen settings."""
        return self._added(how, self.conditions)

    def _estimate_at(self, how: Sum, groups_by_task: Sequence[Groups]) -> Differences:
        """Returns the estimate at one setting of each variant on each task; groups hold names of settings."""
        return self._added(how, self._conditions_at(groups_by_task))

    def _conditions_at(self, groups_by_task: Sequence[Groups]) -> list[Condition]:
        """Returns the condition of each task at one setting of each variant there."""
        return _beside_others(
            [self._condition_at(index, groups) for index, groups in enumerate(groups_by_task)]
        )

    def _condition_at(self, index: int, groups: Groups) -> Condition:
        """Returns the condition of one task at one setting of each variant; each is computed once."""
        place = (index, _as_key(groups))
        if place not in self._at_settings:
            is_chosen = _as_key(groups) == _as_key(self.groups)
            contrast = (
                self.contrasts[index] if is_chosen else self.measures[index].contrast(self.runs, groups)
            )
            self._at_settings[place] = self._condition_of(contrast, index, self.margins[index])
        return self._at_settings[place]

    def refusal(self, how: Sum) -> Refusal | None:
        """Returns why there is no estimate at the chosen settings; None where there is one."""
        added = self._sum(how, self.conditions)
        return added if isinstance(added, Refusal) else None

    def _added(self, how: Sum, conditions: Sequence[Condition]) -> Differences:
        """Returns the estimate over conditions; an empty one, blocked by the reason, where they cannot be added."""
        added = self._sum(how, conditions)
        if not isinstance(added, Refusal):
            return added
        lost = []
        for condition in conditions:
            blocks = condition.difference.blocks
            lost += [block for block in blocks if block.reason.code == "incomplete"]
        reason = reason_of(added, conditions, how)
        return replace(Differences.between([], []), blocks=[*lost, Block(reason)])

    def _sum(self, how: Sum, conditions: Sequence[Condition]) -> Differences | Refusal:
        """Returns the sum of conditions by its formula, or why there is none."""
        unaveraged = [measure.task.name for measure in self.measures if not _is_mean(measure)]
        if unaveraged:
            return Refusal("all_or_nothing", unaveraged)
        over = self.runs.facts.over
        same_examples = have_as_many_examples(conditions)
        match how:
            case "mean" if over.independent_seeds:
                return mean_of_independent(conditions)
            case "mean":
                return mean_over(conditions, same_examples=same_examples)
            case "sample":
                return sample_of(conditions, independent_seeds=over.independent_seeds)
            case "trend":
                # A condition without a number is refused, as 0 is.
                sizes = [over.sizes.get(condition.name, 0.0) for condition in conditions]
                return trend_along(conditions, sizes, same_examples=same_examples)
            case "by_more":
                here, there = conditions
                return by_more_at(here, there, same_examples=same_examples)
            case _:
                assert_never(how)


def _as_key(groups: Groups) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(group) for group in groups)


def _beside_others(conditions: Sequence[Condition]) -> list[Condition]:
    """Returns conditions; where some have runs of several values, those of a single value lose their grid.

    The grid of a single value, as of an easy task, is as wide as the value: it does not count beside others.
    """
    if all(condition.has_one_value for condition in conditions):
        return [*conditions]
    return [condition.without_grid() if condition.has_one_value else condition for condition in conditions]


def has_both_signs(how: Sum) -> bool:
    """Returns whether a sum adds some conditions, and subtracts others."""
    match how:
        case "mean" | "sample":
            return False
        case "trend" | "by_more":
            return True
        case _:
            assert_never(how)


def _is_mean(measure: Measure) -> bool:
    """Returns whether a metric is compared on a task by the mean of its differences on each seed."""
    has_own_estimate = measure.estimator is not None and measure.estimator.estimate is not None
    return measure.kind == "mean" and not has_own_estimate


def reason_of(refusal: Refusal, conditions: Sequence[Condition], how: Sum) -> Reason:
    """Returns a refusal to estimate as the reason that a verdict gives."""
    match refusal.code:
        case "all_or_nothing" | "sources":
            return Reason("no_mean")
        case "directions":
            return Reason("directions")
        case "scales":
            return Reason("scales")
        case "sizes":
            return Reason("sizes")
        case "seeds":
            return Reason("no_shared_seeds")
        case "shared_seeds":
            return Reason("shared_seeds")
        case "few_seeds":
            return Reason("few", {"n": refusal.seeds, "least": LEAST_INDEPENDENT})
        case "few":
            least = LEAST_CONDITIONS if how == "sample" else LEAST_TREND
            return Reason("few", {"conditions": len(conditions), "least": least})
        case _:
            assert_never(refusal.code)
