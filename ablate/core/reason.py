"""Why a verdict is what it is, as a value: a code with numbers, typed and unformatted; `report` has the words.

And what everything that is judged has in common, whatever it is an estimate of.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol


@dataclass(frozen=True)
class Reason:
    """A code, and what there is to say in numbers; a table keeps it as `code name=number …`."""

    code: str
    numbers: Mapping[str, float] = field(default_factory=dict)

    def __str__(self) -> str:
        return " ".join([self.code, *(f"{name}={value:.6g}" for name, value in self.numbers.items())])

    @classmethod
    def parse(cls, text: str) -> Reason | None:
        """The inverse of `str`; None of an empty text, and of the sentences that older tables have."""
        code, *pairs = text.split() or [""]
        if not code.isidentifier() or not all("=" in pair for pair in pairs):
            return None
        return cls(code, {name: float(value) for name, _, value in (pair.partition("=") for pair in pairs)})


Interval = tuple[float, float]


@dataclass(frozen=True)
class Block:
    """What keeps an estimate from deciding."""

    reason: Reason
    wholly: bool = True  # Whether from anything, or only from support of `matches` and `does not lose`.


class Estimate(Protocol):
    """Of a number, oriented so that more is better."""

    @property
    def n(self) -> int:
        """Pairs."""

    @property
    def mean(self) -> float:
        """The estimate, a mean difference; NaN without pairs."""

    @property
    def blocks(self) -> Sequence[Block]:
        """All that hold, the first of which is the reason."""

    def above(self, x: float) -> float:
        """The one-sided p against a value of at most `x`: small where it lies above."""

    def below(self, x: float) -> float:
        """The one-sided p against a value of at least `x`: small where it lies below."""

    def interval(self, alpha: float) -> Interval | None:
        """At level 1 − `alpha`; None where there is none."""

    def mde(self, alpha: float, n: int | None = None) -> float:
        """The smallest true value that is found with 80 % power at `alpha`, two-sided, by these pairs or `n` others."""
