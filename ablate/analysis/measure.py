"""Measures by which variants are compared on one task: a metric of the task, of stability, or a derived one.

A metric that a task has is a paired mean, or a rate where the task is all or nothing. A derived metric is one of four
kinds (`core.derived`): a mean by seed, 0 or 1 by seed, a spread over seeds, a ratio. `ablate.analysis.measures` has the
estimator of each.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ablate.analysis.agreeing import Estimated, Groups, Plain, over_settings
from ablate.analysis.contrast import Contrast
from ablate.analysis.grid import resolution_of
from ablate.analysis.paired import Differences, Floats
from ablate.analysis.runs import NOT_RUN, Runs, Side
from ablate.analysis.sides import ratio_of_test_to_training
from ablate.core.derived import DERIVED, MetricKind
from ablate.core.facts import TaskFacts
from ablate.core.metric import Metric
from ablate.core.reason import Block, Reason

LEAST_SPREAD = 6
"""Seeds below which spreads are not compared."""
SPREAD_BLOCKS = ("incomplete", "unstable", "ceiling")
"""Codes of the blocks of the primary metric that block its spread too."""


@dataclass(frozen=True)
class Estimator:
    """The estimator of a derived metric from the runs of a study."""

    by_seed: Callable[[Side], Floats] = lambda _: np.empty(0)
    """Runs of one variant → the value on each seed, shape (num_seeds,).

    NaN where there is none; infinite where it counts with the metric's floor. Kinds `spread` and `ratio` have no value
    by seed.
    """
    obstacle: Callable[[Side], Reason | None] = lambda _: None
    """Runs of one variant → why their values say nothing; None where they do."""
    refined: Callable[[Metric, Side], Metric] = lambda metric, _: metric
    """The metric → the metric with what the runs of one variant tell of it."""
    estimate: Callable[[Measure, Runs, Groups], Estimated] | None = None
    """Its own estimate of a difference, where the kind does not say it."""
    slack: Callable[[Measure, Runs], float] = lambda measure, runs: 0.0
    """What a difference must exceed, in the units of the estimate."""
    of_arrival: bool = False
    """True where the metric is the time to a target: a run without a value has not reached it."""


@dataclass(frozen=True)
class Measure:
    """A metric on one task, by which variants are compared."""

    name: str
    """The metric."""
    kind: MetricKind
    task: TaskFacts
    estimator: Estimator | None = None
    """How a derived metric is estimated; None for a metric of the task or of stability."""
    less: str = ""
    """The metric where A beats B by less, where that is another; else empty."""

    def side(self, runs: Runs, variant: str) -> Side:
        """Returns the runs of a variant, with the metric as one of their task's."""
        side = runs.of(variant, self.task)
        if self.name in self.task.metrics:
            return side
        if self.estimator is None:
            return Side(runs, variant, self._task_with(self.task.stability[self.name]))
        metric = self.estimator.refined(DERIVED[self.name].metric, side)
        return _DerivedSide(
            runs,
            variant,
            self._task_with(metric),
            obstacle=self.estimator.obstacle(side),
            of_arrival=self.estimator.of_arrival,
            by_seed=self.estimator.by_seed(side),
        )

    def _task_with(self, metric: Metric) -> TaskFacts:
        """Returns the task with this metric alone.

        Whether a run solves the task decides nothing about how steadily it trains.
        """
        return replace(self.task, metrics={self.name: metric}, outcome="graded")

    def estimate(self, runs: Runs, groups: Groups) -> Estimated:
        """Returns the estimate of A against B, or of an interaction; `groups` as `Claim.sides` has them."""
        if self.estimator is not None and self.estimator.estimate is not None:
            return self.estimator.estimate(self, runs, groups)
        return over_settings(runs, [self.task], groups, lambda of_tasks: self._estimate_at(runs, of_tasks[0]))

    def _estimate_at(self, runs: Runs, groups: Groups) -> Plain:
        """Returns the estimate at one setting of each variant; a name stands for a setting."""
        if self.kind == "spread":
            return self._spread(runs, groups)
        is_primary = self.name == runs.facts.metric
        return self.contrast(runs, groups).estimate(runs.facts.margin if is_primary else None)

    def contrast(self, runs: Runs, groups: Groups) -> Contrast:
        """Returns the contrast of A and B, or of an interaction; `groups` as `Claim.sides` has them."""
        a, b, *less = [[self.side(runs, name) for name in names] for names in groups]
        plus = [a]
        minus = [b]
        if less:
            a_less, b_less = less
            plus.append(b_less)
            minus.append(a_less)
        return Contrast.between(plus, minus, self.name, kind=self.kind, less=self.less)

    def _spread(self, runs: Runs, groups: Groups) -> Differences:
        """Returns how much nearer A is to its median than B to its own, on each seed (Brown and Forsythe 1974)."""
        a, b = [[runs.of(name, self.task) for name in names] for names in groups[:2]]
        contrast = Contrast.between([a], [b], runs.facts.metric, kind="spread")
        resolution = resolution_of(contrast.metric, np.concatenate([contrast.a, contrast.b]))
        deviations_a = _deviations(contrast.a)
        deviations_b = _deviations(contrast.b)
        differences = Differences.between(
            deviations_b.mean(axis=0),
            deviations_a.mean(axis=0),
            resolution,
            overlap=ratio_of_test_to_training(runs.facts, self.task),
        )
        if len(groups) > 2 or max(len(group) for group in groups) > 1:
            return replace(differences, blocks=[Block(Reason("several"))])
        blocks = [block for block in contrast.blocks() if block.reason.code in SPREAD_BLOCKS]
        if differences.all_zero and contrast.n:
            blocks.append(Block(Reason("degenerate", {"n": contrast.n})))
        if contrast.grouped:
            # The distance from the median says on which side it fell: at 0.05/8 this errs in 0.044 of comparisons.
            blocks.append(Block(Reason("groups", {"spread": 1.0})))
        # What a diverged run would have spread, the others do not tell.
        blocks = [replace(block, wholly=True) for block in blocks]
        return replace(differences, blocks=few(blocks, "n", contrast.n, LEAST_SPREAD))


def _deviations(scores: Floats) -> Floats:
    """Returns |score − median of its variant|, shape (num_variants, n) as `scores`."""
    if scores.shape[1] == 0:
        return scores
    return np.abs(scores - np.median(scores, axis=1, keepdims=True))


def few(blocks: Sequence[Block], what: str, count: int, least: int) -> list[Block]:
    """Returns the blocks, with one more where `count` is below `least`: after `incomplete`, before all others."""
    if count >= least:
        return list(blocks)
    incomplete = [block for block in blocks if block.reason.code == "incomplete"]
    too_few = Block(Reason("few", {what: count, "least": least}))
    return [*incomplete, too_few, *blocks[len(incomplete) :]]


@dataclass(frozen=True)
class _DerivedSide(Side):
    """The runs of a variant, with a derived metric in place of their own."""

    by_seed: Floats = field(default_factory=lambda: np.empty(0))
    """The metric by seed, as `Estimator.by_seed`."""

    @cached_property
    def status(self) -> NDArray[np.object_]:
        """Completed where the metric has a value, diverged where it counts with the floor, else not run."""
        status = np.where(np.isnan(self.by_seed), NOT_RUN, "completed").astype(object)
        return np.where(np.isinf(self.by_seed), "diverged", status)

    def values(self, metric: str) -> Floats:
        """Returns the metric by seed; NaN where it has no value of its own."""
        return np.where(np.isinf(self.by_seed), np.nan, self.by_seed)
