"""Checks before the first trial: everything builds, every variant changes something, every claim can be judged."""

from __future__ import annotations

import math
import re
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from ablate.base.datafile import FOLDER
from ablate.base.errors import Invalid, Problem, described, listed, nearest
from ablate.base.plugins import raised_by_plugin
from ablate.base.registry import StrictModel
from ablate.base.wording import joined
from ablate.core.derived import Offer
from ablate.core.facts import ALL_PAIRS, BASELINE, Claim
from ablate.core.feature import derived, features, grammar
from ablate.core.metric import Description, Metric, plain
from ablate.core.workload import Workload
from ablate.study.claims import Claimable, check_margin, parse_claim
from ablate.study.designs import Config, Design, Resolve
from ablate.study.document import Document, PathKey
from ablate.study.expand import CHANGES_NOTHING, report_at
from ablate.study.load import translated
from ablate.study.patch import has_path, value_at
from ablate.study.schema import StudyBase

MAX_TRIALS = 1_000_000
# Variants of a factorial that are all built before the first is trained; of more, a sample is.
MAX_CHECKED = 500


@dataclass(frozen=True)
class Draft:
    """A study whose mistakes of meaning are looked for; baseline and variants can be built."""

    workload: Workload
    study: StudyBase
    design: Design
    resolve: Resolve
    document: Document


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
    study, workload, refuse = draft.study, draft.workload, draft.document.refuse
    if study.checkpoint != "none" and not workload.keeps_weights:
        rule = f"needs a workload that keeps weights, which {study.workload} does not"
        refuse(("checkpoint",), rule, study.checkpoint, "none")
    if study.save_every is not None and not workload.resumes:
        rule = f"needs a workload that can resume inside a trial, which {study.workload} cannot"
        refuse(("save_every",), rule, study.save_every, hint="Leave it out")
    variants = draft.design.variants
    count = len(variants) * len(variants[0].configs) * study.seeds.count
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
    asked, names = draft.study.compare, [v.name for v in draft.design.variants if not v.placebo]
    if asked not in (known := [ALL_PAIRS, *names]):
        draft.document.refuse(("compare",), "is not a variant", asked, listed(known), nearest(asked, known))
    elif asked != BASELINE and draft.design.kind.crosses:
        rule = f"does not go with {draft.study.design.name}, which compares levels with the baseline's"
        draft.document.refuse(("compare",), rule, asked, BASELINE, "Claim what else is to be judged")


def check_labels(draft: Draft) -> None:
    """Refuses a label of what the study does not have, and one for two things."""
    study, design, refuse = draft.study, draft.design, draft.document.refuse
    levels = [f"{path}={level}" for path in design.paths for level in design.labels[path].values() if level]
    found = [name for feature in features() for name in feature.names(study)]
    known = list(dict.fromkeys([*(variant.name for variant in design.variants), *found, *levels]))
    first = dict(zip(known, known, strict=True))
    for name, label in study.labels.items():
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
    if path in draft.study.factors:
        document.refuse(("factors", path), rule, hint=hint)
        return
    for variant in design.variants[1:]:
        pairs = zip(variant.configs, design.variants[0].configs, strict=True)
        if any(not has_path(own, path) or value_at(own, path) != value_at(base, path) for own, base in pairs):
            inside = (path,) if path in variant.patches else ()
            document.refuse((*variant.at, *inside), rule, hint=hint)


def check_metric(study: StudyBase, tasks: Sequence[Description], document: Document) -> Mapping[str, Metric]:
    """The metrics that all `tasks` have, of which the study's must be one; of several, those of the smallest range.

    `tasks` are descriptions of the baseline.
    """
    metrics = [description.metrics for description in tasks]
    shared = {
        name: min((of[name] for of in metrics), key=lambda metric: metric.span or math.inf)
        for name in metrics[0]
        if all(name in of for of in metrics)
    }
    asked, name = study.metric, study.metric.name
    judged = name or next(iter(shared), "")
    with document.reporting("metric", "name"):
        if shared and judged not in shared:
            single = "is a metric that only claims may use: no single run has it"
            rule = single if judged in derived() else "no such metric"
            raise Invalid("", rule, name, listed(shared), nearest(judged, shared))
    for first in {next(iter(of)) for of in metrics if of} - {name}:
        if study.checkpoint == "best" and name in shared:
            rule = f"keeps the weights that validation finds best by {first}, and the study judges {name}"
            document.refuse(("checkpoint",), rule, "best", "none, final", f"Choose final, or judge {first}")
    if asked.margin is not None:
        with document.reporting("metric", "margin"):
            check_margin(asked.margin, judged, shared, asked.margin)
    if asked.target is not None and judged in shared:
        with document.reporting("metric", "target"):
            for of in metrics:
                _check_target(asked.target, of[judged])
    return shared


def _check_target(value: float, metric: Metric) -> None:
    """Raises `Invalid` for a value that guessing has or nothing can reach."""
    sign = 1 if metric.direction == "max" else -1
    words = ("more than", "at most") if sign > 0 else ("less than", "at least")
    bounds = zip(words, (metric.floor, metric.ceiling), strict=True)
    allowed = ", ".join(f"{word} {of:g}" for word, of in bounds if of is not None)
    if metric.floor is not None and sign * value <= sign * metric.floor:
        raise Invalid("", "is what guessing has, so that it tells nothing", value, allowed)
    if metric.ceiling is not None and sign * value > sign * metric.ceiling:
        raise Invalid("", "is out of reach, so that it tells nothing", value, allowed)


def target_of(study: StudyBase, metrics: Mapping[str, Metric]) -> dict[str, float]:
    """The metric with the value at which a run has learned: the study's own, or that at which the task is solved."""
    name = study.metric.name or next(iter(metrics), "")
    solved = metrics[name].solved if name in metrics else None
    value = solved if study.metric.target is None else study.metric.target
    return {} if value is None else {name: value}


def claimable(draft: Draft, judged: Mapping[str, Metric], tasks: Sequence[Description]) -> Claimable:
    """All that claims may use: what is `judged`, numbers of stability, and derived metrics.

    `tasks` are descriptions of the baseline; the variants are described where these lack a metric that is claimed.
    """
    study, workload = draft.study, draft.workload
    sections = {key: study.section(key) for key in grammar()}
    offers = [
        Offer(task.metrics, sections, workload.rate_path, target_of(study, task.metrics))
        for task in tasks
        if task.metrics
    ]
    lacking = {
        name: of.lacks(offers[0]) for name, of in derived().items() if offers and all(map(of.lacks, offers))
    }
    if not judged:  # a baseline that cannot be built: any name may be one
        return Claimable({}, lacking)
    metrics = {name: of.metric for name, of in derived().items() if name not in lacking}
    metrics |= {name: metric for task in tasks for name, metric in task.stability.items()}
    asked = {found for text in study.claims for found in re.findall(r" on (\S+)", text)}
    if asked - {*metrics, *judged, *lacking}:
        for config in (config for variant in draft.design.variants for config in variant.configs):
            description = attempt(workload.describe, config)[0]
            if description:
                on_slices = {name: of for name, of in description.metrics.items() if plain(name) != name}
                metrics = {**description.stability, **on_slices, **metrics}
    first, *others = (task.constants for task in tasks)
    constants = {
        name: {*values}.intersection(*(of[name] for of in others))
        for name, values in first.items()
        if all(name in of for of in others)
    }
    # In the order in which they are listed: what is judged, then by name.
    return Claimable({**judged, **dict(sorted(metrics.items())), **judged}, lacking, constants)


def _check_readable(draft: Draft, claim: Claim) -> None:
    """Raises `Invalid` for a claim on a slice whose sequences are longer than one of its variants can read."""
    wanted = {name for name in (claim.metric, claim.metric_less) if plain(name) != name}
    for variant in (each for each in draft.design.variants if wanted and each.name in claim.variants):
        for config in variant.configs:
            description = attempt(draft.workload.describe, config)[0]
            if description and (lost := sorted(wanted - {*description.metrics})):
                rule = f"{variant.name} cannot be evaluated on {joined(lost)}: its length is fixed"
                raise Invalid("", rule, claim.text, hint="Choose positions and mixers that read any length")


def parse_claims(draft: Draft, known: Claimable, *, sides: bool) -> list[Claim]:
    """The claims of a study; problems are reported to the document.

    Without `sides`, as those of a design with mistakes of its own, nothing is said of the variants that they name.
    """
    claims: list[Claim] = []
    design = draft.design
    # A claim may be about variants before they are found.
    names = [name for feature in features() for name in feature.names(draft.study)]
    design = replace(
        design, variants=[*design.variants, *(replace(design.variants[0], name=n) for n in names)]
    )
    for index, text in enumerate(draft.study.claims):
        with draft.document.reporting("claims", index):
            claim = parse_claim(text, design if sides else None, known)
            if any(claim.hash == other.hash for other in claims):
                raise Invalid("", "is made twice", text)
            _check_readable(draft, claim)
            claims.append(claim)
    return claims
