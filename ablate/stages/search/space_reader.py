"""Reads the space of a search from its `over:`, and checks it on every config that the search will change."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ablate.analysis.search_table import Parameter
from ablate.base.errors import NOT_GIVEN, Invalid, Problem, listed, nearest, shown
from ablate.core.facts import BASELINE
from ablate.stages.search.section import Values
from ablate.stages.search.space import Conditions, Space
from ablate.study.checks import attempt
from ablate.study.designs import Config
from ablate.study.draft import Draft
from ablate.study.patch import apply_patches, key_of, level_labels, value_at
from ablate.study.plain_yaml import PathKey


@dataclass(frozen=True)
class SpaceReader:
    """Reads the space of one search; problems are reported to the document."""

    draft: Draft
    # The section of the search: `search` or `tune`.
    key: str
    # The configs that the search will change, with the name of their variant.
    bases: Sequence[tuple[str, Config]]

    def read(self, over: Mapping[str, Values]) -> Space | None:
        """Returns the space; None where something is wrong with it."""
        problems = self.draft.document.problems
        num_problems = len(problems)
        choices: dict[str, dict[str, Any]] = {}
        for path, values in over.items():
            if values.choice:
                choices[path] = self._labelled(path, values.choice)
        parameters = {path: _parameter(path, values, choices) for path, values in over.items()}
        conditions: dict[str, Conditions] = {}
        for path, values in over.items():
            conditions[path] = self._conditions(path, values.when, parameters)
        ordered = self._ordered(parameters, conditions)
        if ordered is None:
            return None

        conditions = {path: required for path, required in conditions.items() if required}
        space = Space(tuple(ordered), choices, conditions)
        for parameter in ordered:
            place = self._place(parameter.path)
            for name, base in self.bases:
                # What is reported of a path once is not looked at in further variants.
                if all(problem.path[:3] != place for problem in problems):
                    self._check(space, parameter, name, base)
        return None if len(problems) > num_problems else space

    def _place(self, path: str) -> PathKey:
        """Returns the place of a searched path in the study file."""
        return (self.key, "over", path)

    def _patched(self, config: Config, patches: Mapping[str, Any]) -> Config | None:
        """Returns a config with `patches`, resolved; None where it is not valid."""
        resolved: Config | None
        resolved, _ = attempt(lambda given: self.draft.resolve(apply_patches(given, patches)), config)
        return resolved

    def _labelled(self, path: str, values: Sequence[Any]) -> dict[str, Any]:
        """Returns label → value, of choices.

        The label is that of the value once it is resolved.
        """
        _, base = self.bases[0]
        resolved: list[Any] = []
        for value in values:
            config = self._patched(base, {path: value})
            resolved.append(value_at(config, path) if config else value)
        labels = level_labels(resolved)

        labelled: dict[str, Any] = {}
        for index, value in enumerate(values):
            label = labels[key_of(resolved[index])]
            if label not in labelled:
                labelled[label] = value
                continue
            same = labelled[label]
            rule = "is listed twice" if value == same else f"is the same as {shown(same)}"
            place = (*self._place(path), "choice", index)
            self.draft.document.refuse(place, rule, value, hint="Remove one of them")
        return labelled

    def _conditions(
        self, path: str, when: str | list[str], parameters: Mapping[str, Parameter]
    ) -> Conditions:
        """Returns the conditions of the `when` of a path."""
        conditions: dict[str, tuple[Any, ...]] = {}
        others = {other: parameter for other, parameter in parameters.items() if other != path}
        texts = [when] if isinstance(when, str) else when
        for text in texts:
            with self.draft.document.reporting(*self._place(path), "when"):
                other, values = _condition(text, others)
                earlier = conditions.get(other, values)
                conditions[other] = tuple(value for value in values if value in earlier)
                if not conditions[other]:
                    raise Invalid("", "can never hold together with the other conditions", text)
        return conditions

    def _ordered(
        self, parameters: Mapping[str, Parameter], conditions: Mapping[str, Conditions]
    ) -> list[Parameter] | None:
        """Returns the parameters, each after those that its conditions name, outer paths first.

        None where conditions are circular, which is reported.
        """
        rest = sorted(parameters, key=lambda path: path.count("."))
        ordered: dict[str, Parameter] = {}
        while rest:
            ready = [path for path in rest if conditions[path].keys() <= ordered.keys()]
            if not ready:
                rule = "have circular `when` conditions"
                self.draft.document.refuse(self._place(rest[0]), rule, listed(rest))
                return None
            path = ready[0]
            rest.remove(path)
            ordered[path] = parameters[path]
        return list(ordered.values())

    def _check(self, space: Space, parameter: Parameter, name: str, base: Config) -> None:
        """Reports a path that one base lacks, or a value that it cannot have there.

        Whether all values together can be built shows in the search: a setting that cannot is listed as invalid.
        """
        draft = self.draft
        place = self._place(parameter.path)
        context = self._context(space, parameter, base)
        if context is None:
            return  # The parameters that its conditions name are at fault, and are reported there.
        _, missing = attempt(lambda config: value_at(config, parameter.path), context)
        if missing:
            where = "" if name == BASELINE else f" in {name}"
            for problem in missing:
                rule = problem.rule + where
                draft.document.report(replace(problem, path=place, rule=rule, given=NOT_GIVEN))
            return

        for index, value in enumerate(parameter.ends()):
            for problem in self._problems_with(context, parameter.path, space.value(parameter, value)):
                draft.document.report(replace(problem, path=(*place, parameter.kind, index)))

    def _context(self, space: Space, parameter: Parameter, base: Config) -> Config | None:
        """Returns one base where the conditions of a parameter hold; None where it is not valid."""
        return self._patched(base, space.patches(space.satisfying(parameter)))

    def _problems_with(self, context: Config, path: str, value: Any) -> list[Problem]:
        """Returns what is wrong with a config that has a value at a path."""
        config, problems = attempt(self.draft.resolve, apply_patches(context, {path: value}))
        if config is None:
            return problems
        return attempt(self.draft.workload.check, config).problems

    def resolved_value(self, space: Space, parameter: Parameter, value: Any) -> Any:
        """Returns a value of a parameter as the first config has it; None where some config cannot have it."""
        contexts: list[Config] = []
        for _, base in self.bases:
            context = self._context(space, parameter, base)
            if context is None or self._problems_with(context, parameter.path, value):
                return None
            contexts.append(context)
        config = self._patched(contexts[0], {parameter.path: value})
        return None if config is None else value_at(config, parameter.path)


def _parameter(path: str, values: Values, choices: Mapping[str, Mapping[str, Any]]) -> Parameter:
    """Returns the parameter of one entry of `over:`.

    choices: path → label → value.
    """
    when = values.when if isinstance(values.when, str) else " and ".join(values.when)
    if values.choice:
        return Parameter(path, "choice", choices=list(choices[path]), when=when)
    if values.float:
        low, high = values.float
        return Parameter(path, "float", low, high, log=values.log, step=values.step, when=when)
    assert values.int is not None
    start, stop = values.int
    step = int(values.step) if values.step else None
    return Parameter(path, "int", start, stop, log=values.log, step=step, when=when)


def _condition(text: str, others: Mapping[str, Parameter]) -> tuple[str, list[Any]]:
    """Returns the path that `PATH=LEVEL` names, of `others`, and its values that have this name.

    Raises `Invalid` where it names none.
    """
    other, _, level = (part.strip() for part in text.partition("="))
    allowed = [path for path, parameter in others.items() if parameter.kind != "float"]
    if other not in allowed:
        raise Invalid(
            "",
            "must be PATH=LEVEL, PATH being another searched path with choices or whole numbers",
            text,
            allowed=listed(allowed) or "none",
            hint=nearest(other, allowed),
        )
    values = others[other].values()
    named = [value for value in values if level in _names(value)]
    if not named:
        names: list[str] = []
        for value in values:
            names += _names(value)
        rule = f"names a level that {other} does not take"
        raise Invalid("", rule, text, allowed=listed(values), hint=nearest(level, names))
    return other, named


def _names(label: Any) -> tuple[str, str]:
    """Returns a choice's names in a condition: its label, and that without parameters."""
    return str(label), str(label).partition("(")[0]
