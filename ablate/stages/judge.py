"""The trials that verdicts rest on: those of the study, or of what a search has chosen; and their evidence."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ablate.base.clock import now
from ablate.core.cell import Cell
from ablate.core.claim import Claim
from ablate.core.record import Record
from ablate.core.search_table import SearchTable
from ablate.records.folder import Kind, StudyFolder
from ablate.stages.cautions import cautions
from ablate.stages.choose import choose
from ablate.stages.gather import gather
from ablate.stages.options import Options
from ablate.stages.place import source_of
from ablate.stages.select import select
from ablate.study.experiment import Experiment
from ablate.study.facts import facts_of


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

    @property
    def everything(self) -> list[Cell]:
        """Every cell of the study, with names that tell the untuned from the tuned."""
        return [*self.cells, *self.tried, *map(_as_given, self.untuned)]

    def wanted(self, options: Options) -> Callable[[Cell], bool]:
        """Whether a cell is one of those that `--only` and `--seed` ask for. Raises `StudyError`."""
        # Variants that were tuned are compared with themselves, so that only the seed is chosen of these.
        asked = [*select(self.cells, options.only, options.seed)]
        asked += select([_as_given(cell) for cell in self.untuned], seed=options.seed) if self.untuned else []
        places = {(cell.variant, cell.task, cell.seed) for cell in asked}
        return lambda cell: (cell.variant, cell.task, cell.seed) in places

    def save_evidence(
        self,
        folder: StudyFolder,
        claims: Sequence[Claim],
        environment: Mapping[str, Any],
        records: Mapping[str, Record],
    ) -> None:
        """Writes the evidence, with the claims that these variants can settle."""
        if self.untuned:
            folder.save_evidence(gather(facts_of(self.given), self.untuned, records), untuned=True)
        settled = {claim.hash for claim in self.experiment.claims}
        mine = [claim for claim in claims if claim.hash in settled]
        facts = facts_of(self.experiment, mine, environment, cautions(self.experiment))
        facts = replace(facts, source=source_of(self.experiment.path, folder), reported=now())
        folder.save_evidence(gather(facts, self.cells, records))


def work_of(
    experiment: Experiment, kind: Kind | None, table: SearchTable | None, say: Callable[[str], None]
) -> Work:
    """The study's own trials, or those of the variants that the table of a search gives; marks what it chooses."""
    if kind is None or table is None:
        return Work(experiment, experiment, experiment.cells())
    searched = set(table.trials["variant"]) if kind == "tuning" and experiment.trains_untuned else ()
    untuned = [cell for cell in experiment.cells() if cell.variant in searched]
    chosen = choose(experiment, kind, table, say)
    tried = [cell for _, cell in table.cells(swept=kind == "sweep")]
    return Work(chosen, experiment, chosen.cells(), untuned, tried)


def _as_given(cell: Cell) -> Cell:
    variant = f"{cell.variant} untuned"
    name = f"{variant}{cell.name.removeprefix(cell.variant)}"
    return replace(cell, variant=variant, name=name, judged=False)
