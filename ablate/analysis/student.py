"""Student's t: the interval and the tests of a mean, from its estimate, its standard error and degrees of freedom.

The textbook formulas over the distribution functions of `scipy.special`: `scipy.stats` and statsmodels, with the
same results, take half a second to load, which every run of a study would pay.
"""

from __future__ import annotations

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
