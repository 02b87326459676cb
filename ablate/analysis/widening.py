"""The values by which a grid was widened, after a search of all variants, on the side where a best value lay."""

from dataclasses import dataclass
from typing import Literal

Side = Literal["lower", "upper"]
"""A side of the values of a searched path."""
SIDES: tuple[Side, Side] = ("lower", "upper")
MAX_STEPS = 3
"""The most values that are added on one side of a path."""


@dataclass(frozen=True)
class AddedValue:
    """A value by which the grid was widened on one side of a path, for all variants alike."""

    path: str
    side: Side
    value: str
    """The label of the value."""
    round: int
    """The number of rounds after which it was added: a round searches all variants on the grid so far."""
