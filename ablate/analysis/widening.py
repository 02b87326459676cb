"""The values that a search has added to its grid, for all variants, on the side where a best value lay."""

from dataclasses import dataclass
from typing import Literal

GridSide = Literal["lower", "upper"]
"""A side of the values of a searched path."""
GRID_SIDES: tuple[GridSide, GridSide] = ("lower", "upper")
MAX_STEPS = 3
"""The most values that are added on one side of a path."""


@dataclass(frozen=True)
class AddedValue:
    """A value by which the grid was widened on one side of a path, for all variants alike."""

    path: str
    side: GridSide
    value: str
    """The label of the value."""
    round: int
    """The rounds before it was added, from 1: a round searches all variants on the grid so far."""
