"""The space of a search: paths of a study, their values, and the conditions under which they are searched.

A point is a mapping from paths to numbers and, for choices, labels; a path whose condition does not hold is not in it.
The space is read from the `over:` of a search, and checked on every config that the search will change.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from ablate.analysis.search_table import MAX_POINTS, TYPES, Parameter
from ablate.base.errors import NOT_GIVEN, Invalid, Problem, listed, nearest, shown
from ablate.core.facts import BASELINE
from ablate.stages.search.section import Values
from ablate.study.checks import Draft, attempt
from ablate.study.designs import Config
from ablate.study.patch import apply_patches, key_of, level_labels, value_at

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
        """Whether the conditions of a parameter hold at a point, as far as that is known."""
        return all(
            path in point and point[path] in values
            for path, values in self.conditions.get(parameter.path, {}).items()
        )

    @property
    def always_numbers(self) -> int:
        """How many numbers are searched without a condition."""
        return sum(p.kind != "choice" and p.path not in self.conditions for p in self.parameters)

    def suggested(self, trial: Trial) -> Point:
        """Asks a trial of Optuna's for a point."""
        point: Point = {}
        for parameter in self.parameters:
            if self.active(parameter, point):
                point[parameter.path] = parameter.rounded(_suggested(trial, parameter))
        return point

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

    def grid(self) -> list[Point]:
        """Every point, once; raises `Invalid`, with the path of a parameter, where there is no end of them."""
        continuous = [p.path for p in self.parameters if p.kind == "float" and p.step is None]
        if continuous:
            raise Invalid.many(
                Problem(
                    "is continuous; a grid needs a step",
                    (path,),
                    hint="Give it a step, or write {choice: […]}",
                )
                for path in continuous
            )
        points: list[Point] = [{}]
        for parameter in self.parameters:
            own = [{parameter.path: value} for value in parameter.values()]
            more = (
                point | one for point in points for one in (own if self.active(parameter, point) else [{}])
            )
            points = list(itertools.islice(more, MAX_POINTS + 1))
        if len(points) > MAX_POINTS:
            hint = "Use coarser steps, or another sampler"
            raise Invalid("", f"makes more than {MAX_POINTS:,} points", hint=hint)
        return points

    def satisfying(self, parameter: Parameter) -> Point:
        """For each of the other parameters that this one depends on, the first value under which it is searched."""
        point: Point = {}
        for path, values in self.conditions.get(parameter.path, {}).items():
            other = next(p for p in self.parameters if p.path == path)
            point = self.satisfying(other) | point | {path: values[0]}
        return point


@dataclass(frozen=True)
class SpaceReader:
    """Reads the space of one search; problems are reported to the document."""

    draft: Draft
    # search or tune.
    kind: str
    # The configs that the search will change, by the name of their variant.
    bases: Sequence[tuple[str, Config]]

    def read(self, over: Mapping[str, Values]) -> Space | None:
        """The space; None where something is wrong with it."""
        before = len(self.draft.document.problems)
        choices = {p: self._labelled(p, spec.choice) for p, spec in over.items() if spec.choice}
        parameters = {path: _parameter(path, spec, choices) for path, spec in over.items()}
        conditions = {path: self._conditions(path, spec.when, parameters) for path, spec in over.items()}
        # Each after those that its conditions name, outer paths first.
        rest = sorted(parameters, key=lambda path: path.count("."))
        ordered: dict[str, Parameter] = {}
        while rest:
            ready = [path for path in rest if conditions[path].keys() <= ordered.keys()]
            if not ready:
                rule = "have circular `when` conditions"
                self.draft.document.refuse((self.kind, "over", rest[0]), rule, listed(rest))
                return None
            rest.remove(ready[0])
            ordered[ready[0]] = parameters[ready[0]]
        conditions = {path: found for path, found in conditions.items() if found}
        space = Space(tuple(ordered.values()), choices, conditions)
        for parameter, (name, base) in itertools.product(ordered.values(), self.bases):
            at = (self.kind, "over", parameter.path)
            if all(problem.path[:3] != at for problem in self.draft.document.problems):
                self._check(space, parameter, name, base)
        return None if len(self.draft.document.problems) > before else space

    def _patched(self, config: Config, patches: Mapping[str, Any]) -> Config | None:
        """A config with `patches`, resolved; None where it is not valid."""
        return attempt(lambda given: self.draft.resolve(apply_patches(given, patches)), config)[0]

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
                self.draft.document.refuse(
                    (self.kind, "over", path, "choice", index), rule, value, hint="Take one of them out"
                )
            found.setdefault(label, value)
        return found

    def _conditions(
        self, path: str, when: str | list[str], parameters: Mapping[str, Parameter]
    ) -> Conditions:
        """The conditions of the `when` of a path."""
        found: dict[str, tuple[Any, ...]] = {}
        others = {other: p for other, p in parameters.items() if other != path}
        for text in [when] if isinstance(when, str) else when:
            with self.draft.document.reporting(self.kind, "over", path, "when"):
                other, _, level = (part.strip() for part in text.partition("="))
                able = [path for path, parameter in others.items() if parameter.kind != "float"]
                if other not in able:
                    raise Invalid(
                        "",
                        "must be PATH=LEVEL, of another path that is searched, over choices or whole numbers",
                        text,
                        listed(able) or "none",
                        nearest(other, able),
                    )
                known = others[other].values()
                if not (values := [value for value in known if level in _names(value)]):
                    near = nearest(level, itertools.chain.from_iterable(map(_names, known)))
                    raise Invalid("", f"names a level that {other} does not take", text, listed(known), near)
                found[other] = tuple(value for value in values if value in found.get(other, values))
                if not found[other]:
                    raise Invalid("", "can never hold together with the other conditions", text)
        return found

    def _check(self, space: Space, parameter: Parameter, name: str, base: Config) -> None:
        """Reports a path that one base does not have, or a value that it cannot have there.

        Whether all values together can be built shows in the search: a setting that cannot is listed as invalid.
        """
        context = self._patched(base, space.patches(space.satisfying(parameter)))
        if context is None:
            return  # The parameters that its conditions name are at fault, and are reported there.
        at, report = (self.kind, "over", parameter.path), self.draft.document.report
        where = "" if name == BASELINE else f" in {name}"
        missing = attempt(lambda config: value_at(config, parameter.path), context)[1]
        for problem in missing:
            report(replace(problem, path=at, rule=problem.rule + where, given=NOT_GIVEN))
        for index, value in enumerate([] if missing else parameter.ends()):
            patched = apply_patches(context, {parameter.path: space.value(parameter, value)})
            config, problems = attempt(self.draft.resolve, patched)
            if config is not None:
                problems = attempt(self.draft.workload.check, config).problems
            for problem in problems:
                report(replace(problem, path=(*at, parameter.kind, index)))


def _parameter(path: str, spec: Values, labels: Mapping[str, Mapping[str, Any]]) -> Parameter:
    when = spec.when if isinstance(spec.when, str) else " and ".join(spec.when)
    if spec.choice:
        return Parameter(path, "choice", choices=list(labels[path]), when=when)
    kind = "float" if spec.float else "int"
    (low, high), step = getattr(spec, kind), TYPES[kind](spec.step) if spec.step else None
    return Parameter(path, kind, low, high, spec.log, step, when=when)


def _suggested(trial: Trial, parameter: Parameter) -> Any:
    if parameter.kind == "choice":
        return trial.suggest_categorical(parameter.path, parameter.choices)
    suggest: Any = trial.suggest_int if parameter.kind == "int" else trial.suggest_float
    step = {"step": parameter.step} if parameter.step else {}
    return suggest(parameter.path, *parameter.ends(), log=parameter.log, **step)


def _names(label: Any) -> tuple[str, str]:
    """The names of a choice in a condition: its label, and the name of its part alone."""
    return str(label), str(label).partition("(")[0]
