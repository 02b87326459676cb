"""One side against another on one metric of one task, seed by seed: what verdicts and claims are decided from.

A run that diverged is an outcome: it is scored at the metric's floor, and its seed stays. Where runs either find the
solution or do not, a mean over seeds is a rate in disguise, and what a mean could hide is decided by the seeds that
only one side solved.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

import numpy as np

from ablate.analysis.paired import NAN, Differences, Flags, Floats
from ablate.analysis.rates import rate_p, rate_p_equivalent
from ablate.analysis.runs import Side, solving_metric
from ablate.core.facts import TaskFacts
from ablate.core.metric import Metric, sign

FLOOR_ERRORS = 3
"""Standard errors of guessing within which an accuracy counts as at its floor."""
CEILING_STEPS = 3
"""Steps of the metric's resolution within which it counts as at its ceiling."""


@dataclass(frozen=True)
class Contrast:
    """n paired seeds; arrays have shape (n,), with several variants a side (num_variants, n)."""

    task: TaskFacts
    metric: Metric
    a: Floats
    "The scores of side A in the metric's own direction, one row a variant; so is the next."
    b: Floats
    differences: Differences
    "Oriented; of the means over the variants of each side."
    completed: Flags
    "The seeds on which every run completed."
    diverged: tuple[int, int]
    "Runs of A, and of B, that diverged on seeds asked of all, whether or not the metric says what that is worth."
    missing: int
    "Planned seeds on which a run has no outcome."
    solved: tuple[Flags, Flags] | None = None
    """The seeds that A, and B, solved, of those on which both have an outcome, whether or not the metric can score it;
    None where the task does not say, or a side has several variants."""
    on_this_metric: bool = True
    "Whether solved is a threshold on this metric."

    @classmethod
    def of(cls, a: Sequence[Side], b: Sequence[Side], name: str) -> Contrast:
        """Of the mean over the variants of `a` and of `b`, on the metric `name` of their task."""
        return cls.between([a], [b], name)

    @classmethod
    def between(cls, plus: Sequence[Sequence[Side]], minus: Sequence[Sequence[Side]], name: str) -> Contrast:
        """The same of sums of such means: (A + D) − (B + C) is a difference of differences."""
        a, b = list(chain(*plus)), list(chain(*minus))
        task, facts = a[0].task, a[0].runs.facts
        metric = task.metrics[name]
        first, second = (np.stack([side.scored(name) for side in sides]) for sides in (a, b))
        unknown = np.isnan([*first, *second])
        asked = np.all([side.asked for side in (*a, *b)], axis=0)
        lost = (unknown & [side.status != "diverged" for side in (*a, *b)]).any(axis=0) & asked
        usable = ~unknown.any(axis=0)
        completed = np.all([side.status == "completed" for side in (*a, *b)], axis=0)
        rows = [values for side in (*a, *b) if (values := side.by_example(name)) is not None]
        examples = None
        if len(rows) == len(a) + len(b):
            by_side = _sum_of_means(rows[: len(a)], plus), _sum_of_means(rows[len(a) :], minus)
            examples = sign(metric) * (by_side[0] - by_side[1])[usable]
        means = [sign(metric) * _sum_of_means(*of)[usable] for of in ((first, plus), (second, minus))]
        threshold = solving_metric(task, facts.metric)
        alone = len(a) == len(b) == 1 and threshold is not None
        return cls(
            task=task,
            metric=metric,
            a=first[:, usable],
            b=second[:, usable],
            differences=Differences.between(means[0], means[1], metric.resolution, examples, overlap(task)),
            completed=completed[usable],
            diverged=(_diverged(a, asked), _diverged(b, asked)),
            missing=int(lost.sum()),
            solved=(a[0].solved[asked & ~lost], b[0].solved[asked & ~lost]) if alone else None,
            on_this_metric=threshold == name,
        )

    @property
    def n(self) -> int:
        """Number of pairs, those with a diverged run included where the metric has a floor."""
        return self.differences.n

    @property
    def any_diverged(self) -> bool:
        """Whether a run of either side diverged."""
        return sum(self.diverged) > 0

    @property
    def without_score(self) -> bool:
        """Whether a run diverged that the metric, having no floor, cannot score."""
        return self.any_diverged and self.metric.floor is None

    @cached_property
    def only(self) -> tuple[int, int]:
        """The seeds that only A, and that only B, solved."""
        if self.solved is None:
            return 0, 0
        a, b = self.solved
        return int((a & ~b).sum()), int((b & ~a).sum())

    @property
    def some_solved(self) -> bool:
        """Whether some run of the pair solved the task."""
        return self.solved is not None and bool(np.any(self.solved))

    @property
    def by_rate(self) -> bool:
        """Whether the seeds that only one side solved decide about a difference."""
        return self.task.outcome == "all_or_nothing" and self.some_solved

    @property
    def lead(self) -> float:
        """Above 0 where A is ahead, in what decides about a difference."""
        return float(self.only[0] - self.only[1]) if self.by_rate else self.differences.mean

    @cached_property
    def p_rate(self) -> float:
        """Two-sided p of the solved rates; NaN where they are not known."""
        n = 0 if self.solved is None else len(self.solved[0])
        return rate_p(*self.only, n) if n else NAN

    @property
    def p(self) -> float:
        """Two-sided p of no difference."""
        if self.without_score:
            return 1.0
        return self.p_rate if self.by_rate else self.differences.p()

    @cached_property
    def same(self) -> Differences:
        """On the seeds that both or neither solved."""
        assert self.solved is not None
        return self.differences.on(self.solved[0] == self.solved[1])

    def p_equivalent(self, margin: float, suspect: bool = False) -> float:
        """Small when the difference lies inside ±`margin`; 1 where it cannot be told.

        On an all-or-nothing task half of the margin bounds the share of seeds that only one side solves, and half the
        mean difference on the others. `suspect`: a graded task whose runs fall into groups.
        """
        if self.without_score:
            return 1.0
        if self.task.outcome == "graded":
            return 1.0 if suspect else self.differences.p_equivalent(margin)
        return self._in_halves(self.only, margin, lambda same: same.p_equivalent(margin / 2))

    def p_not_worse(self, margin: float) -> float:
        """Small when A does not lose more than `margin` to B; 1 where it cannot be told."""
        if self.without_score:
            return 1.0
        if self.task.outcome == "graded":
            return self.differences.p_above(-margin)
        return self._in_halves((0, self.only[1]), margin, lambda same: same.p_above(-margin / 2))

    def _in_halves(
        self, only: tuple[int, int], margin: float, on_the_others: Callable[[Differences], float]
    ) -> float:
        """The larger p of what half of the margin says of the seeds that one side alone solved, and of the others."""
        span = self.metric.span
        if not self.some_solved or not span or not self.on_this_metric or self.same.n < 2:
            return 1.0
        rates = rate_p_equivalent(*only, self.n, min(1.0, margin / (2 * span)))
        return max(rates, on_the_others(self.same))

    def at_ceiling(self, margin: float) -> bool:
        """Whether all runs are so near the ceiling that `margin` could not be seen, or solved the task."""
        if self.any_diverged or not self.n:
            return False
        if self.task.outcome == "all_or_nothing" and self.solved is not None and bool(np.all(self.solved)):
            return True
        if self.metric.ceiling is None:
            return False
        near = max(margin, CEILING_STEPS * self.metric.resolution)
        return bool((self._oriented >= sign(self.metric) * self.metric.ceiling - near - 1e-12).all())

    @property
    def at_floor(self) -> bool:
        """Whether no run is better than guessing."""
        floor = self.metric.floor
        if floor is None or not self.n:
            return False
        return bool((self._oriented <= sign(self.metric) * floor + near_floor(self.metric) + 1e-12).all())

    @property
    def _oriented(self) -> Floats:
        return sign(self.metric) * np.concatenate([self.a.ravel(), self.b.ravel()])


def _diverged(sides: Sequence[Side], asked: Flags) -> int:
    return sum(int((side.status[asked] == "diverged").sum()) for side in sides)


def _sum_of_means(rows: Sequence[Floats] | Floats, parts: Sequence[Sequence[Side]]) -> Floats:
    """The sum over `parts`, whose variants the rows are in turn, of the means over their rows."""
    ends = np.cumsum([len(part) for part in parts])
    return np.asarray(
        sum(np.mean(rows[end - len(part) : end], axis=0) for part, end in zip(parts, ends, strict=True))
    )


def near_floor(metric: Metric) -> float:
    """The distance above its floor within which a metric is not told from guessing."""
    floor, resolution = metric.floor, metric.resolution
    if metric.direction == "max" and resolution > 0 and floor is not None and 0 < floor < 1:
        return FLOOR_ERRORS * (floor * (1 - floor) * resolution) ** 0.5
    return 0.0


def overlap(task: TaskFacts) -> float:
    """n_test/n_train, where every seed draws both from one pool; else 0."""
    sampling = task.sampling
    return sampling.test / sampling.train if sampling.pool == "resplit" and sampling.train else 0.0
