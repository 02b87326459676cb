"""The estimates that are judged: a paired mean, a paired rate; see `core.estimate.Estimate`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from scipy import special

from ablate.analysis.paired import Differences
from ablate.analysis.rates import least_count, rate_p, rate_p_beyond
from ablate.core.reason import Block, Estimate, Interval, Reason


@dataclass(frozen=True)
class Mean:
    """Of n paired differences: of seeds, of seeds and examples, or of processes."""

    differences: Differences
    blocks: Sequence[Block] = ()
    also: Sequence[tuple[Reason, Estimate]] = ()

    @property
    def n(self) -> int:
        """Pairs."""
        return self.differences.n

    @property
    def point(self) -> float:
        """The mean."""
        return self.differences.mean

    def above(self, x: float) -> float:
        """By t."""
        return self.differences.p_above(x)

    def below(self, x: float) -> float:
        """By t."""
        return self.differences.p_below(x)

    def interval(self, alpha: float) -> Interval:
        """That of t; it contains those of all that must agree."""
        bounds = [self.differences.interval(alpha), *(one.interval(alpha) for _, one in self.also)]
        known = [found for found in bounds if found is not None]
        return min(low for low, _ in known), max(high for _, high in known)

    def mde(self, alpha: float, n: int | None = None) -> float:
        """By the noncentral t."""
        return max(self.differences.mde(alpha, n), *(one.mde(alpha, n) for _, one in self.also), -math.inf)


@dataclass(frozen=True)
class Rate:
    """Of n seeds on which each side has an outcome or has not: those of one side alone decide (`analysis.rates`)."""

    only: tuple[int, int]
    "The seeds that only A, and only B, solved."
    n: int
    span: float | None
    "What a seed that one side alone solves is worth at most, J; None where the metric does not say."
    differences: Differences
    "On all seeds."
    same: Differences
    "On the seeds that both or neither solved."
    blocks: Sequence[Block] = ()
    also: Sequence[tuple[Reason, Estimate]] = ()
    counted: bool = False
    "Whether a run is worth 0 or 1, so that seeds that both or neither solved differ by nothing."

    @property
    def point(self) -> float:
        """The mean difference."""
        return self.differences.mean

    @property
    def p(self) -> float:
        """Two-sided p of equal rates."""
        return rate_p(*self.only, self.n)

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
            return 1.0 if d.n < 2 else d.p_above(bound) if way > 0 else d.p_below(-bound)

        if x > 0:
            return max(rate_p_beyond(b, c, self.n, min(1.0, x / self.span)), t(self.differences, x))
        share = min(1.0, -x / (2 * self.span))
        return min(ahead, max(float(special.bdtr(c, self.n, share)), t(self.same, x / 2)))

    def interval(self, alpha: float) -> None:
        """There is none."""

    def mde(self, alpha: float, n: int | None = None) -> float:
        """In seeds: the fewest that one side alone solves, and none the other, that tell."""
        return least_count(n or self.n, alpha)
