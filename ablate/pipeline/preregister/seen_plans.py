"""The earlier plans of a study whose results were seen, by the seeds that ran, and the error rate of all looks."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from ablate.base.errors import AblateError
from ablate.base.wording import joined, seeds_in_words
from ablate.core.dated_plan import DatedPlan, PlanChanges
from ablate.records.folder import StudyFolder
from ablate.records.store import Store


@dataclass(frozen=True)
class SeenPlan:
    """The seeds of an earlier plan, its looks, and those of its seeds that ran."""

    planned: list[int]
    looks: list[int]
    seeds: list[int]

    @classmethod
    def of(cls, plan: DatedPlan, seeds_run: Collection[int]) -> SeenPlan:
        """Returns a plan with the seeds that ran, of those that were planned; with all where no trial tells."""
        ran = [seed for seed in plan.seeds if seed in seeds_run]
        return cls(plan.seeds, plan.looks, ran or plan.seeds)


def seeds_run_before(plan: DatedPlan, folder: StudyFolder, store: Store) -> set[int]:
    """Returns the seeds of judged trials of a study that had begun before a plan was dated, as far as it lists them."""
    seeds: set[int] = set()
    for place in folder.of_study():
        try:
            cells = place.cells()
        except AblateError:
            continue
        for cell in cells:
            if not cell.judged or cell.seed in seeds:
                continue
            if had_begun(cell.id, store, before=plan.declared):
                seeds.add(cell.seed)
    return seeds


def had_begun(trial_id: str, store: Store, before: str) -> bool:
    """Returns whether a trial with a record had begun before a date."""
    record = store.load(trial_id)
    return record is not None and record.started_at < before


def with_error_rate(changes: PlanChanges, plan: DatedPlan, seen: Sequence[SeenPlan]) -> PlanChanges:
    """Returns changes with the error rate of a verdict on these seeds, after the looks of earlier plans.

    Of a choice with fresh seeds, the larger rate counts: that of the choice, or that of all looks.
    """
    from ablate.analysis.earlier_looks import LEAST_CHOSEN, error_rate_of_best_subset

    of_looks = _with_rate_of_looks(changes, plan, seen)
    if not may_be_picked(plan.seeds, seen):
        return of_looks
    seen_seeds = _seeds_of(_seen_when_picked(plan.seeds, seen))
    chosen = [seed for seed in plan.seeds if seed in seen_seeds]
    num_fresh = len(plan.seeds) - len(chosen)
    num_chosen = len(chosen) if num_fresh or len(chosen) < LEAST_CHOSEN else 0
    rate = error_rate_of_best_subset(len(seen_seeds), num_chosen, num_fresh)
    if num_fresh and of_looks.level is not None and of_looks.level > rate:
        return of_looks
    return replace(
        changes, looked=[seeds_in_words(seen_seeds)], level=rate, chosen=True, num_chosen=num_chosen
    )


def may_be_picked(seeds: Sequence[int], seen: Sequence[SeenPlan]) -> bool:
    """Returns whether a plan may have picked its seeds by their results: it has some seen seeds, and leaves out others.

    Three are not picked: the lowest seen seeds alone, which are an interim look; consecutive seeds with unseen ones
    among them; the seen seeds of an earlier plan that did not pick them. seen: the first plan first.
    """
    seen_seeds = _seeds_of(seen)
    chosen = [seed for seed in seeds if seed in seen_seeds]
    if not chosen or len(chosen) == len(seen_seeds):
        return False
    for index, earlier in enumerate(seen):
        if earlier.seeds == chosen:
            return may_be_picked(chosen, seen[:index])
    if len(chosen) == len(seeds):
        return chosen != seen_seeds[: len(chosen)]
    return list(seeds) != [*range(seeds[0], seeds[0] + len(seeds))]


def _seen_when_picked(seeds: Sequence[int], seen: Sequence[SeenPlan]) -> Sequence[SeenPlan]:
    """Returns the plans that were seen when these seeds were first picked; all where no earlier plan has them."""
    for index, earlier in enumerate(seen):
        if earlier.seeds == seeds:
            return seen[:index]
    return seen


def _seeds_of(seen: Sequence[SeenPlan]) -> list[int]:
    """Returns the seeds of earlier plans that ran, in order."""
    return sorted({*itertools.chain(*(earlier.seeds for earlier in seen))})


def _with_rate_of_looks(changes: PlanChanges, plan: DatedPlan, seen: Sequence[SeenPlan]) -> PlanChanges:
    """Returns changes with the error rate of the looks of all these plans together."""
    from ablate.analysis.earlier_looks import error_rate_of_looks, looks_of

    looks = looks_of(plan.seeds, plan.looks)
    for earlier in seen:
        # A sequential design that ended early would have gone on: all its looks are chances.
        looks += looks_of(earlier.planned if earlier.looks else earlier.seeds, earlier.looks)
    looked = list(dict.fromkeys(_seeds_in_words(earlier) for earlier in seen))
    return replace(changes, looked=looked, level=error_rate_of_looks(looks))


def _seeds_in_words(seen: SeenPlan) -> str:
    """Returns `0–7`, or `0–9 with looks at 5 and 10`: the seeds that ran, and the looks that were taken."""
    return planned_in_words(seen.seeds, [look for look in seen.looks if look <= len(seen.seeds)])


def planned_in_words(seeds: Sequence[int], looks: Sequence[int]) -> str:
    """Returns `0–7`, or `0–19 with looks at 5, 10, 15 and 20`."""
    words = seeds_in_words(seeds)
    return f"{words} with looks at {joined([str(look) for look in looks])}" if looks else words
