"""A claim of a study, parsed."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field

INTERACTION = "interaction"
"""The kind of `A beats B on METRIC by more at PATH=y than at PATH=x`."""


@dataclass(frozen=True)
class Claim:
    """A claim; each side is a set of variants, whose mean per seed is compared."""

    text: str
    kind: str
    "beats, matches, does_not_lose or interaction."
    metric: str
    a: list[str]
    "Of an interaction: A where it beats B by more; so is the next."
    b: list[str]
    by: float
    "X of the grammar: 0 for a plain `beats`."
    declared: str = ""
    "ISO 8601 date and time of the first run that knew it."
    exploratory: bool = False
    "Declared after trials of the study existed."
    a_less: list[str] = field(default_factory=list)
    "Of an interaction: A where it beats B by less; else empty, as is the next."
    b_less: list[str] = field(default_factory=list)

    @property
    def sides(self) -> list[list[str]]:
        """A and B; of an interaction also A and B where it beats B by less."""
        return [side for side in (self.a, self.b, self.a_less, self.b_less) if side]

    @property
    def variants(self) -> list[str]:
        """All that it rests on."""
        return [name for side in self.sides for name in side]

    @property
    def hash(self) -> str:
        """Identifies the claim by its words."""
        return hashlib.blake2b(self.text.encode(), digest_size=6).hexdigest()
