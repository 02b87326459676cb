"""The space of a search: paths of a study, their values, and the conditions under which they are searched.

A point is a mapping from paths to numbers and, for choices, labels; a path whose condition does not hold is not in it.
The space is read from the `over:` of a search, and checked on every config that the search will change.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ablate.base.errors import NOT_GIVEN, Invalid, Problem, listed, nearest, shown
from ablate.features.search.section import Choice, FloatRange, IntRange
from ablate.features.search.table import Parameter
from ablate.study.checks import Draft, attempt
from ablate.study.designs.design import Config
from ablate.study.labels import level_labels
from ablate.study.patch import apply_patches, has_path, key_of, value_at

Point = dict[str, Any]
Conditions = Mapping[str, tuple[Any, ...]]
"""Path of another parameter → its values of which one must hold; all conditions must."""
MAX_POINTS = 100_000
"""Points of a grid."""
MAX_BUILT = 64
"""Whole numbers that are all built; of a longer range the ends are."""
TAKE_OUT = "Take one of them out"


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

    def grid(self, *known: tuple[str, Any], after: int = 0) -> Iterator[Point]:
        """Every point, once: those that are `known` on the parameters before the one at place `after`."""
        if after == len(self.parameters):
            yield dict(known)
            return
        next_one = self.parameters[after]
        searched = self.active(next_one, dict(known))
        for own in [((next_one.path, value),) for value in next_one.values()] if searched else [()]:
            yield from self.grid(*known, *own, after=after + 1)

    def satisfying(self, parameter: Parameter) -> Point:
        """For each of the other parameters that this one depends on, the first value under which it is searched."""
        point: Point = {}
        by_path = {p.path: p for p in self.parameters}
        for path, values in self.conditions.get(parameter.path, {}).items():
            point = self.satisfying(by_path[path]) | point | {path: values[0]}
        return point

    @property
    def numbers(self) -> int:
        """How many parameters are numbers that are always searched."""
        return sum(p.kind != "choice" and p.path not in self.conditions for p in self.parameters)

    def grid_size(self) -> int:
        """The number of points of a grid; raises `Invalid`, with the path of a parameter, where it cannot be one."""
        continuous = [p.path for p in self.parameters if p.kind == "float" and p.step is None]
        if continuous:
            rule, hint = "is continuous; a grid needs a step", "Give it a step, or write {choice: […]}"
            raise Invalid.many(Problem(rule, (path,), hint=hint) for path in continuous)
        if all(p.num_values() <= MAX_POINTS for p in self.parameters):
            count = sum(1 for _ in itertools.islice(self.grid(), MAX_POINTS + 1))
            if count <= MAX_POINTS:
                return count
        rule, hint = f"makes more than {MAX_POINTS:,} points", "Use coarser steps, or another sampler"
        raise Invalid("", rule, hint=hint)


@dataclass(frozen=True)
class SpaceReader:
    """Reads the space of one search; problems are reported to the document."""

    draft: Draft
    kind: str
    "search or tune."
    bases: Sequence[tuple[str, Config]]
    "The configs that the search will change, by the name of their variant."

    def read(self, over: Mapping[str, Choice | FloatRange | IntRange]) -> Space | None:
        """The space; None where something is wrong with it."""
        before = len(self.draft.document.problems)
        choices = {p: self._labelled(p, spec.choice) for p, spec in over.items() if isinstance(spec, Choice)}
        parameters = {path: _parameter(path, spec, choices) for path, spec in over.items()}
        conditions = {path: self._conditions(path, spec.when, parameters) for path, spec in over.items()}
        # Each after those that its conditions name, outer paths first.
        rest = sorted(parameters, key=lambda path: path.count("."))
        ordered: dict[str, Parameter] = {}
        while rest:
            ready = [path for path in rest if conditions[path].keys() <= ordered.keys()]
            if not ready:
                at = (self.kind, "over", rest[0])
                self.draft.document.refuse(at, "have circular `when` conditions", listed(rest))
                return None
            rest.remove(ready[0])
            ordered[ready[0]] = parameters[ready[0]]
        conditions = {path: found for path, found in conditions.items() if found}
        space = Space(tuple(ordered.values()), choices, conditions)
        for parameter, (name, base) in itertools.product(ordered.values(), self.bases):
            if not self._refused(parameter.path):
                with self.draft.document.reporting(self.kind, "over", parameter.path):
                    self._check(space, parameter, name, base)
        return None if len(self.draft.document.problems) > before else space

    def _refused(self, path: str) -> bool:
        """Whether something is wrong with a parameter already."""
        problems = self.draft.document.problems
        return any(problem.path[:3] == (self.kind, "over", path) for problem in problems)

    def _patched(self, config: Config, patches: Mapping[str, Any]) -> Config | None:
        """A config with `patches`, resolved; None where it is not valid."""
        try:
            return self.draft.resolve(apply_patches(config, patches))
        except Invalid:
            return None

    def _labelled(self, path: str, values: Sequence[Any]) -> dict[str, Any]:
        """Label → value; the label is that of the value once it is resolved."""
        configs = [self._patched(self.bases[0][1], {path: value}) for value in values]
        resolved = [value_at(c, path) if c else value for c, value in zip(configs, values, strict=True)]
        labels = level_labels(resolved)
        found: dict[str, Any] = {}
        for index, value in enumerate(values):
            label = labels[key_of(resolved[index])]
            if label in found:
                rule = "is listed twice" if value == found[label] else f"is the same as {shown(found[label])}"
                at = (self.kind, "over", path, "choice", index)
                self.draft.document.refuse(at, rule, value, hint=TAKE_OUT)
            found.setdefault(label, value)
        return found

    def _conditions(
        self, path: str, when: str | list[str], parameters: Mapping[str, Parameter]
    ) -> Conditions:
        """The conditions of the `when` of a path."""
        conditions: dict[str, tuple[Any, ...]] = {}
        others = {other: p for other, p in parameters.items() if other != path}
        for text in [when] if isinstance(when, str) else when:
            with self.draft.document.reporting(self.kind, "over", path, "when"):
                other, values = _condition(text, path, others)
                both = tuple(value for value in values if value in conditions.get(other, values))
                if not both:
                    raise Invalid("", "can never hold together with the other conditions", text)
                conditions[other] = both
        return conditions

    def _check(self, space: Space, parameter: Parameter, name: str, base: Config) -> None:
        """Raises `Invalid` for a parameter that does not fit one base."""
        path, needed = parameter.path, space.satisfying(parameter)
        context = self._patched(base, space.patches(needed))
        if context is None:
            return  # The parameters that its conditions name are at fault, and are reported there.
        try:
            value_at(context, path)
        except Invalid as error:
            where = "" if name == "baseline" else f" in {name}"
            problems = (replace(p, rule=p.rule + where, given=NOT_GIVEN) for p in error.problems)
            raise Invalid.many(problems) from None
        for outer in space.parameters:
            for label in outer.choices if path.startswith(f"{outer.path}.") else ():
                point = space.consistent(space.satisfying(outer) | needed | {outer.path: label})
                config = self._patched(base, space.patches(point)) if space.active(parameter, point) else None
                if config is not None and not has_path(config, path):
                    hint = f"Say when it is searched, with `when: {outer.path}=…`, or take one of them out"
                    raise Invalid("", f"does not exist with {outer.path}={label}", hint=hint)
        self._check_values(space, parameter, context)

    def _check_values(self, space: Space, parameter: Parameter, context: Config) -> None:
        """Every choice, or both ends of a range, must be a value that the path can have, and one of all a config that
        can be built.
        """
        path, values, refused = parameter.path, parameter.ends(), False
        for index, value in enumerate(values):
            try:
                self.draft.resolve(apply_patches(context, {path: space.value(parameter, value)}))
            except Invalid as error:
                at = (self.kind, "over", path, parameter.kind, index)
                refused = True
                for problem in error.problems:
                    self.draft.document.report(replace(problem, path=at))
        if parameter.kind == "int" and parameter.num_values() <= MAX_BUILT:
            values = parameter.values()
        problems: list[Problem] = []
        for value in () if refused else values:
            config = self.draft.resolve(apply_patches(context, {path: space.value(parameter, value)}))
            found = attempt(self.draft.workload.check, config)[1]
            if not found:
                return
            problems += [replace(found[0], rule=f"{found[0].rule}, whatever its value", path=(), given=value)]
        if problems:
            raise Invalid.many(problems[:1])


def _condition(text: str, path: str, others: Mapping[str, Parameter]) -> tuple[str, list[Any]]:
    """The path and the values that a `PATH=LEVEL` names, of one of the other parameters; raises `Invalid`."""
    named, equals, level = (part.strip() for part in text.partition("="))
    if not equals or named not in others:
        rule = "must be PATH=LEVEL, of another path that is searched"
        if equals and named != path:
            rule = f"names {named}, which is not searched: search it too, or leave the condition out"
        raise Invalid("", rule, text, listed(others) or "none", nearest(named, others))
    other = others[named]
    if other.kind == "float":
        rule = f"names {named}, a float, which seldom takes one exact value"
        raise Invalid("", rule, text, "a choice or a whole number")
    known = other.values() if other.num_values() <= MAX_POINTS else []
    values = [v for v in known if level in _names(v)]
    if not values:
        near = nearest(level, itertools.chain.from_iterable(map(_names, known)))
        raise Invalid("", f"names a level that {named} does not take", text, listed(known), near)
    return named, values


def _parameter(
    path: str, spec: Choice | FloatRange | IntRange, labels: Mapping[str, Mapping[str, Any]]
) -> Parameter:
    when = spec.when if isinstance(spec.when, str) else " and ".join(spec.when)
    if isinstance(spec, Choice):
        return Parameter(path, "choice", choices=list(labels[path]), when=when)
    kind = "float" if isinstance(spec, FloatRange) else "int"
    return Parameter(path, kind, *spec.bounds, spec.log, spec.step, when=when)


def _names(label: Any) -> tuple[str, str]:
    """The names of a choice in a condition: its label, and the name of its part alone."""
    return str(label), str(label).partition("(")[0]
