"""What variants are compared by, on one task: a metric of the task, of stability, or a derived one.

A metric that a task has is a paired mean, or a rate where the task is all or nothing. A derived metric is one of four
kinds (`core.derived`): a mean by seed, 0 or 1 by seed, a spread over seeds, a ratio. `ablate.analysis.measures` has the
estimator of each.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray

from ablate.analysis.agreeing import Estimated, Groups, Plain, over_settings
from ablate.analysis.contrast import Contrast
from ablate.analysis.paired import Differences, Floats, smallest_difference
from ablate.analysis.runs import NOT_RUN, Runs, Side
from ablate.analysis.sides import overlap
from ablate.core.derived import DERIVED, Kind
from ablate.core.facts import TaskFacts
from ablate.core.metric import Metric
from ablate.core.reason import Block, Reason

LEAST_SPREAD = 6  # Seeds below which spreads are not compared.


@dataclass(frozen=True)
class Estimator:
    """How a derived metric is estimated from the runs of a study."""

    # Of the runs of one variant: the value on each seed, NaN where there is none; infinite where it counts with the
    # metric's floor. Of kind `spread` and `ratio` there is none by seed.
    by_seed: Callable[[Side], Floats] = lambda _: np.empty(0)
    # Of the runs of one variant: why their values say nothing; None where they do.
    obstacle: Callable[[Side], Reason | None] = lambda _: None
    # The metric with what the runs of one variant tell of it.
    refined: Callable[[Metric, Side], Metric] = lambda metric, _: metric
    # Its own estimate of a difference, where the kind does not say it.
    estimate: Callable[[Measure, Runs, Groups], Estimated] | None = None
    # What a difference must exceed.
    slack: Callable[[Measure, Runs], float] = lambda measure, runs: 0.0


@dataclass(frozen=True)
class Measure:
    """One metric on one task, by which variants are compared."""

    name: str
    kind: Kind
    task: TaskFacts
    # Of a derived metric.
    estimator: Estimator | None = None
    less: str = ""  # As `Claim.metric_less`.

    def side(self, runs: Runs, variant: str) -> Side:
        """The runs of a variant, as the metric sees them."""
        seen = runs.of(variant, self.task)
        if self.name in self.task.metrics:
            return seen
        if self.estimator is None:
            return Side(runs, variant, self._alone(self.task.stability[self.name]))
        metric = self.estimator.refined(DERIVED[self.name].metric, seen)
        obstacle, by_seed = self.estimator.obstacle(seen), self.estimator.by_seed(seen)
        return _DerivedSide(runs, variant, self._alone(metric), obstacle, by_seed)

    def _alone(self, metric: Metric) -> TaskFacts:
        """Returns the task with this metric alone.

        Whether a run solves the task decides nothing about how steadily it trains.
        """
        return replace(self.task, metrics={self.name: metric}, outcome="graded")

    def estimate(self, runs: Runs, groups: Groups) -> Estimated:
        """Of A and B, or of the four groups of an interaction, as `Claim.sides` has them; the mean over variants."""
        if self.estimator is not None and self.estimator.estimate is not None:
            return self.estimator.estimate(self, runs, groups)
        return over_settings(runs, self.task, groups, partial(self._at, runs))

    def _at(self, runs: Runs, groups: Groups) -> Plain:
        """With each name at its own setting."""
        margin = runs.facts.margin if self.name == runs.facts.metric else None
        if self.kind == "spread":
            return self._spread(runs, groups)
        return self.contrast(runs, groups).estimate(margin)

    def contrast(self, runs: Runs, groups: Groups) -> Contrast:
        """The pairs; with what the metric says against them."""
        a, b, *less = [[self.side(runs, name) for name in names] for names in groups]
        plus, minus = ([a, less[1]], [b, less[0]]) if less else ([a], [b])
        return Contrast.between(plus, minus, self.name, kind=self.kind, less=self.less)

    def _spread(self, runs: Runs, groups: Groups) -> Differences:
        """The mean over seeds of how much nearer A is to its median than B to its own (Brown and Forsythe 1974)."""
        sides = [[runs.of(name, self.task) for name in names] for names in groups[:2]]
        c = Contrast.between(sides[:1], sides[1:], runs.facts.metric, kind="spread")
        a, b = (np.abs(rows - np.median(rows, axis=1, keepdims=True)) if c.n else rows for rows in (c.a, c.b))
        step = c.metric.resolution or smallest_difference(np.concatenate([c.a, c.b]))
        d = Differences.between(b.mean(axis=0), a.mean(axis=0), step, overlap=overlap(self.task))
        if len(groups) > 2 or max(map(len, groups)) > 1:
            return replace(d, blocks=[Block(Reason("several"))])
        # Its own runs are no measure of what a diverged one would have spread.
        blocks = [replace(block, wholly=True) for block in c.blocks() if block.reason.code in _OF_SPREADS]
        if d.all_zero and c.n:
            blocks.append(Block(Reason("degenerate", {"n": c.n})))
        return replace(d, blocks=few(blocks, "n", c.n, LEAST_SPREAD))


_OF_SPREADS = ("incomplete", "unstable", "ceiling")


def few(blocks: Sequence[Block], what: str, count: int, least: int) -> list[Block]:
    """The blocks, with one more in its place where there are fewer than the least."""
    if count >= least:
        return list(blocks)
    first = [block for block in blocks if block.reason.code == "incomplete"]
    return [*first, Block(Reason("few", {what: count, "least": least})), *blocks[len(first) :]]


@dataclass(frozen=True)
class _DerivedSide(Side):
    """The runs of a variant, with a derived metric in place of their own."""

    by_seed: Floats = field(default_factory=lambda: np.empty(0))  # As `Estimator.by_seed`.

    @cached_property
    def status(self) -> NDArray[np.object_]:
        """Completed where the metric has a value, diverged where it counts with the floor, else not run."""
        values = np.where(np.isnan(self.by_seed), NOT_RUN, "completed").astype(object)
        return np.where(np.isinf(self.by_seed), "diverged", values)

    def values(self, metric: str) -> Floats:
        """The metric by seed; NaN where it has no value of its own."""
        return np.where(np.isinf(self.by_seed), np.nan, self.by_seed)
