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

    def read(self, over: Mapping[str, Choice | FloatRange | IntRange]) -> tuple[Space, list[str]] | None:
        """The space; None where something is wrong with it.

        Beside it, remarks on values that cannot be built alone. Together with others they may, so that they are no
        mistake.
        """
        before = len(self.draft.document.problems)
        choices = {p: self._labelled(p, spec.choice) for p, spec in over.items() if isinstance(spec, Choice)}
        parameters = {path: _parameter(path, spec, choices) for path, spec in over.items()}
        conditions = {path: self._conditions(path, spec.when, parameters) for path, spec in over.items()}
        # Each after those that its conditions name, outer paths first.
        rest = sorted(parameters, key=lambda path: path.count("."))
        ordered: list[Parameter] = []
        while rest:
            known = {p.path for p in ordered}
            ready = next((path for path in rest if known.issuperset(conditions[path])), None)
            if ready is None:
                at = (self.kind, "over", rest[0])
                self.draft.document.refuse(at, "have circular `when` conditions", listed(rest))
                return None
            ordered.append(parameters[ready])
            rest.remove(ready)
        space = Space(tuple(ordered), choices, {path: found for path, found in conditions.items() if found})
        remarks: list[str] = []
        for parameter, (name, base) in itertools.product(ordered, self.bases):
            if not self._refused(parameter.path):
                with self.draft.document.reporting(self.kind, "over", parameter.path):
                    remarks += self._check(space, parameter, name, base)
        wrong = len(self.draft.document.problems) > before
        return None if wrong else (space, list(dict.fromkeys(remarks)))

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

    def _check(self, space: Space, parameter: Parameter, name: str, base: Config) -> list[str]:
        """Raises `Invalid` for a parameter that does not fit one base; remarks on values that cannot be built alone."""
        context = self._patched(base, space.patches(space.satisfying(parameter)))
        if context is None:
            return []  # The parameters that its conditions name are at fault, and are reported there.
        try:
            value_at(context, parameter.path)
        except Invalid as error:
            where = "" if name == "baseline" else f" in {name}"
            raise Invalid.many(
                replace(p, rule=p.rule + where, path=(), given=NOT_GIVEN) for p in error.problems
            ) from None
        for outer in space.parameters:
            removing = self._removing(space, parameter, outer, base)
            if removing is not None:
                keeping = [_names(v)[1] for v in outer.choices if v != removing]
                when = (
                    f"Say when it is searched, for instance `when: {outer.path}={keeping[0]}`"
                    if keeping
                    else ""
                )
                raise Invalid("", f"does not exist with {outer.path}={removing}", hint=when or TAKE_OUT)
        return self._check_values(space, parameter, context)

    def _removing(self, space: Space, parameter: Parameter, outer: Parameter, base: Config) -> str | None:
        """A value of an outer parameter with which the path does not exist although it would be searched."""
        inside = parameter.path.startswith(f"{outer.path}.")
        for label in outer.choices if inside else ():
            wanted = space.satisfying(outer) | space.satisfying(parameter) | {outer.path: label}
            point = space.consistent(wanted)
            config = self._patched(base, space.patches(point)) if space.active(parameter, point) else None
            if config is not None and not has_path(config, parameter.path):
                return label
        return None

    def _check_values(self, space: Space, parameter: Parameter, context: Config) -> list[str]:
        """Every choice, or both ends of a range, must be a value that the path can have."""
        path, document = parameter.path, self.draft.document
        configs: list[tuple[Any, Config]] = []
        known: dict[str, Any] = {}
        for index, value in enumerate(parameter.ends()):
            at = (self.kind, "over", path, parameter.kind, index)
            used = space.value(parameter, value)
            try:
                config = self.draft.resolve(apply_patches(context, {path: used}))
            except Invalid as error:
                for problem in error.problems:
                    own = {"given": used} if problem.path == tuple(path.split(".")) else {}
                    if parameter.kind != "float" or "whole number" not in problem.rule:
                        document.report(replace(problem, path=at, **own))
                    elif not self._refused(path):
                        hint = "Write {int: [low, high]}"
                        document.report(replace(problem, path=at[:3], hint=hint, **own))
                continue
            same = known.setdefault(key_of(config), value)
            if same != value:
                document.refuse(at, f"is the same as {same}", value, hint=TAKE_OUT)
            configs.append((value, config))
        if self._refused(path):
            return []
        if parameter.kind == "int" and parameter.num_values() <= MAX_BUILT:
            whole = parameter.values()
            configs = [(v, self.draft.resolve(apply_patches(context, {path: v}))) for v in whole]
        attempts = [(value, attempt(self.draft.workload.check, config)[1]) for value, config in configs]
        refused = {value: problems[0] for value, problems in attempts if problems}
        if not refused:
            return []
        value, first = next(iter(refused.items()))
        if len(refused) == len(configs):
            raise Invalid("", f"{first.rule}, whatever its value", value, first.allowed, first.hint)
        return [
            f"{path} = {listed(refused, 6)} cannot be built with everything else as it is ({first.rule}); a "
            "setting that cannot be built costs one of the trials and is listed as invalid"
        ]


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
