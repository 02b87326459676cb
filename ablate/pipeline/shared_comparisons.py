"""The comparisons that a store holds by the same runs: of other studies with this baseline, and of earlier plans."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pydantic import ValidationError

from ablate.analysis.chances import NOMINAL
from ablate.analysis.family import Pair, family_size, planned_pairs
from ablate.analysis.shared_runs import SharedComparison, error_rate_of_comparisons
from ablate.base.errors import AblateError
from ablate.core import names
from ablate.core.dated_plan import DatedPlan
from ablate.core.facts import StudyFacts
from ablate.core.trial import Cell
from ablate.pipeline.plan_settings import trains_baseline_alike
from ablate.records.folder import StudyFolder
from ablate.study.schema import PLACEBO

if TYPE_CHECKING:
    import pandas as pd

IdsBySeed = dict[tuple[str, str], dict[int, str]]
"""Variant and task → seed → the id of its judged trial."""


@dataclass(frozen=True)
class SharedComparisons:
    """The comparisons by the same runs, those of the report itself among them."""

    studies: Sequence[str]
    """The names of the other reports that have some."""
    count: int
    """Their number; 0 where only the report itself has any."""
    level: float | None
    """The probability that any of them finds a difference where there is none; None where the count is 0."""


def shared_comparisons(
    folder: StudyFolder,
    facts: StudyFacts,
    trials: pd.DataFrame,
    *,
    reports_of_same_variants: Collection[str],
    stored_seeds: Collection[int],
) -> SharedComparisons:
    """Returns the comparisons by runs that the report of a folder uses, and those of its variants on other seeds.

    trials: as `Evidence.trials`. reports_of_same_variants: the names of other reports of its variants, whose
    comparisons all count. stored_seeds: the seeds of further trials of its variants, in no report. A confirmation is no
    further chance: it is believed together with what it confirms.
    """
    ids: IdsBySeed = {}
    for row in trials[["variant", "task", "seed", "id"]].to_dict("records"):
        ids.setdefault((row["variant"], row["task"]), {})[row["seed"]] = row["id"]
    own = [*_comparisons_of(facts, ids)]
    own_runs = _runs_of(own)
    found = dict.fromkeys(own)
    studies: list[str] = []
    for other in _others(folder):
        compared = [*_comparisons_in(other)]
        if other.name not in reports_of_same_variants:
            compared = [one for one in compared if not own_runs.isdisjoint(_runs_of([one]))]
        if compared:
            studies.append(other.name)
        found |= dict.fromkeys(compared)
    found |= dict.fromkeys(_of_earlier_plans(folder, facts, ids))
    if len(stored_seeds) > 1:
        found[
            SharedComparison(frozenset((f"stored {seed}", f"its baseline {seed}") for seed in stored_seeds))
        ] = None
    if len(found) == len(own):
        return SharedComparisons([], 0, None)
    count = len({one.pairs for one in found})
    return SharedComparisons(studies, count, error_rate_of_comparisons(found))


def _ids_by_seed(cells: Iterable[Cell]) -> IdsBySeed:
    """Returns the ids of judged trials by variant, task and seed."""
    ids: IdsBySeed = {}
    for cell in cells:
        if cell.judged:
            ids.setdefault((cell.variant, cell.task), {})[cell.seed] = cell.id
    return ids


def _others(folder: StudyFolder) -> Iterator[StudyFolder]:
    """Yields the other studies of a results folder, also those of which only the list of trials is left."""
    related = {names.confirming(folder.name), names.confirmed(folder.name)}
    studies = {other.name: other for other in StudyFolder.all(folder.results)}
    for other in StudyFolder.listed(folder.results):
        studies.setdefault(other.name, other)
    for name, other in studies.items():
        if name != folder.name and name not in related:
            yield other


def _comparisons_in(other: StudyFolder) -> Iterator[SharedComparison]:
    """Yields the comparisons of another study's report; none where it has none that can be read."""
    facts = other.reported_facts()
    try:
        if facts is not None:
            yield from _comparisons_of(facts, _ids_by_seed(cell for cell, _ in other.rows()))
            return
        # The folder was removed, and the list of its trials has the facts of its last report.
        report = other.trial_list.report()
        if report is not None:
            listed = StudyFacts.from_dict(report.facts)
            yield from _comparisons_of(listed, _ids_by_seed(other.trial_list.cells()))
    except (AblateError, ValidationError):
        return


def _comparisons_of(facts: StudyFacts, ids: IdsBySeed) -> Iterator[SharedComparison]:
    """Yields the planned comparisons of a report, without those of a placebo; runs by their id and the metric."""
    if facts.given:
        return
    alpha = NOMINAL / max(family_size(facts), 1)
    for pair in planned_pairs(facts):
        if not {*facts.placebos} & {*pair.a}:
            compared = SharedComparison(_pairs_by_seed(pair, ids, facts.metric), alpha)
            if len(compared.pairs) > 1:
                yield compared


def _pairs_by_seed(pair: Pair, ids: IdsBySeed, metric: str) -> frozenset[tuple[object, object]]:
    """Returns the runs of both sides on each seed that both have; of means over cells, all cells of a side as one."""
    sides: list[dict[int, object]] = []
    for variants in (pair.a, pair.b):
        of_cells = [ids.get((variant, pair.task.name), {}) for variant in variants]
        seeds = set(of_cells[0]).intersection(*of_cells)
        sides.append({seed: (*(cell[seed] for cell in of_cells), metric) for seed in seeds})
    first, second = sides
    return frozenset((first[seed], second[seed]) for seed in first.keys() & second.keys())


def _of_earlier_plans(folder: StudyFolder, facts: StudyFacts, ids: IdsBySeed) -> Iterator[SharedComparison]:
    """Yields the comparisons of variants that only earlier plans of this folder have, with the same training.

    As in a report, placebos and plans of a single seed have none. The runs are no longer listed, and have the names of
    variant, levels and seed.
    """
    plans = folder.readable_plans()
    if not plans:
        return
    *earlier, last = plans
    current = [json.dumps([name, levels], sort_keys=True) for name, levels in last.variants.items()]
    for plan in earlier:
        if not (plan.decides and trains_baseline_alike(plan, last, given={})):
            continue
        metric = str(plan.settings.get("metric.name", facts.metric))
        for name, levels in plan.variants.items():
            variant = json.dumps([name, levels], sort_keys=True)
            is_placebo = name == PLACEBO and not levels
            if variant in current or is_placebo:
                continue
            for task in facts.tasks:
                baseline = ids.get((facts.variants[0].name, task.name), {})
                yield _planned(variant, plan, task.name, metric=metric, baseline=baseline)


def _planned(
    variant: str, plan: DatedPlan, task: str, *, metric: str, baseline: Mapping[int, str]
) -> SharedComparison:
    """Returns the comparison of a variant of an earlier plan, by the runs of the baseline that are still there."""
    pairs = set()
    for seed in plan.seeds:
        run = (variant, task, seed, metric)
        pairs.add((run, (baseline.get(seed, f"baseline {task} {seed}"), metric)))
    return SharedComparison(frozenset(pairs), NOMINAL / max(plan.comparisons, 1))


def _runs_of(comparisons: Iterable[SharedComparison]) -> set[object]:
    """Returns the runs of comparisons."""
    runs: set[object] = set()
    for comparison in comparisons:
        for first, second in comparison.pairs:
            runs |= {first, second}
    return runs
