"""The differences that the seeds of a study can detect, by pairs that are known.

Known pairs are those of the last report, or of trials in the store. Only the spread of their differences is used,
never the differences themselves.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean

from ablate.analysis.chances import weights
from ablate.analysis.family import Pair, family_size, planned_pairs
from ablate.analysis.power import ALPHA, LEAST_PAIRS
from ablate.analysis.prospects import Outlook, Power, Terms, outlook, outlook_of_mean
from ablate.base.errors import AblateError, Problem
from ablate.base.wording import exact
from ablate.core import names
from ablate.core.facts import BASELINE, Evidence, StudyFacts, TaskFacts
from ablate.core.over import MEAN
from ablate.core.record import Record
from ablate.core.trial import Cell
from ablate.pipeline.evidence.comparable import comparable
from ablate.pipeline.evidence.from_records import gather
from ablate.pipeline.plan.condition_plan import addends_of
from ablate.records.folder import StudyFolder
from ablate.study.study import Study


@dataclass(frozen=True)
class KnownPairs:
    """Evidence that has enough pairs to tell the spread of their differences."""

    evidence: Evidence
    # Where it comes from, in words.
    source: str


def power(
    study: Study,
    facts: StudyFacts,
    known_pairs: KnownPairs | None,
    *,
    detect: float | None = None,
) -> Power:
    """Returns what the seeds of a study can detect on its primary metric.

    facts: those of the report, with the variants that stages will add. detect: a difference that the seeds should find.
    Raises `AblateError` for one that is larger than any.
    """
    metric = facts.metric
    tasks = [task for task in facts.tasks if metric in task.metrics]
    if detect is not None:
        _refuse_impossible(detect, study, facts, tasks)

    seeds = study.config.seeds
    comparisons = family_size(facts)
    planned = planned_pairs(facts)
    looks = max(1, len(seeds.looks))
    level = ALPHA * weights(looks)[-1] / max(comparisons, 1)
    terms = Terms(seeds.count, level, facts.margin, detect)
    evidence = known_pairs.evidence if known_pairs is not None else None
    pairs = _judged_pairs(study, planned)
    return Power(
        metric,
        seeds.count,
        comparisons,
        claims=comparisons - len(planned) if facts.family == "all" else comparisons,
        level=level,
        looks=looks,
        source=known_pairs.source if known_pairs is not None else "",
        tasks=_outlooks(facts, tasks, pairs, evidence, terms) if comparisons else [],
        asked=detect,
        claims_in_order=len(facts.claims) if facts.family == "ordered" else 0,
    )


def _outlooks(
    facts: StudyFacts,
    tasks: Sequence[TaskFacts],
    pairs: Sequence[Pair],
    evidence: Evidence | None,
    terms: Terms,
) -> list[Outlook]:
    """Returns what comparisons can tell on each task or, where the study judges it, by their mean."""
    if facts.over.form == MEAN:
        return [outlook_of_mean(tasks, facts.metric, pairs, evidence, terms, facts.over.scales)]
    outlooks: list[Outlook] = []
    for task in tasks:
        on_task = [pair for pair in pairs if task in pair.tasks]
        outlooks.append(outlook(task, facts.metric, on_task, evidence, terms))
    return outlooks


def _judged_pairs(study: Study, planned: Sequence[Pair]) -> list[Pair]:
    """Returns the planned comparisons of variants that the study file gives, without those of a placebo."""
    names = {variant.name for variant in study.variants if not variant.placebo}
    return [pair for pair in planned if names.issuperset((*pair.a, *pair.b))]


def _refuse_impossible(detect: float, study: Study, facts: StudyFacts, tasks: Sequence[TaskFacts]) -> None:
    """Raises `AblateError` for a difference that is larger than any that the judged number can show."""
    largest, rule = _largest_difference(study, facts, tasks)
    if detect <= largest:
        return
    allowed = f"above 0, up to {exact(largest)}"
    raise AblateError(str(Problem(rule, given=detect, allowed=allowed, source="--detect")))


def _largest_difference(study: Study, facts: StudyFacts, tasks: Sequence[TaskFacts]) -> tuple[float, str]:
    """Returns the largest difference that the judged number can show, and the rule that a larger one breaks.

    The difference is in the metric on one task or, if the study judges the mean over its conditions, in that mean: in
    units of their scales, where these differ. It is infinite where a metric has no range.
    """
    metric = facts.metric
    spans = [task.metrics[metric].span or math.inf for task in tasks]
    if facts.over.form != MEAN:
        return max(spans, default=math.inf), f"is more than {metric} can differ by"
    rule = f"is more than the mean of {metric} can differ by"
    limit = addends_of(study).scaled_limit(metric)
    if limit is None:
        return (fmean(spans) if spans else math.inf), rule
    return limit, f"{rule}, in units of each condition's range or scale"


def reported_pairs(facts: StudyFacts, results: Path) -> KnownPairs | None:
    """Returns the pairs of the last report of a study, or of a report that it repeats or differs from."""
    reports = [facts.study, names.written(facts.study), names.confirmed(facts.study)]
    for name in dict.fromkeys(reports):
        if name is None:
            continue
        folder = StudyFolder(results, name)
        with suppress(AblateError):
            if not folder.has_report:
                continue
            evidence = folder.evidence()
            is_judged_alike = (evidence.facts.metric, evidence.facts.column) == (facts.metric, facts.column)
            if is_judged_alike and _has_pairs(evidence):
                return KnownPairs(evidence, f"the last report, {folder.path}")
    return None


def stored_pairs(
    facts: StudyFacts, cells: Sequence[Cell], records: Mapping[str, Record], warn: Callable[[str], None]
) -> KnownPairs | None:
    """Returns the pairs among stored trials of a study, with the variants as its file gives them."""
    ran = [cell for cell in cells if cell.id in records]
    facts = replace(facts, seeds=list(dict.fromkeys(cell.seed for cell in ran)))
    evidence = gather(facts, ran, comparable(ran, records, warn))
    return KnownPairs(evidence, "trials in the store") if _has_pairs(evidence) else None


def _has_pairs(evidence: Evidence) -> bool:
    """Returns whether enough seeds to tell a spread have ended on both sides of some comparison."""
    ended = evidence.trials[evidence.trials["status"].isin(["completed", "diverged"])]
    is_baseline = ended["variant"] == BASELINE
    baseline_seeds = set(ended.loc[is_baseline, "seed"])
    variant_seeds = set(ended.loc[~is_baseline, "seed"])
    return len(baseline_seeds & variant_seeds) >= LEAST_PAIRS
