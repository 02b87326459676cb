"""Numbers that a run reports beside the metrics of its study: kept to be looked at, and no verdict rests on them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from ablate.base.text import printable

STEP = "step"  # Read like a metric, it says at which step those after it were measured.
MAX_NAMES = 100
MAX_POINTS = 1000  # Of one name; of more, every second is dropped.
_MAX_NAME = 100  # Characters.
_MAX_NUMBER = 1e300


@dataclass
class Undeclared:
    """The undeclared numbers of a run, in bounded memory."""

    # Name → step and value, in the order in which they came.
    points: dict[str, list[tuple[int, float]]] = field(default_factory=dict)

    def add(self, step: int | None, reported: Mapping[str, object], metrics: Collection[str]) -> None:
        """Adds the numbers that are none of `metrics`; what is no number is passed over.

        step: where they were measured; None: they are counted.
        """
        for name, value in reported.items():
            if name == STEP or name in metrics or not _is_number(value):
                continue
            shown = " ".join(printable(name).split())[:_MAX_NAME]
            if shown not in self.points and len(self.points) >= MAX_NAMES:
                continue
            points = self.points.setdefault(shown, [])
            points.append((len(points) + 1 if step is None else step, float(value)))  # type: ignore[arg-type]
            if len(points) > 2 * MAX_POINTS:
                self.points[shown] = points[1::2] + points[-1:]

    def update(self, other: Undeclared) -> None:
        """Takes the numbers of another that this one lacks."""
        for name, points in other.points.items():
            if len(self.points) < MAX_NAMES:
                self.points.setdefault(name, points)


def _is_number(value: object) -> bool:
    """Returns whether a value of JSON is a number that a float holds."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return isinstance(value, float) or abs(value) < _MAX_NUMBER
