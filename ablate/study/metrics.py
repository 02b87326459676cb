"""Checks of the metrics that a study judges, and of the units in which it averages over tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ablate.base.errors import Invalid, listed, nearest
from ablate.core.derived import DERIVED
from ablate.core.metric import Description, Metric
from ablate.core.workload import Workload
from ablate.study.checks import attempt
from ablate.study.claims import check_margin
from ablate.study.designs.design import Config, Resolve
from ablate.study.document import Document
from ablate.study.schema import StudyBase


def check_metric(
    workload: Workload, baseline: list[Config], study: StudyBase, resolve: Resolve, document: Document
) -> tuple[Mapping[str, Metric], Mapping[str, float], list[Description]]:
    """The metrics that all tasks have, of which the study's must be one; the range of each that has one; and the
    description of the baseline on each task.
    """
    found = [_described(workload, config, resolve) for config in baseline]
    described = [description.metrics for description in found]
    shared = {name: info for name, info in described[0].items() if all(name in other for other in described)}
    name = study.metric.name
    if name in DERIVED and name not in shared and not document.is_faulty(("metric",)):
        rule = "is a metric that only claims may use: no single run has it"
        document.refuse(("metric", "name"), rule, name, listed(shared))
    elif shared and name is not None and name not in shared and not document.is_faulty(("metric",)):
        document.refuse(("metric", "name"), "no such metric", name, listed(shared), nearest(name, shared))
    for first in {next(iter(metrics)) for metrics in described if metrics} - {name}:
        if study.checkpoint == "best" and name in shared:
            rule = f"keeps the weights that validation finds best by {first}, and the study judges {name}"
            document.refuse(("checkpoint",), rule, "best", "none, final", f"Choose final, or judge {first}")
    spans = {metric: [span for of in described if (span := of[metric].span) is not None] for metric in shared}
    # A margin applies to every task.
    ranges = {metric: min(of) for metric, of in spans.items() if of}
    judged = name or next(iter(shared), "")
    if study.metric.margin is not None:
        with document.reporting("metric", "margin"):
            check_margin(study.metric.margin, judged, ranges, study.metric.margin)
    for other, margin in study.metric.also.items() if shared else ():
        with document.reporting("metric", "also", other):
            if other == judged:
                raise Invalid("", "is the primary metric, which is judged anyway", other)
            if other not in shared:
                raise Invalid("", "no such metric", other, listed(shared), nearest(other, shared))
            if margin is not None:
                check_margin(margin, other, ranges, margin)
    return shared, ranges, found


def _described(workload: Workload, config: Config, resolve: Resolve) -> Description:
    """The description of a config; where it cannot be built, of its task with everything else at its default."""
    task = config.get("task")
    simpler: list[Config] = [{"task": task}, {"task": {"name": task["name"]}}] if task else [{}]
    for candidate in (config, *simpler):
        description, problems = attempt(lambda given: workload.describe(resolve(given)), candidate)
        if not problems:
            return description
    return Description({})


def units(
    study: StudyBase, tasks: Sequence[str], described: Sequence[Description], metric: str
) -> dict[str, float]:
    """Task → the difference in `metric` that counts as one unit in the aggregate; empty where there is none."""
    asked = study.metric.aggregate
    if isinstance(asked, dict):
        return dict(asked)
    spans = {
        task: of.metrics[metric].span
        for task, of in zip(tasks, described, strict=True)
        if metric in of.metrics
    }
    return {task: span for task, span in spans.items() if span} if asked == "range" else {}


def check_units(
    study: StudyBase, tasks: Sequence[str], described: Sequence[Description], metric: str, document: Document
) -> None:
    """Refuses an aggregate that lacks a unit, or has one too many."""
    asked = study.metric.aggregate
    if asked is None or document.is_faulty(("metric", "aggregate")):
        return
    known = units(study, tasks, described, metric)
    with document.reporting("metric", "aggregate"):
        if len(tasks) < 2:
            raise Invalid("", "averages over tasks, and the study has one", asked, hint="Leave it out")
        for task in known:
            if task not in tasks:
                raise Invalid(task, "is no task of the study", task, listed(tasks), nearest(task, tasks))
        if lacking := [task for task in tasks if task not in known]:
            rule = f"has no unit for {listed(lacking)}"
            if asked == "range":
                rule = f"cannot take the range of {metric} on {listed(lacking)}, which has none"
            raise Invalid("", rule, asked, f"a positive number for each of {listed(tasks)}")
