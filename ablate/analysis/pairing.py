"""The worth of sharing seeds: the correlation of the pairs, and the number of seeds that it saved.

Runs of one seed share random numbers, so that noise which both have cancels in their difference (Bouthillier et al.
2021, "Accounting for Variance in Machine Learning Benchmarks", MLSys).
The mean of n paired differences has variance s_d²/n, that of two independent samples of n each
(s_a² + s_b²)/n, with s_d² = s_a² + s_b² − 2ρ·s_a·s_b. Independent samples would therefore need
n·(s_a² + s_b²)/s_d² seeds a side for the same standard error: about n/(1 − ρ) where the variances are equal.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
from scipy import special

from ablate.analysis.contrast import Contrast
from ablate.analysis.paired import NAN, ROUNDING, correlation
from ablate.analysis.runs import Runs
from ablate.base import wording
from ablate.core.evidence import Evidence

COLUMNS = (
    *("variant", "task", "placebo", "n", "sd_variant", "sd_baseline", "sd_difference"),
    *("correlation", "correlation_low", "correlation_high", "unpaired_seeds", "words"),
)

NEGLIGIBLE = 0.005
"""A factor so near 1 counts as neither gain nor loss."""


def pairing(evidence: Evidence) -> pd.DataFrame:
    """One row a variant and task of the primary metric, placebos included, with `COLUMNS`.

    - `n` pairs, seeds on which both runs completed. `sd_*` are sample standard deviations (divisor n − 1) over
      them; NaN for fewer than two pairs.
    - `correlation`: Pearson's r; NaN for fewer than three pairs, or where one side does not vary. Its 95 %
      interval is Fisher's, NaN for fewer than four pairs.
    - `unpaired_seeds`: n·(s_a² + s_b²)/s_d², with which independent samples have the standard error that these
      pairs have (their additional degrees of freedom are not counted). Below n where the correlation is
      negative: pairing then cost precision. NaN where the differences spread less than the metric resolves.
    - `words`: the same as a sentence.
    """
    facts, runs = evidence.facts, Runs(evidence)
    baseline, *variants = facts.variants
    rows = [
        {"variant": variant.name, "task": task.name, "placebo": variant.placebo}
        | _worth(Contrast.of([runs.of(variant.name, task)], [runs.of(baseline.name, task)], facts.metric))
        for variant in variants
        for task in facts.tasks
        if facts.metric in task.metrics
    ]
    return pd.DataFrame(rows, columns=list(COLUMNS)).assign(words=[_words(row) for row in rows])


def summary(table: pd.DataFrame) -> str:
    """The worth of pairing over all comparisons, as sentences; `table` is the result of `pairing`."""
    known = table[table["unpaired_seeds"].notna()]
    if known.empty:
        return "The worth of pairing is unknown: no comparison has two pairs whose differences vary."
    factors = known["unpaired_seeds"] / known["n"]
    times = wording.number(float(factors.median()), 2)
    text = (
        "Two runs of one seed share their data and their common initial values. Unpaired, the median comparison "
        f"would have needed {times} times the seeds for the precision it has; pairing narrowed "
        f"{wording.share(int((factors > 1 + NEGLIGIBLE).sum()), len(known))} intervals"
    )
    cost = int((factors < 1 - NEGLIGIBLE).sum())
    text += f" and widened {cost}." if cost else "."
    related = known[known["correlation_low"].notna()]
    unsure = int(((related["correlation_low"] <= 0) & (related["correlation_high"] >= 0)).sum())
    if unsure:
        text += f" {wording.share(unsure, len(related))} correlations cannot be told from 0."
    return text


def _worth(c: Contrast) -> dict[str, Any]:
    d = c.differences.on(c.completed)
    a, b = (side[0][c.completed] for side in (c.a, c.b))
    sd_a, sd_b, sd_d = (float(np.std(np.sort(x), ddof=1)) if d.n > 1 else NAN for x in (a, b, a - b))
    r = correlation(a, b)
    low, high = _fisher(r, d.n)
    known = d.n > 1 and sd_d >= d.floor and sd_d > ROUNDING * float(np.abs([a, b]).max())
    return {
        "n": d.n,
        "sd_variant": sd_a,
        "sd_baseline": sd_b,
        "sd_difference": sd_d,
        "correlation": r,
        "correlation_low": low,
        "correlation_high": high,
        "unpaired_seeds": d.n * (sd_a**2 + sd_b**2) / sd_d**2 if known else NAN,
    }


def _fisher(r: float, n: int) -> tuple[float, float]:
    """The 95 % interval of a correlation, through z = artanh r with variance 1/(n − 3) (Fisher 1921, Metron 1, 3–32).

    NaN for fewer than four pairs or without a correlation.
    """
    if n < 4 or math.isnan(r):
        return NAN, NAN
    half = -float(special.ndtri(0.025)) / math.sqrt(n - 3)
    z = math.atanh(max(-1 + 1e-15, min(1 - 1e-15, r)))
    return math.tanh(z - half), math.tanh(z + half)


def _words(row: dict[str, Any]) -> str:
    n, r, needed = row["n"], row["correlation"], row["unpaired_seeds"]
    if n < 2:
        return f"{wording.counted(n, 'pair')}: nothing to compare"
    if math.isnan(needed):
        return "the differences spread less than the metric resolves: what pairing saved cannot be told"
    seeds = wording.number(needed, 1 if needed < 10 else 0)
    effect = f"as precise as about {seeds} unpaired seeds a side"
    if n == 2:
        return f"{effect}; two pairs are too few to show a correlation"
    if math.isnan(r):
        return "no correlation, one side does not vary: pairing neither saved nor cost seeds"
    if r < 0:
        effect += ": the correlation is negative, and pairing cost precision"
    unsure = row["correlation_low"] <= 0 <= row["correlation_high"]
    return f"{effect}; the correlation cannot be told from 0" if unsure else effect
