"""What everything that is judged has in common, whatever it is an estimate of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from ablate.core.reason import Reason

Interval = tuple[float, float]


@dataclass(frozen=True)
class Block:
    """What keeps an estimate from deciding."""

    reason: Reason
    wholly: bool = True
    "Whether from anything, or only from support of `matches` and `does not lose`."


class Estimate(Protocol):
    """Of a number, oriented so that more is better."""

    @property
    def n(self) -> int:
        """Pairs."""

    @property
    def point(self) -> float:
        """The estimate; NaN without pairs."""

    @property
    def blocks(self) -> Sequence[Block]:
        """All that hold, the first of which is the reason."""

    @property
    def also(self) -> Sequence[tuple[Reason, Estimate]]:
        """Other estimates of the same, all of which must agree with it before anything is decided."""

    def above(self, x: float) -> float:
        """The one-sided p against a value of at most `x`: small where it lies above."""

    def below(self, x: float) -> float:
        """The one-sided p against a value of at least `x`: small where it lies below."""

    def interval(self, alpha: float) -> Interval | None:
        """At level 1 − `alpha`; None where there is none."""

    def mde(self, alpha: float, n: int | None = None) -> float:
        """The smallest true value that is found with 80 % power at `alpha`, two-sided, by these pairs or `n` others."""
