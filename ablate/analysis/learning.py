"""The learning of the baseline, and the convergence of all variants.

A comparison is of little use where the baseline did not learn, or where training ended too early.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from ablate.analysis.contrast import at_floor
from ablate.analysis.paired import NAN, Differences, Floats, mean_of, sd_of
from ablate.analysis.power import ALPHA
from ablate.analysis.runs import Runs, Side, runs_of, solving_metric
from ablate.base.once_per import once_per_owner
from ablate.core.facts import Evidence
from ablate.core.improving_side import ImprovingSide
from ablate.core.metric import Metric, sign, validated
from ablate.core.rows import frame_of_rows


@dataclass(frozen=True)
class Learned:
    """The verdict on whether the baseline learned a task: by runs that solved it, or by their mean."""

    task: str
    ok: bool
    """Whether it learned the task."""
    name: str
    """The name of the metric that tells."""
    metric: Metric
    solved: tuple[int, int] | None = None
    """The number of runs that solved an all-or-nothing task, and of those with an outcome; None of a graded task."""
    mean: float = NAN
    """The mean of the metric over seeds; NaN of an all-or-nothing task."""
    spread: float = NAN
    """The standard deviation of the metric over seeds; NaN of a single one, and of an all-or-nothing task."""


@once_per_owner
def baseline_learned(evidence: Evidence) -> list[Learned]:
    """Returns whether the baseline learned each task, without the tasks of which its runs cannot tell.

    It learned an all-or-nothing task where every run with an outcome solved it, and a graded one where some run is
    better than guessing on the primary metric.
    """
    runs = runs_of(evidence)
    baseline = evidence.facts.variants[0]
    tasks = []
    for task in evidence.facts.tasks:
        learned = _learned(runs.of(baseline.name, task), evidence.facts.metric)
        if learned is not None:
            tasks.append(learned)
    return tasks


def _learned(side: Side, primary: str) -> Learned | None:
    """Returns whether the runs of the baseline learned their task; None where they cannot tell."""
    task = side.task
    num_ended = int(side.ended.sum())
    if not num_ended:
        return None

    name = solving_metric(task, primary)
    if task.outcome == "all_or_nothing" and name is not None:
        num_solved = int(side.solved[side.ended].sum())
        learned = num_solved == num_ended
        return Learned(task.name, learned, name, task.metrics[name], solved=(num_solved, num_ended))

    metric = task.metrics.get(primary)
    if metric is None or metric.floor is None or not side.runs.facts.replication.has_runs:
        return None
    values = side.scored(primary)[side.ended]
    learned = not at_floor(metric, sign(metric) * values)
    return Learned(task.name, learned, primary, metric, mean=mean_of(values), spread=sd_of(values))


@dataclass(frozen=True)
class ConvergenceRow:
    """The gain of the primary metric at the end of training, of a variant on one task."""

    variant: str
    task: str
    n: int
    """The number of completed runs with two evaluations or more."""
    gain: float
    """The mean over runs of how much better the last tenth of evaluations is than the tenth before it.

    In the units of the metric, oriented: above 0 the runs became better.
    """
    improving: bool
    """True of a variant that was still improving when training ended, by the rule of `convergence`."""


@once_per_owner
def convergence(evidence: Evidence) -> pd.DataFrame:
    """Returns a table of `ConvergenceRow`, in the order of the study, for tasks that have the primary metric.

    For each completed run the mean of the primary metric on validation data over the last tenth of its evaluations,
    rounded up, is compared with the mean over as many before them. A variant is still improving when the gain exceeds
    the metric's resolution and its 90 % interval over seeds lies above 0. Fewer than two runs cannot tell.
    """
    return _convergence_of(runs_of(evidence))


def _convergence_of(runs: Runs) -> pd.DataFrame:
    """Returns the table of convergence, as `convergence` says, of the seeds that some runs have."""
    curves = _validation_curves(runs.evidence)
    rows = []
    for side in runs.sides():
        metric = side.task.metrics.get(runs.facts.metric)
        if metric is None:
            continue
        completed = curves.reindex(side.ids[side.status == "completed"])
        before, last = sign(metric) * _last_tenths(completed.to_numpy())
        gain = Differences.between(last, before, metric.resolution)
        improving = gain.interval(2 * ALPHA)[0] > 0 and gain.mean > metric.resolution
        rows.append(ConvergenceRow(side.variant, side.task.name, gain.n, gain.mean, bool(improving)))
    return frame_of_rows(rows, ConvergenceRow)


def improving_sides(runs: Runs, variants: Sequence[str], tasks: Sequence[str]) -> list[ImprovingSide]:
    """Returns the sides of a comparison that were still improving when training ended, in the order of the study.

    variants, tasks: those that the comparison is about. Empty of runs that are known by their summaries alone.
    """
    if not runs.facts.replication.has_runs:
        return []

    # A look has some of the seeds, and convergence of its own.
    all_sides = runs.memo(lambda _: _all_improving_sides(runs), "improving", len(runs.seeds))
    return [side for side in all_sides if side.variant in variants and side.task in tasks]


def _all_improving_sides(runs: Runs) -> list[ImprovingSide]:
    """Returns the variants that were still improving when training ended, each with the task."""
    table = _convergence_of(runs)
    # Without rows the column has no type.
    improving = table[table["improving"].astype(bool)]
    return [ImprovingSide(*side) for side in zip(improving["variant"], improving["task"], strict=True)]


def _validation_curves(evidence: Evidence) -> pd.DataFrame:
    """Returns the primary metric on validation data: a row a trial id, a column a step, NaN for no finite value."""
    curves = evidence.curves[evidence.curves["metric"] == validated(evidence.facts.metric)]
    curves = curves.astype({"step": int, "value": float})
    return curves[np.isfinite(curves["value"])].pivot(index="id", columns="step", values="value")


def _last_tenths(curves: Iterable[Floats]) -> Floats:
    """Returns the means of the last tenth but one of the values of each curve, and of the last, shape (2, num_runs).

    curves: the values of each run over its steps, NaN where it has none; runs with fewer than two are left out.
    """
    means = []
    for curve in curves:
        values = curve[~np.isnan(curve)]
        if len(values) < 2:
            continue
        tenth = -(-len(values) // 10)
        means.append((values[-2 * tenth : -tenth].mean(), values[-tenth:].mean()))
    return np.reshape(means, (-1, 2)).T
