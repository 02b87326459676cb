"""The facts of giving every variant as much of one quantity, as the report of a study keeps them."""

from __future__ import annotations

from dataclasses import dataclass

from ablate.core.stage_facts import StageFacts


@dataclass(frozen=True)
class MatchedRow:
    """The value by which a variant has as much of the quantity as the target on one task."""

    variant: str
    task: str
    value: int | float
    """The value at the path that is changed."""
    achieved: float
    """The quantity that the variant has with it."""
    residual: float
    """The error of that, as a share of the target."""


@dataclass(frozen=True)
class MatchFacts(StageFacts):
    """The quantity that all variants have the same amount of, and what each was given for it."""

    key = "match"

    quantity: str
    by: str
    """The path that is changed."""
    target: str
    """`baseline`, or the amount as it is written."""
    within: float
    """The largest allowed error, as a share of the target."""
    rows: list[MatchedRow]
