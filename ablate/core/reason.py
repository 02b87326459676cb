"""The reason of a verdict as a value, a code with typed numbers; and the contract of everything that is judged.

`ablate.report` has the words for reasons.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol


@dataclass(frozen=True)
class Reason:
    """A code with numbers by name; a table keeps it as `code name=number …`."""

    code: str
    numbers: Mapping[str, float] = field(default_factory=dict)

    def __str__(self) -> str:
        pairs = [f"{name}={value:.6g}" for name, value in self.numbers.items()]
        return " ".join([self.code, *pairs])

    @classmethod
    def parse(cls, text: str) -> Reason | None:
        """Returns the reason that `str` has written; None for an empty text, and for the sentences of older tables."""
        code, *pairs = text.split() or [""]
        if not code.isidentifier() or not all("=" in pair for pair in pairs):
            return None
        numbers = {}
        for pair in pairs:
            name, _, value = pair.partition("=")
            numbers[name] = float(value)
        return cls(code, numbers)


Interval = tuple[float, float]


@dataclass(frozen=True)
class Block:
    """A reason that keeps an estimate from deciding."""

    reason: Reason
    wholly: bool = True  # Whether from anything, or only from support of `matches` and `does not lose`.


class Estimate(Protocol):
    """An estimate of a number, oriented so that more is better."""

    @property
    def n(self) -> int:
        """The number of pairs."""

    @property
    def mean(self) -> float:
        """The estimate, a mean difference; NaN without pairs."""

    @property
    def blocks(self) -> Sequence[Block]:
        """The blocks that hold; the first gives the reason of the verdict."""

    def above(self, x: float) -> float:
        """Returns the one-sided p against a value of at most `x`: small where the estimate lies above."""

    def below(self, x: float) -> float:
        """Returns the one-sided p against a value of at least `x`: small where the estimate lies below."""

    def interval(self, alpha: float) -> Interval | None:
        """Returns the confidence interval at level 1 − `alpha`; None where there is none."""

    def mde(self, alpha: float, n: int | None = None) -> float:
        """Returns the smallest true value that is found with 80 % power at `alpha`, two-sided.

        n: a number of pairs in place of those of the estimate.
        """
