"""The step of a metric's values, of which their differences are multiples: declared, or that of the grid they lie on.

N is the smallest integer up to 50,000, with N·max|x| up to 50,000 too, that makes every value x whole,

    |Nx − round(Nx)| ≤ 1e−7·max(1, N|x|)

and the step is gcd(round(Nx))/N. Where there is none and some |x| > 1, the values may be percent: the same for x/100,
times 100. Else the step is 10^−d, the fewest decimals d ≤ 6 with round(x, d) = x; else 0: full floats have no grid
(one is found in at most 0.0003 of comparisons).

The smallest gap between two runs would be chance for full floats: at three seeds it exceeds the spread of the
differences in half of all comparisons. Decimals before shares would err: 61/64 = 0.953125 has six of them, and 1e−6
in place of 1/64 errs in 0.10 of comparisons of two seeds.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from ablate.analysis.paired import Floats
from ablate.core.metric import Metric

MOST_MULTIPLE = 50_000
"""The largest N, and the largest whole number that it makes of a value."""
INEXACT = 1e-7
"""The share of a multiple by which it may miss a whole number: values may be floats of 32 bits."""
PERCENT = 100.0
MOST_DECIMALS = 6


def resolution_of(metric: Metric, scores: Floats) -> float:
    """Returns the resolution that a metric declares, else the step of the grid on which all scores lie."""
    return metric.resolution or grid_step(scores)


def grid_step(scores: Floats) -> float:
    """Returns the step of which all scores are multiples, as the module says; 0 of full floats, which have none.

    scores: finite, of any shape.
    """
    return _step_of(tuple(np.unique(np.abs(scores)).tolist()))


@lru_cache(maxsize=4096)
def _step_of(values: tuple[float, ...]) -> float:
    """Returns the step of distinct values, none negative, in rising order."""
    if not values:
        return 0.0
    sizes = np.array(values)
    step = _step_of_multiples(sizes)
    if step is None and values[-1] > 1:
        of_shares = _step_of_multiples(sizes / PERCENT)
        step = None if of_shares is None else PERCENT * of_shares
    return _step_of_decimals(values) if step is None else step


def _step_of_multiples(values: Floats) -> float | None:
    """Returns gcd(round(Nx))/N; None where no N makes all values whole."""
    multiplier = least_multiplier(values)
    if multiplier is None:
        return None
    counts = np.rint(multiplier * values).astype(np.int64)
    return float(np.gcd.reduce(counts)) / multiplier


def least_multiplier(values: Floats) -> int | None:
    """Returns the smallest N whose products with all values are whole; None without one.

    Neither N nor a product is above `MOST_MULTIPLE`.

    values: of shape (num_values,), none negative.
    """
    largest = max(1.0, float(values.max(initial=0.0)))
    multipliers = np.arange(1.0, MOST_MULTIPLE // largest + 1)
    for value in values:
        multiples = multipliers * value
        distances = np.abs(multiples - np.rint(multiples))
        multipliers = multipliers[distances <= INEXACT * np.maximum(1.0, multiples)]
        if not len(multipliers):
            return None
    return int(multipliers[0])


def _step_of_decimals(values: tuple[float, ...]) -> float:
    """Returns 10^−d for the fewest decimals d that all values have; 0 where some has more than six."""
    for decimals in range(MOST_DECIMALS + 1):
        if all(round(value, decimals) == value for value in values):
            return 10.0**-decimals
    return 0.0
