"""The trials that a run of a study would train now, as far as the store tells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Self

from ablate.core.trial import Cell
from ablate.execution.driver import NextBatch
from ablate.pipeline.prepare import prepare
from ablate.pipeline.reports.limits import limited_as_run
from ablate.pipeline.reports.place import refuse_another, refuse_without_search, report_place
from ablate.pipeline.selection import select_variants
from ablate.pipeline.trial_plan import plan_trials
from ablate.records.folder import StudyFolder
from ablate.session.options import Options
from ablate.session.rehearsal import Rehearsal
from ablate.session.stage import Stage
from ablate.stages import CONFIGS, STAGES
from ablate.study.document import read_document
from ablate.study.study import Study

if TYPE_CHECKING:
    from rich.console import Console

    from ablate.core.facts import Claim


@dataclass(frozen=True)
class Batch:
    """The trials to train now, each as the first of its cells, and the most trainings that may follow them."""

    cells: Sequence[Cell]
    left: int = 0


@dataclass(frozen=True)
class Rehearsed:
    """A study as a run would train it, up to its first training."""

    study: Study
    stages: Sequence[Stage]
    folder: StudyFolder
    session: Rehearsal

    @classmethod
    def of(cls, path: Path, options: Options, console: Console, *, read_only: bool = False) -> Self:
        """Reads and checks a study. Raises `StudyError`.

        read_only: whether the store is left as it is.
        """
        # Jobs wait for no first pairs of a user's own code.
        options = replace(limited_as_run(path, options), keep_going=True)
        document = read_document(path).override(options, CONFIGS)
        folder, overrides = report_place(document, options)
        refuse_without_search(document, folder, options)
        study, stages = prepare(document, STAGES, options)
        refuse_another(study, options.results_folder)
        session = Rehearsal(document, folder, options, console, read_only=read_only)
        return cls(study.reporting(folder.name, overrides), stages, folder, session)

    def batch(self, claims: Sequence[Claim]) -> Batch:
        """Returns what a run would train first; nothing where it has all. `claims`: with their dates."""
        try:
            selecting = [stage for stage in self.stages if stage.selects]
            study = select_variants(self.study, selecting, self.session)
            plan = plan_trials(study, self.stages, claims, self.session)
            self.session.train(plan, wanted=plan.wanted(self.session.options))
        except NextBatch as batch:
            return Batch([_alone(cell) for cell in batch.cells], batch.left)
        return Batch([])


def _alone(cell: Cell) -> Cell:
    """Returns a cell whose trial waits for nobody: a search cuts its record where it would have ended the trial."""
    return replace(cell, trial=replace(cell.trial, prunable=False))
