"""One side against another on one metric of one task, seed by seed, and what keeps that from deciding.

A run that diverged is an outcome: it is scored at the metric's floor, and its seed stays. Where runs either find the
solution or do not, a mean over seeds is a rate in disguise: the seeds that only one side solved decide.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np

from ablate.analysis.estimates import Rate
from ablate.analysis.paired import ROUNDING, Differences, Flags, Floats, mean_of
from ablate.analysis.runs import Constant, Side, solving_metric
from ablate.analysis.unpaired import Unpaired
from ablate.core.derived import Kind
from ablate.core.facts import TaskFacts
from ablate.core.metric import Metric, sign
from ablate.core.reason import Block, Reason

FLOOR_ERRORS = 3  # Standard errors of guessing within which an accuracy counts as at its floor.
CEILING_STEPS = 3  # Steps of the metric's resolution within which it counts as at its ceiling.


@dataclass(frozen=True)
class Contrast:
    """n paired seeds, those with a diverged run included where the metric has a floor."""

    metric: Metric
    a: Floats  # The scores of side A in the metric's own direction, shape (num_variants, n); so is the next.
    b: Floats
    differences: Differences  # Oriented; of the means over the variants of each side.
    diverged: int = 0  # Runs that diverged, whether or not the metric says what that is worth.
    missing: int = 0  # Planned seeds on which a run has no outcome.
    # The seeds that A, and B, solved, of those on which both have an outcome; None where that is not known.
    solved: tuple[Flags, Flags] | None = None
    by_rate: bool = False  # Whether the seeds that only one side solved decide.
    on_this_metric: bool = True  # Whether solved is a threshold on this metric.
    grouped: bool = False  # Whether runs of a graded task fall into groups.
    interaction: bool = False
    of_task: bool = True  # Whether the metric is the task's own, and no derived one.
    counted: bool = False  # Whether the metric itself is 0 or 1 a seed, so that it has no bounds to be near.
    constant: bool = False  # Whether a side is a value that the task declares: near guessing, say.
    obstacle: Reason | None = None  # Why the values of a derived metric say nothing.

    @classmethod
    def between(
        cls,
        plus: Sequence[Sequence[Side]],
        minus: Sequence[Sequence[Side]],
        name: str,
        *,
        kind: Kind = "mean",
        less: str = "",
    ) -> Contrast:
        """Of sums of means over the variants of each part: (A + D) − (B + C) is a difference of differences.

        The second of two parts may be of another metric, `less`. Given runs of two sides that share no two seeds are
        compared without pairs; not by example, nor by rates or spreads, which take pairs.
        """
        a, b = list(chain(*plus)), list(chain(*minus))
        sides, task, runs, counted = (*a, *b), a[0].task, a[0].runs, kind == "rate"
        metric, better = task.metrics[name], sign(task.metrics[name])

        def scores_of(parts: Sequence[Sequence[Side]]) -> Floats:
            by_part = zip(parts, (name, less or name), strict=False)
            return np.stack([side.scored(of) for part, of in by_part for side in part])

        first, second = scores_of(plus), scores_of(minus)
        # Of each side by seed; where seeds are pairs, all sides alike.
        known, asked = ~np.isnan([*first, *second]), np.array([side.asked for side in sides])
        given, single = runs.facts.given, task.outcome == "graded" and task.sampling.pool == "fresh"
        apart = (single and len(sides) == 2 and kind == "mean" and not less) and (
            given == "known_noise" or (given == "runs" and asked.all(axis=0).sum() < 2)
        )
        lost = ~known & [side.status != "diverged" for side in sides]
        if not apart:
            known[:], asked[:], lost[:] = known.all(axis=0), asked.all(axis=0), lost.any(axis=0)
        lost, usable, others = lost & asked, known[0], known[-1]
        rows = [values for side in sides if not less and (values := side.by_example(name)) is not None]
        # Of each variant, its weight in the sum of the means of the parts.
        of_a, of_b = ([better / len(part) for part in parts for _ in part] for parts in (plus, minus))
        examples = None
        if len(rows) == len(sides):
            examples = np.tensordot([*of_a, *np.negative(of_b)], np.broadcast_arrays(*rows), 1)[usable]
        means = np.tensordot(of_a, first, 1)[usable], np.tensordot(of_b, second, 1)[others]
        threshold, of_task = solving_metric(task, runs.facts.metric), task in runs.facts.tasks
        scores, solved = (first[:, usable], second[:, others]), None
        if len(sides) == 2 and counted:
            solved = better * scores[0][0] > better * 0.5, better * scores[1][0] > better * 0.5
        elif len(sides) == 2 and threshold is not None and not apart:
            solved = a[0].solved[asked[0] & ~lost[0]], b[0].solved[asked[0] & ~lost[0]]
        step = metric.resolution or smallest_difference(np.concatenate([side.ravel() for side in scores]))
        if apart:
            d = Differences.between(means[0], np.full_like(means[0], mean_of(means[1])), step)
            d = Unpaired(d.values, d.floor, others=means[1], known=given == "known_noise")
        elif given == "documents" and examples is not None and len(examples) == 1:
            d = replace(
                Differences.between(examples[0], 0 * examples[0], metric.resolution), unit="documents"
            )
        else:
            d = Differences.between(*means, step, examples, overlap(task))
        return cls(
            metric,
            *scores,
            d,
            diverged=int((asked & [side.status == "diverged" for side in sides]).sum()),
            missing=int((lost if apart else lost[0]).sum()),
            solved=solved,
            by_rate=counted or task.outcome == "all_or_nothing",
            on_this_metric=counted or threshold == name,
            grouped=of_task and runs.suspect(task, name),
            interaction=len(plus) > 1,
            of_task=of_task,
            counted=counted,
            constant=any(isinstance(side, Constant) for side in sides),
            obstacle=next((side.obstacle for side in sides if side.obstacle is not None), None),
        )

    @property
    def n(self) -> int:
        """Number of pairs."""
        return self.differences.n

    def estimate(self, margin: float | None = None) -> Differences | Rate:
        """What is judged; `margin` is the one that the study declares for the metric."""
        blocks = tuple(self.blocks(margin or 0.0))
        if not self.by_rate or self.solved is None:
            return replace(self.differences, blocks=blocks)
        span = self.metric.span if self.on_this_metric else None
        a, b = self.solved
        alike, only = a == b, (int((a & ~b).sum()), int((b & ~a).sum()))
        same = self.differences.on(alike) if len(alike) == self.n else Differences.between([], [])
        return Rate(only, len(alike), span, self.differences, same, blocks, self.counted)

    def blocks(self, margin: float = 0.0) -> Iterator[Block]:
        """All that hold, in their order."""
        if self.missing:
            yield Block(Reason("incomplete", {"pairs": self.n, "missing": self.missing}))
        diverged = Reason("unstable", {"diverged": self.diverged})
        if self.n < 2:
            # What the metric cannot score is an outcome all the same.
            unscored = self.diverged > 0 and self.metric.floor is None
            yield Block(diverged if unscored else Reason("few", {"n": self.n, "least": 2}))
            return
        if self.obstacle is not None:
            yield Block(self.obstacle)
        if self.by_rate and (self.interaction or self.solved is None):
            yield Block(Reason("several"))
        if self.diverged:
            yield Block(diverged, wholly=self.metric.floor is None)
        if not self.counted:
            yield from self._at_bounds(margin)
        if self.grouped:
            yield Block(Reason("groups"), wholly=False)

    def _at_bounds(self, margin: float) -> Iterator[Block]:
        metric, way = self.metric, sign(self.metric)
        ceiling = np.inf
        if metric.ceiling is not None:
            ceiling = way * metric.ceiling
        elif metric.direction == "min" and self.of_task:
            ceiling = 0.0  # Of a loss that does not say.
        # The distance from a bound within which `margin` could not be seen.
        near = max(margin, CEILING_STEPS * metric.resolution) + 1e-12
        scores = way * np.concatenate([self.a.ravel(), self.b.ravel()])
        cells = way * np.concatenate([self.a.mean(axis=1), self.b.mean(axis=1)])
        low = -np.inf if metric.floor is None else way * metric.floor + near
        if self.interaction and ((cells >= ceiling - near) | (cells <= low)).any():
            yield Block(Reason("scale"))
        solved = self.solved if self.by_rate else None
        if not self.diverged and ((scores >= ceiling - near).all() or (solved and np.all(solved))):
            yield Block(Reason("ceiling", {"failures": unseen(self.n), "n": self.n}))
        elif solved and not np.any(solved):
            yield Block(Reason("unsolved", {"n": self.n}))
        elif not self.constant and at_floor(metric, scores):
            yield Block(Reason("floor", {"n": self.n}), wholly=False)
        if self.differences.all_zero:
            yield Block(Reason("degenerate", {"n": self.n}))


def unseen(n: int) -> float:
    """The largest share of runs that may fail without one of `n` doing so, at 5 %."""
    return float(1 - 0.05 ** (1 / n))


def smallest_difference(scores: Floats) -> float:
    """The smallest difference between two runs that is more than rounding; 0 where there is none."""
    gaps = np.diff(np.unique(scores))
    gaps = gaps[gaps > ROUNDING * np.abs(scores).max(initial=0.0)]
    return float(gaps.min(initial=np.inf)) if len(gaps) else 0.0


def at_floor(metric: Metric, scores: Floats) -> bool:
    """Whether none of the oriented scores is told from guessing; False where the metric has no floor."""
    floor, above = metric.floor, 1e-12
    if floor is not None and metric.direction == "max" and 0 < floor < 1:
        above += FLOOR_ERRORS * (floor * (1 - floor) * metric.resolution) ** 0.5
    return floor is not None and bool((scores <= sign(metric) * floor + above).all())


def overlap(task: TaskFacts) -> float:
    """n_test/n_train, where every seed draws both from one pool; else 0."""
    sampling = task.sampling
    return sampling.test / sampling.train if sampling.pool == "resplit" and sampling.train else 0.0
