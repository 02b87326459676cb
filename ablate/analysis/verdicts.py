"""The ordered rules by which a comparison gets its verdict.

1. `unstable`: a run of either side diverged. Means of the runs that did not would say nothing of how often that is.
2. `inconclusive`: fewer than two pairs.
3. `degenerate`: every difference is 0, or both sides are at the same bound of the metric on every seed.
4. `equivalent`: the study gives a margin, and the 90 % interval of the mean difference lies inside it. This is the
   paired test of equivalence, two one-sided t-tests at .05 each (Schuirmann 1987, J. Pharmacokinet. Biopharm. 15,
   657–680). It comes before difference: a difference within the margin is of no consequence, significant or not.
5. `better`, `worse`: the paired t-test has p < .05, in a family after Holm's adjustment.
6. `inconclusive`: neither a difference nor equivalence has been shown, which is not evidence of equality.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from ablate.analysis.paired import Floats, PairedStatistics, sign
from ablate.analysis.power import ALPHA
from ablate.core.metric import Metric

Verdict = Literal["unstable", "degenerate", "equivalent", "better", "worse", "inconclusive"]
Bound = Literal["ceiling", "floor"]


def verdict(
    statistics: PairedStatistics, p: float, *, diverged: bool, bound: Bound | None, margin: float | None
) -> Verdict:
    """The verdict of the first rule that holds.

    `p` is the one that decides: Holm's in a family, the raw one in an exploratory comparison. `diverged`:
    some run of either side did. `bound`: where both sides are, from `shared_bound`.
    """
    if diverged:
        return "unstable"
    if statistics.n < 2:
        return "inconclusive"
    if statistics.differences.all_zero or bound is not None:
        return "degenerate"
    if margin is not None and -margin < statistics.ci90[0] and statistics.ci90[1] < margin:
        return "equivalent"
    if p < ALPHA:
        return "better" if statistics.diff > 0 else "worse"
    return "inconclusive"


def shared_bound(a: Floats, b: Floats, metric: Metric) -> Bound | None:
    """The bound at which, or beyond which, every value of both sides sits; arrays of any shape."""
    if not a.size or not b.size:
        return None
    values = sign(metric) * np.concatenate([a.ravel(), b.ravel()])
    if metric.ceiling is not None and (values >= sign(metric) * metric.ceiling).all():
        return "ceiling"
    if metric.floor is not None and (values <= sign(metric) * metric.floor).all():
        return "floor"
    return None


def holm(p_values: Sequence[float]) -> list[float]:
    """The adjusted p of a whole planned family (Holm 1979, Scand. J. Statist. 6, 65–70).

    Rejecting those below .05 keeps the chance of any false rejection in the family at or below .05, whatever the
    dependence of the tests. A test that is missing (NaN) counts as p = 1.
    """
    given = np.nan_to_num(np.asarray(p_values, float), nan=1.0)
    order = np.argsort(given, kind="stable")
    adjusted = np.empty_like(given)
    # The smallest counts m times, the next m − 1 times …, none less than one before it.
    stepped = given[order] * np.arange(len(given), 0, -1)
    adjusted[order] = np.minimum(np.maximum.accumulate(stepped), 1.0)
    return [float(p) for p in adjusted]
