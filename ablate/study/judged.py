"""What a study is judged by: its metric, and the claims that it can make."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from ablate.base.errors import Invalid, listed, nearest
from ablate.base.wording import joined
from ablate.core.derived import DERIVED, StudyContext
from ablate.core.facts import Claim
from ablate.core.metric import Description, Metric, plain, sign
from ablate.study.checks import Draft, attempt
from ablate.study.claims import Claimable, check_margin, parse_claim
from ablate.study.document import Document
from ablate.study.schema import StudyConfig


def check_metric(
    config: StudyConfig, tasks: Sequence[Description], document: Document
) -> Mapping[str, Metric]:
    """The metrics that all `tasks` have, of which the study's must be one; of several, those of the smallest range.

    `tasks` are descriptions of the baseline.
    """
    metrics = [description.metrics for description in tasks]
    shared = {
        name: min((of[name] for of in metrics), key=lambda metric: metric.span or math.inf)
        for name in metrics[0]
        if all(name in of for of in metrics)
    }
    asked, name = config.metric, config.metric.name
    judged = name or next(iter(shared), "")
    with document.reporting("metric", "name"):
        if shared and judged not in shared:
            single = "is a metric that only claims may use: no single run has it"
            rule = single if judged in DERIVED else "no such metric"
            raise Invalid("", rule, name, listed(shared), nearest(judged, shared))
    for first in {next(iter(of)) for of in metrics if of} - {name}:
        if config.checkpoint == "best" and name in shared:
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
    words = ("more than", "at most") if metric.direction == "max" else ("less than", "at least")
    bounds = zip(words, (metric.floor, metric.ceiling), strict=True)
    allowed = ", ".join(f"{word} {of:g}" for word, of in bounds if of is not None)
    if metric.floor is not None and sign(metric) * (value - metric.floor) <= 0:
        raise Invalid("", "is what guessing has, so that it tells nothing", value, allowed)
    if metric.ceiling is not None and sign(metric) * (value - metric.ceiling) > 0:
        raise Invalid("", "is out of reach, so that it tells nothing", value, allowed)


def target_of(config: StudyConfig, metrics: Mapping[str, Metric]) -> dict[str, float]:
    """The metric with the value at which a run has learned: the study's own, or that at which the task is solved."""
    name = config.metric.name or next(iter(metrics), "")
    solved = metrics[name].solved if name in metrics else None
    value = solved if config.metric.target is None else config.metric.target
    return {} if value is None else {name: value}


def claimable(draft: Draft, judged: Mapping[str, Metric], tasks: Sequence[Description]) -> Claimable:
    """All that claims may use: what is `judged`, numbers of stability, and derived metrics.

    `tasks` are descriptions of the baseline; the variants are described where these lack a metric that is claimed.
    """
    config, workload = draft.config, draft.workload
    contexts = [
        StudyContext(task.metrics, draft.outline.metrics, workload.rate_path, target_of(config, task.metrics))
        for task in tasks
        if task.metrics
    ]
    lacking = {}
    for name, derived in DERIVED.items():
        if contexts and all(derived.lacks(context) for context in contexts):
            lacking[name] = derived.lacks(contexts[0])
    if not judged:  # a baseline that cannot be built: any name may be one
        return Claimable({}, lacking)
    metrics = {name: of.metric for name, of in DERIVED.items() if name not in lacking}
    metrics |= {name: metric for task in tasks for name, metric in task.stability.items()}
    asked = {found for text in config.claims for found in re.findall(r" on (\S+)", text)}
    if asked - {*metrics, *judged, *lacking}:
        for trained in (each for variant in draft.design.variants for each in variant.configs):
            description = attempt(workload.describe, trained)[0]
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
    # A claim may be about variants before they are found.
    baseline = draft.design.variants[0]
    to_be_found = [replace(baseline, name=name) for name in draft.outline.variant_names]
    variants = [*draft.design.variants, *to_be_found]
    design = replace(draft.design, variants=variants)
    for index, text in enumerate(draft.config.claims):
        with draft.document.reporting("claims", index):
            claim = parse_claim(text, design if sides else None, known)
            if any(claim.hash == other.hash for other in claims):
                raise Invalid("", "is made twice", text)
            _check_readable(draft, claim)
            claims.append(claim)
    return claims
