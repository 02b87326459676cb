"""How often training diverged (METHODS §6). A diverged run is an outcome: counted, never dropped."""

from __future__ import annotations

import math

import pandas as pd
from scipy import special

from ablate.analysis.power import ALPHA
from ablate.analysis.runs import Runs
from ablate.base.wording import exact, share
from ablate.core.evidence import Evidence


def clopper_pearson(count: int, total: int) -> tuple[float, float]:
    """The exact 95 % interval of a rate; NaN when nothing was counted."""
    if total == 0:
        return math.nan, math.nan
    low = special.betaincinv(count, total - count + 1, ALPHA / 2) if count else 0.0
    high = special.betaincinv(count + 1, total - count, 1 - ALPHA / 2) if count < total else 1.0
    return float(low), float(high)


def rate(count: int, total: int) -> str:
    """`2 of 5 runs (rate .4, 95 % interval [.05, .85])`."""
    if total == 0:
        return "no runs"
    bounds = "[{}, {}]".format(*(exact(round(bound, 2)) for bound in clopper_pearson(count, total)))
    return f"{share(count, total)} runs (rate {exact(round(count / total, 2))}, 95 % interval {bounds})"


def divergence(evidence: Evidence) -> pd.DataFrame:
    """One row a variant and task: variant, task, diverged, runs, rate, ci_low, ci_high.

    The interval is the 95 % one of Clopper and Pearson. `runs` are those with an outcome,
    completed or diverged, among the planned seeds.
    """
    runs = Runs(evidence)
    rows = []
    for variant in evidence.facts.variants:
        for task in evidence.facts.tasks:
            diverged = int(runs.diverged(variant.name, task.name).sum())
            total = int(runs.ended(variant.name, task.name).sum())
            low, high = clopper_pearson(diverged, total)
            share_of_runs = diverged / total if total else math.nan
            rows.append((variant.name, task.name, diverged, total, share_of_runs, low, high))
    return pd.DataFrame(rows, columns=["variant", "task", "diverged", "runs", "rate", "ci_low", "ci_high"])
