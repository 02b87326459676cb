"""One side against another on one metric of one task, seed by seed, and what keeps that from deciding.

A run that diverged is an outcome: it is scored at the metric's floor, and its seed stays. Where runs either find the
solution or do not, a mean over seeds is a rate in disguise: the seeds that only one side solved decide.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ablate.analysis.clusters import Clustered, OverSources
from ablate.analysis.estimates import Rate
from ablate.analysis.paired import Differences, Flags, Floats, never_vary
from ablate.analysis.runs import Constant, solving_metric
from ablate.analysis.sides import Parts, Sides
from ablate.analysis.unpaired import OfSummaries
from ablate.core.derived import MetricKind
from ablate.core.metric import Metric, sign
from ablate.core.reason import Block, Reason

FLOOR_ERRORS = 3
"""Standard errors of guessing within which an accuracy counts as at its floor."""
CEILING_STEPS = 3
"""Steps of the metric's resolution within which it counts as at its ceiling."""
ROUNDED = 1e-12
"""What rounding may add to the distance from a bound."""


@dataclass(frozen=True)
class Contrast:
    """n paired seeds, those with a diverged run included where the metric has a floor."""

    metric: Metric
    a: Floats
    """Scores of side A in the metric's own direction, shape (num_variants, n)."""
    b: Floats
    """Scores of side B, likewise."""
    differences: Differences
    """Differences A − B of the means over the variants of each side, oriented."""
    diverged: int = 0
    """Runs that diverged, whether or not the metric says what that is worth."""
    all_diverged: bool = False
    """Whether all runs of a variant diverged."""
    missing: int = 0
    """Planned seeds on which a run has no outcome."""
    solved: tuple[Flags, Flags] | None = None
    """The seeds that A, and B, solved, of those on which both have an outcome; None where that is not known."""
    by_rate: bool = False
    """Whether the seeds that only one side solved decide."""
    on_this_metric: bool = True
    """Whether solved is a threshold on this metric."""
    grouped: bool = False
    """Whether runs of a graded task fall into groups."""
    interaction: bool = False
    """Whether it is a difference of differences."""
    of_task: bool = True
    """Whether the metric is the task's own, and no derived one."""
    counted: bool = False
    """Whether the metric itself is 0 or 1 a seed, so that it has no bounds to be near."""
    constant: bool = False
    """Whether a side is a value that the task declares: near guessing, say."""
    obstacle: Reason | None = None
    """Why the values of a derived metric say nothing; None where they do."""
    of_arrival: bool = False
    """True where the metric is the time to a target: `diverged` counts the runs that have not reached it."""
    seeds: Sequence[int] = ()
    """The numbers of its pairs in their order, or of all unpaired runs; none where runs have no numbers."""

    @classmethod
    def between(
        cls, plus: Parts, minus: Parts, name: str, *, kind: MetricKind = "mean", less: str = ""
    ) -> Contrast:
        """Returns the contrast of two sides on the metric `name`; `Sides` says what the arguments are."""
        sides = Sides(plus, minus, name, kind, less)
        task = sides.task
        without_outcome = sides.seeds.without_outcome
        if sides.paired:  # A pair counts once, whichever of its runs is missing.
            without_outcome = without_outcome[0]
        counted = kind == "rate"
        of_task = task in sides.facts.tasks
        obstacles = [side.obstacle for side in sides.variants if side.obstacle is not None]
        scores_a, scores_b = sides.scores
        return cls(
            metric=sides.metric,
            a=scores_a,
            b=scores_b,
            differences=sides.differences,
            diverged=int(sides.seeds.diverged.sum()),
            all_diverged=sides.seeds.has_only_diverged,
            missing=int(without_outcome.sum()),
            solved=sides.solved,
            by_rate=counted or task.outcome == "all_or_nothing",
            on_this_metric=counted or solving_metric(task, sides.facts.metric) == name,
            grouped=of_task and sides.variants[0].runs.suspect(task, name),
            interaction=len(plus) > 1,
            of_task=of_task,
            counted=counted,
            constant=any(isinstance(side, Constant) for side in sides.variants),
            obstacle=obstacles[0] if obstacles else None,
            of_arrival=sides.variants[0].of_arrival,
            seeds=sides.compared_numbers,
        )

    @property
    def n(self) -> int:
        """Number of pairs."""
        return self.differences.n

    @property
    def has_runs(self) -> bool:
        """False where means and deviations are known alone: that a mean is at the ceiling says so of its runs."""
        return not isinstance(self.differences, OfSummaries)

    @property
    def baseline_at_floor(self) -> bool:
        """True where no run of side B is told from guessing."""
        return self.has_runs and at_floor(self.metric, sign(self.metric) * self.b)

    def estimate(self, margin: float | None = None) -> Differences | Rate:
        """Returns what is judged; `margin` is the one that the study declares for the metric."""
        blocks = tuple(self.blocks(margin or 0.0))
        if not self.by_rate or self.solved is None:
            return replace(self.differences, blocks=blocks)
        solved_a, solved_b = self.solved
        only_a = int((solved_a & ~solved_b).sum())
        only_b = int((solved_b & ~solved_a).sum())
        alike = solved_a == solved_b
        # A run with an outcome and without a score leaves fewer differences than seeds, which then do not match.
        same = self.differences.on(alike) if len(alike) == self.n else Differences.between([], [])
        return Rate(
            only=(only_a, only_b),
            n=len(alike),
            span=self.metric.span if self.on_this_metric else None,
            differences=self.differences,
            same=same,
            blocks=blocks,
            counted=self.counted,
        )

    def blocks(self, margin: float = 0.0) -> Iterator[Block]:
        """Yields all that keeps the contrast from deciding; the first is the reason that is given."""
        if self.missing:
            yield Block(Reason("incomplete", {"pairs": self.n, "missing": self.missing}))
        if self.n < 2:
            # What the metric cannot score is an outcome all the same.
            unscored = self.diverged > 0 and self.metric.floor is None
            yield Block(self._without_value if unscored else Reason("few", {"n": self.n, "least": 2}))
            return
        if isinstance(self.differences, Clustered | OverSources) and self.differences.num_sources < 2:
            yield Block(Reason("few", {"sources": self.differences.num_sources, "least": 2}))
            return
        if self.obstacle is not None:
            yield Block(self.obstacle)
        if self.by_rate and (self.interaction or self.solved is None):
            yield Block(Reason("several"))
        if self.diverged:
            yield Block(self._without_value, wholly=self.metric.floor is None)
        if not self.counted:
            yield from self._blocks_at_bounds(margin)
        if self._is_seedless:
            yield Block(Reason("seedless"))
        if self.grouped:
            yield Block(Reason("groups"), wholly=False)

    @property
    def _is_seedless(self) -> bool:
        """Whether no run differs from another of its variant, and no resolution says how little that may mean.

        The grid of two values says nothing: its step is as small as these have digits.
        """
        is_declared = self.metric.resolution > 0
        if is_declared or self.counted or self.differences.all_zero:
            return False
        if isinstance(self.differences, OfSummaries):
            return self.differences.never_vary
        return never_vary([*self.a, *self.b])

    @property
    def has_one_value(self) -> bool:
        """Whether all runs of both sides have one value, and no resolution is declared: its grid is not known."""
        if self.metric.resolution > 0 or not self.has_runs or not self.differences.all_zero:
            return False
        return never_vary([np.concatenate([self.a.ravel(), self.b.ravel()])])

    @property
    def _without_value(self) -> Reason:
        """The reason that some runs have no value of their own: they did not reach their target, or they diverged.

        Where the metric has no floor for diverged runs it has `counted`, as they are left out, and `others` where all
        runs of a variant diverged.
        """
        if self.of_arrival:
            return Reason("unreached", {"runs": float(self.diverged)})
        numbers = {"diverged": float(self.diverged)}
        if self.metric.floor is None:
            numbers["counted"] = 0.0
            if self.all_diverged:
                numbers["others"] = 0.0
        return Reason("unstable", numbers)

    def _blocks_at_bounds(self, margin: float) -> Iterator[Block]:
        """Yields what blocks scores so near a bound of the metric that `margin` could not be seen."""
        metric = self.metric
        near = max(margin, CEILING_STEPS * metric.resolution) + ROUNDED
        oriented = sign(metric) * np.concatenate([self.a.ravel(), self.b.ravel()])
        at_ceiling = self._oriented_ceiling(oriented) - near
        if self.interaction and self.has_mean_near_bound(margin):
            yield Block(Reason("scale"))
        all_solved = False
        none_solved = False
        if self.by_rate and self.solved is not None and self.has_runs:
            all_solved = bool(np.all(self.solved))
            none_solved = not np.any(self.solved)
        if not self.diverged and (all_solved or (oriented >= at_ceiling).all()):
            yield Block(Reason("ceiling", {"failures": unseen(self.n), "n": self.n}))
        elif none_solved:
            yield Block(Reason("unsolved", {"n": self.n}))
        elif self.has_runs and not self.constant and at_floor(metric, oriented):
            yield Block(Reason("floor", {"n": self.n}), wholly=False)
        if self.differences.all_zero:
            yield Block(Reason("degenerate", {"n": self.n}))

    def has_mean_near_bound(self, margin: float = 0.0) -> bool:
        """Returns whether the mean of a variant lies so near a bound of the metric that differences shrink there."""
        if self.counted or self.n == 0:
            return False
        metric = self.metric
        near = max(margin, CEILING_STEPS * metric.resolution) + ROUNDED
        means = sign(metric) * np.concatenate([self.a.mean(axis=1), self.b.mean(axis=1)])
        oriented = sign(metric) * np.concatenate([self.a.ravel(), self.b.ravel()])
        at_ceiling = self._oriented_ceiling(oriented) - near
        at_lowest = -np.inf if metric.floor is None else sign(metric) * metric.floor + near
        return bool(((means >= at_ceiling) | (means <= at_lowest)).any())

    def _oriented_ceiling(self, oriented: Floats) -> float:
        """Returns the best value of the metric, oriented; infinite where it is unknown.

        It is 0 for a loss that does not say, unless a run has less, as the negative log-likelihood of a density may.
        """
        if self.metric.ceiling is not None:
            return sign(self.metric) * self.metric.ceiling
        is_loss = self.metric.direction == "min" and self.of_task
        return 0.0 if is_loss and (oriented <= ROUNDED).all() else np.inf


def unseen(n: int) -> float:
    """Returns the largest share of runs that may fail without one of `n` doing so, at 5 %."""
    return float(1 - 0.05 ** (1 / n))


def at_floor(metric: Metric, scores: Floats) -> bool:
    """Returns whether no oriented score is told from guessing; False where the metric has no floor."""
    floor = metric.floor
    if floor is None:
        return False
    above = ROUNDED
    if metric.direction == "max" and 0 < floor < 1:
        above += FLOOR_ERRORS * (floor * (1 - floor) * metric.resolution) ** 0.5
    return bool((scores <= sign(metric) * floor + above).all())
