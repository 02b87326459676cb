"""The trials frame, looked up by variant, task and planned seed."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ablate.analysis.paired import sign
from ablate.errors import AblateError
from ablate.records.evidence import Evidence, MetricFacts, TaskFacts

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
        self._frames = {
            key: frame.set_index("seed").reindex(self.seeds)
            for key, frame in trials.groupby(["variant", "task"])
        }

    def status(self, variant: str, task: str) -> NDArray[np.object_]:
        """completed, diverged, pruned, failed or `NOT_RUN`."""
        frame = self._frames.get((variant, task))
        if frame is None:
            return np.full(len(self.seeds), NOT_RUN, dtype=object)
        return frame["status"].astype(object).where(frame["status"].notna(), NOT_RUN).to_numpy(object)

    def diverged(self, variant: str, task: str) -> Flags:
        """Whether the run diverged."""
        return np.asarray(self.status(variant, task) == "diverged")

    def ended(self, variant: str, task: str) -> Flags:
        """Whether the run has an outcome: it completed or diverged."""
        return np.isin(self.status(variant, task).astype(str), ["completed", "diverged"])

    def completed_ids(self, variant: str, task: str) -> list[str]:
        """The ids of the runs that completed."""
        frame = self._frames.get((variant, task))
        return [] if frame is None else list(frame.loc[frame["status"] == "completed", "id"])

    def column(self, metric: str) -> str:
        """The column of the trials frame that holds `metric`."""
        return self.facts.column if metric == self.facts.metric else metric

    def values(self, variant: str, task: str, metric: str) -> Floats:
        """The metric in its own direction; NaN where the run did not complete or has no finite value."""
        frame = self._frames.get((variant, task))
        column = self.column(metric)
        if frame is None or column not in frame:
            return np.full(len(self.seeds), np.nan)
        values = pd.to_numeric(frame[column]).to_numpy(float, na_value=np.nan)
        return np.where(np.isfinite(values) & (self.status(variant, task) == "completed"), values, np.nan)

    def solved(self, variant: str, task: TaskFacts) -> Flags | None:
        """Whether the run solved the task; a diverged run did not. None where the task declares no threshold.

        Meaningful where `ended` holds.
        """
        metric = solving_metric(task, self.facts.metric)
        if metric is None:
            return None
        values = self.values(variant, task.name, metric)
        return reaches(values, task.metrics[metric])


def reaches(values: Floats, metric: MetricFacts) -> Flags:
    """Whether each value is as good as the metric's `solved`; NaN is not."""
    assert metric.solved is not None
    return np.asarray(sign(metric) * values >= sign(metric) * metric.solved)


def solving_metric(task: TaskFacts, primary: str) -> str | None:
    """The metric whose threshold says that the task is solved: the primary if it has one, else the first."""
    having = [name for name, metric in task.metrics.items() if metric.solved is not None]
    return primary if primary in having else next(iter(having), None)
