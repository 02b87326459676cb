"""A claim of a study, parsed."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass


@dataclass(frozen=True)
class Claim:
    """A claim; each side is a set of variants, whose mean per seed is compared."""

    text: str
    kind: str
    "beats, matches or does_not_lose."
    metric: str
    a: list[str]
    b: list[str]
    by: float
    "X of the grammar: 0 for a plain `beats`."
    declared: str = ""
    "ISO 8601 date and time of the first run that knew it."
    exploratory: bool = False
    "Declared after trials of the study existed."

    @property
    def hash(self) -> str:
        """Identifies the claim by its words."""
        return hashlib.blake2b(self.text.encode(), digest_size=6).hexdigest()
