"""Two sides of a comparison on one metric: their scores, the seeds that are compared, and the differences.

A side has one part or, of an interaction, two. Each part has one or more variants, whose mean counts; the means of the
parts are added: (A + D) − (B + C) is a difference of differences.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import assert_never

import numpy as np

from ablate.analysis.clusters import Clustered, OverSources
from ablate.analysis.grid import resolution_of
from ablate.analysis.paired import Differences, Flags, Floats
from ablate.analysis.runs import Side, solving_metric
from ablate.analysis.unpaired import OfSummaries, Unpaired
from ablate.core.derived import MetricKind
from ablate.core.facts import StudyFacts, TaskFacts
from ablate.core.metric import Metric, sign
from ablate.core.replication import (
    Examples,
    Folds,
    GivenSeeds,
    KnownNoise,
    PlannedSeeds,
    Summaries,
    UnpairedRuns,
)

Parts = Sequence[Sequence[Side]]
"""Part → variant → its runs."""


@dataclass(frozen=True)
class Sides:
    """The runs of two sides, A and B, on one metric of one task."""

    plus: Parts
    """The parts of side A."""
    minus: Parts
    """The parts of side B."""
    name: str
    """The metric."""
    kind: MetricKind = "mean"
    less: str = ""
    """The metric of the second part of each side, where that is another; else empty."""

    @cached_property
    def variants(self) -> list[Side]:
        """The runs of each variant, those of A first."""
        return list(chain(*self.plus, *self.minus))

    @property
    def task(self) -> TaskFacts:
        """The task, which all runs share."""
        return self.variants[0].task

    @property
    def facts(self) -> StudyFacts:
        """The facts of the study."""
        return self.variants[0].runs.facts

    @property
    def metric(self) -> Metric:
        """The metric, or that of the first parts."""
        return self.task.metrics[self.name]

    @cached_property
    def paired(self) -> bool:
        """True where scores are compared pair by pair, in the order of the seeds.

        The replication decides where the means of two variants are compared on a graded task with fresh examples; seeds
        of lost runs count. All other comparisons are by pairs.
        """
        if self.less or self.kind != "mean" or len(self.variants) != 2:
            return True
        if self.task.outcome != "graded" or self.task.sampling.pool != "fresh":
            return True
        # A run that crashed does not change how the others are compared.
        first, second = (self._all_seeds(side) for side in self.variants)
        return self.facts.replication.pairs(first, second)

    def _all_seeds(self, side: Side) -> set[int]:
        """Returns the seeds of a side, with those of runs whose pairs are left out."""
        lost = [run.seed for run in self.facts.lost_of(side.variant, side.task.name)]
        return {*self.facts.seeds_of(side.variant, side.task.name), *lost}

    @cached_property
    def planned_scores(self) -> tuple[Floats, Floats]:
        """The scores of A and B on all planned seeds, each of shape (num_variants, num_seeds); NaN where none."""
        return self._scored(self.plus), self._scored(self.minus)

    def _scored(self, parts: Parts) -> Floats:
        """Returns the scores of each variant of a side on all planned seeds, shape (num_variants, num_seeds)."""
        rows = [side.scored(self.name) for side in parts[0]]
        if len(parts) > 1:
            rows += [side.scored(self.less or self.name) for side in parts[1]]
        return np.stack(rows)

    @cached_property
    def seeds(self) -> ComparedSeeds:
        """The seeds that are compared."""
        return ComparedSeeds.of(self.variants, np.concatenate(self.planned_scores), paired=self.paired)

    @cached_property
    def scores(self) -> tuple[Floats, Floats]:
        """The scores of A and B in the metric's own direction, each of shape (num_variants, n)."""
        scores_a, scores_b = self.planned_scores
        return scores_a[:, self.seeds.usable_a], scores_b[:, self.seeds.usable_b]

    @property
    def compared_numbers(self) -> list[int]:
        """The numbers of the pairs in their order, or of the runs of both sides; none where runs have no numbers."""
        if not self.facts.replication.has_numbers:
            return []
        numbers = np.array(self.variants[0].runs.seeds, int)
        compared = [*numbers[self.seeds.usable_a].tolist()]
        if not self.paired:
            compared += numbers[self.seeds.usable_b].tolist()
        return compared

    @cached_property
    def differences(self) -> Differences:
        """The differences A − B, oriented, by the estimator of the replication."""
        replication = self.facts.replication
        match replication:
            case PlannedSeeds():
                return self._over_pairs()
            case Folds():
                return replace(self._over_pairs(), unit="folds")
            case GivenSeeds() | UnpairedRuns():
                return self._over_pairs() if self.paired else self._unpaired(known=False)
            case Summaries():
                return self._over_pairs() if self.paired else self._over_summaries()
            case KnownNoise():
                return self._over_pairs() if self.paired else self._unpaired(known=True)
            case Examples():
                by_document = self._over_documents()
                return self._over_pairs() if by_document is None else by_document
            case _:
                assert_never(replication)

    @cached_property
    def _means(self) -> tuple[Floats, Floats]:
        """The oriented means of A and B on each seed that is compared, of shapes (n_a,) and (n_b,)."""
        planned_a, planned_b = self.planned_scores
        better = sign(self.metric)
        # Over all planned seeds, so that rounding does not depend on which of them are compared.
        means_a = np.tensordot(better * _weights(self.plus), planned_a, 1)[self.seeds.usable_a]
        means_b = np.tensordot(better * _weights(self.minus), planned_b, 1)[self.seeds.usable_b]
        return means_a, means_b

    @property
    def _resolution(self) -> float:
        """The resolution of the metric, or that of all scores."""
        scores_a, scores_b = self.scores
        return resolution_of(self.metric, np.concatenate([scores_a.ravel(), scores_b.ravel()]))

    def _unpaired(self, *, known: bool) -> Differences:
        """Returns the differences of runs that are no pairs; `known`: by the noise of the baseline alone."""
        means_a, means_b = self._means
        return Unpaired.of_runs(means_a, means_b, self._resolution, known=known)

    def _over_summaries(self) -> Differences:
        """Returns the difference of two means by the deviations known beside them; empty where a mean is unknown."""
        first, second = (side.runs.summary(side.variant, self.task.name, self.name) for side in self.variants)
        if first is None or second is None:
            return replace(Differences.between([], []), unit="runs")
        return OfSummaries.between_means(first, second, self.metric)

    def _over_pairs(self) -> Differences:
        """Returns the differences of the means of each seed."""
        means_a, means_b = self._means
        examples = self._by_example
        differences = Differences.between(
            means_a, means_b, self._resolution, examples, ratio_of_test_to_training(self.facts, self.task)
        )
        sources = self.variants[0].sources
        if sources is not None and examples is not None:
            return OverSources.of_seeds(differences, sources)
        return differences

    def _over_documents(self) -> Differences | None:
        """Returns the differences on each test example, clustered by source where there are sources.

        None where the examples are unknown, or there is not exactly one run a side.
        """
        examples = self._by_example
        if examples is None or len(examples) != 1:
            return None
        differences = Differences.between(examples[0], 0 * examples[0], self.metric.resolution)
        sources = self.variants[0].sources
        if sources is not None:
            return Clustered.of_documents(differences, sources)
        return replace(differences, unit="documents")

    @cached_property
    def _by_example(self) -> Floats | None:
        """Returns the differences A − B on each test example, oriented, shape (n, m); None where not all are known."""
        if self.less:
            return None
        rows = []
        for side in self.variants:
            values = side.by_example(self.name)
            if values is None:
                return None
            rows.append(values)
        weights = sign(self.metric) * np.concatenate([_weights(self.plus), -_weights(self.minus)])
        examples = np.tensordot(weights, np.broadcast_arrays(*rows), 1)
        return np.asarray(examples[self.seeds.usable_a])

    @cached_property
    def solved(self) -> tuple[Flags, Flags] | None:
        """The seeds that A, and B, solved, of those on which both have an outcome; None where that is not known."""
        if len(self.variants) != 2:
            return None
        if self.kind == "rate":
            better = sign(self.metric)
            scores_a, scores_b = self.scores
            return better * scores_a[0] > better * 0.5, better * scores_b[0] > better * 0.5
        if solving_metric(self.task, self.facts.metric) is None or not self.paired:
            return None
        ended = self.seeds.asked[0] & ~self.seeds.without_outcome[0]
        first, second = self.variants
        return first.solved[ended], second.solved[ended]


@dataclass(frozen=True)
class ComparedSeeds:
    """The part of each run in a comparison.

    Arrays of shape (num_variants, num_seeds), in the order of `Sides.variants` and of the planned seeds.
    Where seeds are pairs, all rows are alike, but those of `diverged`; else there are two rows, of A and of B.
    """

    asked: Flags
    """Whether the run was asked for."""
    usable: Flags
    """Whether the run has a score; of a pair, whether all of its runs have."""
    without_outcome: Flags
    """Whether the run was asked for and has no outcome; of a pair, whether any of its runs was."""
    diverged: Flags
    """Whether the run was asked for and diverged."""

    @classmethod
    def of(cls, variants: Sequence[Side], scores: Floats, *, paired: bool) -> ComparedSeeds:
        """Returns the seeds on which these variants are compared; `scores` of shape (num_variants, num_seeds)."""
        asked = np.array([side.asked for side in variants])
        diverged = np.array([side.status == "diverged" for side in variants])
        usable = ~np.isnan(scores)
        without_outcome = ~usable & ~diverged
        if paired:
            asked[:] = asked.all(axis=0)
            usable[:] = usable.all(axis=0)
            without_outcome[:] = without_outcome.any(axis=0)
        return cls(asked, usable, without_outcome & asked, diverged & asked)

    @property
    def has_only_diverged(self) -> bool:
        """True where every run of some row that was asked for diverged."""
        is_lost = (self.diverged | ~self.asked).all(axis=1) & self.diverged.any(axis=1)
        return bool(is_lost.any())

    @property
    def usable_a(self) -> Flags:
        """The seeds on which A is scored, shape (num_seeds,)."""
        return np.asarray(self.usable[0])

    @property
    def usable_b(self) -> Flags:
        """The seeds on which B is scored, shape (num_seeds,)."""
        return np.asarray(self.usable[-1])


def _weights(parts: Parts) -> Floats:
    """Returns the weight of each variant in the sum of the means of the parts, shape (num_variants,)."""
    return np.concatenate([np.full(len(part), 1 / len(part)) for part in parts])


def ratio_of_test_to_training(facts: StudyFacts, task: TaskFacts) -> float:
    """Returns n_test/n_train of a task whose every seed, or fold, draws both sets from one pool; else 0."""
    if isinstance(facts.replication, Folds):
        return 1 / max(_num_folds(facts, task) - 1, 1)
    sampling = task.sampling
    if sampling.pool != "resplit" or not sampling.train:
        return 0.0
    return sampling.test / sampling.train


def _num_folds(facts: StudyFacts, task: TaskFacts) -> int:
    """Returns the number of folds of a task that any variant has, with those of runs whose pairs are left out."""
    folds = {run.seed for run in facts.lost if run.task == task.name}
    for variant in facts.variants:
        folds |= {*facts.seeds_of(variant.name, task.name)}
    return len(folds)
