"""The space of a search: paths of a study, their values, and the conditions under which they are searched.

A point is a mapping from paths to numbers and, for choices, labels; a path whose condition does not hold is not in it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ablate.core.search_table import Parameter

Point = dict[str, Any]
Conditions = Mapping[str, tuple[Any, ...]]
"""Path of another parameter → its values of which one must hold; all conditions must."""


@dataclass(frozen=True)
class Space:
    """Parameters, each after those that its conditions name."""

    parameters: tuple[Parameter, ...]
    choices: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    "Path → label → value, of parameters that are choices."
    conditions: Mapping[str, Conditions] = field(default_factory=dict)
    "By path, of parameters that are not always searched."

    def active(self, parameter: Parameter, point: Mapping[str, Any]) -> bool:
        """Whether the conditions of a parameter hold at a point, as far as that is known."""
        conditions = self.conditions.get(parameter.path, {})
        return all(path in point and point[path] in values for path, values in conditions.items())

    def consistent(self, point: Mapping[str, Any]) -> Point:
        """A point without the paths whose conditions do not hold."""
        found: Point = {}
        for parameter in self.parameters:
            if parameter.path in point and self.active(parameter, found):
                found[parameter.path] = point[parameter.path]
        return found

    def patches(self, point: Mapping[str, Any]) -> dict[str, Any]:
        """Path → value, as a variant changes them."""
        return {p.path: self.value(p, point[p.path]) for p in self.parameters if p.path in point}

    def value(self, parameter: Parameter, given: Any) -> Any:
        """The value of a parameter at a point as it goes into a config."""
        if parameter.kind == "choice":
            return self.choices[parameter.path][given]
        return int(given) if parameter.kind == "int" else float(given)

    def labels(self, point: Mapping[str, Any]) -> dict[str, str]:
        """Path → its value in words."""
        return {p.path: p.label(point[p.path]) for p in self.parameters if p.path in point}

    def grid(self) -> Iterator[Point]:
        """Every point, once."""
        yield from self._points({}, self.parameters)

    def _points(self, point: Point, rest: Sequence[Parameter]) -> Iterator[Point]:
        if not rest:
            yield dict(point)
            return
        first, *others = rest
        for inner in [{first.path: v} for v in first.values()] if self.active(first, point) else [{}]:
            yield from self._points(point | inner, others)

    def satisfying(self, parameter: Parameter) -> Point:
        """For each of the other parameters that this one depends on, the first value under which it is searched."""
        point: Point = {}
        by_path = {p.path: p for p in self.parameters}
        for path, values in self.conditions.get(parameter.path, {}).items():
            point = self.satisfying(by_path[path]) | point | {path: values[0]}
        return point
