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
    deviation = max(differences.std(ddof=1), _resolution([*base, *head]) if with_resolution else 0.0)
    half = stats.t.ppf((1 + level) / 2, len(differences) - 1) * deviation / len(differences) ** 0.5
    mean = float(differences.mean())
    return mean, mean - half, mean + half


def close(given: Sequence[float], expected: Sequence[float]) -> bool:
    """Whether numbers are the same but for rounding."""
    scale = max(map(abs, expected))
    return all(
        abs(one - other) <= 1e-9 * scale + 1e-12 if math.isfinite(one) else False
        for one, other in zip(given, expected, strict=True)
    )


def welch(
    base: Sequence[float], other: Sequence[float], level: float, with_resolution: bool = False
) -> tuple[float, float, float]:
    """The mean of other − base with Welch's t interval; the deviations are no less than the resolution."""
    import numpy as np
    from scipy import stats

    floor = _resolution([*base, *other]) if with_resolution else 0.0
    deviations = [max(float(np.std(side, ddof=1)), floor) for side in (other, base)]
    means = [float(np.mean(side)) for side in (other, base)]
    test = stats.ttest_ind_from_stats(
        means[0], deviations[0], len(other), means[1], deviations[1], len(base), equal_var=False
    )
    parts = [deviation**2 / len(side) for deviation, side in zip(deviations, (other, base), strict=True)]
    df = sum(parts) ** 2 / sum(
        part**2 / (len(side) - 1) for part, side in zip(parts, (other, base), strict=True)
    )
    mean = means[0] - means[1]
    error = abs(mean / test.statistic) if test.statistic else sum(parts) ** 0.5
    half = float(stats.t.ppf((1 + level) / 2, df)) * error
    return mean, mean - half, mean + half


def _resolution(values: Sequence[float]) -> float:
    """The smallest difference of two values; 0 where all are the same."""
    import numpy as np

    runs = np.unique(values)
    gaps = np.diff(runs)
    gaps = gaps[gaps > 1e-12 * np.abs(runs).max()]
    return float(gaps.min()) if len(gaps) else 0.0
