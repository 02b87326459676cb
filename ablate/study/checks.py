"""Checks before the first trial: everything builds, and every variant changes something."""

import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from ablate.base.datafile import FOLDER
from ablate.base.errors import Invalid, Problem, described, listed, nearest
from ablate.base.plugins import raised_by_plugin
from ablate.base.registry import StrictModel
from ablate.core.facts import ALL_PAIRS, BASELINE
from ablate.core.metric import Description
from ablate.core.workload import Workload
from ablate.study.designs import Config, Design, Resolve
from ablate.study.document import Document, PathKey
from ablate.study.expand import CHANGES_NOTHING, report_at
from ablate.study.load import translated
from ablate.study.patch import has_path, value_at
from ablate.study.schema import StudyConfig
from ablate.study.stage_config import StageOutline

MAX_TRIALS = 1_000_000
# Variants of a factorial that are all built before the first is trained; of more, a sample is.
MAX_CHECKED = 500


@dataclass(frozen=True)
class Draft:
    """A study whose mistakes of meaning are looked for; baseline and variants can be built."""

    workload: Workload
    config: StudyConfig
    design: Design
    resolve: Resolve
    document: Document
    # What its stages will add.
    outline: StageOutline = field(default_factory=StageOutline)


def resolved(model: type[StrictModel], config: Mapping[str, Any], folder: Path) -> Config:
    """A config with its defaults filled in, and files relative to `folder`.

    Raises `Invalid` with paths from its root.
    """
    try:
        return model.model_validate(config, context={FOLDER: folder}).model_dump()
    except ValidationError as error:
        raise Invalid.many(translated(error, model, config)) from None


def attempt(method: Callable[[Config], Any], config: Config) -> tuple[Any, list[Problem]]:
    """The result of a method of the workload on a config, or its problems, also when a user's part raises an error of
    its own.
    """
    try:
        return method(config), []
    except Invalid as error:
        return None, error.problems
    except Exception as error:
        if fault := raised_by_plugin(error):
            return None, [Problem(f"cannot be built: {fault}", hint="Correct the plugin")]
        frame = traceback.extract_tb(error.__traceback__)[-1]
        hint = f"It was raised in line {frame.lineno} of {frame.filename}"
        return None, [Problem(f"cannot be built: {described(error)[0]}", hint=hint)]


def in_variants(check: Callable[[Config], Any], configs: Iterable[tuple[str, Config]]) -> list[Problem]:
    """The problems of configs with the name of their variant, each once with the variants that have it."""
    found: dict[str, tuple[Problem, dict[str, None]]] = {}
    for name, config in configs:
        for problem in attempt(check, config)[1]:
            found.setdefault(str(problem), (problem, {}))[1][name] = None
    return [replace(p, rule=f"{p.rule} (in {listed(names, 4)})") for p, names in found.values()]


def check_study(draft: Draft) -> None:
    """Refuses what the workload cannot keep, and more trials than anyone trains."""
    config, workload, refuse = draft.config, draft.workload, draft.document.refuse
    if config.checkpoint != "none" and not workload.keeps_weights:
        rule = f"needs a workload that keeps weights, which {workload.name} does not"
        refuse(("checkpoint",), rule, config.checkpoint, "none")
    if config.save_every is not None and not workload.resumes:
        rule = f"needs a workload that can resume inside a trial, which {workload.name} cannot"
        refuse(("save_every",), rule, config.save_every, hint="Leave it out")
    variants = draft.design.variants
    count = len(variants) * len(variants[0].configs) * config.seeds.count
    if count > MAX_TRIALS:
        rule = "make too many trials, one for each variant, task and seed"
        refuse(("seeds",), rule, count, f"at most {MAX_TRIALS:,}")


def describe_baseline(
    workload: Workload, baseline: Sequence[Config], document: Document
) -> tuple[list[Description], list[Problem]]:
    """The descriptions of the baseline, one a task, and why it cannot be built, which is reported."""
    found: list[Description] = []
    known: list[Problem] = []
    for index, config in enumerate(baseline):
        description, faults = attempt(workload.describe, config)
        problems = attempt(workload.check, config)[1] or faults
        found.append(description or Description({}))
        known += problems
        for problem in problems:
            several = problem.path[:1] == ("task",) and len(baseline) > 1
            path = ("tasks", index, *problem.path[1:]) if several else problem.path
            document.report(replace(problem, path=path))
    return found, known


def check_variants(draft: Draft, known: list[Problem]) -> None:
    """Builds and describes every distinct variant; in a large factorial each level and an even sample of the rest.

    Problems of the baseline, which are `known`, are not repeated.
    """
    document, check, describe = draft.document, draft.workload.check, draft.workload.describe
    alone = [v for v in draft.design.variants if v.at != ("factors",)]
    crossed = [v for v in draft.design.variants if v.at == ("factors",)]
    before = len(document.problems)
    for group in (alone, crossed[:: max(1, -(-len(crossed) // MAX_CHECKED))]):
        for variant in group if len(document.problems) == before else ():
            # One after the other, so that a model is built once for both.
            found = [p for of in variant.configs for p in attempt(check, of)[1] or attempt(describe, of)[1]]
            report_at([p for p in found if p not in known], variant.patches, variant.at, document)


def check_compare(draft: Draft) -> None:
    """Reports a `compare:` that names no variant, or that a design compares otherwise."""
    asked, names = draft.config.compare, [v.name for v in draft.design.variants if not v.placebo]
    if asked not in (known := [ALL_PAIRS, *names]):
        draft.document.refuse(("compare",), "is not a variant", asked, listed(known), nearest(asked, known))
    elif asked != BASELINE and draft.design.kind.crosses:
        rule = f"does not go with {draft.config.design.name}, which compares levels with the baseline's"
        draft.document.refuse(("compare",), rule, asked, BASELINE, "Claim what else is to be judged")


def check_labels(draft: Draft) -> None:
    """Refuses a label of what the study does not have, and one for two things."""
    config, design, refuse = draft.config, draft.design, draft.document.refuse
    levels = [f"{path}={level}" for path in design.paths for level in design.labels[path].values() if level]
    names = [variant.name for variant in design.variants]
    known = list(dict.fromkeys([*names, *draft.outline.variant_names, *levels]))
    first = dict(zip(known, known, strict=True))
    for name, label in config.labels.items():
        if name not in known:
            rule, allowed = "is neither a variant nor a level", listed(known)
            refuse(("labels", name), rule, name, allowed, nearest(name, known))
        elif first.setdefault(label, name) != name:
            what = "name" if label in known else "label"
            refuse(("labels", name), f"is also the {what} of {first[label]}", label, "a label of its own")


def check_live(draft: Draft) -> None:
    """Every level under `model.`, alone, must change the parameters or the output of the baseline."""
    design, fingerprint = draft.design, draft.workload.fingerprint
    levels: list[tuple[PathKey, Mapping[str, Any], list[Config]]] = [
        (level.at, {path: level.value}, level.configs)
        for path, found in design.factors.items()
        for level in found
    ]
    levels += [(v.at, v.patches, v.configs) for v in design.variants if v.at[:1] == ("variants",)]
    models = [level for level in levels if all(path.split(".")[0] == "model" for path in level[1])]
    reference = [attempt(fingerprint, config) for config in design.variants[0].configs if models]
    for _, problems in reference:
        draft.document.report_all(problems)
    rule = "changes nothing: under one seed, its parameters and output equal the baseline's bit for bit"
    for at, patches, configs in models:
        found = [attempt(fingerprint, config) for config in configs]
        problems = [problem for _, faults in found for problem in faults]
        if found == reference and not problems:
            problems = [Problem(rule, hint=CHANGES_NOTHING)]
        report_at(problems, patches, at, draft.document)


def refuse_own(path: str, rule: str, hint: str, draft: Draft) -> None:
    """Refuses each factor on a path that all variants must have in common, and each variant that changes it."""
    design, document = draft.design, draft.document
    if path in draft.config.factors:
        document.refuse(("factors", path), rule, hint=hint)
        return
    for variant in design.variants[1:]:
        pairs = zip(variant.configs, design.variants[0].configs, strict=True)
        if any(not has_path(own, path) or value_at(own, path) != value_at(base, path) for own, base in pairs):
            inside = (path,) if path in variant.patches else ()
            document.refuse((*variant.at, *inside), rule, hint=hint)
