"""What the evidence on one task says of a claim, however the claim is decided."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ablate.analysis.paired import Interval


@dataclass(frozen=True)
class Grounds:
    """Of one claim on one task."""

    task: str
    n: int
    "Pairs."
    missing: int
    "Planned seeds on which a run has no outcome."
    diff: float
    "Of side A and side B, oriented."
    supported: float
    "The p at which the claim is supported here; so is the next."
    refuted: float
    reading: str
    "The evidence in words, or why there is none."
    interval: Callable[[float], Interval]
    "The interval of the difference at level 1 − alpha."
    closed: bool = False
    "Whether more seeds are not waited for: there is no room to tell, or nothing differs at all."
