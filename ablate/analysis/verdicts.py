"""The ordered rules by which a comparison gets its verdict (METHODS §2, §3)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ablate.analysis.paired import Interval, PairedStatistics, sign
from ablate.analysis.power import ALPHA
from ablate.core.metric import Metric

Verdict = Literal["unstable", "degenerate", "equivalent", "better", "worse", "inconclusive"]
Bound = Literal["ceiling", "floor"]


def verdict(
    statistics: PairedStatistics, p: float, *, diverged: bool, bound: Bound | None, margin: float | None
) -> Verdict:
    """The first rule that holds.

    `p` is the one that decides: Holm's in a family, the raw one in an exploratory comparison. `diverged`:
    some run of either side did. `bound`: where both sides sit, from `shared_bound`.
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


def relevance_unsettled(ci95: Interval, margin: float | None) -> bool:
    """Whether a difference that was found may still be smaller than the margin that matters."""
    return margin is not None and ci95[0] <= margin and ci95[1] >= -margin


def shared_bound(a: NDArray[np.float64], b: NDArray[np.float64], metric: Metric) -> Bound | None:
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
    """Holm's adjusted p for a whole planned family; a test that is missing (NaN) counts as p = 1."""
    given = np.nan_to_num(np.asarray(p_values, float), nan=1.0)
    order = np.argsort(given, kind="stable")
    adjusted = np.empty_like(given)
    # The smallest counts m times, the next m − 1 times …, none less than one before it (Holm 1979).
    stepped = given[order] * np.arange(len(given), 0, -1)
    adjusted[order] = np.minimum(np.maximum.accumulate(stepped), 1.0)
    return [float(p) for p in adjusted]
