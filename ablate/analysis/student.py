"""Student's t: the interval and the tests of a mean, from its estimate, its standard error and degrees of freedom; and
the interval of a standard deviation.

The textbook formulas over the distribution functions of `scipy.special`: `scipy.stats` and statsmodels, with the
same results, take half a second to load, which every run of a study would pay.
"""

from __future__ import annotations

import math

from scipy import special


def t_quantile(q: float, df: float) -> float:
    """The value that t with `df` degrees of freedom exceeds with probability `q`."""
    return -float(special.stdtrit(df, q))


def t_interval(mean: float, se: float, df: float, alpha: float) -> tuple[float, float]:
    """The two-sided interval of a mean with standard error `se` at level 1 − `alpha`."""
    half = t_quantile(alpha / 2, df) * se
    return mean - half, mean + half


def t_p_above(mean: float, se: float, df: float, bound: float) -> float:
    """One-sided p of the t-test: small when the mean lies above `bound`."""
    return float(special.stdtr(df, (bound - mean) / se))


def sd_interval(sd: float, df: float, alpha: float = 0.05) -> tuple[float, float]:
    """The two-sided interval of a standard deviation `sd` of normal values at level 1 − `alpha`, from that of χ²."""
    low, high = (sd * math.sqrt(df / special.chdtri(df, q)) for q in (alpha / 2, 1 - alpha / 2))
    return low, high
