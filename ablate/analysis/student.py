"""Student's t: the interval and the tests of a mean, from its estimate, its spread and n.

The textbook formulas over the distribution functions of `scipy.special`: `scipy.stats` and statsmodels, with the
same results, take half a second to load, which every run of a study would pay.
"""

from __future__ import annotations

import math

from scipy import special


def t_quantile(q: float, df: float) -> float:
    """The value that t with `df` degrees of freedom exceeds with probability `q`."""
    return -float(special.stdtrit(df, q))


def t_interval(mean: float, sd: float, n: int, alpha: float) -> tuple[float, float]:
    """The two-sided interval of the mean at level 1 − `alpha`; `sd` with divisor n − 1, n ≥ 2."""
    half = t_quantile(alpha / 2, n - 1) * sd / math.sqrt(n)
    return mean - half, mean + half


def t_p_above(mean: float, sd: float, n: int, bound: float) -> float:
    """One-sided p of the t-test: small when the mean lies above `bound`; n ≥ 2."""
    return float(special.stdtr(n - 1, (bound - mean) * math.sqrt(n) / sd))
