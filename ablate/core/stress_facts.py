"""The facts of training every variant on a grid of learning rates, and the columns of these trainings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import ConfigDict, Field, TypeAdapter

from ablate.core.stage_facts import StageFacts

if TYPE_CHECKING:
    from typing import Self

_GRID = TypeAdapter(
    Annotated[dict[str, list[float]], Field(min_length=1, max_length=1)], config=ConfigDict(defer_build=True)
)
"""The schema of a path and its learning rates."""


@dataclass(frozen=True)
class StressFacts(StageFacts):
    """The grid of learning rates at which every variant was trained; in files path → rates.

    The frame has one row a trial of the grid. Value: the learning rate. The losses are NaN where the run has none.
    """

    key = "stress"
    columns = (
        *("id", "name", "variant", "task", "seed", "value"),
        *("status", "reason", "test_loss", "initial_loss"),
    )

    path: str
    """The path of the learning rate."""
    rates: list[float]
    """The learning rates, rising."""

    @classmethod
    def read(cls, plain: object) -> Self:
        """Returns the facts in plain data, path → rates. Raises `ValidationError`."""
        [(path, rates)] = _GRID.validate_python(plain).items()
        return cls(path, rates)

    def plain(self) -> dict[str, Any]:
        """Returns path → rates."""
        return {self.path: self.rates}
