"""What planned seeds can tell, before they are trained: from the spread of pairs that are known.

By the mean: the smallest true difference that is found with 80 % power at the level of the family, with
V(n) = s_d²/n + σ²_example/N for n seeds and N shared test examples; and the power of equivalence at a true difference
of 0. By the rate, on an all-or-nothing task: the failure rate that is told from 0, which takes no spread.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ablate.analysis.conditions import Condition, Refusal
from ablate.analysis.contrast import Contrast
from ablate.analysis.estimates import detectable_failure_rate, seeds_for_failure_rate, seeds_without_failure
from ablate.analysis.family import Pair
from ablate.analysis.more_examples import seeds_with_more_examples, test_share
from ablate.analysis.over_conditions import shared_scale, span_of_mean
from ablate.analysis.paired import ROUNDING, Differences
from ablate.analysis.power import (
    LEAST_PAIRS,
    MAX_SEEDS,
    POWER,
    detectable_effect,
    smallest,
)
from ablate.analysis.runs import Runs, runs_of, solving_metric
from ablate.analysis.sums_of_conditions import mean_over
from ablate.core.facts import BASELINE, Evidence, TaskFacts
from ablate.core.metric import Metric
from ablate.core.over import MEAN
from ablate.core.reason import Reason


@dataclass(frozen=True)
class Prospect:
    """A planned comparison, by the mean; numbers are None where they are not known."""

    variant: str
    """The variant or, of a main effect, `path=level`."""
    pairs: int = 0
    """The number of known pairs, which give the spread."""
    spread: float | None = None
    """The standard deviation of their differences, in the metric's units or, of a mean over conditions of several
    scales, in the scaled unit; so are the other differences."""
    detectable: float | None = None
    """The difference that is found with 80 % power; infinite where the metric can show no such difference."""
    equivalent: float | None = None
    """The probability that equivalence within the margin is shown at a true difference of 0."""
    equivalent_seeds: float | None = None
    """The seeds that make this probability 80 %; infinite above `MAX_SEEDS`."""
    seeds: float | None = None
    """The seeds that detect the difference that was asked for; infinite above `MAX_SEEDS`."""
    test_share: float | None = None
    """The share of the variance that a fixed test set adds; None where every seed draws its own."""
    seeds_with_more: float | None = None
    """The seeds that detect as much as those planned with four times as many test examples."""
    why: str = ""
    """Why a number is not known, or infinite, as `core.reason` writes it; empty where nothing is to be said."""
    against: str = BASELINE
    """The variant, or `path=level`, that it is compared with."""

    def times(self, unit: float) -> Prospect:
        """Returns the prospect with `spread` and `detectable` multiplied by `unit`; seeds and probabilities stay.

        For a prospect that was computed from `Terms.divided_by(unit)`, whose differences are in multiples of `unit`:
        it puts them in the units of the margin as declared.
        """
        return replace(
            self,
            spread=None if self.spread is None else self.spread * unit,
            detectable=None if self.detectable is None else self.detectable * unit,
        )


@dataclass(frozen=True)
class Outlook:
    """The planned comparisons on one task, and the differences and failure rates that they can tell."""

    task: str
    metric: str
    margin: float | None
    by_rate: bool
    """Whether the seeds that only one side solves decide."""
    effect: float | None = None
    """By the mean, what is detected in units of s_d, where no test examples are shared; None of a single seed."""
    prospects: Sequence[Prospect] = ()
    """By the mean, each comparison."""
    failure_rate: float | None = None
    """By the rate, the smallest failure rate that is told from 0 with 80 % power; None where no outcome decides."""
    equivalent_seeds: int | None = None
    """By the rate, the seeds that show equivalence within the margin, if no run fails alone."""
    seeds: float | None = None
    """By the rate, the seeds that tell the failure rate which is worth the difference that was asked for."""
    conditions: int = 1
    """The number of conditions whose mean is judged; 1 where each is judged by itself."""


@dataclass(frozen=True)
class Power:
    """The differences in its primary metric that a study can detect."""

    metric: str
    seeds: int
    comparisons: int
    """The size of the family, M."""
    claims: int
    """The claims in the family, which are about none of its comparisons."""
    level: float
    """The level at which each comparison is judged; with looks, the share of the last one."""
    looks: int
    source: str
    """Where the spread comes from, in words; empty where none is known."""
    tasks: Sequence[Outlook]
    asked: float | None = None
    """A difference that the study is to detect, in the metric's units."""
    claims_in_order: int = 0
    """The claims that are judged one after the other; 0 where all are judged."""


@dataclass(frozen=True)
class Terms:
    """The terms on which planned comparisons are judged."""

    n: int
    """The number of planned seeds."""
    alpha: float
    """The level of each comparison."""
    margin: float | None = None
    """The margin of equivalence, in the units in which the study declares it."""
    detect: float | None = None
    """A difference that they should find, in the units of the margin."""

    def divided_by(self, unit: float) -> Terms:
        """Returns the terms with margin and difference in multiples of a unit."""
        return replace(
            self,
            margin=None if self.margin is None else self.margin / unit,
            detect=None if self.detect is None else self.detect / unit,
        )


def outlook(
    task: TaskFacts, name: str, pairs: Sequence[Pair], evidence: Evidence | None, terms: Terms
) -> Outlook:
    """Returns what comparisons can tell on one task, by its metric `name`.

    pairs: the comparisons, each of two groups of variants. evidence: known runs, also under other seeds.
    """
    terms = _in_range(terms, task.metrics[name])
    if task.outcome == "all_or_nothing" and solving_metric(task, name) is not None:
        return _outlook_by_rate(task, name, terms)
    return Outlook(
        task.name,
        name,
        terms.margin,
        by_rate=False,
        effect=detectable_effect(terms.n, terms.alpha) if terms.n > 1 else None,
        prospects=_prospects(task, name, pairs, evidence, terms),
    )


def outlook_of_mean(
    tasks: Sequence[TaskFacts],
    name: str,
    pairs: Sequence[Pair],
    evidence: Evidence | None,
    terms: Terms,
    scales: Mapping[str, float],
) -> Outlook:
    """Returns what comparisons by their mean over tasks can tell, by the metric `name`: in its units where all tasks
    share a scale, else in the scaled unit.

    scales: task → the declared scale of its differences.
    """
    prospects = []
    for pair in pairs:
        found = None if evidence is None else _contrast_of_mean(tasks, name, pair, evidence, terms, scales)
        if found is None:
            prospects.append(Prospect(pair.name, why=str(Reason("pairs")), against=pair.against))
            continue
        contrast, unit = found
        terms_of_mean = _in_range(terms.divided_by(unit), contrast.metric)
        prospect = _prospect(pair.name, contrast, terms_of_mean).times(unit)
        prospects.append(replace(prospect, against=pair.against))
    return Outlook(MEAN, name, terms.margin, by_rate=False, prospects=prospects, conditions=len(tasks))


def _in_range(terms: Terms, metric: Metric) -> Terms:
    """Returns the terms without the difference to be detected where a metric can show no such difference."""
    if terms.detect is not None and metric.span is not None and terms.detect > metric.span:
        return replace(terms, detect=None)
    return terms


def _contrast_of_mean(
    tasks: Sequence[TaskFacts],
    name: str,
    pair: Pair,
    evidence: Evidence,
    terms: Terms,
    scales: Mapping[str, float],
) -> tuple[Contrast, float] | None:
    """Returns the contrast of a pair by its mean over tasks, scaled, and the scale that all tasks share, else 1; None
    where known runs have no such mean.
    """
    runs = runs_of(evidence)
    contrasts = []
    conditions = []
    for task in tasks:
        known_task = _known_task(task, name, evidence)
        if known_task is None:
            return None
        contrast = replace(_most_varying(runs, pair, known_task, name), metric=task.metrics[name])
        scale = scales.get(task.name)
        contrasts.append(contrast)
        conditions.append(
            Condition.of_contrast(task.name, contrast, name, margin=terms.margin, declared_scale=scale)
        )
    mean = mean_over(conditions)
    if isinstance(mean, Refusal):
        return None
    span = span_of_mean(conditions)
    metric = Metric("max", resolution=mean.resolution, floor=None if span is None else 0.0, ceiling=span)
    contrast = replace(
        contrasts[0],
        metric=metric,
        differences=mean,
        diverged=sum(contrast.diverged for contrast in contrasts),
        grouped=any(contrast.grouped for contrast in contrasts),
    )
    return contrast, shared_scale(conditions)


def _outlook_by_rate(task: TaskFacts, name: str, terms: Terms) -> Outlook:
    """Returns what comparisons can tell on an all-or-nothing task: it takes the failures that are significant."""
    span = task.metrics[name].span
    failure_rate = detectable_failure_rate(terms.n, terms.alpha)
    equivalent_seeds = None
    if span and terms.margin is not None:
        equivalent_seeds = seeds_without_failure(terms.margin, span, terms.alpha)
    seeds = None
    if span and terms.detect:
        seeds = seeds_for_failure_rate(terms.detect / span, terms.alpha)
    return Outlook(
        task.name,
        name,
        terms.margin,
        by_rate=True,
        failure_rate=None if math.isnan(failure_rate) else failure_rate,
        equivalent_seeds=equivalent_seeds,
        seeds=seeds,
    )


def _prospects(
    task: TaskFacts, name: str, pairs: Sequence[Pair], evidence: Evidence | None, terms: Terms
) -> list[Prospect]:
    """Returns the prospect of each comparison, by the runs that are known of its sides."""
    known_task = _known_task(task, name, evidence)
    if evidence is None or known_task is None:
        return [Prospect(pair.name, why=str(Reason("pairs")), against=pair.against) for pair in pairs]

    runs = runs_of(evidence)
    prospects = []
    for pair in pairs:
        contrast = _most_varying(runs, pair, known_task, name)
        prospect = _prospect(pair.name, replace(contrast, metric=task.metrics[name]), terms)
        prospects.append(replace(prospect, against=pair.against))
    return prospects


def _most_varying(runs: Runs, pair: Pair, task: TaskFacts, name: str) -> Contrast:
    """Returns the contrast of a pair at that setting of what it is compared with at which differences vary most."""
    settings = [pair.b]
    if len(pair.b) == 1:
        settings += [(runner_up,) for runner_up in runs.runner_ups(pair.b[0], task)]
    side = [runs.of(variant, task) for variant in pair.a]
    contrasts = []
    for variants in settings:
        other = [runs.of(variant, task) for variant in variants]
        contrasts.append(Contrast.between([side], [other], name))
    return max(contrasts, key=lambda contrast: contrast.differences.sd if contrast.n > 1 else -1.0)


def _known_task(task: TaskFacts, name: str, evidence: Evidence | None) -> TaskFacts | None:
    """Returns the task of the same name in the evidence, where it has the metric."""
    if evidence is None:
        return None
    for known in evidence.facts.tasks:
        if known.name == task.name and name in known.metrics:
            return known
    return None


def _prospect(variant: str, contrast: Contrast, terms: Terms) -> Prospect:
    """Returns the prospect of one comparison, by its known pairs."""
    obstacle = _no_spread(contrast)
    if obstacle is not None:
        return Prospect(variant, contrast.n, why=str(obstacle))

    differences = contrast.differences
    detectable = _detectable(contrast, terms)
    equivalent = None
    equivalent_seeds = None
    if terms.margin is not None and not contrast.grouped:
        equivalent, equivalent_seeds = _equivalence(differences, terms.n, terms.margin, terms.alpha)
    share = None
    seeds_with_more = None
    if differences.squares is not None and detectable is not None and math.isfinite(detectable):
        share = test_share(differences.squares.at(terms.n))
        seeds_with_more = seeds_with_more_examples(differences.squares, detectable, terms.alpha)
    seeds = None
    reason = None
    if terms.detect is not None:
        seeds, reason = seeds_to_detect(differences, terms.detect, terms.alpha)
    if reason is None and contrast.diverged:
        reason = Reason("unstable", {"diverged": contrast.diverged})
    elif reason is None and contrast.grouped:
        reason = Reason("groups")
    return Prospect(
        variant,
        pairs=contrast.n,
        spread=differences.sd,
        detectable=detectable,
        equivalent=equivalent,
        equivalent_seeds=equivalent_seeds,
        seeds=seeds,
        test_share=share,
        seeds_with_more=seeds_with_more,
        why=str(reason or ""),
    )


def _detectable(contrast: Contrast, terms: Terms) -> float | None:
    """Returns the difference that the planned seeds detect; None of one seed, infinite beyond the metric's range."""
    if terms.n < 2:
        return None
    detectable = contrast.differences.mde(terms.alpha, terms.n)
    span = contrast.metric.span
    return math.inf if span is not None and detectable > span else detectable


def _no_spread(contrast: Contrast) -> Reason | None:
    """Returns why the known pairs tell no spread; None where they do."""
    if contrast.n == 0:
        return Reason("pairs")
    if contrast.n < LEAST_PAIRS:
        return Reason("few", {"n": contrast.n, "least": LEAST_PAIRS})
    differences = contrast.differences
    rounding = ROUNDING * np.abs([contrast.a, contrast.b]).max()
    same = not contrast.metric.resolution and np.ptp(differences.values) <= rounding
    if differences.all_zero or same:
        return Reason("degenerate", {"n": contrast.n})
    return None


def _equivalence(d: Differences, n: int, margin: float, alpha: float) -> tuple[float | None, float]:
    """Returns the power of n seeds to show equivalence within the margin, and the seeds that have 80 %.

    The power of a single seed is None.
    """

    def power_of(num_seeds: int) -> float:
        return d.equivalence_power(margin, num_seeds, 0.0, alpha)

    power = power_of(n) if n > 1 else None
    return power, smallest(lambda num_seeds: power_of(num_seeds) >= POWER)


def seeds_to_detect(d: Differences, difference: float, alpha: float) -> tuple[float, Reason | None]:
    """Returns the seeds that detect a difference; infinite, with the reason, where none do."""

    def needed(differences: Differences) -> float:
        return smallest(lambda n: differences.mde(alpha, n) <= difference)

    seeds = needed(d)
    if math.isfinite(seeds):
        return seeds, None
    # The first limit without which some number of seeds would do is the reason.
    if math.isfinite(needed(d.without_examples())):
        return math.inf, Reason("examples")
    if math.isfinite(needed(replace(d, overlap=0.0))):
        return math.inf, Reason("pool")
    return math.inf, Reason("open", {"seeds": MAX_SEEDS + 1})
