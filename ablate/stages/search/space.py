"""The space of a search: paths of a study, their values, and the conditions under which they are searched.

A point is a mapping from paths to numbers and, for choices, labels; a path whose condition does not hold is not in it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from ablate.analysis.search_table import MAX_POINTS, Parameter
from ablate.base.errors import Invalid, Problem

if TYPE_CHECKING:
    from optuna import Trial

Point = dict[str, Any]
# Path of another parameter → its values of which one must hold; all conditions must.
Conditions = Mapping[str, tuple[Any, ...]]


@dataclass(frozen=True)
class Space:
    """Parameters, each after those that its conditions name."""

    parameters: tuple[Parameter, ...]
    # Path → label → value, of parameters that are choices.
    choices: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    # By path, of parameters that are not always searched.
    conditions: Mapping[str, Conditions] = field(default_factory=dict)

    def active(self, parameter: Parameter, point: Mapping[str, Any]) -> bool:
        """Returns whether the conditions of a parameter hold at a point, as far as known."""
        conditions = self.conditions.get(parameter.path, {})
        return all(path in point and point[path] in values for path, values in conditions.items())

    @property
    def always_numbers(self) -> int:
        """The number of numeric parameters that are searched without a condition."""
        return sum(p.kind != "choice" and p.path not in self.conditions for p in self.parameters)

    def suggested(self, trial: Trial) -> Point:
        """Asks a trial of Optuna's for a point."""
        point: Point = {}
        for parameter in self.parameters:
            if self.active(parameter, point):
                point[parameter.path] = parameter.rounded(_suggested(trial, parameter))
        return point

    def patches(self, point: Mapping[str, Any]) -> dict[str, Any]:
        """Returns path → value, as a variant changes them."""
        return {p.path: self.value(p, point[p.path]) for p in self.parameters if p.path in point}

    def value(self, parameter: Parameter, given: Any) -> Any:
        """Returns the value of a parameter at a point as it goes into a config."""
        if parameter.kind == "choice":
            return self.choices[parameter.path][given]
        return int(given) if parameter.kind == "int" else float(given)

    def labels(self, point: Mapping[str, Any]) -> dict[str, str]:
        """Returns path → its value in words."""
        return {p.path: p.label(point[p.path]) for p in self.parameters if p.path in point}

    def with_choice(self, path: str, label: str, value: Any) -> Space:
        """Returns the space with one more value of a path whose choices are numbers, which are then rising."""
        choices = {**self.choices[path], label: value}
        rising = sorted(choices, key=lambda name: float(choices[name]))
        parameters: list[Parameter] = []
        for parameter in self.parameters:
            widened = replace(parameter, choices=rising) if parameter.path == path else parameter
            parameters.append(widened)
        return replace(self, parameters=tuple(parameters), choices={**self.choices, path: choices})

    def grid(self) -> list[Point]:
        """Returns every point, once.

        Raises `Invalid`, with the path of a parameter, where there is no end of them, and where they are too many.
        """
        problems: list[Problem] = []
        for parameter in self.parameters:
            if parameter.kind == "float" and parameter.step is None:
                hint = "Give it a step, or write {choice: […]}"
                problems.append(Problem("is continuous; a grid needs a step", (parameter.path,), hint=hint))
        if problems:
            raise Invalid.many(problems)

        points: list[Point] = [{}]
        for parameter in self.parameters:
            points = self._crossed(points, parameter)
        if len(points) > MAX_POINTS:
            hint = "Use coarser steps, or another sampler"
            raise Invalid("", f"makes more than {MAX_POINTS:,} points", hint=hint)
        return points

    def _crossed(self, points: list[Point], parameter: Parameter) -> list[Point]:
        """Returns each point with each value of one more parameter, where its conditions hold.

        Of more than `MAX_POINTS`, the first of them and one more.
        """
        values = parameter.values()
        crossed: list[Point] = []
        for point in points:
            if len(crossed) > MAX_POINTS:
                break
            if self.active(parameter, point):
                crossed += [point | {parameter.path: value} for value in values]
            else:
                crossed.append(point)
        return crossed[: MAX_POINTS + 1]

    def satisfying(self, parameter: Parameter) -> Point:
        """Returns a point that meets every `when` on which a parameter depends.

        It has the first allowed value of each parameter that this one depends on.
        """
        point: Point = {}
        for path, values in self.conditions.get(parameter.path, {}).items():
            other = next(p for p in self.parameters if p.path == path)
            point = self.satisfying(other) | point | {path: values[0]}
        return point


def _suggested(trial: Trial, parameter: Parameter) -> Any:
    """Asks a trial for the value of one parameter."""
    path = parameter.path
    if parameter.kind == "choice":
        return trial.suggest_categorical(path, parameter.choices)
    low, high = parameter.ends()
    if parameter.kind == "int":
        return trial.suggest_int(path, low, high, step=int(parameter.step or 1), log=parameter.log)
    return trial.suggest_float(path, low, high, step=parameter.step, log=parameter.log)
