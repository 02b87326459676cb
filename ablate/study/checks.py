"""What is checked of a study before its first trial: that everything builds, is live, and says what it means."""

from __future__ import annotations

import dataclasses
import traceback
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from pydantic import ValidationError

from ablate.base.errors import NOT_GIVEN, Invalid, Problem, StudyError, listed, nearest
from ablate.base.registry import CATALOGUE, Section
from ablate.core.claim import Claim
from ablate.core.metric import Metric
from ablate.core.workload import Workload
from ablate.study.claims import parse_claim
from ablate.study.designs import Config, Design, Variant, report_at
from ablate.study.document import Document, PathKey
from ablate.study.load import translated
from ablate.study.patch import value_at
from ablate.study.schema import StudyBase, winner_names

MAX_CHECKED = 500
"""Variants of a factorial that are all built before the first is trained; of more, a sample is."""


def check_keeping(workload: Workload, study: StudyBase, document: Document) -> None:
    """Refuses to keep what the workload does not hand out."""
    if study.checkpoint != "none" and not workload.keeps_weights:
        rule = f"needs a workload that keeps weights, which {study.workload} does not"
        document.report(Problem(rule, ("checkpoint",), study.checkpoint, "none"))
    if study.save_every is not None and not workload.resumes:
        rule = f"needs a workload that can go on inside a trial, which {study.workload} cannot"
        document.report(Problem(rule, ("save_every",), study.save_every, hint="Leave it out"))


def check_faulty_paths(study: StudyBase, baseline: list[Config], document: Document) -> None:
    """Looks for the paths of what was refused for another reason: a mistake must not hide the next."""
    for kind in ("search", "tune"):
        section = document.data.get(kind)
        over = section.get("over") if isinstance(section, dict) else None
        for path in over if isinstance(over, dict) else ():
            outer = any(path.startswith(f"{other}.") for other in over)  # type: ignore[union-attr]
            if document.is_faulty((kind, "over", path)) and not outer:
                _check_path(path, (kind, "over", path), baseline, document)
    section = document.data.get("match")
    if study.match is None and isinstance(section, dict) and isinstance(section.get("by"), str):
        _check_path(section["by"], ("match", "by"), baseline, document)


def _check_path(path: str, at: PathKey, baseline: list[Config], document: Document) -> None:
    try:
        value_at(baseline[0], path)
    except Invalid as error:
        for problem in error.problems:
            document.report(dataclasses.replace(problem, path=at, given=NOT_GIVEN))


def with_stand_in(baseline: list[Config], resolver: Resolver, document: Document) -> list[Config]:
    """The baseline on some other task, when the study's own cannot be read: so that more mistakes are found."""
    for name in CATALOGUE.names("task"):
        try:
            return [resolver({**config, "task": name}) for config in baseline]
        except Invalid:
            continue
    raise StudyError(document.problems)


class Resolver:
    """Validates a config and fills in its defaults."""

    def __init__(self, model: type[Section]) -> None:
        self.model = model

    def __call__(self, config: Mapping[str, Any]) -> Config:
        """The config, resolved; raises `Invalid` with paths from its root."""
        try:
            return self.model.model_validate(config).model_dump()
        except ValidationError as error:
            raise Invalid.many(translated(error, self.model, config)) from None


def check_baseline(workload: Workload, baseline: list[Config], document: Document) -> list[Problem]:
    """Builds the baseline; what is wrong with it."""
    found: list[Problem] = []
    for index, config in enumerate(baseline):
        problems = attempt(workload.check, config)[1] or attempt(workload.describe, config)[1]
        found += problems
        for problem in problems:
            path = problem.path
            if path[:1] == ("task",) and len(baseline) > 1:
                path = ("tasks", index, *path[1:])
            if not document.is_faulty(path):
                document.report(dataclasses.replace(problem, path=path))
    return found


def attempt(method: Callable[[Config], Any], config: Config) -> tuple[Any, list[Problem]]:
    """What a method of the workload says of a config, or what is wrong with it: also when a part of the
    user's raises an error of its own.
    """
    try:
        return method(config), []
    except Invalid as error:
        return None, error.problems
    except Exception as error:
        frame = traceback.extract_tb(error.__traceback__)[-1]
        hint = f"It was raised in line {frame.lineno} of {frame.filename}"
        reason = (str(error).splitlines() or [""])[0][:300]
        return None, [Problem(f"cannot be built: {type(error).__name__}: {reason}", hint=hint)]


def check_variants(workload: Workload, design: Design, known: list[Problem], document: Document) -> None:
    """Builds every distinct variant; in a large factorial each level and an even sample of the rest.

    What is wrong with the baseline already is not repeated.
    """
    levels = [v for v in design.variants if len(v.patches) == 1]
    rest = [v for v in design.variants if len(v.patches) > 1]
    before = len(document.problems)
    for variant in levels:
        _check_variant(workload, variant, known, document)
    if len(document.problems) == before:
        for variant in rest[:: max(1, -(-len(rest) // MAX_CHECKED))]:
            _check_variant(workload, variant, known, document)


def _check_variant(workload: Workload, variant: Variant, known: list[Problem], document: Document) -> None:
    for config in variant.configs:
        new = [problem for problem in attempt(workload.check, config)[1] if problem not in known]
        report_at(new, variant.patches, variant.at, document)


def check_metric(
    workload: Workload, baseline: list[Config], study: StudyBase, resolver: Resolver, document: Document
) -> Mapping[str, Metric]:
    """The metrics that all tasks have; the study's must be one of them."""
    described = [_metrics(workload, config, resolver) for config in baseline]
    shared = {name: info for name, info in described[0].items() if all(name in other for other in described)}
    name = study.metric.name
    if shared and name is not None and name not in shared and not document.is_faulty(("metric",)):
        hint = nearest(name, shared)
        document.report(Problem("no such metric", ("metric", "name"), name, listed(shared), hint))
    return shared


def _metrics(workload: Workload, config: Config, resolver: Resolver) -> Mapping[str, Metric]:
    """The metrics of a config; where it cannot be built, those of its task with everything else at its default."""
    task = config.get("task")
    simpler: list[Config] = [{"task": task}, {"task": {"name": task["name"]}}] if task else [{}]
    for candidate in (config, *simpler):
        description, problems = attempt(lambda given: workload.describe(resolver(given)), candidate)
        if not problems:
            found: Mapping[str, Metric] = description.metrics
            return found
    return {}


def read_claims(
    study: StudyBase, design: Design, metrics: Mapping[str, Metric], document: Document
) -> list[Claim]:
    """The claims of a study; what is wrong with them is reported to the document."""
    claims: list[Claim] = []
    if study.search is not None:
        # Nobody knows them yet, but what is expected of them can be said.
        names = winner_names(study.search.winners)
        winners = [Variant(name, design.variants[0].configs) for name in names]
        design = dataclasses.replace(design, variants=[*design.variants, *winners])
    for index, text in enumerate(study.claims):
        at = ("claims", index)
        # A side cannot be judged when the factor that it names is at fault itself.
        faulty = [p for p in study.factors if p not in design.paths or document.is_faulty(("factors", p))]
        if any(path in text for path in faulty):
            continue
        try:
            claim = parse_claim(text, design, metrics or _AnyMetric())
        except Invalid as error:
            for problem in error.problems:
                document.report(dataclasses.replace(problem, path=at))
            continue
        if any(claim.hash == known.hash for known in claims):
            document.report(Problem("is made twice", at, text))
        claims.append(claim)
    return claims


class _AnyMetric:
    """Stands for the metrics of a baseline that cannot be built."""

    def __contains__(self, name: object) -> bool:
        return True

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0


def check_live(workload: Workload, design: Design, document: Document) -> None:
    """Every level under `model.`, alone, must change the parameters or the output of the baseline."""
    baseline = design.variants[0]
    models: list[tuple[PathKey, Mapping[str, Any], list[Config]]] = [
        (level.at, {f.path: level.value}, level.configs)
        for f in design.factors
        if _is_model(f.path)
        for level in f.levels
    ]
    models += [
        (v.at, v.patches, v.configs)
        for v in design.variants
        if v.at[:1] == ("variants",) and all(map(_is_model, v.patches))
    ]
    if not models:
        return
    reference = [attempt(workload.fingerprint, config) for config in baseline.configs]
    for problem in (problem for _, problems in reference for problem in problems):
        document.report(problem)
    for at, patches, configs in models:
        if document.is_faulty(at):
            continue
        found = [attempt(workload.fingerprint, config) for config in configs]
        problems = [problem for _, faults in found for problem in faults]
        if not problems and found == reference:
            rule = "changes nothing: under one seed, parameters and output are bitwise the baseline's"
            problems = [Problem(rule, hint="Give it another value, or take it out")]
        report_at(problems, patches, at, document)


def _is_model(path: str) -> bool:
    return path.split(".")[0] == "model"
