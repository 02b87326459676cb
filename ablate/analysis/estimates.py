"""The estimate of a paired rate (see `core.reason.Estimate`), and exact tests of rates.

Two rates over the same seeds are compared by the seeds on which only one side has the outcome: b for A, c for B. The
statistic is z = |b − c|/√(b + c); its p is the largest, over θ = 0.001 … 0.250, of the probability of a z at least as
large when b and c are multinomial with n seeds and probabilities θ, θ, 1 − 2θ: an unconditional exact test (Suissa and
Shuster 1991, Biometrics 47, 361–372). McNemar's exact test conditions on b + c and cannot reach 0.05 below six seeds.
θ ends at ¼, beyond which failures under a shared seed would repel.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy import special

from ablate.analysis.paired import Differences, Floats
from ablate.analysis.power import ALPHA, POWER, smallest
from ablate.core.reason import Block

FEW = 30
"""Seeds below which the next larger number may detect less."""
MOST_COUNTED = 120
"""Seeds over which outcomes are counted one by one."""


@dataclass(frozen=True)
class Rate:
    """A paired rate over n seeds, on which each side has an outcome or has not.

    The seeds that only one side solved decide (`rate_p`).
    """

    only: tuple[int, int]
    """The seeds that only A, and only B, solved."""
    n: int
    span: float | None
    """What a seed that one side alone solves is worth at most, J; None where the metric does not say."""
    differences: Differences
    """Differences on all seeds."""
    same: Differences
    """Differences on the seeds that both or neither solved."""
    blocks: Sequence[Block] = ()
    counted: bool = False
    """Whether a run is worth 0 or 1, so that seeds that both or neither solved differ by nothing."""

    @property
    def mean(self) -> float:
        """The mean difference."""
        return self.differences.mean

    def above(self, x: float) -> float:
        """Returns the one-sided p against a value of at most `x`."""
        only_a, only_b = self.only
        return self._p_beyond(x, ahead=only_a, behind=only_b, mean_p=self._mean_above)

    def below(self, x: float) -> float:
        """Returns the one-sided p against a value of at least `x`: the mirror image of `above`."""
        only_a, only_b = self.only
        return self._p_beyond(-x, ahead=only_b, behind=only_a, mean_p=self._mean_below)

    def _p_beyond(
        self, x: float, *, ahead: int, behind: int, mean_p: Callable[[Differences, float], float]
    ) -> float:
        """Returns the p of one side being better than the other by more than `x`, in the metric's units.

        A seed that one side alone solves is worth at most J = `span`.

            x = 0   the seeds that one side alone solves decide
            x > 0   this side must lead in such seeds by more than x/J of all, and the mean must exceed x: the larger p
            x < 0   this side leads; or the other alone solves at most |x|/2J of the seeds, and the mean over those that
                    both or neither solved exceeds x/2 (of these two the larger p): the smaller p

        Without J nothing above 0 can be shown, and below 0 a lead alone counts.

        ahead, behind: the seeds that this side, and the other, solved alone. mean_p: the p of the mean of some
        differences lying beyond a value.
        """
        p_ahead = rate_p(ahead, behind, self.n) / 2 if ahead > behind else 1.0
        if x == 0:
            return p_ahead
        if not self.span:
            return p_ahead if x < 0 else 1.0
        if x > 0:
            p_rate = rate_p_beyond(ahead, behind, self.n, min(1.0, x / self.span))
            return max(p_rate, mean_p(self.differences, x))
        allowed_share = min(1.0, -x / (2 * self.span))
        p_few_behind = float(special.bdtr(behind, self.n, allowed_share))
        return min(p_ahead, max(p_few_behind, mean_p(self.same, x / 2)))

    def _mean_above(self, differences: Differences, bound: float) -> float:
        if self.counted:
            return 0.0
        return differences.above(bound) if differences.n > 1 else 1.0

    def _mean_below(self, differences: Differences, bound: float) -> float:
        if self.counted:
            return 0.0
        return differences.below(-bound) if differences.n > 1 else 1.0

    def interval(self, alpha: float) -> None:
        """Returns None: a rate has no interval."""

    def mde(self, alpha: float, n: int | None = None) -> float:
        """Returns, in seeds, the fewest that one side alone solves, and none the other, that tell."""
        return least_count(n or self.n, alpha)


def clopper_pearson(count: int, total: int) -> tuple[float, float]:
    """Returns the exact 95 % interval of a rate (Clopper and Pearson 1934, Biometrika 26, 404–413); NaN of no runs.

    Its bounds are the rates under which as many or more, and as few or fewer, each have a probability of 2.5 %.
    """
    if total == 0:
        return math.nan, math.nan
    low = special.betaincinv(count, total - count + 1, ALPHA / 2) if count else 0.0
    high = special.betaincinv(count + 1, total - count, 1 - ALPHA / 2) if count < total else 1.0
    return float(low), float(high)


def rate_p(only_a: int, only_b: int, n: int) -> float:
    """Returns the two-sided p of two rates over n shared seeds.

    only_a, only_b: the seeds on which one side alone has the outcome.
    """
    if only_a == only_b:
        return 1.0
    return rate_p_beyond(only_a, only_b, n, 0.0)


def rate_p_beyond(only_a: int, only_b: int, n: int, most: float) -> float:
    """Returns a one-sided p: small when A has the outcome more often than B by more than `most`, a share of seeds.

    The same maximum where A has it alone with probability θ + `most`. With `most` = 0 it is the two-sided p.
    """
    z, tail = _tails(n, most)
    observed = _z(np.array(only_a), np.array(only_b), most)
    return float(tail[np.searchsorted(z, observed - 1e-9)])


def least_count(n: int, alpha: float = ALPHA) -> float:
    """Returns the fewest of n seeds, solved by one side alone, that are significant at `alpha`; infinite if none is."""
    for count in range(1, n + 1):
        if rate_p(count, 0, n) <= alpha:
            return float(count)
    return math.inf


def detectable_failure_rate(n: int, alpha: float = ALPHA) -> float:
    """Returns the smallest failure rate that n seeds detect with 80 % power where the other side never fails.

    NaN where even n failures of n are not significant at `alpha`.
    """
    # From about a hundred seeds on, as many failures are significant whatever their number.
    needed = least_count(min(n, MOST_COUNTED), alpha)
    if math.isinf(needed):
        return math.nan
    return float(special.betaincinv(needed, n - needed + 1, POWER))


def seeds_for_failure_rate(share: float, alpha: float = ALPHA) -> float:
    """Returns the smallest number of seeds that tells a failure rate of `share` from 0; infinite above `MAX_SEEDS`."""

    def enough(n: int) -> bool:
        return detectable_failure_rate(n, alpha) <= share

    # The rate is not quite monotone where seeds are few.
    for n in range(2, FEW):
        if enough(n):
            return float(n)
    return smallest(enough)


def _z(b: Floats, c: Floats, most: float) -> Floats:
    """Returns the statistic: |z| where both sides count alike, z where A is to exceed B by `most`."""
    z = (b - c) / np.sqrt(np.maximum(b + c, 1))
    return z if most else np.abs(z)


@lru_cache(maxsize=64)
def _tails(n: int, most: float) -> tuple[Floats, Floats]:
    """Returns z of each outcome (b, c) of n seeds, rising, and the largest probability over θ of that z or more."""
    all_b, all_c = np.indices((n + 1, n + 1)).astype(float)
    possible = all_b + all_c <= n
    b = all_b[possible]
    c = all_c[possible]
    z = _z(b, c, most)
    order = np.argsort(z, kind="stable")
    b = b[order]
    c = c[order]

    theta = np.arange(251)[:, None] / 1000
    theta = theta[2 * theta[:, 0] + most <= 1 + 1e-12]
    neither = np.maximum(1 - 2 * theta - most, 0.0)
    # Log probabilities of the multinomial, shape (thetas, outcomes).
    logs = special.gammaln(n + 1) - special.gammaln([b + 1, c + 1, n - b - c + 1]).sum(axis=0)
    logs = logs + special.xlogy(b, theta + most) + special.xlogy(c, theta) + special.xlogy(n - b - c, neither)
    tails = np.cumsum(np.exp(logs)[:, ::-1], axis=1)[:, ::-1]
    return z[order], tails.max(axis=0)


def seeds_without_failure(margin: float, span: float, alpha: float) -> int:
    """Returns the fewest seeds at which runs that solve the task alike "match within `margin`" at `alpha`. At least 2.

    A run that fails costs about `span`, so that a share of failures of π = margin / (2·span) is worth half the margin;
    no seed that one side alone solves excludes it at (1 − π)^n ≤ α/2.
    """
    share = margin / (2 * span)
    if share >= 1:
        return 2
    return max(2, math.ceil(math.log(alpha / 2) / math.log1p(-share)))
