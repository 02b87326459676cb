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
    rows = []
    for side in Runs(evidence).sides():
        if metric := solving_metric(side.task, evidence.facts.metric):
            counts = int(side.solved[side.ended].sum()), int(side.ended.sum())
            threshold = side.task.metrics[metric].solved
            rows.append((side.variant, side.task.name, metric, threshold, *counts, side.solved_rate))
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
    facts, curves = evidence.facts, evidence.curves
    curve = curves[curves["metric"] == f"validation_{facts.metric}"].sort_values("step")
    curve = curve[np.isfinite(curve["value"].astype(float))]
    by_id = {name: frame["value"].to_numpy(float) for name, frame in curve.groupby("id")}
    rows = []
    for side in Runs(evidence).sides():
        if metric := side.task.metrics.get(facts.metric):
            # The means over the tenth before the last and over the last one, of each curve with two points.
            tenths = []
            completed = side.runs.trials["id"].iloc[side.rows[side.status == "completed"]]
            for values in (by_id[run] for run in completed if len(by_id.get(run, ())) > 1):
                tenth = -(-len(values) // 10)
                tenths.append((values[-2 * tenth : -tenth].mean(), values[-tenth:].mean()))
            before, last = np.reshape(tenths, (-1, 2)).T
            gain = paired(last, before, metric)
            improving = bool(gain.ci90[0] > 0 and gain.diff > metric.resolution)
            rows.append((side.variant, side.task.name, gain.n, gain.diff, *gain.ci90, improving))
    return pd.DataFrame(rows, columns=["variant", "task", "n", "gain", "ci90_low", "ci90_high", "improving"])
