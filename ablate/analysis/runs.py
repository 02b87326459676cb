"""The trials frame, looked up by variant, task and planned seed."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ablate.analysis.arrivals import Arrivals, target_reports
from ablate.analysis.clusters import Sources, by_source
from ablate.analysis.paired import Flags, Floats, sd_of
from ablate.analysis.summaries import summaries_of
from ablate.base.errors import AblateError, Gather
from ablate.base.numerals import NOT_NEGATIVE, POSITIVE
from ablate.base.once_per import once_per_owner
from ablate.core.facts import RUNNER_UPS, Evidence, StudyFacts, TaskFacts
from ablate.core.metric import sign
from ablate.core.metric_range import check_numbers
from ablate.core.reason import Reason
from ablate.core.record import lost_to_its_variant
from ablate.core.summary import Summary

if TYPE_CHECKING:
    import pandas as pd

NOT_RUN = "not run"
"""The status of a planned trial that the frame does not have."""
Result = TypeVar("Result")


class Runs:
    """The frame of trials, from which `Side` takes the rows of one variant and task."""

    def __init__(self, evidence: Evidence) -> None:
        evidence = _with_runner_ups(evidence)
        trials = evidence.trials
        _refuse_numbers(evidence.facts)
        self.evidence = evidence
        self.facts = evidence.facts
        self.seeds = list(evidence.facts.seeds)
        self.trials = trials
        # The row of the frame by variant, task and seed: one look-up takes pandas a millisecond.
        cells = zip(trials["variant"], trials["task"], trials["seed"], strict=True)
        self.rows = {cell: row for row, cell in enumerate(cells)}
        if len(self.rows) < len(trials):
            _refuse_duplicates(evidence)
        # Both arrays end with an entry for a trial that has not run, whose row is −1.
        self.status = np.append(_statuses(trials), NOT_RUN)
        self.ids = np.append(trials["id"].to_numpy(object), "")
        self._memo: dict[tuple[Hashable, ...], Any] = {}

    def first(self, count: int) -> Runs:
        """Returns the runs of the first `count` seeds alone."""
        fewer = copy(self)
        fewer.seeds = self.seeds[:count]
        return fewer

    def memo(self, compute: Callable[[Evidence], Result], *key: Hashable) -> Result:
        """Returns what `compute` makes of the evidence, once for all who ask for this key."""
        if key not in self._memo:
            self._memo[key] = compute(self.evidence)
        result: Result = self._memo[key]
        return result

    def suspect(self, task: TaskFacts, name: str) -> bool:
        """Returns whether runs of a graded task fall into groups, as those of an all-or-nothing task do.

        They do when the largest gap between neighbouring values of some variant is at least a quarter of the metric's
        range. False for a metric that the task does not have, and of runs that are known by mean and deviation alone.
        """
        if not self.facts.replication.has_runs:
            return False
        if task.outcome != "graded" or name not in task.metrics:
            return False
        span = task.metrics[name].span
        if span is None:
            return False

        def some_variant_is_grouped(_: Evidence) -> bool:
            for variant in self.facts.variants:
                # NaN is sorted to the end, and its distance from anything is NaN.
                values = np.sort(self.of(variant.name, task).values(name))
                if (np.diff(values) >= span / 4).any():
                    return True
            return False

        return self.memo(some_variant_is_grouped, "groups", len(self.seeds), name, task.name)

    def worst(self, task: TaskFacts, metric: str) -> float:
        """Returns the worst value of a completed run on a task; the best imaginable where there is none."""
        better = sign(task.metrics[metric])

        def worst_of(evidence: Evidence) -> float:
            trials = evidence.trials
            is_of_task = (trials["task"] == task.name) & (trials["status"] == "completed")
            values = better * self.column(self.facts.column_of(metric))[:-1][is_of_task.to_numpy(bool)]
            return better * float(np.min(values[np.isfinite(values)], initial=np.inf))

        return self.memo(worst_of, "worst", metric, task.name)

    def of(self, variant: str, task: TaskFacts) -> Side:
        """Returns the runs of one variant on one task; of a constant of the task, its value on every seed."""
        if variant in task.constants and variant not in [known.name for known in self.facts.variants]:
            return Constant(self, variant, task)
        if not self.facts.replication.has_runs:
            return Summarised(self, variant, task)
        return Side(self, variant, task)

    def summary(self, variant: str, task: str, metric: str) -> Summary | None:
        """Returns what is known of the runs of a variant that nobody has; None where nothing is."""
        return self.memo(_stored_summaries, "summaries").get((variant, task, metric))

    def runner_ups(self, variant: str, task: TaskFacts) -> list[str]:
        """Returns the names of a variant at the other settings for which verdicts must hold."""
        for known in self.facts.variants:
            if known.name == variant:
                return known.rivals.get(task.name, [])
        return []

    def sides(self) -> list[Side]:
        """Returns the runs of each variant on each of its tasks, in the order of the study."""
        sides = []
        for variant in self.facts.variants:
            for task in self.facts.tasks:
                if self.facts.is_planned(variant.name, task.name):
                    sides.append(self.of(variant.name, task))
        return sides

    def column(self, name: str) -> Floats:
        """Returns a column as numbers, with a NaN at its end; NaN throughout where the frame does not have it."""

        def numbers(evidence: Evidence) -> Floats:
            if name not in evidence.trials:
                return np.full(len(evidence.trials) + 1, np.nan)
            values = evidence.trials[name].to_numpy(float, na_value=np.nan)
            return np.append(values, np.nan)

        return self.memo(numbers, "column", name)


@once_per_owner
def runs_of(evidence: Evidence) -> Runs:
    """Returns the runs of the evidence, which share what is looked up. Raises as `Runs` does."""
    return Runs(evidence)


def _with_runner_ups(evidence: Evidence) -> Evidence:
    """Returns the evidence with the trials at other settings among those of the study."""
    runner_ups = evidence.other_trials(RUNNER_UPS, ())
    if runner_ups.empty:
        return evidence
    import pandas as pd

    trials = pd.concat([evidence.trials, runner_ups], ignore_index=True)
    return replace(evidence, trials=trials)


def _refuse_duplicates(evidence: Evidence) -> None:
    """Raises `AblateError` for the first variant that has several rows on one task and seed."""
    cell = ["variant", "task", "seed"]
    variant, task, seed = evidence.trials.loc[evidence.trials.duplicated(cell), cell].iloc[0]
    raise AblateError(
        f"trials of {evidence.facts.study}: each variant, task and seed must have one row; "
        f"{variant!r} on {task!r} with seed {seed} has several. Keep the one that counts"
    )


def _refuse_numbers(facts: StudyFacts) -> None:
    """Raises `Invalid` for margins and ranges that no verdict can rest on, such as those of evidence made by hand."""
    with Gather() as at:
        for task in facts.tasks:
            for name, metric in {**task.stability, **task.metrics}.items():
                with at(f"tasks of {facts.study}", task.name, name):
                    check_numbers(metric)
        if facts.margin is not None:
            with at(f"facts of {facts.study}"):
                POSITIVE.check("margin", facts.margin)
        for claim in facts.claims:
            with at(f"claims of {facts.study}", claim.text):
                NOT_NEGATIVE.check("by", claim.by)


def _statuses(trials: pd.DataFrame) -> NDArray[np.object_]:
    """Returns the status of each trial; diverged too where memory or the time limit did not suffice."""
    statuses = [status if isinstance(status, str) else NOT_RUN for status in trials["status"]]
    reasons = trials["reason"] if "reason" in trials else [""] * len(trials)
    for row, reason in enumerate(reasons):
        if isinstance(reason, str) and lost_to_its_variant(statuses[row], reason):
            statuses[row] = "diverged"
    return np.array(statuses, object)


@dataclass(frozen=True)
class Side:
    """The runs of one variant on one task; arrays have shape (num_seeds,), in the order of the plan."""

    runs: Runs
    variant: str
    task: TaskFacts
    obstacle: Reason | None = None
    """Why the values say nothing; None where they do."""
    of_arrival: bool = False
    """True where the metric is the time to a target: a run without a value has not reached it."""

    @cached_property
    def rows(self) -> NDArray[np.int64]:
        """The row of each run in the frame; −1 where it has not run, or was not asked for."""
        rows = [self.runs.rows.get((self.variant, self.task.name, seed), -1) for seed in self.runs.seeds]
        return np.where(self.asked, np.array(rows, np.int64), -1)

    @cached_property
    def asked(self) -> Flags:
        """Flags of the seeds that the variant was asked for: not all where it was settled on fewer."""
        return np.isin(self.runs.seeds, self.runs.facts.seeds_of(self.variant, self.task.name))

    @cached_property
    def status(self) -> NDArray[np.object_]:
        """The status: completed, diverged (or lost to memory or time limit), pruned, failed or `NOT_RUN`."""
        return np.asarray(self.runs.status[self.rows])

    @cached_property
    def ids(self) -> NDArray[np.object_]:
        """The trial of each run; empty where it has not run."""
        return np.asarray(self.runs.ids[self.rows])

    @cached_property
    def diverged(self) -> int:
        """The number of runs that diverged."""
        return int((self.status == "diverged").sum())

    @cached_property
    def ended(self) -> Flags:
        """Flags of the runs that have an outcome: they completed or diverged."""
        return np.isin(self.status.astype(str), ["completed", "diverged"])

    @cached_property
    def missing(self) -> int:
        """The number of runs that were asked for and have no outcome."""
        return int((self.asked & ~self.ended).sum())

    def values(self, metric: str) -> Floats:
        """Returns the metric in its own direction; NaN where a run did not complete or has no finite value."""
        values = self.runs.column(self.runs.facts.column_of(metric))[self.rows]
        return np.where(np.isfinite(values) & (self.status == "completed"), values, np.nan)

    def sd(self, metric: str) -> float:
        """Returns the standard deviation of the scores of the runs that have one; NaN below two."""
        scored = self.scored(metric)
        return sd_of(scored[~np.isnan(scored)])

    def scored(self, metric: str) -> Floats:
        """Returns `values`, with a score for a run that diverged, NaN where the metric has no floor.

        It is the floor, or the worst value of a run of the task where that is worse: to diverge is never better.
        """
        settings = self.task.metrics[metric]
        score_of_diverged = np.nan
        if settings.floor is not None:
            worst = sign(settings) * self.runs.worst(self.task, metric)
            score_of_diverged = sign(settings) * min(sign(settings) * settings.floor, worst)
        return np.where(self.status == "diverged", score_of_diverged, self.values(metric))

    def by_example(self, metric: str) -> Floats | None:
        """Returns `scored` of each test example, shape (num_seeds, m), where all seeds share these; else None.

        Of examples in clusters, over several seeds, by source in place of example.
        NaN in the rows of runs without an outcome. None too where an outcome was not kept.
        """
        if self.task.sampling.pool != "held_out":
            return None
        stored = self.runs.memo(_stored_examples, "examples")
        completed = self.status == "completed"
        by_run = [stored.get((trial, metric), []) for trial in self.ids[completed]]
        lengths = {len(values) for values in by_run}
        if len(lengths) != 1 or min(lengths) < 2:
            return None
        scores = np.repeat(self.scored(metric)[:, None], lengths.pop(), axis=1)
        scores[completed] = by_run
        if self.sources is None or self.runs.facts.replication.unit == "document":
            return scores
        return by_source(scores, self.sources)

    @cached_property
    def sources(self) -> Sources | None:
        """The source of each test example, shape (m,); None where each is one of its own."""
        stored = self.runs.memo(_stored_sources, "sources")
        of_runs = [stored[trial] for trial in self.ids if trial in stored]
        return np.asarray(of_runs[0]) if of_runs else None

    @cached_property
    def solved(self) -> Flags:
        """Flags of the runs that reached the threshold of `solving_metric`, which the task must have.

        Meaningful where `ended` holds; a diverged run did not.
        """
        name = solving_metric(self.task, self.runs.facts.metric)
        assert name is not None
        metric = self.task.metrics[name]
        assert metric.solved is not None
        return np.asarray(sign(metric) * self.values(name) >= sign(metric) * metric.solved)

    @cached_property
    def arrived(self) -> Arrivals:
        """The steps at which the runs first hold the target, which the task must have."""
        task = self.task
        reports = self.runs.memo(lambda evidence: target_reports(evidence, task), "reports", task.name)
        reported = (self.status == "completed") & np.isin(self.ids, reports.last.index)
        first = np.where(reported, reports.first_holding.reindex(self.ids).fillna(np.inf), np.nan)
        longest = float(reports.last.max())
        trained = float(reports.last.reindex(self.ids[reported]).max())
        return Arrivals(
            first=np.where(self.status == "diverged", np.inf, first),
            trained=longest if np.isnan(trained) else trained,
            longest=longest,
            every=reports.every,
        )


def _stored_examples(evidence: Evidence) -> dict[tuple[str, str], list[float]]:
    """Returns (trial id, metric) → the metric of each test example."""
    by_trial = evidence.examples.set_index(["id", "metric"])["values"]
    values: dict[tuple[str, str], list[float]] = by_trial.to_dict()
    return values


def _stored_sources(evidence: Evidence) -> dict[str, list[int]]:
    """Returns trial id → the source of each test example; none where examples are no clusters."""
    if "source" not in evidence.examples:
        return {}
    by_trial = evidence.examples.drop_duplicates("id").set_index("id")["source"]
    sources: dict[str, list[int]] = by_trial.to_dict()
    return sources


def _stored_summaries(evidence: Evidence) -> dict[tuple[str, str, str], Summary]:
    """Returns (variant, task, metric) → what is known of its runs."""
    summaries = summaries_of(evidence)
    return {(summary.variant, summary.task, summary.metric): summary for summary in summaries}


@dataclass(frozen=True)
class Summarised(Side):
    """The runs of a variant of which mean, standard deviation and number are known, and no more."""

    @cached_property
    def status(self) -> NDArray[np.object_]:
        """The status completed, of as many runs as there were."""
        return np.where(self.asked, "completed", NOT_RUN).astype(object)

    def values(self, metric: str) -> Floats:
        """Returns the known mean for all seeds that were asked for, whose number is that of the judged metric."""
        summary = self.runs.summary(self.variant, self.task.name, metric)
        if summary is None:
            return np.full(len(self.asked), np.nan)
        return np.where(self.asked, summary.mean, np.nan)

    def sd(self, metric: str) -> float:
        """Returns the standard deviation of the runs; NaN where it is not known."""
        summary = self.runs.summary(self.variant, self.task.name, metric)
        return np.nan if summary is None else summary.sd


@dataclass(frozen=True)
class Constant(Side):
    """A value that a task declares, which every seed has."""

    @cached_property
    def status(self) -> NDArray[np.object_]:
        """The status completed, of every seed."""
        return np.full(len(self.runs.seeds), "completed", object)

    def values(self, metric: str) -> Floats:
        """Returns the same value for each seed; NaN for a metric that it does not have."""
        value = self.task.constants[self.variant].get(metric, np.nan)
        return np.full(len(self.runs.seeds), value)

    def by_example(self, metric: str) -> Floats | None:
        """Returns the same value for each example, shape (num_seeds, 1)."""
        return self.values(metric)[:, None]


def solving_metric(task: TaskFacts, primary: str) -> str | None:
    """Returns the metric whose threshold says that the task is solved: the primary if it has one, else the first."""
    candidates = [name for name, metric in task.metrics.items() if metric.solved is not None]
    if primary in candidates:
        return primary
    return candidates[0] if candidates else None
