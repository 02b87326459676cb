"""The space of a search: paths of a study, what each may be, and under which conditions it is searched.

A point is a mapping from paths to numbers and, for choices, labels; a path whose condition does not hold is not in it.
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ablate.base.errors import Invalid, Problem, listed, nearest, shown
from ablate.core.searched import ParameterFacts
from ablate.study.designs import Config, Resolve, level_labels
from ablate.study.document import Document, PathKey
from ablate.study.patch import apply_patches, has_path, value_at
from ablate.study.sections.search import Choice, FloatRange, IntRange

Point = dict[str, Any]
MAX_POINTS = 100_000
"""Points of a grid."""
DIGITS = 4
"""Significant digits to which a float is used: what is reported is what was trained."""
EXACT = 12
"""Significant digits that any float can have."""


@dataclass(frozen=True)
class Parameter:
    """One searched path."""

    path: str
    kind: Literal["float", "int", "choice"]
    low: float = 0.0
    high: float = 0.0
    log: bool = False
    step: float | None = None
    choices: Mapping[str, Any] | None = None
    "Label → value."
    conditions: tuple[tuple[str, tuple[Any, ...]], ...] = ()
    "Path of another parameter, and its values of which one must hold; all conditions must."
    when: str = ""
    "The conditions as they were written."

    def used(self, value: Any) -> Any:
        """The value of a point as it goes into a config."""
        if self.kind == "choice":
            assert self.choices is not None
            return self.choices[value]
        return int(value) if self.kind == "int" else float(value)

    def rounded(self, value: Any) -> Any:
        """A float to `DIGITS` significant digits, inside the range; anything else as it is."""
        if self.kind != "float":
            return value
        if self.step is not None:
            return float(f"{value:.{EXACT}g}")
        # A narrow range far from zero needs more than those of its values.
        shared = math.log10(max(abs(self.low), abs(self.high)) / (self.high - self.low))
        digits = min(EXACT, DIGITS + max(0, math.floor(shared)))
        return min(max(float(f"{value:.{digits}g}"), self.low), self.high)

    def num_values(self) -> int:
        """How many values there are; a float needs a step."""
        if self.choices is not None:
            return len(self.choices)
        return math.floor((self.high - self.low) / (self.step or 1) + 1e-9) + 1

    def values(self) -> list[Any]:
        """All values, in order; a float needs a step."""
        if self.choices is not None:
            return list(self.choices)
        if self.kind == "int":
            return list(range(int(self.low), int(self.high) + 1, int(self.step or 1)))
        return [self.rounded(self.low + i * (self.step or 1)) for i in range(self.num_values())]

    def ends(self) -> list[Any]:
        """Every choice, or the lowest and the highest value."""
        if self.choices is not None:
            return list(self.choices)
        if self.step is not None:
            highest = self.low + (self.num_values() - 1) * self.step
            return [int(self.low), int(highest)] if self.kind == "int" else [self.low, self.rounded(highest)]
        return [int(self.low), int(self.high)] if self.kind == "int" else [self.low, self.high]

    def label(self, value: Any) -> str:
        """A value of a point in words, from which it can be read again."""
        return value if self.kind == "choice" else str(value) if self.kind == "int" else f"{value:.{EXACT}g}"

    def facts(self) -> ParameterFacts:
        """What a report says of it."""
        numbers = self.choices is None
        return ParameterFacts(
            path=self.path,
            kind=self.kind,
            low=self.low if numbers else None,
            high=self.high if numbers else None,
            log=self.log,
            step=self.step,
            choices=list(self.choices or ()),
            when=self.when,
        )


@dataclass(frozen=True)
class Space:
    """Parameters, each after those that its conditions name."""

    parameters: tuple[Parameter, ...]

    def active(self, parameter: Parameter, point: Mapping[str, Any]) -> bool:
        """Whether the conditions of a parameter hold at a point, as far as that is known."""
        return all(path in point and point[path] in values for path, values in parameter.conditions)

    def consistent(self, point: Mapping[str, Any]) -> Point:
        """A point without what its conditions take out."""
        found: Point = {}
        for parameter in self.parameters:
            if parameter.path in point and self.active(parameter, found):
                found[parameter.path] = point[parameter.path]
        return found

    def patches(self, point: Mapping[str, Any]) -> dict[str, Any]:
        """Path → value, as a variant changes them."""
        return {p.path: p.used(point[p.path]) for p in self.parameters if p.path in point}

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
        for value in first.values() if self.active(first, point) else [None]:
            inner = point if value is None else {**point, first.path: value}
            yield from self._points(inner, others)

    def satisfying(self, parameter: Parameter) -> Point:
        """Values, the first that will do, of the other parameters under which this one is searched."""
        point: Point = {}
        by_path = {p.path: p for p in self.parameters}
        for path, values in parameter.conditions:
            point = self.satisfying(by_path[path]) | point | {path: values[0]}
        return point


Build = Callable[[Config], list[Problem]]
"""What keeps a config from being built, if anything."""


def read_space(
    over: Mapping[str, Any],
    at: PathKey,
    bases: Sequence[tuple[str, Config]],
    resolve: Resolve,
    build: Build,
    document: Document,
) -> tuple[Space, list[str]] | None:
    """The space of a section, checked on each of the `bases`, named configs that it will change.

    What is wrong is reported to the document, and then there is none. Beside it, remarks on values that cannot be
    built alone: together with others they may, so that they are no mistake.
    """
    before = len(document.problems)
    parameters = [
        _parameter(path, spec, bases[0][1], (*at, path), resolve, document) for path, spec in over.items()
    ]
    parameters = [_conditioned(p, over[p.path], parameters, (*at, p.path), document) for p in parameters]
    ordered = _ordered(parameters, at, document)
    if ordered is None:
        return None
    space = Space(tuple(ordered))
    remarks: list[str] = []
    for parameter in ordered:
        for name, base in [] if document.is_faulty((*at, parameter.path)) else bases:
            remarks += _check(space, parameter, name, base, (*at, parameter.path), resolve, build, document)
            if document.is_faulty((*at, parameter.path)):
                break
    return None if len(document.problems) > before else (space, list(dict.fromkeys(remarks)))


def _parameter(
    path: str, spec: Any, base: Config, at: PathKey, resolve: Resolve, document: Document
) -> Parameter:
    if isinstance(spec, (FloatRange, IntRange)):
        kind: Literal["float", "int"] = "float" if isinstance(spec, FloatRange) else "int"
        low, high = spec.bounds
        return Parameter(path, kind, low, high, spec.log, spec.step)
    assert isinstance(spec, Choice)
    return Parameter(path, "choice", choices=_labelled(path, spec.choice, base, at, resolve, document))


def _labelled(
    path: str, values: Sequence[Any], base: Config, at: PathKey, resolve: Resolve, document: Document
) -> dict[str, Any]:
    """Label → value; what a value is called is decided by what it becomes when it is resolved."""
    resolved = []
    for value in values:
        try:
            resolved.append(value_at(resolve(apply_patches(base, {path: value})), path))
        except Invalid:
            resolved.append(value)
    labels = level_labels(resolved)
    found: dict[str, Any] = {}
    for index, (is_now, value) in enumerate(zip(resolved, values, strict=True)):
        label = labels[_key(is_now)]
        if label in found:
            rule = "is listed twice" if value == found[label] else f"is the same as {shown(found[label])}"
            document.report(Problem(rule, (*at, "choice", index), value, hint="Take one of them out"))
        found.setdefault(label, value)
    return found


def _key(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def _conditioned(
    parameter: Parameter, spec: Any, parameters: Sequence[Parameter], at: PathKey, document: Document
) -> Parameter:
    """The parameter with the conditions of its `when`."""
    texts = [spec.when] if isinstance(spec.when, str) else list(spec.when)
    by_path = {p.path: p for p in parameters if p.path != parameter.path}
    conditions: dict[str, tuple[Any, ...]] = {}
    for text in texts:
        path, equals, level = (part.strip() for part in text.partition("="))
        if not equals or path not in by_path:
            rule = "must be PATH=LEVEL, of another path that is searched"
            if equals and path not in by_path and path != parameter.path:
                rule = f"names {path}, which is not searched: search it too, or leave the condition out"
            hint = nearest(path, by_path)
            document.report(Problem(rule, (*at, "when"), text, listed(by_path) or "none", hint))
            continue
        other = by_path[path]
        if other.kind == "float":
            rule = f"names {path}, a float, which is seldom one number"
            document.report(Problem(rule, (*at, "when"), text, "a choice or a whole number"))
            continue
        known = other.values()[:MAX_POINTS] if other.num_values() <= MAX_POINTS else []
        values = tuple(v for v in known if level in _names(v))
        if not values:
            rule = f"names a level that {path} does not take"
            names = [name for v in known for name in _names(v)]
            document.report(Problem(rule, (*at, "when"), text, listed(known), nearest(level, names)))
            continue
        conditions[path] = tuple(value for value in values if value in conditions.get(path, values))
        if not conditions[path]:
            document.report(Problem("can never hold together with the other conditions", (*at, "when"), text))
            del conditions[path]
    return Parameter(
        **{**vars(parameter), "conditions": tuple(conditions.items()), "when": " and ".join(texts)},
    )


def _names(label: Any) -> tuple[str, ...]:
    """What a choice answers to: its label, and the name of its part alone."""
    return (str(label), str(label).partition("(")[0])


def _ordered(parameters: list[Parameter], at: PathKey, document: Document) -> list[Parameter] | None:
    """Each after those that its conditions name, outer paths first; None when there is no such order."""
    rest = sorted(parameters, key=lambda p: p.path.count("."))
    ordered: list[Parameter] = []
    while rest:
        known = {p.path for p in ordered}
        ready = [p for p in rest if all(path in known for path, _ in p.conditions)]
        if not ready:
            names = listed(p.path for p in rest)
            document.report(Problem("wait for one another's conditions", (*at, rest[0].path), names))
            return None
        ordered.append(ready[0])
        rest.remove(ready[0])
    return ordered


def _check(
    space: Space,
    parameter: Parameter,
    name: str,
    base: Config,
    at: PathKey,
    resolve: Resolve,
    build: Build,
    document: Document,
) -> list[str]:
    """Reports what is wrong with a parameter on one base; remarks on values that cannot be built alone."""
    path = parameter.path
    where = "" if name == "baseline" else f" in {name}"
    try:
        context = resolve(apply_patches(base, space.patches(space.satisfying(parameter))))
    except Invalid:
        return []  # What its conditions ask for is at fault, and is named there.
    try:
        value_at(context, path)
    except Invalid as error:
        for problem in error.problems:
            document.report(Problem(f"{problem.rule}{where}", at, allowed=problem.allowed, hint=problem.hint))
        return []
    for outer in space.parameters:
        removing = _removing(space, parameter, outer, base, resolve)
        if removing is not None:
            keeping = [v for v in outer.ends() if v != removing]
            hint = f"Say when it is searched, for instance `when: {outer.path}={_names(keeping[0])[1]}`"
            rule = f"does not exist with {outer.path}={removing}"
            document.report(Problem(rule, at, hint=hint if keeping else "Take one of them out"))
            return []
    return _check_values(parameter, context, at, resolve, build, document)


def _removing(
    space: Space, parameter: Parameter, outer: Parameter, base: Config, resolve: Resolve
) -> Any | None:
    """A value of another parameter, higher up, with which the path does not exist although it would be searched."""
    if outer is parameter or not parameter.path.startswith(f"{outer.path}.") or outer.choices is None:
        return None
    for value in outer.choices:
        point = space.consistent(space.satisfying(outer) | space.satisfying(parameter) | {outer.path: value})
        if not space.active(parameter, point):
            continue
        try:
            if not has_path(resolve(apply_patches(base, space.patches(point))), parameter.path):
                return value
        except Invalid:
            continue
    return None


def _check_values(
    parameter: Parameter, context: Config, at: PathKey, resolve: Resolve, build: Build, document: Document
) -> list[str]:
    """Every choice, or both ends of a range, must be a value that the path can have."""
    found: dict[str, Any] = {}
    unbuildable: list[tuple[Any, Problem]] = []
    ends = parameter.ends()
    for index, value in enumerate(ends):
        inside: PathKey = (*at, parameter.kind, index)
        try:
            config = resolve(apply_patches(context, {parameter.path: parameter.used(value)}))
        except Invalid as error:
            for problem in error.problems:
                given = (
                    parameter.used(value)
                    if problem.path == tuple(parameter.path.split("."))
                    else problem.given
                )
                whole = parameter.kind == "float" and "whole number" in problem.rule
                hint = "Write {int: [low, high]}" if whole else problem.hint
                place = at if whole else inside
                if not (whole and document.is_faulty(at)):
                    document.report(Problem(problem.rule, place, given, problem.allowed, hint))
            continue
        if (other := found.setdefault(_key(config), value)) is not value:
            document.report(Problem(f"is the same as {other}", inside, value, hint="Take one of them out"))
        if problems := build(config):
            unbuildable.append((value, problems[0]))
    if document.is_faulty(at):
        return []
    if parameter.kind == "int" and parameter.num_values() <= 64:
        ends = parameter.values()
        configs = [(v, resolve(apply_patches(context, {parameter.path: v}))) for v in ends]
        unbuildable = [(v, problems[0]) for v, config in configs if (problems := build(config))]
    if len(unbuildable) == len(ends):
        first = unbuildable[0][1]
        document.report(
            Problem(f"{first.rule}, whatever its value", at, unbuildable[0][0], first.allowed, first.hint)
        )
        return []
    if not unbuildable:
        return []
    names = listed([value for value, _ in unbuildable], 6)
    return [
        f"{parameter.path} = {names} cannot be built with everything else as it is ({unbuildable[0][1].rule}); "
        "a setting that cannot be built costs one of the trials and is listed as invalid"
    ]


def check_grid(space: Space, at: PathKey, document: Document) -> int:
    """The number of points of a grid; what keeps it from being one is reported, and the number is then 0."""
    endless = [p.path for p in space.parameters if p.kind == "float" and p.step is None]
    for path in endless:
        rule = "has no end of values, which a grid cannot visit"
        hint = "Give it a step, or write {choice: […]}"
        document.report(Problem(rule, (*at, path), hint=hint))
    if endless:
        return 0
    if any(p.num_values() > MAX_POINTS for p in space.parameters):
        count = MAX_POINTS + 1
    else:
        count = sum(1 for _ in itertools.islice(space.grid(), MAX_POINTS + 1))
    if count > MAX_POINTS:
        rule = f"makes more than {MAX_POINTS:,} points"
        document.report(Problem(rule, at, hint="Use coarser steps, or another sampler"))
        return 0
    return count
