"""The paired difference over training steps, on validation data, so that "worse" can be told from "slower"."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pandas as pd

from ablate.analysis.contrast import overlap
from ablate.analysis.paired import Differences
from ablate.analysis.runs import Runs
from ablate.core.evidence import Evidence
from ablate.core.metric import sign

COLUMNS = ("variant", "task", "step", "n", "diff", "low", "high")


def trajectory(evidence: Evidence) -> pd.DataFrame:
    """One row a variant, task and step at which every run of both sides was evaluated, with `COLUMNS`.

    `diff` is the mean over seeds of variant − baseline on the primary metric and validation data, oriented; `low` and
    `high` its 95 % interval over seeds, NaN for fewer than two. A diverged run counts with the metric's floor once its
    curve has ended.
    """
    facts, runs, rows = evidence.facts, Runs(evidence), []
    frame = evidence.curves[evidence.curves["metric"] == f"validation_{facts.metric}"]
    frame = frame[np.isfinite(frame["value"].astype(float))]
    curves = {
        str(i): dict(zip(of["step"].astype(int), of["value"].astype(float), strict=True))
        for i, of in frame.groupby("id")
    }
    for variant, task in product(facts.variants[1:], facts.tasks):
        metric = task.metrics.get(facts.metric)
        if metric is None:
            continue
        sides = [runs.of(name, task) for name in (variant.name, facts.variants[0].name)]
        ended = np.flatnonzero(sides[0].ended & sides[1].ended)
        floor = math.nan if metric.floor is None else metric.floor
        found, known = [], []
        for side in sides:
            ids = side.runs.trials["id"].iloc[side.rows[ended]]
            found.append([curves.get(str(i), {}) for i in ids])
            known += [c for c, s in zip(found[-1], side.status[ended], strict=True) if s != "diverged"]
        for step in sorted(set.intersection(*map(set, known))) if known else ():
            # A run that diverged has the floor at every step that it did not reach.
            a, b = (np.array([sign(metric) * c.get(step, floor) for c in side]) for side in found)
            d = Differences.between(a, b, metric.resolution, overlap=overlap(task))
            rows.append((variant.name, task.name, step, d.n, d.mean, *d.interval()))
    return pd.DataFrame(rows, columns=list(COLUMNS))
