"""The metrics that a study judges, its claims, and the metrics that these may be about beside them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from ablate.base.errors import Invalid, listed, nearest
from ablate.core.derived import Offer
from ablate.core.facts import Claim
from ablate.core.feature import derived, features, grammar
from ablate.core.metric import Description, Metric
from ablate.core.workload import Workload
from ablate.study.checks import Draft, attempt
from ablate.study.claims import Claimable, check_margin, parse_claim
from ablate.study.designs.design import Config, Resolve
from ablate.study.document import Document
from ablate.study.schema import StudyBase


def described(workload: Workload, config: Config, resolve: Resolve) -> Description:
    """The description of a config; where it cannot be built, of its task with everything else at its default."""
    task = config.get("task")
    simpler: list[Config] = [{"task": task}, {"task": {"name": task["name"]}}] if task else [{}]
    for candidate in (config, *simpler):
        description, problems = attempt(lambda given: workload.describe(resolve(given)), candidate)
        if not problems:
            return description
    return Description({})


def check_metric(study: StudyBase, tasks: Sequence[Description], document: Document) -> Claimable:
    """The metrics that all `tasks` have, of which the study's must be one; these are descriptions of the baseline."""
    metrics = [description.metrics for description in tasks]
    shared = {name: info for name, info in metrics[0].items() if all(name in other for other in metrics)}
    spans = {name: [span for of in metrics if (span := of[name].span) is not None] for name in shared}
    ranges = {name: min(of) for name, of in spans.items() if of}
    asked, name = study.metric, study.metric.name
    with document.reporting("metric", "name"):
        if name in derived() and name not in shared:
            rule = "is a metric that only claims may use: no single run has it"
            raise Invalid("", rule, name, listed(shared))
        if shared and name is not None and name not in shared:
            raise Invalid("", "no such metric", name, listed(shared), nearest(name, shared))
    for first in {next(iter(of)) for of in metrics if of} - {name}:
        if study.checkpoint == "best" and name in shared:
            rule = f"keeps the weights that validation finds best by {first}, and the study judges {name}"
            document.refuse(("checkpoint",), rule, "best", "none, final", f"Choose final, or judge {first}")
    judged = name or next(iter(shared), "")
    if asked.margin is not None:
        with document.reporting("metric", "margin"):
            check_margin(asked.margin, judged, ranges, asked.margin)
    if asked.target is not None and judged in shared:
        with document.reporting("metric", "target"):
            for of in metrics:
                _check_target(asked.target, of[judged])
    return Claimable(shared, ranges)


def _check_target(value: float, metric: Metric) -> None:
    """Raises `Invalid` for a value that guessing has or nothing can reach."""
    sign = 1 if metric.direction == "max" else -1
    guessed = metric.floor is not None and sign * value <= sign * metric.floor
    if guessed or (metric.ceiling is not None and sign * value > sign * metric.ceiling):
        rule = f"is {'what guessing has' if guessed else 'out of reach'}, so that it tells nothing"
        words = ("more than", "at most") if sign > 0 else ("less than", "at least")
        bounds = zip(words, (metric.floor, metric.ceiling), strict=True)
        raise Invalid("", rule, value, ", ".join(f"{word} {of:g}" for word, of in bounds if of is not None))


def target_of(study: StudyBase, metrics: Mapping[str, Metric]) -> dict[str, float]:
    """The metric with the value at which a run has learned: the study's own, or that at which the task is solved."""
    name = study.metric.name or next(iter(metrics), "")
    solved = metrics[name].solved if name in metrics else None
    value = solved if study.metric.target is None else study.metric.target
    return {} if value is None else {name: value}


def claimable(draft: Draft, judged: Claimable, tasks: Sequence[Description]) -> Claimable:
    """All that claims may use: what is `judged`, numbers of stability, and derived metrics.

    `tasks` are descriptions of the baseline; of the variants no more are described than it needs to know what is
    claimed.
    """
    study, workload = draft.study, draft.workload
    asked = {found[1] for text in study.claims if (found := re.search(r" on (\S+)", text))}
    numbers = {name: metric for task in tasks for name, metric in task.stability.items()}
    known = {*derived(), *(name for task in tasks for name in task.metrics)}
    for config in (config for variant in draft.design.variants for config in variant.configs):
        if asked <= {*known, *numbers}:
            break
        one = attempt(workload.describe, config)[0]
        numbers = {**one.stability, **numbers} if one else numbers
    sections = {key: study.section(key) for key in grammar()}
    offers = [
        Offer(task.metrics, sections, workload.rate_path, target_of(study, task.metrics))
        for task in tasks
        if task.metrics
    ]
    lacking = {
        name: of.lacks(offers[0]) for name, of in derived().items() if offers and all(map(of.lacks, offers))
    }
    if not judged.metrics:  # a baseline that cannot be built: any name may be one
        return Claimable({}, {}, lacking)
    metrics = numbers | {name: of.metric for name, of in derived().items() if name not in lacking}
    ranges = {name: metric.span for name, metric in metrics.items() if metric.span is not None}
    return Claimable({**metrics, **judged.metrics}, {**ranges, **judged.ranges}, lacking)


def parse_claims(draft: Draft, known: Claimable, *, sides: bool) -> list[Claim]:
    """The claims of a study; problems are reported to the document.

    Without `sides`, as those of a design with mistakes of its own, nothing is said of the variants that they name.
    """
    claims: list[Claim] = []
    design = draft.design
    # A claim may be about variants before they are found.
    names = [name for feature in features() for name in feature.names(draft.study)]
    later = [replace(design.variants[0], name=name) for name in names]
    design = replace(design, variants=[*design.variants, *later])
    for index, text in enumerate(draft.study.claims):
        with draft.document.reporting("claims", index):
            claim = parse_claim(text, design if sides else None, known)
            if any(claim.hash == other.hash for other in claims):
                raise Invalid("", "is made twice", text)
            claims.append(claim)
    return claims
