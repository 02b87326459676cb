"""The expansion of a study: the levels of its factors, its variants, and what is wrong with them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ablate.base.errors import NOT_GIVEN, Invalid, Problem
from ablate.core.facts import BASELINE
from ablate.study.designs import Config, Design, Kind, Level, Resolve, Variant, labels_of
from ablate.study.document import Document
from ablate.study.patch import apply_patches, key_of, value_at
from ablate.study.plain_yaml import PathKey
from ablate.study.schema import PLACEBO, StudyConfig

CHANGES_NOTHING = "Give it another value, or remove it"


def expand(
    config: StudyConfig, baseline: Mapping[str, Config], resolve: Resolve, document: Document
) -> Design:
    """Returns all variants of a study; what is wrong with them is reported to its document.

    baseline: task → the config of the baseline there.
    """
    problems_before = len(document.problems)
    base = _Baseline(baseline, resolve, document)
    factors: dict[str, list[Level]] = {}
    for path, values in config.factors.items():
        levels = _factor_levels(path, values, base)
        if levels is not None:
            factors[path] = levels

    kind: Kind = config.design.build()
    # What is left of factors that are wrong themselves may be too few for a design.
    if len(document.problems) == problems_before:
        with document.reporting():
            kind.check({path: len(levels) for path, levels in factors.items()}, config)
    is_valid = len(document.problems) == problems_before
    combined = _combinations(kind, factors, base) if is_valid or not kind.crosses else []
    of_design = _with_names([Variant(BASELINE, baseline), *combined], factors)
    by_hand = _named_by_hand(config.variants, base)

    paths = list(factors)
    for variant in by_hand:
        paths += variant.patches
    variants = [*of_design, *by_hand]
    refuse_twins(variants, "has the same config as {}", "Remove one of them", document)
    if config.placebo:
        variants.append(Variant(PLACEBO, baseline, at=("placebo",), placebo=True))
    return Design(variants=variants, factors=factors, paths=list(dict.fromkeys(paths)), kind=kind)


@dataclass(frozen=True)
class _Baseline:
    """The baseline's config on each task, which levels and variants change."""

    configs: Mapping[str, Config]
    resolve: Resolve
    document: Document

    def patched(
        self, patches: Mapping[str, Any], at: PathKey, *, skip_removed: bool = False
    ) -> dict[str, Config] | None:
        """Returns task → config with patches, resolved; None where one is not valid, which is reported."""
        patched: dict[str, Config] = {}
        try:
            for task, config in self.configs.items():
                patched[task] = self.resolve(apply_patches(config, patches, skip_removed=skip_removed))
        except Invalid as error:
            report_at(error.problems, patches, at, self.document)
            return None
        return patched


def refuse_twins(variants: Iterable[Variant], rule: str, hint: str, document: Document) -> None:
    """Reports each variant whose configs are those of an earlier one, which `rule` names at its `{}`."""
    first_with: dict[str, str] = {}
    for variant in variants:
        first = first_with.setdefault(key_of(variant.configs), variant.name)
        if first != variant.name and not variant.placebo:
            document.refuse(variant.at, rule.format(first), hint=hint)


def _factor_levels(path: str, values: list[Any], base: _Baseline) -> list[Level] | None:
    """Returns the levels of a factor that change something; reports what is wrong with them.

    None where its path does not exist.
    """
    at: PathKey = ("factors", path)
    document = base.document
    try:
        for config in base.configs.values():
            value_at(config, path)
    except Invalid as error:
        document.report_all(error.problems, at, given=NOT_GIVEN)
        return None
    levels: list[Level] = []
    problems_before = len(document.problems)
    for index, value in enumerate(values):
        at_level = (*at, index)
        configs = base.patched({path: value}, at_level)
        if configs is None:
            continue
        if any(configs == level.configs for level in levels):
            document.refuse(at_level, "is listed twice", value)
        elif configs != base.configs:
            levels.append(Level(value, configs, at_level))
    if not levels and len(document.problems) == problems_before:
        rule = "contains only the baseline's value"
        document.refuse(at, rule, values, hint="Add a level, or remove the factor")
    return levels


def _combinations(kind: Kind, factors: Mapping[str, list[Level]], base: _Baseline) -> list[Variant]:
    """Returns the variants that the design makes of the factors, without names."""
    variants: list[Variant] = []
    known_configs = {key_of(base.configs)}
    for combination in kind.combinations(list(factors.values())):
        pairs = zip(factors, combination, strict=True)
        levels = {path: level for path, level in pairs if level is not None}
        variant = _combined(levels, kind, base)
        if variant is None:
            continue
        # Where a level removes the path of another, several combinations are one; else twins are a mistake.
        key = key_of(variant.configs)
        if kind.collapses and key in known_configs:
            continue
        known_configs.add(key)
        variants.append(variant)
    return variants


def _combined(levels: Mapping[str, Level], kind: Kind, base: _Baseline) -> Variant | None:
    """Returns the variant with some levels, without a name; None where it is not valid, which is reported."""
    patches = {path: level.value for path, level in levels.items()}
    if len(levels) == 1:
        (level,) = levels.values()
        return Variant("", level.configs, patches, level.at)
    at: PathKey = ("factors",)
    configs = base.patched(patches, at, skip_removed=kind.collapses)
    if configs is None:
        return None
    return Variant("", configs, patches, at)


def _with_names(variants: list[Variant], factors: Mapping[str, list[Level]]) -> list[Variant]:
    """Returns the variants of a design with their names: `path=level`, joined by commas."""
    labels = {path: labels_of(variants, path, levels) for path, levels in factors.items()}
    named: list[Variant] = []
    for index, variant in enumerate(variants):
        levels = [f"{path}={labels[path][index]}" for path in labels if path in variant.patches]
        named.append(replace(variant, name=",".join(levels) or BASELINE))
    return named


def _named_by_hand(variants: Mapping[str, Mapping[str, Any]], base: _Baseline) -> list[Variant]:
    """Returns the variants under `variants:`; one that changes nothing is reported."""
    named: list[Variant] = []
    for name, patches in variants.items():
        at: PathKey = ("variants", name)
        configs = base.patched(patches, at)
        if configs == base.configs:
            base.document.refuse(at, "changes nothing: its config is the baseline's", hint=CHANGES_NOTHING)
        elif configs is not None:
            named.append(Variant(name, configs, patches, at))
    return named


def report_at(
    problems: Iterable[Problem], patches: Mapping[str, Any], at: PathKey, document: Document
) -> None:
    """Reports problems of a patched config where the study file asks for the patch."""
    for problem in problems:
        patch = patch_around(problem, patches)
        if patch:
            place = (*at, patch) if at[0] == "variants" else at
            steps = patch.count(".") + 1
            document.report(replace(problem, path=(*place, *problem.path[steps:])))
        elif problem.path:
            where = ".".join(map(str, problem.path))
            document.report(replace(problem, rule=f"{where} {problem.rule}", path=at))
        else:
            document.report(replace(problem, path=at))


def patch_around(problem: Problem, patches: Mapping[str, Any]) -> str:
    """Returns the path of the first patch that the place of a problem lies in; or nothing."""
    for path in patches:
        keys = tuple(path.split("."))
        if problem.path[: len(keys)] == keys:
            return path
    return ""
