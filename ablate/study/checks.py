"""Checks before the first trial: everything builds, every variant changes something, every claim can be judged."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from ablate.base.datafile import FOLDER
from ablate.base.errors import NOT_GIVEN, Invalid, Problem, StudyError, listed, nearest
from ablate.base.plugins import raised_by_plugin
from ablate.base.probe import described
from ablate.base.registry import CATALOGUE, StrictModel
from ablate.core.claim import Claim
from ablate.core.metric import Description, Metric
from ablate.core.workload import Workload
from ablate.study.claimable import claimable
from ablate.study.claims import parse_claim
from ablate.study.designs.design import Config, Design, Resolve
from ablate.study.document import Document, PathKey
from ablate.study.expand import CHANGES_NOTHING, report_at
from ablate.study.labels import short_label
from ablate.study.load import translated
from ablate.study.patch import value_at
from ablate.study.schema import PLACEBO, StudyBase, winner_names
from ablate.study.sections.search import MAX_WINNERS
from ablate.study.sides import Refused

MAX_TRIALS = 1_000_000
MAX_CHECKED = 500
"""Variants of a factorial that are all built before the first is trained; of more, a sample is."""


def check_keeping(workload: Workload, study: StudyBase, document: Document) -> None:
    """Refuses to keep weights or states that the workload does not give."""
    if study.checkpoint != "none" and not workload.keeps_weights:
        document.refuse(
            ("checkpoint",),
            f"needs a workload that keeps weights, which {study.workload} does not",
            study.checkpoint,
            "none",
        )
    if study.save_every is not None and not workload.resumes:
        document.refuse(
            ("save_every",),
            f"needs a workload that can resume inside a trial, which {study.workload} cannot",
            study.save_every,
            hint="Leave it out",
        )


def check_faulty_paths(study: StudyBase, baseline: Config, document: Document) -> None:
    """Checks the paths of sections that were refused for another reason, so that one mistake does not hide the next."""
    sections: dict[str, Config] = {k: found for k, found in document.data.items() if isinstance(found, dict)}
    named: list[tuple[str, PathKey]] = []
    for kind in ("search", "tune"):
        over = sections.get(kind, {}).get("over")
        over = over if isinstance(over, dict) else {}
        for path in over:
            outer = any(path.startswith(f"{other}.") for other in over)
            if document.is_faulty((kind, "over", path)) and not outer:
                named.append((path, (kind, "over", path)))
    by = sections.get("match", {}).get("by")
    if study.match is None and isinstance(by, str):
        named.append((by, ("match", "by")))
    for path, at in named:
        with document.reporting(*at, given=NOT_GIVEN):
            value_at(baseline, path)


def with_stand_in(baseline: list[Config], resolve: Resolve, document: Document) -> list[Config]:
    """The baseline on some other task, when the study's own cannot be read: so that more mistakes are found."""
    for name in CATALOGUE.names("task"):
        try:
            return [resolve({**config, "task": name}) for config in baseline]
        except Invalid:
            continue
    raise StudyError(document.problems)


def resolved(model: type[StrictModel], config: Mapping[str, Any], folder: Path) -> Config:
    """A config with its defaults filled in, and files relative to `folder`.

    Raises `Invalid` with paths from its root.
    """
    try:
        return model.model_validate(config, context={FOLDER: folder}).model_dump()
    except ValidationError as error:
        raise Invalid.many(translated(error, model, config)) from None


def check_baseline(workload: Workload, baseline: list[Config], document: Document) -> list[Problem]:
    """Builds the baseline; its problems."""
    found: list[Problem] = []
    for index, config in enumerate(baseline):
        problems = attempt(workload.check, config)[1] or attempt(workload.describe, config)[1]
        found += problems
        for problem in problems:
            several = problem.path[:1] == ("task",) and len(baseline) > 1
            path = ("tasks", index, *problem.path[1:]) if several else problem.path
            if not document.is_faulty(path):
                document.report(replace(problem, path=path))
    return found


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


def check_design(
    workload: Workload, study: StudyBase, design: Design, known: list[Problem], document: Document
) -> None:
    """The variants of a study: their number, whether they build, their names for readers."""
    _check_number(study, design, document)
    _check_variants(workload, design, known, document)
    _check_labels(study, design, document)


def _check_number(study: StudyBase, design: Design, document: Document) -> None:
    """Refuses a study of more trials than anyone trains."""
    each = 1 + sum(map(len, study.stress.values()))
    count = len(design.variants) * len(design.variants[0].configs) * study.seeds.count * each
    if count > MAX_TRIALS:
        rule = "make too many trials, one for each variant, task and seed"
        document.refuse(("seeds",), rule, count, f"at most {MAX_TRIALS:,}")


def _check_variants(workload: Workload, design: Design, known: list[Problem], document: Document) -> None:
    """Builds every distinct variant; in a large factorial each level and an even sample of the rest.

    Problems of the baseline, which are `known`, are not repeated.
    """
    levels = [v for v in design.variants if len(v.patches) == 1]
    rest = [v for v in design.variants if len(v.patches) > 1]
    before = len(document.problems)
    for group in (levels, rest[:: max(1, -(-len(rest) // MAX_CHECKED))]):
        for variant in group if len(document.problems) == before else ():
            found = [problem for config in variant.configs for problem in attempt(workload.check, config)[1]]
            report_at([p for p in found if p not in known], variant.patches, variant.at, document)


def _check_labels(study: StudyBase, design: Design, document: Document) -> None:
    """Refuses a label of what the study does not have, and one for two things."""
    levels = {
        f"{path}={level}": None for path in design.paths for level in design.labels(path).values() if level
    }
    winners = winner_names(study.search.winners) if study.search is not None else []
    known = list(dict.fromkeys([*(variant.name for variant in design.variants), *winners, *levels]))
    for name, label in study.labels.items():
        first = next(other for other, given in study.labels.items() if given == label)
        if name not in known:
            hint = nearest(name, known)
            document.refuse(("labels", name), "is neither a variant nor a level", name, listed(known), hint)
        elif name != first:
            document.refuse(("labels", name), f"is also the label of {first}", label, "a label of its own")


def parse_claims(
    workload: Workload,
    study: StudyBase,
    design: Design,
    metrics: Mapping[str, Metric],
    ranges: Mapping[str, float],
    described: Sequence[Description],
    document: Document,
) -> list[Claim]:
    """The claims of a study; problems are reported to the document.

    `metrics`, `ranges` and `described` are of `check_metric`.
    """
    configs = (config for variant in design.variants for config in variant.configs)
    others = (found for config in configs if (found := attempt(workload.describe, config)[0]))
    beside = claimable(workload, study, described, others, document)
    if metrics:
        metrics, ranges = {**beside.metrics, **metrics}, {**beside.ranges, **ranges}
    claims: list[Claim] = []
    if study.search is not None:
        # A claim may be about winners before they are known.
        winners = [replace(design.variants[0], name=name) for name in winner_names(study.search.winners)]
        design = replace(design, variants=[*design.variants, *winners])
    refused = _refused(document, design)
    for index, text in enumerate(study.claims):
        if not document.is_faulty(("claims", index)):
            with document.reporting("claims", index):
                claim = parse_claim(text, design, metrics, ranges, refused, beside.lacking)
                if claim is None:
                    continue
                if any(claim.hash == known.hash for known in claims):
                    raise Invalid("", "is made twice", text)
                claims.append(claim)
    return claims


def _refused(document: Document, design: Design) -> Refused:
    """The variants and levels that the document has and the design lacks, since something is wrong with them."""
    given = document.data
    factors, variants = given.get("factors") or {}, given.get("variants") or {}
    # Under a design that cannot be, it is unknown which variants there are.
    if not (isinstance(factors, dict) and isinstance(variants, dict)) or document.is_faulty(("design",)):
        return Refused(everything=True)
    names = {*variants} - {variant.name for variant in design.variants}
    if document.is_faulty(("search",)):
        names |= {*winner_names(MAX_WINNERS)}
    if document.is_faulty(("placebo",)):
        names.add(PLACEBO)
    levels = {
        path: [short_label(value) for value in values] if isinstance(values, list) else []
        for path, values in factors.items()
        if path not in design.paths or document.is_faulty(("factors", path))
    }
    wrong = {problem.path for problem in document.problems}
    return Refused(names, levels, [path for path in levels if ("factors", path) in wrong])


def check_live(workload: Workload, design: Design, document: Document) -> None:
    """Every level under `model.`, alone, must change the parameters or the output of the baseline."""
    levels: list[tuple[PathKey, Mapping[str, Any], list[Config]]] = [
        (level.at, {path: level.value}, level.configs)
        for path, found in design.factors.items()
        for level in found
    ]
    levels += [(v.at, v.patches, v.configs) for v in design.variants if v.at[:1] == ("variants",)]
    models = [level for level in levels if all(path.split(".")[0] == "model" for path in level[1])]
    if not models:
        return
    reference = [attempt(workload.fingerprint, config) for config in design.variants[0].configs]
    for _, problems in reference:
        document.report_all(problems)
    for at, patches, configs in models:
        if document.is_faulty(at):
            continue
        found = [attempt(workload.fingerprint, config) for config in configs]
        problems = [problem for _, faults in found for problem in faults]
        if not problems and found == reference:
            rule = (
                "changes nothing: under one seed, its parameters and output equal the baseline's bit for bit"
            )
            problems = [Problem(rule, hint=CHANGES_NOTHING)]
        report_at(problems, patches, at, document)
