"""The estimate of a paired rate (see `core.reason.Estimate`), and exact tests of rates.

Two rates over the same seeds are compared by the seeds on which only one side has the outcome: b for A, c for B. The
statistic is z = |b − c|/√(b + c); its p is the largest, over θ = 0.001 … 0.250, of the probability of a z at least as
large when b and c are multinomial with n seeds and probabilities θ, θ, 1 − 2θ: an unconditional exact test (Suissa and
Shuster 1991, Biometrics 47, 361–372). McNemar's exact test conditions on b + c and cannot reach 0.05 below six seeds.
θ ends at ¼, beyond which failures under a shared seed would repel.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy import special

from ablate.analysis.paired import Differences, Floats
from ablate.analysis.power import ALPHA, POWER, smallest
from ablate.core.reason import Block


@dataclass(frozen=True)
class Rate:
    """Of n seeds on which each side has an outcome or has not: those of one side alone decide (`rate_p`)."""

    only: tuple[int, int]  # The seeds that only A, and only B, solved.
    n: int
    # What a seed that one side alone solves is worth at most, J; None where the metric does not say.
    span: float | None
    differences: Differences  # On all seeds.
    same: Differences  # On the seeds that both or neither solved.
    blocks: Sequence[Block] = ()
    # Whether a run is worth 0 or 1, so that seeds that both or neither solved differ by nothing.
    counted: bool = False

    @property
    def mean(self) -> float:
        """The mean difference."""
        return self.differences.mean

    def above(self, x: float) -> float:
        """Below 0 half of `x` bounds the seeds that B alone solves, and half the mean difference on the others."""
        return self._above(x, *self.only, 1.0)

    def below(self, x: float) -> float:
        """The mirror image."""
        return self._above(-x, *self.only[::-1], -1.0)

    def _above(self, x: float, b: int, c: int, way: float) -> float:
        ahead = rate_p(b, c, self.n) / 2 if b > c else 1.0
        if not x:
            return ahead
        if not self.span:
            return ahead if x < 0 else 1.0

        def t(d: Differences, bound: float) -> float:
            if self.counted:
                return 0.0
            return 1.0 if d.n < 2 else d.above(bound) if way > 0 else d.below(-bound)

        if x > 0:
            return max(rate_p_beyond(b, c, self.n, min(1.0, x / self.span)), t(self.differences, x))
        share = min(1.0, -x / (2 * self.span))
        return min(ahead, max(float(special.bdtr(c, self.n, share)), t(self.same, x / 2)))

    def interval(self, alpha: float) -> None:
        """There is none."""

    def mde(self, alpha: float, n: int | None = None) -> float:
        """In seeds: the fewest that one side alone solves, and none the other, that tell."""
        return least_count(n or self.n, alpha)


FEW = 30  # Seeds below which the next larger number may detect less.
MOST_COUNTED = 120  # Seeds over which outcomes are counted one by one.


def clopper_pearson(count: int, total: int) -> tuple[float, float]:
    """The exact 95 % interval of a rate (Clopper and Pearson 1934, Biometrika 26, 404–413); NaN of no runs.

    Its bounds are the rates under which as many or more, and as few or fewer, each have a probability of 2.5 %.
    """
    if total == 0:
        return math.nan, math.nan
    low = special.betaincinv(count, total - count + 1, ALPHA / 2) if count else 0.0
    high = special.betaincinv(count + 1, total - count, 1 - ALPHA / 2) if count < total else 1.0
    return float(low), float(high)


def rate_p(only_a: int, only_b: int, n: int) -> float:
    """Two-sided p of two rates over n shared seeds, of which `only_a` and `only_b` have the outcome on one side."""
    return 1.0 if only_a == only_b else rate_p_beyond(only_a, only_b, n, 0.0)


def rate_p_beyond(only_a: int, only_b: int, n: int, most: float) -> float:
    """One-sided p: small when A has the outcome more often than B by more than `most`, a share of seeds above 0.

    The same maximum where A has it alone with probability θ + `most`. Of `most` = 0, the two-sided p.
    """
    z, tail = _tails(n, most)
    return float(tail[np.searchsorted(z, _z(np.array(only_a), np.array(only_b), most) - 1e-9)])


def least_count(n: int, alpha: float = ALPHA) -> float:
    """The smallest number of seeds that one side alone solves that is significant at `alpha`; infinite if none is."""
    return next((float(b) for b in range(1, n + 1) if rate_p(b, 0, n) <= alpha), math.inf)


def detectable_failure_rate(n: int, alpha: float = ALPHA) -> float:
    """The smallest failure rate that n seeds tell, with 80 % power, from a side that never fails.

    NaN where even n failures of n are not significant at `alpha`.
    """
    # From about a hundred seeds on, as many failures are significant whatever their number.
    needed = least_count(min(n, MOST_COUNTED), alpha)
    return math.nan if math.isinf(needed) else float(special.betaincinv(needed, n - needed + 1, POWER))


def seeds_for_failure_rate(share: float, alpha: float = ALPHA) -> float:
    """The smallest number of seeds that tells a failure rate of `share` from 0; infinite above `MAX_SEEDS`.

    By `detectable_failure_rate`, which is not quite monotone where seeds are few.
    """

    def enough(n: int) -> bool:
        return detectable_failure_rate(n, alpha) <= share

    return next((float(n) for n in range(2, FEW) if enough(n)), smallest(enough))


def _z(b: Floats, c: Floats, most: float) -> Floats:
    z = (b - c) / np.sqrt(np.maximum(b + c, 1))
    return z if most else np.abs(z)


@lru_cache(maxsize=64)
def _tails(n: int, most: float) -> tuple[Floats, Floats]:
    """Of every (b, c): z, rising, and the largest probability over θ of that z or more."""
    b, c = np.array([(b, c) for b in range(n + 1) for c in range(n + 1 - b)], float).T
    order = np.argsort(z := _z(b, c, most), kind="stable")
    b, c = b[order], c[order]
    logs = special.gammaln(n + 1) - special.gammaln([b + 1, c + 1, n - b - c + 1]).sum(axis=0)
    theta = np.arange(251)[:, None] / 1000
    theta = theta[2 * theta[:, 0] + most <= 1 + 1e-12]
    neither = np.maximum(1 - 2 * theta - most, 0.0)
    logs = logs + special.xlogy(b, theta + most) + special.xlogy(c, theta) + special.xlogy(n - b - c, neither)
    return z[order], np.cumsum(np.exp(logs)[:, ::-1], axis=1)[:, ::-1].max(axis=0)


def seeds_without_failure(margin: float, span: float, alpha: float) -> int:
    """The fewest seeds at which runs that solve the task alike "match within `margin`" at `alpha`. At least 2.

    A run that fails costs about `span`, so that a share of failures of π = margin / (2·span) is worth half the margin;
    no seed that one side alone solves excludes it at (1 − π)^n ≤ α/2.
    """
    share = margin / (2 * span)
    return 2 if share >= 1 else max(2, math.ceil(math.log(alpha / 2) / math.log1p(-share)))
