"""The trials that verdicts rest on, asked for look by look until everything is settled.

What a look decides follows from the records of its seeds alone, so that a kill, or another number of jobs, changes no
decision: the same command takes the same looks again, from the store, and goes on.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ablate.analysis.claims import Place, unsettled
from ablate.core.derived import is_measured
from ablate.core.events import Plan
from ablate.core.facts import Claim, Evidence, StudyFacts
from ablate.core.record import Record
from ablate.core.trial import Cell
from ablate.pipeline.claims import mark_post_hoc
from ablate.pipeline.comparable import comparable
from ablate.pipeline.gather import gather
from ablate.pipeline.requested import requested
from ablate.session.options import Options
from ablate.session.stage import Stage
from ablate.study.facts import facts_of
from ablate.study.study import Study

if TYPE_CHECKING:
    from ablate.session.session import Session


def plan_trials(
    study: Study, stages: Sequence[Stage], claims: Sequence[Claim], session: Session
) -> TrialPlan:
    """Plans the trials of a study whose variants are chosen, and notes them before they are trained."""
    study = study.settling()  # with the claims that its variants can decide
    claims = mark_post_hoc(claims, study.cells(), session.store)
    return TrialPlan(study, stages, claims, session.enlist)


class TrialPlan(Plan):
    """The plan of a study's trials; a fixed number of seeds is a single look. See `core.events.Plan`."""

    def __init__(
        self,
        study: Study,
        stages: Sequence[Stage] = (),
        claims: Sequence[Claim] = (),
        enlist: Callable[[Sequence[Cell]], None] = lambda cells: None,
    ) -> None:
        """`enlist` hears of cells before they are trained; claims are dated."""
        self.study = study
        self.stages = stages
        self.claims = claims
        self._enlist = enlist
        # By role: `judged`, those that stages add, and those that chose the variants.
        judged = study.cells()
        self.cells = list(judged)
        for stage in stages:
            self.cells += stage.companions(study, judged)
        self.cells += study.selection.cells
        seeds = study.config.seeds
        self._number = {seed: number for number, seed in enumerate(seeds.values)}
        self._looks = seeds.looks or [seeds.count]
        self._taken = 0
        # The number of seeds that each variant was asked for on each task.
        self._until: dict[Place, int] = {}
        self._open = {_place(cell) for cell in self.cells if cell.seed in self._number}
        enlist(self.cells)

    def next_cells(self, records: Mapping[str, Record]) -> Sequence[Cell]:
        """Returns what stages follow up after the last look, then the cells of the next; none where all is settled."""
        before = {id(cell) for cell in self.used} if self._taken else set()

        @functools.cache
        def evidence() -> Evidence:
            return self._seed_evidence(records)

        follow_up = self._follow_up(evidence)
        if follow_up:
            self._enlist(follow_up)
            self.cells += follow_up
            return follow_up

        if self._taken == len(self._looks):
            self._open = set()
        elif self._taken:
            self._open &= unsettled(evidence())
        if not self._open:
            return []
        self._until |= dict.fromkeys(self._open, self._looks[self._taken])
        self._taken += 1
        return [cell for cell in self.used if id(cell) not in before]

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
        """Returns the evidence without claims on what is measured: more seeds do not settle these."""
        facts = self.facts()
        facts = replace(facts, claims=[claim for claim in facts.claims if not is_measured(claim)])
        return self.evidence(facts, comparable(self.used, records, lambda text: None))

    @property
    def left(self) -> int:
        """The most trainings that may follow those already asked for."""
        used = {cell.id for cell in self.used}
        return len({cell.id for cell in self.cells if _place(cell) in self._open} - used)

    @property
    def used(self) -> list[Cell]:
        """The cells that have been asked for; those on other seeds, as of a search, from the first look on."""
        return [
            cell for cell in self.cells if self._number.get(cell.seed, -1) < self._until.get(_place(cell), 0)
        ]

    def wanted(self, options: Options) -> Callable[[Cell], bool]:
        """Returns whether `--only` and `--seed` ask for a cell. Raises `StudyError`."""
        asked = requested([cell for cell in self.cells if cell.judged], options.only, options.seed)
        places = {(cell.variant, cell.task, cell.seed) for cell in asked}
        return lambda cell: (cell.variant, cell.task, cell.seed) in places

    def facts(self) -> StudyFacts:
        """Returns the study as it was trained, with the claims that these variants can settle."""
        decidable = {claim.hash for claim in self.study.claims}
        facts = facts_of(self.study, [claim for claim in self.claims if claim.hash in decidable])
        if not self.study.config.seeds.looks:
            return facts
        until: dict[str, dict[str, int]] = {}
        for (variant, task), count in self._until.items():
            until.setdefault(variant, {})[task] = count
        return replace(facts, seeds=facts.seeds[: max(self._until.values())], until=until)

    def evidence(self, facts: StudyFacts, records: Mapping[str, Record]) -> Evidence:
        """Collects what was asked for, with what stages add to it."""
        used = self.used
        gathered = gather(facts, [cell for cell in used if cell.judged or cell.setting], records)
        beside = [cell for cell in used if not cell.judged]
        return with_stages(gathered, self.study, self.stages, beside, records)


def with_stages(
    evidence: Evidence,
    study: Study,
    stages: Iterable[Stage],
    beside: Sequence[Cell],
    records: Mapping[str, Record],
) -> Evidence:
    """Returns evidence with what stages add to it; `beside` are the cells that are not judged."""
    features = dict(evidence.facts.features)
    frames = dict(evidence.frames)
    for stage in stages:
        added = stage.collect(study, beside, records)
        if added.facts:
            features[stage.name] = dict(added.facts)
        frames |= added.frames
    return replace(evidence, facts=replace(evidence.facts, features=features), frames=frames)


def _place(cell: Cell) -> Place:
    return cell.variant, cell.task
