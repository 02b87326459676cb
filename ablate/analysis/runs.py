"""The trials frame, looked up by variant, task and planned seed."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ablate.analysis.paired import Flags, Floats
from ablate.base.errors import AblateError
from ablate.core.facts import RUNNER_UPS, Evidence, TaskFacts
from ablate.core.metric import sign, validated
from ablate.core.reason import Reason
from ablate.core.record import lost_to_its_variant

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Arrivals:
    """When the runs of one variant on one task first hold the target; steps count updates done.

    first: the step of the first report at which each run holds it, shape (num_seeds,), in the order of the plan;
    infinite where it never does, or diverged; NaN where it has no outcome. trained: the steps of its training.
    longest: the most of any variant on the task. every: the most steps between two reports on the task.
    """

    first: Floats
    trained: float
    longest: float
    every: float


def _reports(evidence: Evidence, task: TaskFacts) -> tuple[pd.Series, pd.Series, float]:
    """By trial id, the first step that holds the target of the task, and the last; the most steps between two."""
    target = evidence.facts.target
    metric = next(name for name in target if name in task.metrics)
    rows, better = evidence.curves, sign(task.metrics[metric])
    # On validation data, which a workload may report by its plain name.
    name = validated(metric) if (rows["metric"] == validated(metric)).any() else metric
    on_task = evidence.trials.loc[evidence.trials["task"] == task.name, "id"]
    rows = rows[(rows["metric"] == name) & rows["id"].isin(on_task)].astype({"step": float, "value": float})
    held = rows[better * rows["value"] >= better * target[metric]].groupby("id")["step"].min()
    between = rows.sort_values("step").groupby("id")["step"].diff().fillna(rows["step"])
    return held, rows.groupby("id")["step"].max(), float(between.max())


NOT_RUN = "not run"  # The status of a planned trial that the frame does not have.


class Runs:
    """The frame of trials, from which `Side` takes the rows of one variant and task."""

    def __init__(self, evidence: Evidence) -> None:
        self.facts = evidence.facts
        self.seeds = list(self.facts.seeds)
        if len(runner_ups := evidence.frame(RUNNER_UPS, ())):
            import pandas as pd  # Of which a plan has no need.

            evidence = replace(evidence, trials=pd.concat([evidence.trials, runner_ups], ignore_index=True))
        trials = evidence.trials
        twice = trials.duplicated(["variant", "task", "seed"])
        if twice.any():
            variant, task, seed = trials.loc[twice, ["variant", "task", "seed"]].iloc[0]
            raise AblateError(
                f"trials of {self.facts.study}: each variant, task and seed must have one row; "
                f"{variant!r} on {task!r} with seed {seed} has several. Keep the one that counts"
            )
        # Row of the frame by variant, task and seed; numpy from here on, for a look-up costs pandas a millisecond.
        cells = zip(trials["variant"], trials["task"], trials["seed"], strict=True)
        self.rows = {cell: row for row, cell in enumerate(cells)}
        self.trials = trials
        # Each with one entry more, for a trial that has not run: row −1.
        status = trials["status"].astype(object).where(trials["status"].notna(), NOT_RUN).to_numpy()
        reasons = trials["reason"].fillna("").astype(str) if "reason" in trials else [""] * len(trials)
        lost = [lost_to_its_variant(*of) for of in zip(status, reasons, strict=True)]
        self.status = np.append(np.where(lost, "diverged", status).astype(object), NOT_RUN)
        self.ids = np.append(trials["id"].to_numpy(object), "")
        self._memo: dict[str, Any] = {}
        self.evidence = evidence

    def first(self, count: int) -> Runs:
        """Those of the first seeds alone."""
        fewer = copy(self)
        fewer.seeds = self.seeds[:count]
        return fewer

    def memo(self, name: str, made: Callable[[Evidence], Any]) -> Any:
        """What is made of the evidence, once for all that share it."""
        if name not in self._memo:
            self._memo[name] = made(self.evidence)
        return self._memo[name]

    def suspect(self, task: TaskFacts, name: str) -> bool:
        """Whether the runs of some variant of a graded task fall into groups, as those of an all-or-nothing task do.

        They do when the largest gap between neighbouring values of one variant is at least a quarter of the metric's
        range. False for a metric that the task does not have.
        """
        span = task.metrics[name].span if name in task.metrics else None
        if task.outcome != "graded" or span is None:
            return False

        def grouped(_: Evidence) -> bool:
            # NaN comes last, and its distance from anything is NaN.
            gaps = [np.diff(np.sort(self.of(v.name, task).values(name))) for v in self.facts.variants]
            return bool((np.array(gaps) >= span / 4).any())

        return bool(self.memo(f"groups of {len(self.seeds)} by {name} on {task.name}", grouped))

    def of(self, variant: str, task: TaskFacts) -> Side:
        """The runs of one variant on one task; a constant of the task stands for itself."""
        if variant in task.constants and all(variant != each.name for each in self.facts.variants):
            return Constant(self, variant, task)
        return Side(self, variant, task)

    def runner_ups(self, variant: str, task: TaskFacts) -> list[str]:
        """The names of a variant at the other settings for which verdicts must hold."""
        return {v.name: v.rivals for v in self.facts.variants}.get(variant, {}).get(task.name, [])

    def sides(self) -> list[Side]:
        """The runs of each variant on each task, in the order of the study."""
        return [
            Side(self, variant.name, task) for variant in self.facts.variants for task in self.facts.tasks
        ]

    def column(self, name: str) -> Floats:
        """A column as numbers, followed by NaN; NaN throughout where the frame does not have it."""

        def numbers(evidence: Evidence) -> Floats:
            if name not in evidence.trials:
                return np.full(len(evidence.trials) + 1, np.nan)
            return np.append(evidence.trials[name].to_numpy(float, na_value=np.nan), np.nan)

        return np.asarray(self.memo(f"column {name}", numbers))


@dataclass(frozen=True)
class Side:
    """The runs of one variant on one task; arrays have shape (num_seeds,), in the order of the plan."""

    runs: Runs
    variant: str
    task: TaskFacts
    obstacle: Reason | None = None  # Why its values say nothing.

    @cached_property
    def rows(self) -> NDArray[np.int64]:
        """The row of each run in the frame; −1 where it has not run, or was not asked for."""
        found = (self.runs.rows.get((self.variant, self.task.name, seed), -1) for seed in self.runs.seeds)
        return np.where(self.asked, np.fromiter(found, np.int64), -1)

    @cached_property
    def asked(self) -> Flags:
        """Whether the run was asked for: not where the variant was settled on fewer seeds."""
        return np.isin(self.runs.seeds, self.runs.facts.seeds_of(self.variant, self.task.name))

    @cached_property
    def status(self) -> NDArray[np.object_]:
        """completed, diverged (or lost to memory or time limit), pruned, failed or `NOT_RUN`."""
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
        """Whether the run has an outcome: it completed or diverged."""
        return np.isin(self.status.astype(str), ["completed", "diverged"])

    def values(self, metric: str) -> Floats:
        """The metric in its own direction; NaN where the run did not complete or has no finite value."""
        values = self.runs.column(self.runs.facts.column_of(metric))[self.rows]
        return np.where(np.isfinite(values) & (self.status == "completed"), values, np.nan)

    def scored(self, metric: str) -> Floats:
        """`values`, with the metric's floor for a run that diverged; NaN for one where it has none."""
        floor = self.task.metrics[metric].floor
        return np.where(self.status == "diverged", np.nan if floor is None else floor, self.values(metric))

    def by_example(self, metric: str) -> Floats | None:
        """`scored` of each test example, shape (num_seeds, m), where all seeds share these; None where they do not.

        NaN in the rows of runs without an outcome. None too where an outcome was not kept.
        """
        if self.task.sampling.pool != "held_out":
            return None
        kept = self.runs.memo(
            "examples", lambda evidence: evidence.examples.set_index(["id", "metric"])["values"].to_dict()
        )
        completed = self.status == "completed"
        known = [kept.get((run, metric), ()) for run in self.ids[completed]]
        sizes = set(map(len, known))
        if len(sizes) != 1 or min(sizes) < 2:
            return None
        found = np.repeat(self.scored(metric)[:, None], sizes.pop(), axis=1)
        found[completed] = known
        return found

    @cached_property
    def solved(self) -> Flags:
        """Whether the run reached the threshold of `solving_metric`, which the task must have.

        Meaningful where `ended` holds; a diverged run did not.
        """
        name = solving_metric(self.task, self.runs.facts.metric)
        metric = self.task.metrics[name or ""]
        assert metric.solved is not None
        return np.asarray(sign(metric) * self.values(name or "") >= sign(metric) * metric.solved)

    @cached_property
    def arrived(self) -> Arrivals:
        """When each run first holds the target, which the task must have."""
        task = self.task
        held, last, every = self.runs.memo(
            f"reports on {task.name}", lambda evidence: _reports(evidence, task)
        )
        known = (self.status == "completed") & np.isin(self.ids, last.index)
        first = np.where(known, held.reindex(self.ids).fillna(np.inf), np.nan)
        longest = float(last.max())
        trained = float(last.reindex(self.ids[known]).max())
        return Arrivals(
            np.where(self.status == "diverged", np.inf, first),
            longest if np.isnan(trained) else trained,
            longest,
            every,
        )


@dataclass(frozen=True)
class Constant(Side):
    """A value that a task declares, which every seed has."""

    @cached_property
    def status(self) -> NDArray[np.object_]:
        """Completed."""
        return np.full(len(self.runs.seeds), "completed", object)

    def values(self, metric: str) -> Floats:
        """The same on each seed; NaN for a metric that it does not have."""
        return np.full(len(self.runs.seeds), self.task.constants[self.variant].get(metric, np.nan))

    def by_example(self, metric: str) -> Floats | None:
        """The same for each example, shape (num_seeds, 1)."""
        return self.values(metric)[:, None]


def solving_metric(task: TaskFacts, primary: str) -> str | None:
    """The metric whose threshold says that the task is solved: the primary if it has one, else the first."""
    having = [name for name, metric in task.metrics.items() if metric.solved is not None]
    return primary if primary in having else next(iter(having), None)
