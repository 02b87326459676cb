"""Why a verdict is what it is, as a value: a code with numbers, typed and unformatted. `report` has the words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


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
