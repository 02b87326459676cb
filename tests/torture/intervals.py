"""Intervals computed once more, by scipy, from the same numbers."""

import math
from collections.abc import Sequence

ROUNDING = 1e-12
"""The share of the values below which differences between them are rounding."""


def paired(
    base: Sequence[float], head: Sequence[float], level: float, with_resolution: bool = True
) -> tuple[float, float, float]:
    """The mean of head − base with its paired t interval; the deviation is no less than resolution and rounding."""
    import numpy as np
    from scipy import stats

    differences = np.subtract(head, base)
    rounding = ROUNDING * max(map(abs, [*base, *head]))
    resolution = _resolution([*base, *head]) if with_resolution else 0.0
    deviation = max(differences.std(ddof=1), resolution, rounding)
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
    """The step of the grid on which all values lie, by METHODS §2; 0 where they lie on none."""
    step = _step(values)
    if step is None and max(map(abs, values)) > 1:
        of_shares = _step([value / 100 for value in values])
        step = None if of_shares is None else 100 * of_shares
    if step is not None:
        return step
    exact = (d for d in range(7) if all(round(value, d) == value for value in values))
    return next((10.0**-d for d in exact), 0.0)


def _step(values: Sequence[float]) -> float | None:
    """gcd(round(Nx))/N for the smallest N that makes all values whole; None where there is none."""
    largest = max(map(abs, values))
    for multiple in range(1, 50_001):
        if multiple * largest > 50_000:
            return None
        products = [multiple * value for value in values]
        if all(abs(x - round(x)) <= 1e-7 * max(1.0, abs(x)) for x in products):
            return math.gcd(*(round(x) for x in products)) / multiple
    return None
