"""The trials on which verdicts depend, asked for look by look until everything is settled.

What a look decides follows from the records of its seeds alone, so that a kill, or another number of jobs, changes no
decision: the same command takes the same looks again, from the store, and goes on.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ablate.analysis.further_runs import Place, unsettled
from ablate.base.wording import joined
from ablate.core.events import SHARED_OR_STORED, Plan
from ablate.core.facts import Claim, Evidence, StudyFacts
from ablate.core.record import Record
from ablate.core.trial import Cell
from ablate.pipeline.evidence.comparable import comparable
from ablate.pipeline.evidence.from_records import gather
from ablate.pipeline.preregister.claims import mark_post_hoc
from ablate.pipeline.requested import requested
from ablate.pipeline.without_effect import FIRST_PAIRS, compared_variants, in_all_tasks, without_effect
from ablate.session.options import Options
from ablate.session.stage import Stage
from ablate.study.facts import facts_of
from ablate.study.study import Study

if TYPE_CHECKING:
    from ablate.session.session import Session


def plan_trials(
    study: Study, stages: Sequence[Stage], claims: Sequence[Claim], session: Session
) -> TrialPlan:
    """Plans the trials of a study whose variants are chosen, and lists them before they are trained."""
    study = study.settling()
    claims = mark_post_hoc(claims, study.cells(), session.store)
    return TrialPlan(study, stages, claims, session.enlist, stops=not session.options.keep_going)


class TrialPlan(Plan):
    """The plan of a study's trials, a look at a time; a fixed number of seeds is a single look."""

    def __init__(
        self,
        study: Study,
        stages: Sequence[Stage] = (),
        claims: Sequence[Claim] = (),
        enlist: Callable[[Sequence[Cell]], None] = lambda cells: None,
        *,
        stops: bool = False,
    ) -> None:
        """Asks stages for their companions of the study's cells; `claims` have their dates.

        enlist: is called with cells before they are trained. stops: whether a user's own code is trained no further for
        a variant that changes no number of the baseline's.
        """
        self.study = study
        self.stages = stages
        self.claims = claims
        self._enlist = enlist
        # By role: judged cells, those that stages train beside them, and those that chose the variants.
        judged = study.cells()
        self.cells = list(judged)
        for stage in stages:
            self.cells += stage.companions(study, judged)
        self.cells += study.selection.cells

        seeds = study.config.seeds
        self._looks = seeds.looks or [seeds.count]
        # A user's own flag may do nothing: the first pairs are compared before the others are trained.
        self._compares_first = stops and study.workload.runs_apart and self._looks[0] > FIRST_PAIRS
        if self._compares_first:
            self._looks = [FIRST_PAIRS, *self._looks]
        self._looks_taken = 0
        self._stopped: set[Place] = set()
        self._seed_index = {seed: index for index, seed in enumerate(seeds.values)}
        # The number of seeds that looks have asked for at each place, and the places that may need more.
        self._seeds_asked: dict[Place, int] = {}
        self._unsettled = {_place(cell) for cell in self.cells if cell.seed in self._seed_index}
        # The judged cells at settings as chosen, and the number of those that stages have followed up.
        self._judged = judged
        self._num_followed_up = 0
        enlist(self.cells)

    def next_cells(self, records: Mapping[str, Record]) -> Sequence[Cell]:
        """Returns the cells that stages follow up, then those of the next look; none when settled."""

        @functools.cache
        def evidence() -> Evidence:  # made only where something is decided by it
            return self._seed_evidence(records)

        if self._compares_first and self._looks_taken == 1:
            self._stopped = self._without_effect(records)
            self._unsettled -= self._stopped | self._left_alone()
            return self._take_look() if self._unsettled else []

        follow_up = self._follow_up(evidence)
        if follow_up:
            self._enlist(follow_up)
            self.cells += follow_up
            self._num_followed_up += len(follow_up)
            return follow_up

        if self._looks_taken == len(self._looks):
            self._unsettled = set()
        elif self._looks_taken:
            self._unsettled &= unsettled(evidence())
        if not self._unsettled:
            return []
        return self._take_look()

    def _without_effect(self, records: Mapping[str, Record]) -> set[Place]:
        """Returns where variants change no number; where verdicts are over conditions, those that do so in none."""
        places = without_effect(self.study, self.used, records)
        if not self.facts().over.joins_conditions:
            return places
        return in_all_tasks(places, [*self.study.tasks])

    def _left_alone(self) -> set[Place]:
        """Returns the places on tasks on which all variants were stopped, so that the baseline has no use."""
        variants = compared_variants(self.study)
        compared = {place[1] for place in self._unsettled - self._stopped if place[0] in variants}
        return {place for place in self._unsettled if place[1] not in compared}

    def _take_look(self) -> list[Cell]:
        """Takes the next look at what is not settled, and returns the cells that it adds."""
        # As objects, since cells may share a trial. The first look asks for cells on other seeds, too.
        asked = {id(cell) for cell in self.used} if self._looks_taken else set()
        self._seeds_asked |= dict.fromkeys(self._unsettled, self._looks[self._looks_taken])
        self._looks_taken += 1
        return [cell for cell in self.used if id(cell) not in asked]

    def _follow_up(self, evidence: Callable[[], Evidence]) -> list[Cell]:
        """Returns the cells that stages ask for once the judged cells so far are trained."""
        judged = [cell for cell in self.used if cell.judged]
        planned = {cell.name for cell in self.cells}
        follow_up: list[Cell] = []
        for stage in self.stages:
            cells = stage.follow_up(self.study, judged, evidence)
            follow_up += [cell for cell in cells if cell.name not in planned]
        return follow_up

    def _seed_evidence(self, records: Mapping[str, Record]) -> Evidence:
        """Returns the evidence of the seeds so far."""
        return self.evidence(self.facts(), comparable(self.used, records, lambda text: None))

    @property
    def left(self) -> int:
        """The most trainings that may follow those already asked for."""
        used = {cell.id for cell in self.used}
        possible = {cell.id for cell in self.cells if _place(cell) in self._unsettled}
        return len(possible - used) + self._max_follow_ups()

    def _max_follow_ups(self) -> int:
        """Returns how many more trainings at runner-up settings may follow."""
        if not self._has_runner_ups:
            return 0
        runner_ups = {variant.name: variant.runner_ups for variant in self.study.variants}
        most = 0
        for cell in self._judged:
            if self._is_asked(cell) or _place(cell) in self._unsettled:
                most += len(runner_ups[cell.variant].get(cell.task, {}))
        return max(0, most - self._num_followed_up)

    @property
    def _has_runner_ups(self) -> bool:
        return any(any(variant.runner_ups.values()) for variant in self.study.variants)

    @property
    def reason(self) -> str:
        """Why there are fewer trainings than announced, in words."""
        if self._stopped:
            return f"{joined(self.stopped)} changed none of the baseline's numbers under the first {FIRST_PAIRS} seeds"
        if self._has_runner_ups:
            has_looks = bool(self.study.config.seeds.looks)
            added = (
                "seeds and runner-up settings are added" if has_looks else "runner-up settings are trained"
            )
            return f"{added} only where a verdict depends on them and no other trial is the same"
        if self.study.config.seeds.looks:
            return "seeds are added only where a comparison is open"
        return SHARED_OR_STORED

    @property
    def stopped(self) -> list[str]:
        """The variants that are trained no further on some task, since they change no number."""
        return list(dict.fromkeys(variant for variant, _ in sorted(self._stopped)))

    @property
    def used(self) -> list[Cell]:
        """The cells that have been asked for."""
        return [cell for cell in self.cells if self._is_asked(cell)]

    def _is_asked(self, cell: Cell) -> bool:
        """Returns whether looks have come to the seed of a cell; cells on other seeds, as of a search, come first."""
        if cell.seed not in self._seed_index:
            return True
        return self._seed_index[cell.seed] < self._seeds_asked.get(_place(cell), 0)

    def wanted(self, options: Options) -> Callable[[Cell], bool]:
        """Returns a function that tells whether the options ask for a cell. Raises `StudyError`."""
        judged = [cell for cell in self.cells if cell.judged]
        wanted = requested(judged, options.only, options.seed, options.condition)
        wanted_runs = {(cell.variant, cell.task, cell.seed) for cell in wanted}
        return lambda cell: (cell.variant, cell.task, cell.seed) in wanted_runs

    def facts(self) -> StudyFacts:
        """Returns the facts of the study, for judging: seeds asked so far, claims its variants can decide."""
        decidable = {claim.hash for claim in self.study.claims}
        facts = facts_of(self.study, [claim for claim in self.claims if claim.hash in decidable])
        looks = self.study.config.seeds.looks
        if not (looks or self._stopped):
            return facts
        until: dict[str, dict[str, int]] = {}
        for (variant, task), count in self._seeds_asked.items():
            until.setdefault(variant, {})[task] = count
        most = max(self._seeds_asked.values()) if looks else None
        return replace(facts, seeds=facts.seeds[:most], provenance=replace(facts.plan, until=until))

    def evidence(self, facts: StudyFacts, records: Mapping[str, Record]) -> Evidence:
        """Gathers the evidence of the cells that were asked for, with what stages add to it."""
        used = self.used
        compared = [cell for cell in used if cell.judged or cell.setting]
        beside = [cell for cell in used if not cell.judged]
        return with_stages(gather(facts, compared, records), self.study, self.stages, beside, records)


def with_stages(
    evidence: Evidence,
    study: Study,
    stages: Iterable[Stage],
    beside: Sequence[Cell],
    records: Mapping[str, Record],
) -> Evidence:
    """Returns evidence with what stages add to it; `beside` are the cells that are not judged."""
    for stage in stages:
        added = stage.collect(study, beside, records)
        if added.facts is not None:
            evidence = evidence.having(added.facts, added.frame)
        evidence = replace(evidence, frames={**evidence.frames, **added.other_trials})
    return evidence


def _place(cell: Cell) -> Place:
    return cell.variant, cell.task
