"""Inference from n paired differences: the mean with its intervals and tests, the effect, the power.

The paired t-test and its intervals assume independent, roughly normal differences, the seeds being a sample of all
seeds. The standard deviation is never taken below the metric's resolution: otherwise a handful of equal differences
of one step would be infinitely significant.

Everything here is oriented: a positive difference means that the first is better. Arrays have shape (n,), one value
a seed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ablate.analysis.power import ALPHA, detectable_effect, seeds_for_difference, seeds_for_equivalence
from ablate.analysis.student import t_interval, t_p_above
from ablate.core.metric import Metric

NAN = math.nan
Floats = NDArray[np.float64]
Interval = tuple[float, float]

ROUNDING = 1e-12
"""Differences below this share of the values are taken for rounding."""


def sign(metric: Metric) -> float:
    """1 where more is better, −1 where less is."""
    return -1.0 if metric.direction == "min" else 1.0


@dataclass(frozen=True)
class Differences:
    """n paired differences, a sample from which to infer their mean."""

    values: Floats
    "Shape (n,), sorted, so that no result depends on the order of the seeds."
    floor: float
    "The standard deviation is never taken below it; positive."

    @classmethod
    def between(cls, a: ArrayLike, b: ArrayLike, resolution: float = 0.0) -> Differences:
        """Of a − b, both of shape (n,), finite and oriented; `resolution` is the metric's."""
        a, b = np.asarray(a, float), np.asarray(b, float)
        rounding = ROUNDING * float(np.abs([a, b]).max(initial=0.0))
        values = a - b
        values[np.abs(values) <= rounding] = 0.0
        # The last bound keeps squares above zero where all values are 0 and the metric has no resolution.
        return cls(np.sort(values), max(resolution, rounding, 1e-100))

    @property
    def n(self) -> int:
        """Number of pairs."""
        return len(self.values)

    @property
    def all_zero(self) -> bool:
        """Whether every pair is a tie."""
        return not self.values.any()

    @cached_property
    def mean(self) -> float:
        """d̄, or NaN without pairs."""
        return float(self.values.mean()) if self.n else NAN

    @cached_property
    def sd(self) -> float:
        """s_d, not below the floor; NaN for fewer than two pairs."""
        return max(float(self.values.std(ddof=1)), self.floor) if self.n > 1 else NAN

    def interval(self, alpha: float = ALPHA) -> Interval:
        """The two-sided t interval of the mean at level 1 − `alpha`; NaN for fewer than two pairs."""
        return t_interval(self.mean, self.sd, self.n, alpha) if self.n > 1 else (NAN, NAN)

    def p(self, null: float = 0.0) -> float:
        """Two-sided p of the paired t-test against a mean of `null`; NaN for fewer than two pairs."""
        return 2 * min(self.p_above(null), self.p_below(null))

    def p_above(self, bound: float) -> float:
        """One-sided p: small when the mean lies above `bound`."""
        return t_p_above(self.mean, self.sd, self.n, bound) if self.n > 1 else NAN

    def p_below(self, bound: float) -> float:
        """One-sided p: small when the mean lies below `bound`."""
        return t_p_above(-self.mean, self.sd, self.n, -bound) if self.n > 1 else NAN

    def p_equivalent(self, margin: float) -> float:
        """The p of the paired equivalence test (TOST): small when the mean lies inside (−`margin`, `margin`).

        The larger p of two one-sided t-tests (Schuirmann 1987, J. Pharmacokinet. Biopharm. 15, 657–680).
        """
        return max(self.p_above(-margin), self.p_below(margin))


@dataclass(frozen=True)
class PairedStatistics:
    """One variant against the baseline on one metric. NaN where n is too small."""

    differences: Differences
    n: int
    mean_variant: float
    "In the metric's own direction and units, over the pairs; so is the next."
    mean_baseline: float
    diff: float
    "d̄, oriented; so are the intervals."
    ci95: Interval
    ci90: Interval
    bonferroni: Interval
    "At level 1 − α/m."
    p: float
    d_z: float
    "d̄/s_d, the standardised effect of paired samples (Lakens 2013, Front. Psychol. 4, 863)."
    prob_better: float
    "Share of the seeds on which the variant is better, ties half."
    correlation: float
    "Of variant and baseline over seeds."
    mde: float
    "The difference that n pairs detect with 80 % power, two-sided at α/m."


def paired(variant: ArrayLike, baseline: ArrayLike, metric: Metric, m: int = 1) -> PairedStatistics:
    """Compares `variant` and `baseline` seed by seed.

    Both have shape (n,), are finite and in the metric's own direction. `m` is the size of the family.
    """
    a, b = np.asarray(variant, float), np.asarray(baseline, float)
    d = Differences.between(sign(metric) * a, sign(metric) * b, metric.resolution)
    n = d.n
    return PairedStatistics(
        differences=d,
        n=n,
        mean_variant=_mean(a),
        mean_baseline=_mean(b),
        diff=d.mean,
        ci95=d.interval(ALPHA),
        ci90=d.interval(2 * ALPHA),
        bonferroni=d.interval(ALPHA / m),
        p=d.p(),
        d_z=d.mean / d.sd,
        prob_better=float(((d.values > 0) + 0.5 * (d.values == 0)).mean()) if n else NAN,
        correlation=_correlation(a, b),
        mde=detectable_effect(n, ALPHA / m) * d.sd if n > 1 else NAN,
    )


def seeds_needed(differences: Differences, m: int = 1, margin: float | None = None) -> float:
    """The seeds that would settle a comparison, if the truth were what was observed.

    The smallest n that has 80 % power at two-sided α/m for the observed effect or, with a margin, for
    equivalence at the observed difference, whichever is smaller. Infinite above `power.MAX_SEEDS`.
    """
    if differences.n < 2:
        return NAN
    needed = seeds_for_difference(differences.mean / differences.sd, ALPHA / m)
    if margin is None:
        return needed
    return min(needed, seeds_for_equivalence(margin / differences.sd, differences.mean / differences.sd))


def _mean(values: Floats) -> float:
    """Independent of the order of the seeds."""
    return float(np.sort(values).mean()) if len(values) else NAN


def _correlation(a: Floats, b: Floats) -> float:
    """Pearson's r; NaN for fewer than three pairs, or where one side does not vary."""
    if len(a) < 3 or np.ptp(a) == 0 or np.ptp(b) == 0:
        return NAN
    order = np.lexsort((b, a))
    return float(np.corrcoef(a[order], b[order])[0, 1])
