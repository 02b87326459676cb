"""Whether runs learned their task, and whether they had stopped improving (METHODS §1, §2)."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
from scipy import special

from ablate.analysis.paired import paired
from ablate.analysis.runs import Flags, Runs, solving_metric
from ablate.core.evidence import Evidence

MCNEMAR_MIN = 6
"""Below so many pairs the exact McNemar test cannot reach .05: with all n discordant its p is 2·½ⁿ."""


def solved_rates(evidence: Evidence) -> pd.DataFrame:
    """One row a variant and task that declares a threshold.

    Columns variant, task, metric, threshold, solved, runs, rate. `runs` are those with an outcome among the
    planned seeds; one that diverged has not solved the task.
    """
    runs = Runs(evidence)
    rows = []
    for variant in evidence.facts.variants:
        for task in evidence.facts.tasks:
            metric = solving_metric(task, evidence.facts.metric)
            solved = runs.solved(variant.name, task)
            if metric is None or solved is None:
                continue
            ended = runs.ended(variant.name, task.name)
            count, total = int(solved[ended].sum()), int(ended.sum())
            rate = count / total if total else math.nan
            rows.append((variant.name, task.name, metric, task.metrics[metric].solved, count, total, rate))
    return pd.DataFrame(rows, columns=["variant", "task", "metric", "threshold", "solved", "runs", "rate"])


def mcnemar_p(a: Flags, b: Flags) -> float:
    """Exact McNemar p for two outcomes over the same seeds, shape (n,) each; NaN without pairs."""
    if not len(a):
        return math.nan
    only_a, only_b = int((a & ~b).sum()), int((~a & b).sum())
    return min(1.0, 2 * float(special.bdtr(min(only_a, only_b), only_a + only_b, 0.5)))


def convergence(evidence: Evidence) -> pd.DataFrame:
    """One row a variant and task: variant, task, n, gain, ci90_low, ci90_high, improving.

    For each completed run the mean of the primary validation metric (curve `validation_<metric>`) over the
    last tenth of its evaluations, rounded up, is compared with the mean over as many before them. `gain` is
    the mean over seeds, oriented. A variant is still improving, "not converged", when the gain exceeds the
    metric's resolution and its 90 % interval over seeds lies above 0. Fewer than two runs cannot tell.
    """
    facts, runs = evidence.facts, Runs(evidence)
    curves = evidence.curves
    curve = curves[curves["metric"] == f"validation_{facts.metric}"].sort_values("step")
    by_id = {name: frame["value"].to_numpy(float) for name, frame in curve.groupby("id")}
    rows = []
    for variant in facts.variants:
        for task in facts.tasks:
            if facts.metric not in task.metrics:
                continue
            halves = [_last_tenths(by_id.get(run)) for run in runs.completed_ids(variant.name, task.name)]
            known = np.array([half for half in halves if half is not None]).reshape(-1, 2)
            found = paired(known[:, 1], known[:, 0], task.metrics[facts.metric])
            improving = bool(found.ci90[0] > 0 and found.diff > task.metrics[facts.metric].resolution)
            rows.append((variant.name, task.name, found.n, found.diff, *found.ci90, improving))
    return pd.DataFrame(rows, columns=["variant", "task", "n", "gain", "ci90_low", "ci90_high", "improving"])


def _last_tenths(values: np.ndarray | None) -> tuple[float, float] | None:
    """The means over the tenth before the last and over the last tenth; None where a curve is too short."""
    if values is None:
        return None
    values = values[np.isfinite(values)]
    tenth = -(-len(values) // 10)
    if len(values) < 2:
        return None
    return float(values[-2 * tenth : -tenth].mean()), float(values[-tenth:].mean())
