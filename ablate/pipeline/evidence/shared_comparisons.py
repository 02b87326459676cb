"""The comparisons that a store holds by the same runs: of other studies with this baseline, and of earlier plans."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import ValidationError

from ablate.analysis.chances import NOMINAL
from ablate.analysis.family import Pair, family_size, planned_pairs
from ablate.analysis.shared_runs import SharedComparison, error_rate_of_comparisons
from ablate.base.errors import AblateError
from ablate.base.files import digest_of_data
from ablate.core import names
from ablate.core.dated_plan import DatedPlan, trains_nothing
from ablate.core.facts import StudyFacts
from ablate.core.trial import Cell
from ablate.pipeline.evidence.reused import trained_ids
from ablate.pipeline.preregister.plan_settings import trains_baseline_alike
from ablate.records.facts_file import facts_from
from ablate.records.folder import StudyFolder
from ablate.study.schema import PLACEBO

if TYPE_CHECKING:
    import pandas as pd

IdsBySeed = dict[tuple[str, str], dict[int, str]]
"""Variant and task → seed → the id under which its judged trial was trained."""


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
    stored_times: Mapping[int, int],
) -> SharedComparisons:
    """Returns the comparisons by runs that the report of a folder uses, and those of its variants on other seeds.

    trials: as `Evidence.trials`. reports_of_same_variants: the names of other reports of its variants, whose
    comparisons all count. stored_times: seed → how often its variants have further trials, in no report. A confirmation
    is no further chance: it is believed together with what it confirms.
    """
    ids: IdsBySeed = {}
    trained = trained_ids(trials["id"], folder.results, facts.plan.kept)
    for row in trials[["variant", "task", "seed", "id"]].to_dict("records"):
        ids.setdefault((row["variant"], row["task"]), {})[row["seed"]] = trained[row["id"]]
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
        found |= dict.fromkeys(_at_level_of_chosen(compared, own))
    found |= dict.fromkeys(_of_earlier_plans(folder, facts, ids))
    found |= dict.fromkeys(_of_stored(stored_times))
    if len(found) == len(own):
        return SharedComparisons([], 0, None)
    count = len({one.pairs for one in found})
    return SharedComparisons(studies, count, error_rate_of_comparisons(found))


def _ids_by_seed(cells: Iterable[Cell], results: Path, num_kept: int) -> IdsBySeed:
    """Returns the ids under which judged trials were trained, by variant, task and seed."""
    judged = [cell for cell in cells if cell.judged]
    trained = trained_ids([cell.id for cell in judged], results, num_kept)
    ids: IdsBySeed = {}
    for cell in judged:
        ids.setdefault((cell.variant, cell.task), {})[cell.seed] = trained[cell.id]
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
            cells = [cell for cell, _ in other.rows()]
            yield from _comparisons_of(facts, _ids_by_seed(cells, other.results, facts.plan.kept))
            return
        # The folder was removed, and the list of its trials has the facts of its last report.
        report = other.trial_list.report()
        if report is not None:
            listed = facts_from(report.facts)
            cells = other.trial_list.cells()
            yield from _comparisons_of(listed, _ids_by_seed(cells, other.results, listed.plan.kept))
    except (AblateError, ValidationError):
        return


def _comparisons_of(facts: StudyFacts, ids: IdsBySeed) -> Iterator[SharedComparison]:
    """Yields the planned comparisons of a report, without those of a placebo; runs by their id and the metric."""
    if facts.is_given:
        return
    alpha = NOMINAL / max(family_size(facts), 1)
    for pair in planned_pairs(facts):
        if not {*facts.placebos} & {*pair.a}:
            compared = SharedComparison(_pairs_by_seed(pair, ids, facts.metric), alpha)
            if len(compared.pairs) > 1:
                yield compared


def _pairs_by_seed(pair: Pair, ids: IdsBySeed, metric: str) -> frozenset[tuple[object, object]]:
    """Returns the runs of both sides on each seed that both have.

    Of means over cells, all cells of a side count as one run, and so do those of all conditions.
    """
    sides: list[dict[int, object]] = []
    for variants in (pair.a, pair.b):
        of_cells = [ids.get((variant, task.name), {}) for task in pair.tasks for variant in variants]
        seeds = set(of_cells[0]).intersection(*of_cells)
        sides.append({seed: (*(cell[seed] for cell in of_cells), metric) for seed in seeds})
    first, second = sides
    return frozenset((first[seed], second[seed]) for seed in first.keys() & second.keys())


def _at_level_of_chosen(
    compared: Sequence[SharedComparison], own: Sequence[SharedComparison]
) -> Sequence[SharedComparison]:
    """Returns comparisons of another report; at the level of the report's own where these are some of them.

    What is left of a family may have been chosen by its results: any of the others could have been left in its place.
    """
    pairs = {one.pairs for one in compared}
    own_pairs = {one.pairs for one in own}
    if not own or not own_pairs < pairs:
        return compared
    return [replace(one, alpha=max(one.alpha, own[0].alpha)) for one in compared]


def _of_stored(times: Mapping[int, int]) -> Iterator[SharedComparison]:
    """Yields a comparison for each time that variants were trained on several seeds, in no report."""
    for number in range(max(times.values(), default=0)):
        seeds = [seed for seed, count in times.items() if count > number]
        if len(seeds) > 1:
            runs = [(f"stored {seed} {number}", f"its baseline {seed} {number}") for seed in seeds]
            yield SharedComparison(frozenset(runs))


@dataclass(frozen=True)
class _Planned:
    """A variant of a plan, which is compared with the baseline."""

    training: str
    """A digest of how all variants train; empty where they do so as in the last plan."""
    metric: str
    variant: str
    """Its name and levels, as JSON."""
    seeds: tuple[int, ...]

    @property
    def without_seeds(self) -> _Planned:
        """The same on no seed, to be compared with those on other seeds."""
        return replace(self, seeds=())

    def pairs(self, task: str, baseline: Mapping[int, str]) -> frozenset[tuple[object, object]]:
        """Returns its runs and those of the baseline on each seed, by name, as they are no longer listed.

        baseline: seed → the id of its run, where the report still has it.
        """
        training = (self.training,) if self.training else ()
        pairs = set()
        for seed in self.seeds:
            run = (*training, self.variant, task, seed, self.metric)
            beside = (*training, baseline.get(seed, f"baseline {task} {seed}"), self.metric)
            pairs.add((run, beside))
        return frozenset(pairs)


def _of_earlier_plans(folder: StudyFolder, facts: StudyFacts, ids: IdsBySeed) -> Iterator[SharedComparison]:
    """Yields the comparisons of earlier plans of this folder that it no longer has, and that no other report has.

    These are of variants that only they have, by another metric, or by another training of all. Seeds alone are no
    difference: earlier looks count those (`seen_plans`). As in a report, placebos and plans of a single seed have none.
    """
    plans = folder.readable_plans()
    if not plans:
        return
    *earlier, last = plans
    current = {planned.without_seeds for planned in _planned_in(last, last, facts)}
    of_other_reports = _planned_in_other_reports(folder, last, facts)
    for plan in earlier:
        if not plan.decides:
            continue
        alpha = _alpha(plan, last)
        for planned in _planned_in(plan, last, facts):
            if planned.without_seeds in current or planned in of_other_reports:
                continue
            for task in facts.tasks:
                listed = {} if planned.training else ids.get((facts.variants[0].name, task.name), {})
                yield SharedComparison(planned.pairs(task.name, listed), alpha)


def _planned_in(plan: DatedPlan, last: DatedPlan, facts: StudyFacts) -> list[_Planned]:
    """Returns what a plan compares with its baseline; `last`: the plan whose training is that of the report."""
    training = _training(plan, last)
    metric = str(plan.settings.get("metric.name", facts.metric))
    return [_Planned(training, metric, variant, tuple(plan.seeds)) for variant in _variants(plan)]


def _planned_in_other_reports(folder: StudyFolder, last: DatedPlan, facts: StudyFacts) -> set[_Planned]:
    """Returns what the other reports of a study compare, which are counted as such."""
    planned: set[_Planned] = set()
    for other in folder.of_study():
        plans = other.readable_plans()
        if other.name != folder.name and other.has_report and plans:
            planned |= {*_planned_in(plans[-1], last, facts)}
    return planned


def _variants(plan: DatedPlan) -> list[str]:
    """Returns the variants of a plan with their levels, as JSON; without its placebo."""
    return [
        json.dumps([name, levels], sort_keys=True)
        for name, levels in plan.variants.items()
        if name != PLACEBO or levels
    ]


def _training(plan: DatedPlan, last: DatedPlan) -> str:
    """Returns a digest of how a plan trains its variants; empty where the baseline trains as in the last plan."""
    if trains_baseline_alike(plan, last, given={}):
        return ""
    of_training = {path: value for path, value in plan.settings.items() if not trains_nothing(path)}
    return digest_of_data(json.loads(json.dumps(of_training, default=str)))


def _alpha(plan: DatedPlan, last: DatedPlan) -> float:
    """Returns the level of each comparison of an earlier plan: that of the last one if it keeps only some of them."""
    num_comparisons = max(plan.comparisons, 1)
    if {*_variants(last)} < {*_variants(plan)} and plan.seeds == last.seeds:
        num_comparisons = max(min(num_comparisons, last.comparisons), 1)
    return NOMINAL / num_comparisons


def _runs_of(comparisons: Iterable[SharedComparison]) -> set[object]:
    """Returns the runs of comparisons."""
    runs: set[object] = set()
    for comparison in comparisons:
        for first, second in comparison.pairs:
            runs |= {first, second}
    return runs
