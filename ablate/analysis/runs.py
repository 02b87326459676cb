"""The trials frame, looked up by variant, task and planned seed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ablate.analysis.paired import sign
from ablate.base.errors import AblateError
from ablate.core.evidence import Evidence
from ablate.core.facts import TaskFacts
from ablate.core.metric import Metric

NOT_RUN = "not run"
"""The status of a planned trial that the frame does not have."""

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


class Runs:
    """Arrays over the planned seeds, shape (num_seeds,), in the order of the plan."""

    def __init__(self, evidence: Evidence) -> None:
        self.facts = evidence.facts
        self.seeds = list(self.facts.seeds)
        trials = evidence.trials
        twice = trials.duplicated(["variant", "task", "seed"])
        if twice.any():
            variant, task, seed = trials.loc[twice, ["variant", "task", "seed"]].iloc[0]
            raise AblateError(
                f"trials of {self.facts.study}: each variant, task and seed must stand in one row; "
                f"{variant!r} on {task!r} with seed {seed} stands in several. Keep the one that counts"
            )
        # Row of the frame by variant, task and seed; numpy from here on, for a look-up costs pandas a millisecond.
        cells = zip(trials["variant"], trials["task"], trials["seed"], strict=True)
        self._rows = {cell: row for row, cell in enumerate(cells)}
        self._columns: dict[str, NDArray[Any]] = {}
        self._trials = trials

    def status(self, variant: str, task: str) -> NDArray[np.object_]:
        """completed, diverged, pruned, failed or `NOT_RUN`."""
        if "status" not in self._columns:
            status = self._trials["status"]
            self._columns["status"] = np.append(status.astype(object).where(status.notna(), NOT_RUN), NOT_RUN)
        return self._columns["status"][self._where(variant, task)]

    def diverged(self, variant: str, task: str) -> Flags:
        """Whether the run diverged."""
        return np.asarray(self.status(variant, task) == "diverged")

    def ended(self, variant: str, task: str) -> Flags:
        """Whether the run has an outcome: it completed or diverged."""
        return np.isin(self.status(variant, task).astype(str), ["completed", "diverged"])

    def completed_ids(self, variant: str, task: str) -> list[str]:
        """The ids of the runs that completed."""
        completed = self._where(variant, task)[self.status(variant, task) == "completed"]
        return list(self._trials["id"].iloc[completed])

    def column(self, metric: str) -> str:
        """The column of the trials frame that holds `metric`."""
        return self.facts.column if metric == self.facts.metric else metric

    def values(self, variant: str, task: str, metric: str) -> Floats:
        """The metric in its own direction; NaN where the run did not complete or has no finite value."""
        column = self.column(metric)
        if column not in self._trials:
            return np.full(len(self.seeds), np.nan)
        if column not in self._columns:
            numbers = pd.to_numeric(self._trials[column]).to_numpy(float, na_value=np.nan)
            self._columns[column] = np.append(numbers, np.nan)
        values = self._columns[column][self._where(variant, task)]
        return np.where(np.isfinite(values) & (self.status(variant, task) == "completed"), values, np.nan)

    def _where(self, variant: str, task: str) -> NDArray[np.int64]:
        """The rows of the frame, −1 (which stands behind the last in `_columns`) where a trial has not run."""
        return np.array([self._rows.get((variant, task, seed), -1) for seed in self.seeds], dtype=np.int64)

    def solved(self, variant: str, task: TaskFacts) -> Flags | None:
        """Whether the run solved the task; a diverged run did not. None where the task declares no threshold.

        Meaningful where `ended` holds.
        """
        metric = solving_metric(task, self.facts.metric)
        if metric is None:
            return None
        values = self.values(variant, task.name, metric)
        return reaches(values, task.metrics[metric])


def reaches(values: Floats, metric: Metric) -> Flags:
    """Whether each value is as good as the metric's `solved`; NaN is not."""
    assert metric.solved is not None
    return np.asarray(sign(metric) * values >= sign(metric) * metric.solved)


def solving_metric(task: TaskFacts, primary: str) -> str | None:
    """The metric whose threshold says that the task is solved: the primary if it has one, else the first."""
    having = [name for name, metric in task.metrics.items() if metric.solved is not None]
    return primary if primary in having else next(iter(having), None)
