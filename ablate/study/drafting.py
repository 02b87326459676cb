"""The draft of a study that agrees with the schema: expanded, checked, with all mistakes of meaning."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
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
from ablate.study.conditions import Condition, check_conditions, read_conditions
from ablate.study.designs import Resolve
from ablate.study.document import Document, base_of
from ablate.study.draft import Draft
from ablate.study.expand import expand
from ablate.study.forms import check_forms
from ablate.study.ids import TrialIds
from ablate.study.judged import check_metric, check_metric_names, check_step, claimable, parse_claims
from ablate.study.patch import apply_patches, value_at
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
    conditions = _conditions(config, workload, resolve, document)
    check_conditions(config, outline.varied_paths, document)
    with_stack = _with_stack(config, conditions, resolve, document)
    baseline = {condition.name: condition.config for condition in with_stack.conditions}

    problems_before = len(document.problems)
    descriptions, baseline_problems = describe_baseline(workload, with_stack.conditions, document)
    config = _with_margin(config, descriptions[0].metrics)
    expanded = config.model_copy(update={"factors": with_stack.factors})
    design = expand(expanded, baseline, resolve, document)
    draft = Draft(
        workload=workload,
        config=config,
        design=design,
        resolve=resolve,
        document=document,
        outline=outline,
        conditions=with_stack.conditions,
    )
    check_study(draft)
    check_variants(draft, baseline_problems)
    is_whole = len(document.problems) == problems_before

    metrics = check_metric(draft, descriptions)
    check_metric_names(draft, descriptions)
    check_step(config, workload, metrics, document)
    check_forms(draft, descriptions)
    claims = parse_claims(draft, claimable(draft, metrics, descriptions), descriptions, sides=is_whole)
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
        tasks=[condition.name for condition in conditions],
        claims=claims,
        resolve=resolve,
        ids=TrialIds(workload),
        variants=design.variants,
    )
    return DraftedStudy(draft, study, is_whole)


def _conditions(
    config: StudyConfig, workload: Workload, resolve: Resolve, document: Document
) -> list[Condition]:
    """Returns the conditions of a study, at least one, with the baseline's config in each."""
    conditions = read_conditions(config, workload, resolve, document)
    if config.metric.at != "best_validation" or not workload.best_path:
        return conditions
    with_best: list[Condition] = []
    for condition in conditions:
        patched = apply_patches(condition.config, {workload.best_path: True})
        with_best.append(replace(condition, config=patched))
    return with_best


@dataclass(frozen=True)
class _Stacked:
    """The conditions and the factors of a study, after its design has laid its stack of changes over the baseline."""

    conditions: Sequence[Condition]
    factors: Mapping[str, list[Any]]


def _with_stack(
    config: StudyConfig, conditions: Sequence[Condition], resolve: Resolve, document: Document
) -> _Stacked:
    """Returns the conditions with the stack of `design: leave_one_out`, each change of which can be taken out.

    A stack that cannot be laid over the baseline is reported, and left out.
    """
    stack = getattr(config.design, "stack", None)
    if not stack:
        return _Stacked(conditions, config.factors)
    with document.reporting("design", "stack"):
        stacked: list[Condition] = []
        for condition in conditions:
            patched = resolve(apply_patches(condition.config, stack))
            stacked.append(replace(condition, config=patched))
        factors = dict(config.factors)
        for path in stack:
            value_without = value_at(conditions[0].config, path)
            factors[path] = [value_without, *factors.get(path, [])]
        return _Stacked(stacked, factors)
    return _Stacked(conditions, config.factors)


def _with_margin(config: StudyConfig, metrics: Mapping[str, Metric]) -> StudyConfig:
    """Returns a study with the margin of its metric, where it gives none itself."""
    asked = config.metric
    metric = metrics.get(asked.name or next(iter(metrics), ""))
    if metric is None or asked.margin is not None:
        return config
    with_margin = asked.model_copy(update={"margin": metric.margin})
    return config.model_copy(update={"metric": with_margin})
