"""The level of a stream of tries: what each confirmation is judged at, and what returns after a keep.

W = 0.04 at first. The i-th confirmation since the last keep is judged at W·i^−1.6/ζ(1.6), and these add up to W. A keep
spends nothing, since it is either right, or the error has happened: W falls by the levels of the other confirmations
since the last keep, and i begins at 1 again.

Several tries may be screened and confirmed as one wave, against one base. The i of each is its place by the p of
screening, fixed before any confirmation. Of those that pass the one with the largest gain is kept, and W falls by the
levels of all others, those that passed among them.

The promise is no false keep in 0.95 of streams, not a rate of false discoveries.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

TOTAL_LEVEL = 0.04
"""W at the start: the chance of any false keep, at most."""
EXPONENT = 1.6
ZETA = 2.2857656
"""ζ(1.6), the sum of i^−1.6."""


@dataclass(frozen=True)
class LevelLeft:
    """The level that is left to spend, with the number of confirmations since the last keep."""

    budget: float = TOTAL_LEVEL
    """W."""
    confirmations: int = 0

    def level_of(self, place: int) -> float:
        """Returns the level of the confirmation at a place since the last keep, from 1."""
        return self.budget * math.pow(place, -EXPONENT) / ZETA

    @property
    def next_level(self) -> float:
        """The level of the next confirmation."""
        return self.level_of(self.confirmations + 1)

    @property
    def to_come(self) -> float:
        """The sum of the levels of all confirmations to come."""
        return self.budget - sum(self.level_of(place) for place in range(1, self.confirmations + 1))

    def after(self, num_confirmations: int = 1) -> LevelLeft:
        """Returns what is left after confirmations that keep nothing."""
        return replace(self, confirmations=self.confirmations + num_confirmations)

    def after_keep(self, place: int) -> LevelLeft:
        """Returns what is left after a keep: the confirmation at that place gives its level back, no other does."""
        spent = sum(self.level_of(other) for other in range(1, self.confirmations + 1) if other != place)
        return LevelLeft(self.budget - spent)


@dataclass(frozen=True)
class Confirmed:
    """A confirmation of a wave."""

    gain: float
    """The mean of the try less that of the base, oriented."""
    p: float
    """The one-sided p of no gain."""
    level: float
    """The level at which it is judged."""


def order_of_wave(screening_p: Sequence[float]) -> list[int]:
    """Returns the indices of the tries of a wave in the order of their confirmations; ties by their order."""
    return sorted(range(len(screening_p)), key=lambda index: screening_p[index])


def kept_of_wave(confirmations: Sequence[Confirmed]) -> int | None:
    """Returns the index of the confirmation whose try is kept: the largest gain of those that pass; None of none."""
    passed = [index for index, one in enumerate(confirmations) if one.p <= one.level]
    return max(passed, key=lambda index: confirmations[index].gain) if passed else None
