"""The power of n paired seeds, and the number of seeds that a given power takes.

Power of the paired t-test by the noncentral t distribution; power of the paired equivalence test (TOST) by
integrating over the distribution of the standard deviation (Phillips 1990, J. Pharmacokinet. Biopharm. 18,
137–144). Effects are in units of σ_d, the standard deviation of the paired differences. Student's t itself is
computed from the distribution functions of `scipy.special`: `scipy.stats` and statsmodels, with the same results, take
half a second to load, which every run of a study would pay.
"""

import math
from bisect import bisect_left
from collections.abc import Callable
from functools import lru_cache

import numpy as np
from scipy import special

ALPHA = 0.05
"""The chance of any false verdict in a family, at most; where differences have no outliers to one side."""
POWER = 0.8
LEAST_PAIRS = 3
"""The pairs below which their spread tells no number of seeds: the square of that of two may be off by a thousand."""
MAX_SEEDS = 1000
"""The largest number of seeds that is given; more are infinite."""

# Of the Gauss–Legendre rule on [−1, 1], by which `tost_power` integrates.
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(128)


def t_quantile(q: float, df: float) -> float:
    """Returns the value that t with `df` degrees of freedom exceeds with probability `q`."""
    return -float(special.stdtrit(df, q))


def t_interval(mean: float, se: float, df: float, alpha: float) -> tuple[float, float]:
    """Returns the two-sided interval of a mean with standard error `se` at level 1 − `alpha`."""
    half = t_quantile(alpha / 2, df) * se
    return mean - half, mean + half


def t_p_above(mean: float, se: float, df: float, bound: float) -> float:
    """Returns the one-sided p of the t-test: small when the mean lies above `bound`."""
    return float(special.stdtr(df, (bound - mean) / se))


def sd_interval(sd: float, df: float, alpha: float = 0.05) -> tuple[float, float]:
    """Returns the two-sided interval of a standard deviation at level 1 − `alpha`, from that of χ².

    `sd` is the standard deviation of a sample of normal values, with `df` degrees of freedom.
    """
    low = sd * math.sqrt(df / special.chdtri(df, alpha / 2))
    high = sd * math.sqrt(df / special.chdtri(df, 1 - alpha / 2))
    return low, high


def difference_power(effect: float, n: int, alpha: float = ALPHA) -> float:
    """Returns the probability that the paired t-test finds d_z = |`effect`| with its right sign.

    Two-sided at `alpha`, of n ≥ 2 pairs. The chance of significance with the wrong sign, at most α/2 and next to
    nothing where power is of interest, is not counted.
    """
    return _noncentral_power(abs(effect) * math.sqrt(n), n - 1, alpha)


def _noncentral_power(noncentrality: float, df: float, alpha: float) -> float:
    """Returns the probability that t with this noncentrality exceeds the two-sided critical value at `alpha`."""
    missed = float(special.nctdtr(df, noncentrality, t_quantile(alpha / 2, df)))
    # The library's distribution is NaN where the noncentrality leaves no mass below the critical value.
    return 1.0 if math.isnan(missed) else 1.0 - missed


@lru_cache(maxsize=1024)
def detectable(df: float, alpha: float = ALPHA, power: float = POWER) -> float:
    """Returns the true mean that a t-test, two-sided at `alpha`, finds with probability `power`; in standard errors."""
    low = 0.0
    high = 1.0
    while _noncentral_power(high, df, alpha) < power:
        high *= 2
    # Bisection, until no number lies between the bounds.
    middle = (low + high) / 2
    while low < middle < high:
        if _noncentral_power(middle, df, alpha) < power:
            low = middle
        else:
            high = middle
        middle = (low + high) / 2
    return high


def detectable_effect(n: int, alpha: float = ALPHA, power: float = POWER) -> float:
    """Returns the minimum d_z that n ≥ 2 pairs find with probability `power`, two-sided at `alpha`."""
    return detectable(n - 1, alpha, power) / math.sqrt(n)


def tost_power(
    margin: float, n: int, effect: float = 0.0, one_sided: float = ALPHA, df: float | None = None
) -> float:
    """Returns the probability that paired TOST finds a true `effect` inside (−`margin`, `margin`).

    Each side is tested at the level `one_sided`. Margin and effect in units of σ_d; n ≥ 2 pairs. df: the degrees of
    freedom of the standard error; None: n − 1.
    """
    df = n - 1 if df is None else df
    # TOST rejects where |mean| < margin − s·t/√n: given s, a range of a normal mean; none above `widest`.
    t = t_quantile(one_sided, df)
    root = math.sqrt(n)
    widest = margin * root / t
    low, high = np.sqrt(2 * special.gammaincinv(df / 2, [1e-12, 1 - 1e-12]) / df)
    high = min(high, widest)
    if high <= low:
        return 0.0
    s = low + (high - low) * (_NODES + 1) / 2
    inside = special.ndtr((margin - effect) * root - t * s) - special.ndtr((-margin - effect) * root + t * s)
    # s·√df is chi with df degrees of freedom.
    x = s * math.sqrt(df)
    log_norm = (df / 2 - 1) * math.log(2) + math.lgamma(df / 2)
    density = np.exp((df - 1) * np.log(x) - x**2 / 2 - log_norm) * math.sqrt(df)
    return float((_WEIGHTS * inside * density).sum() * (high - low) / 2)


def smallest(enough: Callable[[int], bool]) -> float:
    """Returns the smallest n in 2 … `MAX_SEEDS` that is enough, power being monotone in n; infinite if none is."""
    counts = range(2, MAX_SEEDS + 1)
    place = bisect_left(counts, True, key=enough)
    return float(counts[place]) if place < len(counts) else math.inf
