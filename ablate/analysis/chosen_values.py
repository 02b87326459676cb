"""Runs whose last value is the best of their curve again: chosen by the judged metric, as of a best checkpoint."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ablate.analysis.paired import Floats
from ablate.core.facts import Evidence, TaskFacts
from ablate.core.metric import sign

LEAST_STEPS = 6
"""The values of a curve from which its last one tells something."""
LEAST_RUNS = 3
"""The runs of a variant from which their ends are no chance."""
RARE = 0.05
"""The share of earlier steps that may return to the best value so far, as on a coarse grid, or near a ceiling."""


def variants_with_chosen_values(evidence: Evidence, task: TaskFacts) -> list[str]:
    """Returns the variants of a task whose curves seem to end with the value of their best checkpoint.

    Every completed run of such a variant ends at its best value, and more than half return to it in the last step, from
    a worse one. There are none on a task where more than `RARE` of the earlier steps do so, too. A variant with fewer
    than `LEAST_RUNS` runs is none, nor is one with a run whose curve is missing, has fewer than `LEAST_STEPS` values,
    or ends with another value than the judged one.
    """
    metric = task.metrics.get(evidence.facts.metric)
    if metric is None:
        return []
    curves = _judged_curves(evidence, task, sign(metric))
    num_steps = 0
    num_returns = 0
    for runs in curves.values():
        for curve in runs:
            earlier = _returns(curve)[:-1]
            num_steps += len(earlier)
            num_returns += int(earlier.sum())
    # One more of each, since few steps show little.
    if (num_returns + 1) / (num_steps + 1) > RARE:
        return []
    return [variant for variant, runs in curves.items() if _end_at_their_best(runs)]


def _judged_curves(evidence: Evidence, task: TaskFacts, orientation: float) -> dict[str, list[Floats]]:
    """Returns variant → the curves of its completed runs, more being better.

    Only of variants all of whose curves are known, and end with the value that is judged.
    """
    facts = evidence.facts
    by_run = _values_by_run(evidence.curves, facts.metric)
    trials = evidence.trials
    completed = trials[(trials["task"] == task.name) & (trials["status"] == "completed")]
    curves: dict[str, list[Floats]] = {}
    for variant, rows in completed.groupby("variant", sort=False):
        known: list[Floats] = []
        for trial_id, judged in zip(rows["id"], rows[facts.column], strict=True):
            values = by_run.get(trial_id, ())
            if len(values) >= LEAST_STEPS and np.isfinite(values).all() and values[-1] == judged:
                known.append(orientation * np.asarray(values, float))
        if len(known) == len(rows):
            curves[str(variant)] = known
    return curves


def _values_by_run(curves: pd.DataFrame, metric: str) -> dict[str, Sequence[float]]:
    """Returns the id of a run → its values of a metric, in the order of their steps."""
    of_metric = curves[curves["metric"] == metric].sort_values("step", kind="stable")
    return {str(trial_id): rows["value"].to_list() for trial_id, rows in of_metric.groupby("id")}


def _returns(curve: Floats) -> NDArray[np.bool_]:
    """Returns of each step but the first whether its value is the best so far again, after a worse one."""
    best = np.maximum.accumulate(curve)[:-1]
    return np.asarray((curve[1:] == best) & (curve[:-1] < best))


def _end_at_their_best(runs: Sequence[Floats]) -> bool:
    """Returns whether all runs end with their best value, and most of them return to it there."""
    if len(runs) < LEAST_RUNS or any(curve[-1] < curve.max() for curve in runs):
        return False
    num_returned = sum(bool(_returns(curve)[-1]) for curve in runs)
    return num_returned > len(runs) / 2
