"""From a baseline and its factors to variants: one factor at a time, every combination, or named by hand."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from ablate.base.errors import NOT_GIVEN, Invalid, Problem
from ablate.core.facts import BASELINE
from ablate.study.document import Document, PathKey
from ablate.study.labels import level_labels, short_label
from ablate.study.patch import apply_patches, has_path, is_empty, key_of, value_at
from ablate.study.schema import PLACEBO, StudyBase

Config = dict[str, Any]
Resolve = Callable[[Mapping[str, Any]], Config]
"""Validates a config and fills in its defaults; raises `Invalid` with paths from the config's root."""
CHANGES_NOTHING = "Give it another value, or take it out"
EMPTY_PATCH = "changes nothing: it is empty"

MAX_VARIANTS = 100_000
MAX_LEVELS = 1_000
"""Of all factors together, with the variants that are named."""


@dataclass(frozen=True)
class Variant:
    """One configuration of the study, for each of its tasks."""

    name: str
    configs: list[Config]
    "Resolved, one a task."
    patches: Mapping[str, Any] = field(default_factory=dict)
    "Path → value: what it changes in the baseline."
    at: PathKey = ()
    "Where the study file asks for it."
    placebo: bool = False
    tuned: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    "Task → path → label of the value that a search has chosen."


@dataclass(frozen=True)
class Level:
    """One level of a factor that is not the baseline's."""

    value: Any
    configs: list[Config]
    at: PathKey


@dataclass(frozen=True)
class Design:
    """The variants of a study, the baseline first, and the labels of their levels."""

    variants: list[Variant]
    factors: Mapping[str, list[Level]]
    "Path → the levels that change something."
    paths: list[str]
    "Every path that some variant changes."
    factorial: bool = False

    @cached_property
    def _known(self) -> dict[str, dict[str, str]]:
        return {}

    def labels(self, path: str) -> dict[str, str]:
        """Variant → label of its level at `path`; empty where the variant has no such path."""
        if path not in self._known:
            found = _labels(self.variants, path, self.factors.get(path, ()))
            self._known[path] = dict(zip((v.name for v in self.variants), found, strict=True))
        return self._known[path]

    def having(self, levels: Mapping[str, str]) -> list[Variant]:
        """The variants that have some levels, by label."""
        labels = {path: self.labels(path) for path in levels}
        return [
            v for v in self.variants if not v.placebo and all(labels[p][v.name] == levels[p] for p in levels)
        ]

    def at(self, levels: Mapping[str, str], *, cell: bool) -> list[str]:
        """The variants at some levels, by label: a `cell` is the one that changes nothing else.

        Otherwise, where the design crosses its factors, all of them: their mean is that over the other factors.
        """
        having = self.having(levels)
        if self.factorial and not cell:
            return [v.name for v in having if v.at[:1] != ("variants",)]
        return [v.name for v in having if v.patches.keys() <= levels.keys()][:1]


def expand(study: StudyBase, baseline: list[Config], resolve: Resolve, document: Document) -> Design:
    """All variants of `study`; problems are reported to the document."""
    count = sum(map(len, study.factors.values())) + len(study.variants)
    if count > MAX_LEVELS:
        where = "factors" if study.factors else "variants"
        document.refuse(
            (where,), "are too many, all levels and variants counted", count, f"at most {MAX_LEVELS:,}"
        )
        return Design([Variant(BASELINE, baseline)], {}, [])
    every = {path: _factor(path, study, baseline, resolve, document) for path in study.factors}
    factors = {path: levels for path, levels in every.items() if levels is not None}
    found = (
        _combinations(factors, baseline, resolve, document)
        if study.design == "factorial"
        else [
            Variant("", level.configs, {path: level.value}, level.at)
            for path, levels in factors.items()
            for level in levels
        ]
    )
    named = []
    for name, patches in study.variants.items():
        at: PathKey = ("variants", name)
        for path in filter(lambda path: is_empty(patches[path]), patches):
            document.refuse((*at, path), EMPTY_PATCH, patches[path], hint=CHANGES_NOTHING)
        configs = _patched(baseline, patches, resolve, document, at)
        if configs == baseline:
            document.refuse(at, "changes nothing: its config is the baseline's", hint=CHANGES_NOTHING)
        elif configs is not None:
            named.append(Variant(name, configs, patches, at))
    paths = list(dict.fromkeys([*factors, *(path for v in named for path in v.patches)]))
    variants = _named([Variant(BASELINE, baseline), *found], factors) + named
    refuse_twins(variants, "has the same config as {}", "Take one of them out", document)
    if study.placebo:
        variants.append(Variant(PLACEBO, baseline, at=("placebo",), placebo=True))
    return Design(variants, factors, paths, study.design == "factorial")


def refuse_twins(variants: Iterable[Variant], rule: str, hint: str, document: Document) -> None:
    """Reports each variant whose configs are those of an earlier one, which `rule` names at its `{}`."""
    known: dict[str, str] = {}
    for variant in variants:
        other = known.setdefault(key_of(variant.configs), variant.name)
        if other != variant.name and not variant.placebo:
            document.refuse(variant.at, rule.format(other), hint=hint)


def _factor(
    path: str, study: StudyBase, baseline: list[Config], resolve: Resolve, document: Document
) -> list[Level] | None:
    """The levels of a factor that change something; None where its path does not exist, which is reported."""
    at: PathKey = ("factors", path)
    keys = tuple(path.split("."))
    try:
        for config in baseline:
            value_at(config, path)
    except Invalid as error:
        # A section that was refused took its default, so that a path below it cannot be judged.
        if not any(keys[:length] in document.faulty for length in range(1, len(keys))):
            document.report_all(error.problems, at, given=NOT_GIVEN)
        return None
    levels: list[Level] = []
    faulty = False
    for index, value in enumerate(study.factors[path]):
        if is_empty(value):
            document.refuse((*at, index), EMPTY_PATCH, value, hint=CHANGES_NOTHING)
            faulty = True
            continue
        configs = _patched(baseline, {path: value}, resolve, document, (*at, index))
        if configs is None:
            faulty = True
        elif any(configs == level.configs for level in levels):
            document.refuse((*at, index), "is listed twice", value)
        elif configs != baseline:
            levels.append(Level(value, configs, (*at, index)))
    if not levels and not faulty and not document.is_faulty(keys):
        document.refuse(
            at,
            "has no level but the baseline's, so that nothing is compared",
            study.factors[path],
            hint="Add a level, or take the factor out",
        )
    return levels


def _combinations(
    factors: Mapping[str, list[Level]], baseline: list[Config], resolve: Resolve, document: Document
) -> list[Variant]:
    count = math.prod(len(levels) + 1 for levels in factors.values())
    if count > MAX_VARIANTS:
        document.refuse(
            ("factors",),
            f"make {count:,} combinations; a factorial can have {MAX_VARIANTS:,}",
            hint="Use `design: one_factor`, or fewer levels",
        )
        return []
    found: dict[str, Variant] = {key_of(baseline): Variant(BASELINE, baseline)}
    for combination in itertools.product(*([None, *levels] for levels in factors.values())):
        chosen = {path: level for path, level in zip(factors, combination, strict=True) if level}
        patches = {path: level.value for path, level in chosen.items()}
        at = next(iter(chosen.values())).at if len(chosen) == 1 else ("factors",)
        configs = _patched(baseline, patches, resolve, document, at, skip_removed=True)
        if configs is not None:
            found.setdefault(key_of(configs), Variant("", configs, patches, at))
    return list(found.values())[1:]


def _patched(
    baseline: list[Config],
    patches: Mapping[str, Any],
    resolve: Resolve,
    document: Document,
    at: PathKey,
    *,
    skip_removed: bool = False,
) -> list[Config] | None:
    """The baseline's configs with `patches`, resolved; None when that is not valid, which is reported."""
    try:
        return [resolve(apply_patches(config, patches, skip_removed=skip_removed)) for config in baseline]
    except Invalid as error:
        report_at(error.problems, patches, at, document)
        return None


def report_at(
    problems: Iterable[Problem], patches: Mapping[str, Any], at: PathKey, document: Document
) -> None:
    """Reports problems of a patched config where the study file asks for the patch."""
    for problem in problems:
        place, rule = at, problem.rule
        inside = [p for p in patches if problem.path[: p.count(".") + 1] == tuple(p.split("."))]
        if inside:
            place = (*at, inside[0]) if at[0] == "variants" else at
            place += problem.path[inside[0].count(".") + 1 :]
        elif problem.path:
            rule = f"{'.'.join(map(str, problem.path))} {rule}"
        document.report(replace(problem, rule=rule, path=place))


def _named(variants: list[Variant], factors: Mapping[str, list[Level]]) -> list[Variant]:
    """The variants of a design, with their names: `path=level`, joined by commas."""
    labels = {path: _labels(variants, path, levels) for path, levels in factors.items()}
    return [
        replace(
            variant,
            name=",".join(f"{path}={labels[path][i]}" for path in labels if path in variant.patches)
            or BASELINE,
        )
        for i, variant in enumerate(variants)
    ]


def _labels(variants: list[Variant], path: str, levels: Iterable[Level]) -> list[str]:
    """The label of each variant's level at `path`.

    A level of a factor is what its patch makes of the baseline alone: another factor further down changes no label.
    """
    alone = {key_of(level.value): value_at(level.configs[0], path) for level in levels}

    def changed(variant: Variant) -> Any:
        own = value_at(variant.configs[0], path)
        # One that is named by hand, or was found by a search, may change more of a part on paths further down.
        return alone.get(key_of(variant.patches[path]), own) if variant.at[:1] == ("factors",) else own

    baseline = value_at(variants[0].configs[0], path)
    patched = {i: changed(variant) for i, variant in enumerate(variants) if path in variant.patches}
    labels = level_labels([baseline, *alone.values(), *patched.values()])

    def label(index: int, variant: Variant) -> str:
        if index in patched:
            return labels[key_of(patched[index])]
        if not has_path(variant.configs[0], path):
            return ""
        inside = any(path.startswith(f"{outer}.") for outer in variant.patches)
        value = value_at(variant.configs[0], path) if inside else baseline
        return labels.get(key_of(value)) or short_label(value)

    return [label(index, variant) for index, variant in enumerate(variants)]
