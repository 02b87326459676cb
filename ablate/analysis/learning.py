"""Whether runs learned their task, and whether they had stopped improving.

A comparison is of little use where the baseline did not learn, or where training ended too early.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy import special

from ablate.analysis.paired import NAN, paired
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
            if metric := solving_metric(task, evidence.facts.metric):
                side = runs.of(variant.name, task)
                counts = int(side.solved[side.ended].sum()), int(side.ended.sum())
                threshold = task.metrics[metric].solved
                rows.append((variant.name, task.name, metric, threshold, *counts, side.solved_rate))
    return pd.DataFrame(rows, columns=["variant", "task", "metric", "threshold", "solved", "runs", "rate"])


def mcnemar_p(a: Flags, b: Flags) -> float:
    """Exact p of McNemar's test for two outcomes over the same seeds, shape (n,) each; NaN without pairs.

    Only the seeds on which the outcomes differ count; without an effect either outcome wins half of them, so that
    p is two-sided binomial (McNemar 1947, Psychometrika 12, 153–157).
    """
    if not len(a):
        return NAN
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
            if metric := task.metrics.get(facts.metric):
                tenths = [_last_tenths(by_id.get(run)) for run in runs.completed_ids(variant.name, task.name)]
                before, last = np.array([found for found in tenths if found]).reshape(-1, 2).T
                gain = paired(last, before, metric)
                improving = bool(gain.ci90[0] > 0 and gain.diff > metric.resolution)
                rows.append((variant.name, task.name, gain.n, gain.diff, *gain.ci90, improving))
    return pd.DataFrame(rows, columns=["variant", "task", "n", "gain", "ci90_low", "ci90_high", "improving"])


def _last_tenths(values: np.ndarray | None) -> tuple[float, float] | None:
    """The means over the tenth before the last and over the last tenth; None where a curve is too short."""
    values = np.array([]) if values is None else values[np.isfinite(values)]
    tenth = -(-len(values) // 10)
    if len(values) < 2:
        return None
    return float(values[-2 * tenth : -tenth].mean()), float(values[-tenth:].mean())
