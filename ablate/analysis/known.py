"""The estimate of a number whose standard error is known from elsewhere (see `core.reason.Estimate`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ablate.analysis.power import detectable, t_interval, t_p_above
from ablate.core.reason import Block, Interval


@dataclass(frozen=True)
class Known:
    """A mean of n values, t with `df` degrees of freedom: of sides that share no seeds, or noise pooled over many."""

    n: int
    mean: float
    se: float  # Positive.
    df: float
    blocks: Sequence[Block] = ()

    def above(self, x: float) -> float:
        """One-sided p: small when the mean lies above `x`."""
        return t_p_above(self.mean, self.se, self.df, x)

    def below(self, x: float) -> float:
        """One-sided p: small when the mean lies below `x`."""
        return t_p_above(-self.mean, self.se, self.df, -x)

    def interval(self, alpha: float) -> Interval:
        """The two-sided t interval at level 1 − `alpha`."""
        return t_interval(self.mean, self.se, self.df, alpha)

    def mde(self, alpha: float, n: int | None = None) -> float:
        """The difference that is found with 80 % power, two-sided at `alpha`."""
        return detectable(self.df, alpha) * self.se
