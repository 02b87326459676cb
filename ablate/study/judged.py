"""The metric that a study is judged by, and the claims that it can make."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from ablate.base.errors import Invalid, listed, nearest
from ablate.base.wording import joined
from ablate.core.derived import DERIVED, StudyContext
from ablate.core.facts import TRIAL_COLUMNS, Claim
from ablate.core.metric import Description, Metric, plain
from ablate.core.metric_range import check_margin, check_reachable
from ablate.core.workload import Workload
from ablate.study.checks import attempt
from ablate.study.claims import Claimable, parse_claim
from ablate.study.designs import Design
from ablate.study.document import Document
from ablate.study.draft import Draft
from ablate.study.forms import Addends
from ablate.study.schema import StudyConfig


def check_metric(draft: Draft, tasks: Sequence[Description]) -> Mapping[str, Metric]:
    """Returns the metrics that all tasks have, and reports what is wrong with the study's own.

    `tasks` are descriptions of the baseline. Of a metric that differs between tasks it is that of the smallest range.
    """
    config = draft.config
    document = draft.document
    asked = config.metric
    metrics = _shared_metrics(tasks)
    judged = asked.name or next(iter(metrics), "")
    if metrics and judged not in metrics:
        rule = "no such metric"
        if judged in DERIVED:
            rule = "can only be used in claims: it is computed over several runs"
        document.refuse(("metric", "name"), rule, asked.name, listed(metrics), nearest(judged, metrics))
    if config.checkpoint == "best" and asked.name in metrics:
        _check_best_checkpoint(asked.name, tasks, document)
    if asked.margin is not None and not _is_scaled(judged, draft, tasks):
        with document.reporting("metric", "margin"):
            check_margin(asked.margin, judged, metrics.get(judged), asked.margin)
    _check_solved(config, tasks, document)
    if asked.target is not None and judged in metrics:
        with document.reporting("metric", "target"):
            for task in tasks:
                check_reachable(asked.target, task.metrics[judged])
    return metrics


def _is_scaled(metric: str, draft: Draft, tasks: Sequence[Description]) -> bool:
    """Returns whether margins of a metric are in units of each condition's range or scale, not in its own."""
    if draft.config.over != "mean":
        return False
    return Addends(draft.tasks, tasks, draft.config.scale).scaled_limit(metric) is not None


def check_metric_names(draft: Draft, tasks: Sequence[Description]) -> None:
    """Refuses metrics that tables and claims could not tell from something else of the same name."""
    document = draft.document
    is_declared = isinstance(document.data.get("metrics"), dict)
    names: dict[str, None] = {}
    for task in tasks:
        names |= dict.fromkeys(task.metrics)
    for name in names:
        path = ("metrics", name) if is_declared else ("workload",)
        if name in TRIAL_COLUMNS:
            rule = "is already the name of a column of the tables"
            document.refuse(path, rule, name, f"any but {', '.join(TRIAL_COLUMNS)}")
        elif name in DERIVED:
            rule = "is the name of a metric that ablate itself computes"
            document.refuse(path, rule, name, f"any but {', '.join(DERIVED)}")
        elif name in draft.design.paths:
            rule = "is also the name of a factor"
            document.refuse(path, rule, name, f"any but {listed(draft.design.paths)}")


def _check_solved(config: StudyConfig, tasks: Sequence[Description], document: Document) -> None:
    """Refuses the value at which a task counts as solved, where the study gives it and no run can show it."""
    given = document.data.get("tasks") or [document.data.get("task")] * len(tasks)
    for index, (section, task) in enumerate(zip(given, tasks, strict=False)):
        if not isinstance(section, dict) or section.get("solved") is None:
            continue
        place = ("task",) if document.data.get("task") else ("tasks", index)
        for metric in task.metrics.values():
            if metric.solved is not None:
                with document.reporting(*place, "solved"):
                    check_reachable(metric.solved, metric)


def check_step(
    config: StudyConfig, workload: Workload, metrics: Mapping[str, Metric], document: Document
) -> None:
    """Refuses the best step by validation data where no record can have the judged metric there."""
    if config.metric.at == "best_validation":
        judged = config.metric.name or next(iter(metrics), "")
        with document.reporting("metric", "at"):
            workload.check_best_validation(judged, metrics)


def _shared_metrics(tasks: Sequence[Description]) -> dict[str, Metric]:
    """Returns the metrics that all tasks have, each with the smallest range that it has on a task."""
    shared: dict[str, Metric] = {}
    for name in tasks[0].metrics:
        if all(name in task.metrics for task in tasks):
            of_tasks = [task.metrics[name] for task in tasks]
            shared[name] = min(of_tasks, key=lambda metric: metric.span or math.inf)
    return shared


def _check_best_checkpoint(judged: str, tasks: Sequence[Description], document: Document) -> None:
    """Refuses to keep the best weights where validation finds them by another metric than the judged one."""
    first_metrics = [next(iter(task.metrics)) for task in tasks if task.metrics]
    for first in dict.fromkeys(first_metrics):
        if first != judged:
            rule = f"would keep the weights with the best validation {first}, but the study judges {judged}"
            document.refuse(("checkpoint",), rule, "best", "none, final", f"Choose final, or judge {first}")


def target_of(config: StudyConfig, metrics: Mapping[str, Metric]) -> dict[str, float]:
    """Returns primary metric → the value at which a run has learned.

    The study says it, or else its task; nothing where neither does.
    """
    name = config.metric.name or next(iter(metrics), "")
    if config.metric.target is not None:
        return {name: config.metric.target}
    if name not in metrics:
        return {}
    solved = metrics[name].solved
    return {} if solved is None else {name: solved}


def claimable(draft: Draft, judged: Mapping[str, Metric], tasks: Sequence[Description]) -> Claimable:
    """Returns all that claims may use: what is `judged`, numbers of stability, derived metrics, and constants.

    `tasks` are descriptions of the baseline; the variants are described where these lack a metric that is claimed.
    """
    lacking = _lacking_metrics(draft, tasks)
    if not judged:  # a baseline that cannot be built: any name may be one
        return Claimable({}, lacking, conditions=_by_condition(draft, tasks), along=draft.config.along or "")
    metrics = {name: derived.metric for name, derived in DERIVED.items() if name not in lacking}
    for task in tasks:
        metrics.update(task.stability)
    claimed: set[str] = set()
    for text in draft.config.claims:
        claimed.update(re.findall(r" on (\S+)", text))
    if claimed - {*metrics, *judged, *lacking}:
        metrics = _metrics_of_variants(draft) | metrics
    # In the order in which they are listed: what is judged, then by name.
    metrics = {name: metric for name, metric in sorted(metrics.items()) if name not in judged}
    return Claimable(
        {**judged, **metrics},
        lacking,
        _shared_constants(tasks),
        conditions=_by_condition(draft, tasks),
        along=draft.config.along or "",
        scaled=[metric for metric in judged if _is_scaled(metric, draft, tasks)],
    )


def _by_condition(draft: Draft, tasks: Sequence[Description]) -> dict[str, Mapping[str, Metric]]:
    """Returns condition, or task, → its metrics; none of one that cannot be resolved."""
    by_condition: dict[str, Mapping[str, Metric]] = {name: {} for name in draft.config.conditions}
    for name, description in zip(draft.tasks, tasks, strict=True):
        if name:
            by_condition[name] = description.metrics
    return by_condition


def _lacking_metrics(draft: Draft, tasks: Sequence[Description]) -> dict[str, str]:
    """Returns derived metric that the study lacks on all tasks → what it would have to give."""
    contexts: list[StudyContext] = []
    for task in tasks:
        if task.metrics:
            context = StudyContext(
                metrics=task.metrics,
                of_stages=draft.outline.metrics,
                rate_path=draft.workload.rate_path,
                target=target_of(draft.config, task.metrics),
                times_runs=draft.workload.times_runs,
            )
            contexts.append(context)
    lacking: dict[str, str] = {}
    for name, derived in DERIVED.items():
        if contexts and all(derived.lacks(context) for context in contexts):
            lacking[name] = derived.lacks(contexts[0])
    return lacking


def _metrics_of_variants(draft: Draft) -> dict[str, Metric]:
    """Returns the numbers of stability and the metrics on slices that any variant has.

    Of several variants with one name, the first decides what it is.
    """
    metrics: dict[str, Metric] = {}
    for variant in draft.design.variants:
        for config in variant.configs.values():
            description = attempt(draft.workload.describe, config).result
            if description:
                metrics = {**description.stability, **_on_slices(description), **metrics}
    return metrics


def _on_slices(description: Description) -> dict[str, Metric]:
    """Returns the metrics on evaluation slices."""
    return {name: metric for name, metric in description.metrics.items() if plain(name) != name}


def _shared_constants(tasks: Sequence[Description]) -> dict[str, set[str]]:
    """Returns constant that all tasks have → the metrics that it has a value of on each."""
    first, *others = [task.constants for task in tasks]
    shared: dict[str, set[str]] = {}
    for name, values in first.items():
        if all(name in constants for constants in others):
            shared[name] = set(values).intersection(*[constants[name] for constants in others])
    return shared


def parse_claims(draft: Draft, known: Claimable, tasks: Sequence[Description], *, sides: bool) -> list[Claim]:
    """Returns the claims of a study; what is wrong with them is reported to its document.

    `tasks` are descriptions of the baseline. Without `sides`, as those of a design with mistakes of its own, nothing is
    said of the variants that they name.
    """
    design: Design | None = None
    if sides:
        # A claim may be about variants before they are found.
        baseline = draft.design.variants[0]
        to_be_found = [replace(baseline, name=name) for name in draft.outline.variant_names]
        design = replace(draft.design, variants=[*draft.design.variants, *to_be_found])
    claims: list[Claim] = []
    for index, text in enumerate(draft.config.claims):
        with draft.document.reporting("claims", index):
            claim = parse_claim(text, design, known)
            if any(claim.hash == other.hash for other in claims):
                raise Invalid("", "is listed twice", text)
            _check_readable(draft, claim)
            _check_added(draft, claim, tasks)
            claims.append(claim)
    return claims


def _check_added(draft: Draft, claim: Claim, tasks: Sequence[Description]) -> None:
    """Raises `Invalid` for a claim that adds the differences of conditions in a metric that cannot be added."""
    config = draft.config
    follows_mean = config.over == "mean" and not claim.condition and len(tasks) > 1
    is_by_condition = claim.less is not None and bool(claim.less.condition)
    if not (follows_mean or is_by_condition or claim.kind == "gains"):
        return
    metric = claim.metric
    instead = f"Write `on {metric} at NAME`, for one condition"
    if metric in DERIVED and DERIVED[metric].kind != "mean":
        rule = f"is about {metric}, which is computed over several runs, and has no mean over conditions"
        raise Invalid("", rule, claim.text, hint=instead)
    addends = Addends(draft.tasks, tasks, config.scale)
    is_said = metric == (config.metric.name or next(iter(tasks[0].metrics), ""))
    if not (is_said and (config.over == "mean" or config.along is not None)):
        addends.check(metric, claim.text, instead)
    if follows_mean:
        addends.check_margin(claim.by, metric, claim.text)


def _check_readable(draft: Draft, claim: Claim) -> None:
    """Raises `Invalid` for a claim on a slice that is too long for one of its variants."""
    slices = {name for name in claim.metrics if plain(name) != name}
    if not slices:
        return
    for variant in draft.design.variants:
        if variant.name not in claim.variants:
            continue
        for config in variant.configs.values():
            description = attempt(draft.workload.describe, config).result
            unread = sorted(slices - set(description.metrics)) if description else []
            if unread:
                rule = f"{variant.name} cannot be evaluated on {joined(unread)}: its length is fixed"
                raise Invalid("", rule, claim.text, hint="Choose positions and mixers that read any length")
