"""From a study file to its design: the levels of its factors, the variants of both, and what is wrong with them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ablate.base.errors import NOT_GIVEN, Invalid, Problem
from ablate.core.facts import BASELINE
from ablate.study.designs import Config, Design, Kind, Level, Resolve, Variant, labels_of
from ablate.study.document import Document, PathKey
from ablate.study.patch import apply_patches, key_of, value_at
from ablate.study.schema import PLACEBO, StudyConfig

CHANGES_NOTHING = "Give it another value, or take it out"


def expand(config: StudyConfig, baseline: list[Config], resolve: Resolve, document: Document) -> Design:
    """All variants of `study`; problems are reported to the document."""
    before = len(document.problems)
    patched = _Patched(baseline, resolve, document)
    every = {path: _factor(path, values, patched) for path, values in config.factors.items()}
    factors = {path: levels for path, levels in every.items() if levels is not None}
    kind: Kind = config.design.build()
    # What is left of factors that are wrong themselves may be too few for a design.
    if len(document.problems) == before:
        with document.reporting():
            kind.check({path: len(levels) for path, levels in factors.items()}, config)
    every_factor = len(document.problems) == before or not kind.crosses
    found = _combinations(kind, factors, patched) if every_factor else []
    named = []
    for name, patches in config.variants.items():
        at: PathKey = ("variants", name)
        configs = patched(patches, at)
        if configs == baseline:
            document.refuse(at, "changes nothing: its config is the baseline's", hint=CHANGES_NOTHING)
        elif configs is not None:
            named.append(Variant(name, configs, patches, at))
    paths = list(dict.fromkeys([*factors, *(path for v in named for path in v.patches)]))
    variants = _named([Variant(BASELINE, baseline), *found], factors) + named
    refuse_twins(variants, "has the same config as {}", "Take one of them out", document)
    if config.placebo:
        variants.append(Variant(PLACEBO, baseline, at=("placebo",), placebo=True))
    return Design(variants, factors, paths, kind)


@dataclass(frozen=True)
class _Patched:
    """The baseline's configs with patches, resolved; None when that is not valid, which is reported."""

    baseline: list[Config]
    resolve: Resolve
    document: Document

    def __call__(
        self, patches: Mapping[str, Any], at: PathKey, *, skip_removed: bool = False
    ) -> list[Config] | None:
        try:
            changed = (apply_patches(config, patches, skip_removed=skip_removed) for config in self.baseline)
            return [self.resolve(config) for config in changed]
        except Invalid as error:
            report_at(error.problems, patches, at, self.document)
            return None


def refuse_twins(variants: Iterable[Variant], rule: str, hint: str, document: Document) -> None:
    """Reports each variant whose configs are those of an earlier one, which `rule` names at its `{}`."""
    known: dict[str, str] = {}
    for variant in variants:
        other = known.setdefault(key_of(variant.configs), variant.name)
        if other != variant.name and not variant.placebo:
            document.refuse(variant.at, rule.format(other), hint=hint)


def _factor(path: str, values: list[Any], patched: _Patched) -> list[Level] | None:
    """The levels of a factor that change something; None where its path does not exist, which is reported."""
    at: PathKey = ("factors", path)
    document = patched.document
    try:
        for config in patched.baseline:
            value_at(config, path)
    except Invalid as error:
        document.report_all(error.problems, at, given=NOT_GIVEN)
        return None
    levels: list[Level] = []
    before = len(document.problems)
    for index, value in enumerate(values):
        configs = patched({path: value}, (*at, index))
        if configs is not None and any(configs == level.configs for level in levels):
            document.refuse((*at, index), "is listed twice", value)
        elif configs is not None and configs != patched.baseline:
            levels.append(Level(value, configs, (*at, index)))
    if not levels and len(document.problems) == before:
        rule = "has no level but the baseline's, so that nothing is compared"
        document.refuse(at, rule, values, hint="Add a level, or take the factor out")
    return levels


def _combinations(kind: Kind, factors: Mapping[str, list[Level]], patched: _Patched) -> list[Variant]:
    """The variants that the design makes of the factors."""
    found: list[Variant] = []
    known = {key_of(patched.baseline)}
    for combination in kind.combinations(list(factors.values())):
        chosen = {path: level for path, level in zip(factors, combination, strict=True) if level is not None}
        patches = {path: level.value for path, level in chosen.items()}
        alone = next(iter(chosen.values())) if len(chosen) == 1 else None
        at = alone.at if alone else ("factors",)
        configs = alone.configs if alone else patched(patches, at, skip_removed=kind.collapses)
        # Where a level removes the path of another, several combinations are one; else twins are a mistake.
        if configs is not None and not (kind.collapses and key_of(configs) in known):
            known.add(key_of(configs))
            found.append(Variant("", configs, patches, at))
    return found


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
    labels = {path: labels_of(variants, path, levels) for path, levels in factors.items()}
    return [
        replace(
            variant,
            name=",".join(f"{path}={labels[path][i]}" for path in labels if path in variant.patches)
            or BASELINE,
        )
        for i, variant in enumerate(variants)
    ]
