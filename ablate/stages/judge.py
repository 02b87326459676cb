"""The trials that verdicts rest on: those of the study, or of what a search has chosen; and their evidence."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ablate.base.clock import now
from ablate.core.cell import Cell
from ablate.core.claim import Claim
from ablate.core.evidence import Evidence
from ablate.core.facts import Facts
from ablate.core.plan import FixedPlan
from ablate.core.record import Record
from ablate.core.search_table import SearchTable
from ablate.records.folder import Kind, StudyFolder
from ablate.stages.cautions import cautions
from ablate.stages.choose import choose
from ablate.stages.claims import is_of_time
from ablate.stages.gather import comparable, gather
from ablate.stages.options import Options
from ablate.stages.place import source_of
from ablate.stages.select import select
from ablate.stages.settle import UNTUNED, Settling, Until
from ablate.stages.stress import stress_frame, stressed
from ablate.stages.timing import Timed
from ablate.study.experiment import Experiment
from ablate.study.facts import facts_of
from ablate.study.sections.seeds import SeedsSection


@dataclass(frozen=True)
class Work:
    """The trials that verdicts rest on, and the others that the study refers to."""

    experiment: Experiment
    "With the variants that are judged."
    given: Experiment
    "As it was before a search chose its variants."
    cells: Sequence[Cell]
    "Those that are judged."
    untuned: Sequence[Cell] = ()
    "The variants of a tuned study as the study gives them."
    tried: Sequence[Cell] = ()
    "The trainings of every setting that a search has tried."
    claims: Sequence[Claim] = ()
    "Dated."
    stressed: Sequence[Cell] = ()
    "The stress grid of the variants that are judged."
    seeds: int | None = None
    "The number of the study's seeds that were used, where looks decide on it; so does the next."
    until: Until = field(default_factory=dict)
    "That of each variant on each task."

    @property
    def everything(self) -> list[Cell]:
        """Every cell of the study, with names that tell the untuned from the tuned."""
        return [*self.cells, *self.stressed, *self.tried, *map(_as_given, self.untuned)]

    def wanted(self, options: Options) -> Callable[[Cell], bool]:
        """Whether a cell is one of those that `--only` and `--seed` ask for. Raises `StudyError`."""
        # Variants that were tuned are compared with themselves, so that only the seed is chosen of these.
        asked = [*select(self.cells, options.only, options.seed)]
        asked += select([_as_given(cell) for cell in self.untuned], seed=options.seed) if self.untuned else []
        places = {(cell.variant, cell.task, cell.seed) for cell in asked}
        return lambda cell: (cell.variant, cell.task, cell.seed) in places

    def plan(self, seeds: SeedsSection) -> Settling | FixedPlan:
        """The plan that trains it: at once, or look by look until everything is settled."""
        if not seeds.looks:
            return FixedPlan(self.everything)

        def evidence(
            cells: Sequence[Cell], count: int, until: Until, records: Mapping[str, Record]
        ) -> Evidence:
            mine = self.at(cells, count, until)
            facts = mine.facts()
            # What seeds do not settle cannot keep them coming.
            facts = replace(facts, claims=[claim for claim in facts.claims if not is_of_time(claim)])
            return mine._evidence(facts, comparable(mine.everything, records, lambda text: None))

        return Settling(self.everything, seeds.values, seeds.looks, evidence)

    def after(self, plan: Settling | FixedPlan) -> Work:
        """What was trained of it."""
        if isinstance(plan, FixedPlan):
            return self
        return self.at(plan.used, plan.looks[plan.taken - 1], plan.until)

    def at(self, cells: Sequence[Cell], seeds: int, until: Until) -> Work:
        """The part of it that has these cells, with the number of seeds that each variant has."""
        used = {(cell.variant, cell.task, cell.seed) for cell in cells}

        def part(of: Sequence[Cell], name: Callable[[Cell], str]) -> list[Cell]:
            return [cell for cell in of if (name(cell), cell.task, cell.seed) in used]

        return replace(
            self,
            cells=part(self.cells, lambda cell: cell.variant),
            stressed=part(self.stressed, lambda cell: cell.variant),
            untuned=part(self.untuned, lambda cell: _as_given(cell).variant),
            seeds=seeds,
            until=until,
        )

    def save_evidence(
        self, folder: StudyFolder, environment: Mapping[str, Any], records: Mapping[str, Record], timed: Timed
    ) -> None:
        """Writes the evidence, with the claims that these variants can settle."""
        if self.untuned:
            given = self._on_its_seeds(facts_of(self.given))
            folder.save_evidence(gather(given, self.untuned, records), untuned=True)
        facts = replace(
            self.facts(environment, cautions(self.experiment)),
            source=source_of(self.experiment.path, folder),
            reported=now(),
        )
        found = self._evidence(timed.added(facts), records)
        folder.save_evidence(replace(found, frames={**found.frames, "speed": timed.frame}))

    def _evidence(self, facts: Facts, records: Mapping[str, Record]) -> Evidence:
        stress = stress_frame(facts.features.get("stress", {}), self.stressed, records)
        return replace(gather(facts, self.cells, records), frames={"stress": stress})

    def facts(self, environment: Mapping[str, Any] | None = None, limits: Sequence[str] = ()) -> Facts:
        """The study as it was trained, with the claims that these variants can settle."""
        settled = {claim.hash for claim in self.experiment.claims}
        mine = [claim for claim in self.claims if claim.hash in settled]
        return self._on_its_seeds(facts_of(self.experiment, mine, environment, limits))

    def _on_its_seeds(self, facts: Facts) -> Facts:
        until: dict[str, dict[str, int]] = {}
        for (variant, task), count in self.until.items():
            until.setdefault(variant, {})[task] = count
        return replace(facts, seeds=facts.seeds[: self.seeds], until=until)


def work_of(
    experiment: Experiment,
    kind: Kind | None,
    table: SearchTable | None,
    claims: Sequence[Claim],
    say: Callable[[str], None],
) -> Work:
    """The study's own trials, or those of the variants that the table of a search gives; marks what it chooses."""
    if kind is None or table is None:
        cells = experiment.cells()
        return Work(experiment, experiment, cells, claims=claims, stressed=stressed(experiment, cells))
    searched = set(table.trials["variant"]) if kind == "tuning" and experiment.trains_untuned else ()
    untuned = [cell for cell in experiment.cells() if cell.variant in searched]
    chosen = choose(experiment, kind, table, say)
    tried = [cell for _, cell in table.cells(swept=kind == "sweep")]
    cells = chosen.cells()
    return Work(chosen, experiment, cells, untuned, tried, claims, stressed(chosen, cells))


def _as_given(cell: Cell) -> Cell:
    variant = f"{cell.variant}{UNTUNED}"
    name = f"{variant}{cell.name.removeprefix(cell.variant)}"
    return replace(cell, variant=variant, name=name, role="untuned")
