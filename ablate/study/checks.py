"""Checks before the first trial: everything builds, and every variant changes something."""

import math
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

from pydantic import ValidationError

from ablate.base.datafile import FOLDER
from ablate.base.errors import Invalid, Problem, described, listed, nearest
from ablate.base.plugins import raised_by_plugin
from ablate.base.registry import StrictModel
from ablate.core.facts import ALL_PAIRS, BASELINE
from ablate.core.metric import Description
from ablate.core.workload import Workload
from ablate.study.conditions import Condition
from ablate.study.designs import Config, Design, Variant
from ablate.study.document import Document
from ablate.study.draft import Draft
from ablate.study.expand import CHANGES_NOTHING, report_at
from ablate.study.patch import has_path, value_at
from ablate.study.plain_yaml import PathKey
from ablate.study.schema_errors import translated

MAX_TRIALS = 1_000_000
# Variants of a factorial that are all built before the first is trained; of more, a sample is.
MAX_CHECKED = 500


def resolved(model: type[StrictModel], config: Mapping[str, Any], folder: Path) -> Config:
    """Returns a config with its defaults filled in, and files relative to `folder`.

    Raises `Invalid` with paths from its root.
    """
    try:
        return model.model_validate(config, context={FOLDER: folder}).model_dump()
    except ValidationError as error:
        raise Invalid.many(translated(error, model, config)) from None


T = TypeVar("T")


class Attempt(NamedTuple, Generic[T]):
    """The outcome of a call: its result, or the problems that it raised."""

    result: T | None
    problems: list[Problem]


def attempt(method: Callable[[Config], T], config: Config) -> Attempt[T]:
    """Calls a method of the workload on a config, and returns its result or its problems.

    An error that a user's part raises is a problem too.
    """
    try:
        return Attempt(method(config), [])
    except Invalid as error:
        return Attempt(None, error.problems)
    except Exception as error:
        fault = raised_by_plugin(error)
        if fault:
            return Attempt(None, [Problem(f"cannot be built: {fault}", hint="Correct the plugin")])
        frame = traceback.extract_tb(error.__traceback__)[-1]
        message, _, _ = described(error)
        hint = f"It was raised in line {frame.lineno} of {frame.filename}"
        return Attempt(None, [Problem(f"cannot be built: {message}", hint=hint)])


def in_variants(check: Callable[[Config], Any], configs: Iterable[tuple[str, Config]]) -> list[Problem]:
    """Returns the problems of configs, each once, with the names of the variants that have it.

    `configs`: name of a variant and a config of it.
    """
    problems: dict[str, Problem] = {}
    variants: dict[str, list[str]] = {}
    for name, config in configs:
        for problem in attempt(check, config).problems:
            text = str(problem)
            problems.setdefault(text, problem)
            names = variants.setdefault(text, [])
            if name not in names:
                names.append(name)
    return [
        replace(problem, rule=f"{problem.rule} (in {listed(variants[text], 4)})")
        for text, problem in problems.items()
    ]


def check_study(draft: Draft) -> None:
    """Refuses what the workload cannot keep, and more trials than anyone trains."""
    config = draft.config
    workload = draft.workload
    document = draft.document
    if config.checkpoint != "none" and not workload.keeps_weights:
        rule = f"needs a workload that keeps weights, which {workload.name} does not"
        document.refuse(("checkpoint",), rule, config.checkpoint, "none")
    if config.save_every is not None and not workload.resumes:
        rule = f"needs a workload that can resume inside a trial, which {workload.name} cannot"
        document.refuse(("save_every",), rule, config.save_every, hint="Leave it out")
    _check_gpus(draft)
    num_trials = len(draft.design.variants) * len(draft.tasks) * config.seeds.count
    if num_trials > MAX_TRIALS:
        rule = "make too many trials, one for each variant, task and seed"
        document.refuse(("seeds",), rule, num_trials, f"at most {MAX_TRIALS:,}")


def _check_gpus(draft: Draft) -> None:
    """Refuses GPUs that are given to a user's own code where nothing of it reads them."""
    data = draft.document.data
    given = data.get("resources")
    own = data.get("workload")
    if not (draft.workload.runs_apart and isinstance(given, dict) and isinstance(own, dict)):
        return
    resources = own.get("resources") or {}
    if "gpus" in given and not {"gpu", "gpus"} & {*resources}:
        hint = f"Write `workload: {{resources: {{gpus: {given['gpus']}}}}}`"
        draft.document.refuse(
            ("resources", "gpus"), "does not reach code of your own", given["gpus"], hint=hint
        )


def describe_baseline(
    workload: Workload, conditions: Sequence[Condition], document: Document
) -> tuple[list[Description], list[Problem]]:
    """Returns the descriptions of the baseline, one a condition, and its problems, which it reports."""
    descriptions: list[Description] = []
    problems_by_condition: list[list[Problem]] = []
    for condition in conditions:
        described_config = attempt(workload.describe, condition.config)
        descriptions.append(described_config.result or Description({}))
        problems = attempt(workload.check, condition.config).problems or described_config.problems
        problems_by_condition.append(problems)

    all_problems: list[Problem] = []
    for condition, problems in zip(conditions, problems_by_condition, strict=True):
        for problem in problems:
            is_shared = all(problem in others for others in problems_by_condition)
            if condition.patch_of(problem) or not is_shared:
                document.report(condition.located(problem))
            elif problem not in all_problems:
                document.report(problem)
            all_problems.append(problem)
    return descriptions, all_problems


def check_variants(draft: Draft, baseline_problems: Sequence[Problem]) -> None:
    """Builds and describes every variant; of those that a factorial crosses, an even sample.

    Problems that the baseline has too are not repeated. Where a variant that changes one level has a problem, crossed
    variants are not tried.
    """
    document = draft.document
    single = [variant for variant in draft.design.variants if variant.at != ("factors",)]
    crossed = [variant for variant in draft.design.variants if variant.at == ("factors",)]
    step = max(1, math.ceil(len(crossed) / MAX_CHECKED))
    for group in (single, crossed[::step]):
        problems_before = len(document.problems)
        for variant in group:
            _check_variant(draft, variant, baseline_problems)
        if len(document.problems) > problems_before:
            return


def _check_variant(draft: Draft, variant: Variant, baseline_problems: Sequence[Problem]) -> None:
    """Reports why a variant cannot be built or described, without the problems of the baseline."""
    problems: list[Problem] = []
    for config in variant.configs.values():
        # One after the other, so that a model is built once for both.
        faults = attempt(draft.workload.check, config).problems
        faults = faults or attempt(draft.workload.describe, config).problems
        problems += [problem for problem in faults if problem not in baseline_problems]
    report_at(problems, variant.patches, variant.at, draft.document)


def check_compare(draft: Draft) -> None:
    """Reports a `compare:` that names no variant, or that a design compares otherwise."""
    document = draft.document
    asked = draft.config.compare
    names = [variant.name for variant in draft.design.variants if not variant.placebo]
    allowed = [ALL_PAIRS, *names]
    if asked not in allowed:
        document.refuse(("compare",), "is not a variant", asked, listed(allowed), nearest(asked, allowed))
    elif asked != BASELINE and draft.design.kind.crosses:
        rule = f"does not go with {draft.config.design.name}, which compares levels with the baseline's"
        document.refuse(("compare",), rule, asked, BASELINE, "Claim what else is to be judged")


def check_labels(draft: Draft) -> None:
    """Refuses a label of what the study does not have, and one for two things."""
    document = draft.document
    labelled = _names_for_labels(draft)
    # Every name is taken by what has it.
    owners = {name: name for name in labelled}
    for name, label in draft.config.labels.items():
        if name not in labelled:
            rule = "is neither a variant nor a level"
            document.refuse(("labels", name), rule, name, listed(labelled), nearest(name, labelled))
            continue
        owner = owners.setdefault(label, name)
        if owner != name:
            rule = f"is also the {'name' if label in labelled else 'label'} of {owner}"
            document.refuse(("labels", name), rule, label, "a label of its own")


def _names_for_labels(draft: Draft) -> list[str]:
    """Returns what may have a label: variants, those that stages will add, and levels as `path=level`."""
    names = [variant.name for variant in draft.design.variants]
    names += draft.outline.variant_names
    for path in draft.design.paths:
        names += [f"{path}={level}" for level in draft.design.labels[path].values() if level]
    return list(dict.fromkeys(names))


@dataclass(frozen=True)
class _Change:
    """A level alone, or a variant that is named by hand: what it changes, and the configs that it makes."""

    at: PathKey
    patches: Mapping[str, Any]
    configs: Mapping[str, Config]


def check_live(draft: Draft) -> None:
    """Reports each level under `model.` that, alone, changes neither parameters nor output of the baseline."""
    document = draft.document
    fingerprint = draft.workload.fingerprint
    changes = _model_changes(draft.design)
    if not changes:
        return
    reference = [attempt(fingerprint, config) for config in draft.design.variants[0].configs.values()]
    for attempted in reference:
        document.report_all(attempted.problems)
    for change in changes:
        fingerprints = [attempt(fingerprint, config) for config in change.configs.values()]
        problems: list[Problem] = []
        for attempted in fingerprints:
            problems += attempted.problems
        if fingerprints == reference and not problems:
            rule = (
                "changes nothing: under one seed, its parameters and output equal the baseline's bit for bit"
            )
            problems = [Problem(rule, hint=CHANGES_NOTHING)]
        report_at(problems, change.patches, change.at, document)


def _model_changes(design: Design) -> list[_Change]:
    """Returns the levels and the variants named by hand that change nothing but the model."""
    changes: list[_Change] = []
    for path, levels in design.factors.items():
        changes += [_Change(level.at, {path: level.value}, level.configs) for level in levels]
    for variant in design.variants:
        if variant.at[:1] == ("variants",):
            changes.append(_Change(variant.at, variant.patches, variant.configs))
    return [change for change in changes if all(path.split(".")[0] == "model" for path in change.patches)]


def check_told_apart(draft: Draft) -> None:
    """Refuses variants that the training code cannot tell apart, and settings of searches that never reach it."""
    variants = {variant.name: variant for variant in draft.design.variants if not variant.placebo}
    configs = {name: variant.first_config for name, variant in variants.items()}
    for untold in draft.workload.untold(configs, draft.design.paths, draft.outline.varied_paths):
        if not untold.is_certain:
            continue
        if untold.variants is None:
            draft.document.report(untold.problem)
        else:
            variant = variants[untold.variants[0]]
            report_at([untold.problem], variant.patches, variant.at, draft.document)
    _check_conditions_told_apart(draft)


def _check_conditions_told_apart(draft: Draft) -> None:
    """Refuses conditions that the training code cannot tell apart."""
    conditions = {condition.name: condition for condition in draft.conditions}
    configs = {condition.name: condition.config for condition in draft.conditions}
    paths: list[str] = []
    for condition in draft.conditions:
        paths += condition.patches
    for untold in draft.workload.untold(configs, paths, {}):
        if untold.is_certain and untold.variants is not None:
            condition = conditions[untold.variants[0]]
            draft.document.report(condition.located(untold.problem))


def refuse_own(path: str, rule: str, hint: str, draft: Draft) -> None:
    """Refuses factors and variants that change a path which all variants must share."""
    document = draft.document
    if path in draft.config.factors:
        document.refuse(("factors", path), rule, hint=hint)
        return
    baseline, *others = draft.design.variants
    for variant in others:
        configs = variant.configs
        if any(_differs(configs[task], config, path) for task, config in baseline.configs.items()):
            at = (*variant.at, path) if path in variant.patches else variant.at
            document.refuse(at, rule, hint=hint)


def _differs(config: Config, baseline: Config, path: str) -> bool:
    """Returns whether a config lacks a path of the baseline, or has another value there."""
    return not has_path(config, path) or value_at(config, path) != value_at(baseline, path)
