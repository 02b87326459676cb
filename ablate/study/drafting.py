"""The draft of a study that agrees with the schema: expanded, checked, with all mistakes of meaning."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from ablate.core.metric import Metric
from ablate.core.workload import Workload
from ablate.study.checks import (
    check_compare,
    check_labels,
    check_live,
    check_study,
    check_told_apart,
    check_variants,
    describe_baseline,
    resolved,
)
from ablate.study.designs import Config, Resolve
from ablate.study.document import Document, base_of
from ablate.study.draft import Draft
from ablate.study.expand import expand
from ablate.study.ids import TrialIds
from ablate.study.judged import check_metric, check_metric_names, check_step, claimable, parse_claims
from ablate.study.patch import apply_patches, key_of, level_labels, value_at
from ablate.study.schema import StudyConfig, config_model
from ablate.study.stage_config import StageOutline
from ablate.study.study import Study


@dataclass(frozen=True)
class DraftedStudy:
    """A study whose own checks are done; its problems are in its document."""

    draft: Draft
    study: Study
    # Whether all variants can be built, so that stages may check them.
    is_whole: bool


def draft_study(
    document: Document, config: StudyConfig, workload: Workload, outline: StageOutline
) -> DraftedStudy:
    """Expands a study that agrees with the schema, and checks it.

    All mistakes of meaning, as far as they do not follow from one another, are reported to the document.
    """
    folder = base_of(document.path, config.folder)
    resolve = partial(resolved, config_model(workload), folder=folder)
    sections = list(workload.schema())
    baseline = _baseline(config, workload, sections)
    tasks = _task_labels(baseline, sections, document)
    with_stack = _with_stack(config, baseline, resolve, document)

    problems_before = len(document.problems)
    descriptions, baseline_problems = describe_baseline(workload, with_stack.baseline, document)
    config = _with_margin(config, descriptions[0].metrics)
    expanded = config.model_copy(update={"factors": with_stack.factors})
    design = expand(expanded, with_stack.baseline, resolve, document)
    draft = Draft(
        workload=workload,
        config=config,
        design=design,
        resolve=resolve,
        document=document,
        outline=outline,
    )
    check_study(draft)
    check_variants(draft, baseline_problems)
    is_whole = len(document.problems) == problems_before

    metrics = check_metric(config, descriptions, document)
    check_metric_names(draft, descriptions)
    check_step(config, workload, metrics, document)
    claims = parse_claims(draft, claimable(draft, metrics, descriptions), sides=is_whole)
    # What is wrong with a variant itself is said once.
    if is_whole:
        check_labels(draft)
        check_compare(draft)
        check_live(draft)
        check_told_apart(draft)
    study = Study(
        path=document.path,
        document=document,
        config=config,
        workload=workload,
        design=design,
        tasks=tasks,
        claims=claims,
        resolve=resolve,
        ids=TrialIds(workload),
        variants=design.variants,
    )
    return DraftedStudy(draft, study, is_whole)


def _baseline(config: StudyConfig, workload: Workload, sections: list[str]) -> list[Config]:
    """Returns the baseline's config on each task."""
    baseline = config.configs(sections)
    if config.metric.at == "best_validation" and workload.best_path:
        return [apply_patches(task_config, {workload.best_path: True}) for task_config in baseline]
    return baseline


def _task_labels(baseline: list[Config], sections: list[str], document: Document) -> list[str]:
    """Returns the labels of the tasks, one empty label without tasks; refuses a task that is named twice."""
    if "task" not in sections:
        return [""]
    tasks = [task_config["task"] for task_config in baseline]
    label_of = level_labels(tasks)
    labels = [label_of[key_of(task)] for task in tasks] or [""]
    for label in dict.fromkeys(labels):
        if labels.count(label) > 1:
            document.refuse(("tasks",), "names the same task twice", label)
    return labels


@dataclass(frozen=True)
class _Stacked:
    """The baseline and the factors of a study, after its design has laid its stack of changes over the baseline."""

    baseline: list[Config]
    factors: Mapping[str, list[Any]]


def _with_stack(
    config: StudyConfig, baseline: list[Config], resolve: Resolve, document: Document
) -> _Stacked:
    """Returns the baseline with the stack of `design: leave_one_out`, each change of which can be taken out.

    A stack that cannot be laid over the baseline is reported, and left out.
    """
    stack = getattr(config.design, "stack", None)
    if not stack:
        return _Stacked(baseline, config.factors)
    with document.reporting("design", "stack"):
        stacked = [resolve(apply_patches(task_config, stack)) for task_config in baseline]
        factors = dict(config.factors)
        for path in stack:
            value_without = value_at(baseline[0], path)
            factors[path] = [value_without, *factors.get(path, [])]
        return _Stacked(stacked, factors)
    return _Stacked(baseline, config.factors)


def _with_margin(config: StudyConfig, metrics: Mapping[str, Metric]) -> StudyConfig:
    """Returns a study with the margin of its metric, where it gives none itself."""
    asked = config.metric
    metric = metrics.get(asked.name or next(iter(metrics), ""))
    if metric is None or asked.margin is not None:
        return config
    with_margin = asked.model_copy(update={"margin": metric.margin})
    return config.model_copy(update={"metric": with_margin})
