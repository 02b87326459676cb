"""Intervals computed once more, by scipy, from the same numbers."""

import math
from collections.abc import Sequence


def paired(
    base: Sequence[float], head: Sequence[float], level: float, with_resolution: bool = True
) -> tuple[float, float, float]:
    """The mean of head − base with its paired t interval; the deviation is no less than the resolution."""
    import numpy as np
    from scipy import stats

    differences = np.subtract(head, base)
    runs = np.unique([*base, *head])
    gaps = np.diff(runs)
    gaps = gaps[gaps > 1e-12 * np.abs(runs).max()]
    floor = gaps.min() if len(gaps) and with_resolution else 0.0
    deviation = max(differences.std(ddof=1), floor)
    half = stats.t.ppf((1 + level) / 2, len(differences) - 1) * deviation / len(differences) ** 0.5
    mean = float(differences.mean())
    if not differences.any():
        half = 0.0
    return mean, mean - half, mean + half


def close(given: Sequence[float], expected: Sequence[float]) -> bool:
    """Whether numbers are the same but for rounding."""
    scale = max(map(abs, expected))
    return all(
        abs(one - other) <= 1e-9 * scale + 1e-12 if math.isfinite(one) else False
        for one, other in zip(given, expected, strict=True)
    )


def welch(base: Sequence[float], other: Sequence[float], level: float) -> tuple[float, float, float]:
    """The mean of other − base with Welch's t interval."""
    from scipy import stats

    test = stats.ttest_ind(other, base, equal_var=False)
    low, high = test.confidence_interval(level)
    return sum(other) / len(other) - sum(base) / len(base), float(low), float(high)
