"""When runs first reach the target of a study, on validation data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ablate.analysis.paired import Floats
from ablate.core.facts import Evidence, TaskFacts
from ablate.core.metric import sign, validated

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Arrivals:
    """The steps at which the runs of one variant on one task first hold the target; steps count updates done."""

    first: Floats
    """The step of the first report at which each run holds the target, shape (num_seeds,), in the order of the plan;
    infinite where it never does, or diverged; NaN where it has no outcome."""
    trained: float
    """The steps of its training."""
    longest: float
    """The most steps that any variant trained on the task."""
    every: float
    """The most steps between two reports on the task."""


@dataclass(frozen=True)
class TargetReports:
    """The reports of all runs on one task about the metric of the target."""

    first_holding: pd.Series
    """Trial id → the first step at which it holds the target; without the trials that never do."""
    last: pd.Series
    """Trial id → the step of its last report."""
    every: float
    """The most steps between two reports."""


def target_reports(evidence: Evidence, task: TaskFacts) -> TargetReports:
    """Returns what the runs on a task report about the target, which the task must have."""
    target = evidence.facts.target
    metric = next(name for name in target if name in task.metrics)
    better = sign(task.metrics[metric])
    curves = evidence.curves
    # A workload may report what it measures on validation data by the plain name of the metric.
    reported_name = validated(metric)
    if not (curves["metric"] == reported_name).any():
        reported_name = metric

    ids_on_task = evidence.trials.loc[evidence.trials["task"] == task.name, "id"]
    reports = curves[(curves["metric"] == reported_name) & curves["id"].isin(ids_on_task)]
    reports = reports.astype({"step": float, "value": float})
    holding = reports[better * reports["value"] >= better * target[metric]]
    # Before the first report of a run lie as many steps as its number says.
    between = reports.sort_values("step").groupby("id")["step"].diff().fillna(reports["step"])
    return TargetReports(
        first_holding=holding.groupby("id")["step"].min(),
        last=reports.groupby("id")["step"].max(),
        every=float(between.max()),
    )
