"""Reads the `over:` of a search and checks it on every config that the search will change."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ablate.base.errors import NOT_GIVEN, Invalid, Problem, listed, nearest, shown
from ablate.core.search_table import Parameter
from ablate.core.workload import Workload
from ablate.study.checks import attempt
from ablate.study.designs.design import Config, Resolve
from ablate.study.document import Document, PathKey
from ablate.study.labels import level_labels
from ablate.study.patch import apply_patches, has_path, key_of, value_at
from ablate.study.sections.search import Choice, FloatRange, IntRange
from ablate.study.space import Conditions, Space

MAX_POINTS = 100_000
"""Points of a grid."""
MAX_BUILT = 64
"""Whole numbers that are all built; of a longer range the ends are."""
TAKE_OUT = "Take one of them out"


@dataclass(frozen=True)
class SpaceReader:
    """Reads one space; problems are reported to the document."""

    at: PathKey
    "Where the space is in the study."
    bases: Sequence[tuple[str, Config]]
    "The configs that the search will change, by the name of their variant."
    resolve: Resolve
    workload: Workload
    document: Document

    def read(self, over: Mapping[str, Any]) -> tuple[Space, list[str]] | None:
        """The space; None where something is wrong with it.

        Beside it, remarks on values that cannot be built alone. Together with others they may, so that they are no
        mistake.
        """
        before = len(self.document.problems)
        choices = {
            path: self._labelled(path, spec) for path, spec in over.items() if isinstance(spec, Choice)
        }
        parameters = [_parameter(path, spec, choices.get(path, {})) for path, spec in over.items()]
        conditions = {p.path: self._conditions(p, over[p.path].when, parameters) for p in parameters}
        ordered = self._ordered(parameters, conditions)
        if ordered is None:
            return None
        space = Space(tuple(ordered), choices, {path: found for path, found in conditions.items() if found})
        remarks: list[str] = []
        for parameter, (name, base) in itertools.product(ordered, self.bases):
            if not self._refused(parameter):
                remarks += self._check(space, parameter, name, base)
        return None if len(self.document.problems) > before else (space, list(dict.fromkeys(remarks)))

    def _refused(self, parameter: Parameter) -> bool:
        """Whether something is wrong with a parameter already."""
        at = (*self.at, parameter.path)
        return any(problem.path[: len(at)] == at for problem in self.document.problems)

    def _patched(self, config: Config, patches: Mapping[str, Any]) -> Config | None:
        """A config with `patches`, resolved; None where it is not valid."""
        try:
            return self.resolve(apply_patches(config, patches))
        except Invalid:
            return None

    def _labelled(self, path: str, spec: Choice) -> dict[str, Any]:
        """Label → value; the label is that of the value once it is resolved."""
        configs = [self._patched(self.bases[0][1], {path: value}) for value in spec.choice]
        resolved = [value_at(c, path) if c else value for c, value in zip(configs, spec.choice, strict=True)]
        labels = level_labels(resolved)
        found: dict[str, Any] = {}
        for index, value in enumerate(spec.choice):
            label = labels[key_of(resolved[index])]
            if label in found:
                rule = "is listed twice" if value == found[label] else f"is the same as {shown(found[label])}"
                self.document.refuse((*self.at, path, "choice", index), rule, value, hint=TAKE_OUT)
            found.setdefault(label, value)
        return found

    def _conditions(
        self, parameter: Parameter, when: str | list[str], parameters: Sequence[Parameter]
    ) -> Conditions:
        """The conditions of a `when`."""
        at = (*self.at, parameter.path, "when")
        by_path = {p.path: p for p in parameters if p.path != parameter.path}
        conditions: dict[str, tuple[Any, ...]] = {}
        for text in [when] if isinstance(when, str) else when:
            path, equals, level = (part.strip() for part in text.partition("="))
            other = by_path.get(path) if equals else None
            if other is None:
                rule = "must be PATH=LEVEL, of another path that is searched"
                if equals and path != parameter.path:
                    rule = f"names {path}, which is not searched: search it too, or leave the condition out"
                self.document.refuse(at, rule, text, listed(by_path) or "none", nearest(path, by_path))
                continue
            if other.kind == "float":
                self.document.refuse(
                    at,
                    f"names {path}, a float, which seldom takes one exact value",
                    text,
                    "a choice or a whole number",
                )
                continue
            known = other.values() if other.num_values() <= MAX_POINTS else []
            values = tuple(v for v in known if level in _names(v))
            if not values:
                near = nearest(level, itertools.chain.from_iterable(map(_names, known)))
                self.document.refuse(
                    at, f"names a level that {path} does not take", text, listed(known), near
                )
            elif both := tuple(value for value in values if value in conditions.get(path, values)):
                conditions[path] = both
            else:
                self.document.refuse(at, "can never hold together with the other conditions", text)
        return conditions

    def _ordered(
        self, parameters: Sequence[Parameter], conditions: Mapping[str, Conditions]
    ) -> list[Parameter] | None:
        """Each after those that its conditions name, outer paths first; None when there is no such order."""
        rest = sorted(parameters, key=lambda p: p.path.count("."))
        ordered: list[Parameter] = []
        while rest:
            known = {p.path for p in ordered}
            ready = next((p for p in rest if known.issuperset(conditions[p.path])), None)
            if ready is None:
                names = listed(p.path for p in rest)
                self.document.refuse((*self.at, rest[0].path), "have circular `when` conditions", names)
                return None
            ordered.append(ready)
            rest.remove(ready)
        return ordered

    def _check(self, space: Space, parameter: Parameter, name: str, base: Config) -> list[str]:
        """Reports the problems of a parameter on one base; remarks on values that cannot be built alone."""
        at = (*self.at, parameter.path)
        context = self._patched(base, space.patches(space.satisfying(parameter)))
        if context is None:
            return []  # The parameters that its conditions name are at fault, and are reported there.
        try:
            value_at(context, parameter.path)
        except Invalid as error:
            where = "" if name == "baseline" else f" in {name}"
            for problem in error.problems:
                self.document.report(replace(problem, rule=problem.rule + where, path=at, given=NOT_GIVEN))
            return []
        for outer in space.parameters:
            removing = self._removing(space, parameter, outer, base)
            if removing is not None:
                keeping = [_names(v)[1] for v in outer.choices if v != removing]
                hint = (
                    f"Say when it is searched, for instance `when: {outer.path}={keeping[0]}`"
                    if keeping
                    else TAKE_OUT
                )
                self.document.refuse(at, f"does not exist with {outer.path}={removing}", hint=hint)
                return []
        return self._check_values(space, parameter, context, at)

    def _removing(self, space: Space, parameter: Parameter, outer: Parameter, base: Config) -> str | None:
        """A value of an outer parameter with which the path does not exist although it would be searched."""
        inside = parameter.path.startswith(f"{outer.path}.")
        for label in outer.choices if inside else ():
            point = space.consistent(
                space.satisfying(outer) | space.satisfying(parameter) | {outer.path: label}
            )
            config = self._patched(base, space.patches(point)) if space.active(parameter, point) else None
            if config is not None and not has_path(config, parameter.path):
                return label
        return None

    def _check_values(self, space: Space, parameter: Parameter, context: Config, at: PathKey) -> list[str]:
        """Every choice, or both ends of a range, must be a value that the path can have."""
        configs: list[tuple[Any, Config]] = []
        known: dict[str, Any] = {}
        for index, value in enumerate(parameter.ends()):
            inside = (*at, parameter.kind, index)
            used = space.value(parameter, value)
            try:
                config = self.resolve(apply_patches(context, {parameter.path: used}))
            except Invalid as error:
                for problem in error.problems:
                    self._report(problem, parameter, used, inside)
                continue
            same = known.setdefault(key_of(config), value)
            if same != value:
                self.document.refuse(inside, f"is the same as {same}", value, hint=TAKE_OUT)
            configs.append((value, config))
        if self._refused(parameter):
            return []
        if parameter.kind == "int" and parameter.num_values() <= MAX_BUILT:
            path = parameter.path
            configs = [(v, self.resolve(apply_patches(context, {path: v}))) for v in parameter.values()]
        attempts = [(value, attempt(self.workload.check, config)[1]) for value, config in configs]
        refused = {value: problems[0] for value, problems in attempts if problems}
        if not refused:
            return []
        value, first = next(iter(refused.items()))
        if len(refused) == len(configs):
            self.document.refuse(at, f"{first.rule}, whatever its value", value, first.allowed, first.hint)
            return []
        return [
            f"{parameter.path} = {listed(refused, 6)} cannot be built with everything else as it is ({first.rule}); a "
            "setting that cannot be built costs one of the trials and is listed as invalid"
        ]

    def _report(self, problem: Problem, parameter: Parameter, used: Any, inside: PathKey) -> None:
        """Reports why a value is not valid, at the value; a float where a whole number is due, at the path."""
        at = (*self.at, parameter.path)
        if problem.path == tuple(parameter.path.split(".")):
            problem = replace(problem, given=used)
        if parameter.kind != "float" or "whole number" not in problem.rule:
            self.document.report(replace(problem, path=inside))
        elif not self._refused(parameter):
            self.document.report(replace(problem, path=at, hint="Write {int: [low, high]}"))


def _parameter(path: str, spec: FloatRange | IntRange | Choice, labels: Iterable[str]) -> Parameter:
    when = spec.when if isinstance(spec.when, str) else " and ".join(spec.when)
    if isinstance(spec, Choice):
        return Parameter(path, "choice", choices=list(labels), when=when)
    kind = "float" if isinstance(spec, FloatRange) else "int"
    return Parameter(path, kind, *spec.bounds, spec.log, spec.step, when=when)


def _names(label: Any) -> tuple[str, str]:
    """The names of a choice in a condition: its label, and the name of its part alone."""
    return str(label), str(label).partition("(")[0]


def check_grid(space: Space, at: PathKey, document: Document) -> int:
    """The number of points of a grid; 0 where it cannot be one, which is reported."""
    continuous = [p.path for p in space.parameters if p.kind == "float" and p.step is None]
    for path in continuous:
        document.refuse(
            (*at, path), "is continuous; a grid needs a step", hint="Give it a step, or write {choice: […]}"
        )
    if continuous:
        return 0
    if all(p.num_values() <= MAX_POINTS for p in space.parameters):
        count = sum(1 for _ in itertools.islice(space.grid(), MAX_POINTS + 1))
        if count <= MAX_POINTS:
            return count
    document.refuse(
        at, f"makes more than {MAX_POINTS:,} points", hint="Use coarser steps, or another sampler"
    )
    return 0
