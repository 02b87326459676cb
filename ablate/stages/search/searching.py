"""The part that a sweep and tuning share: searches with Optuna, which are trained together until their budget is used.

What they choose is judged on other seeds.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from ablate.base.errors import AblateError
from ablate.core.stages import TRIED
from ablate.core.trial import Cell
from ablate.records.trial_list import UNKNOWN_ROLE
from ablate.session.stage import Stage, StageEvidence
from ablate.stages.probe import ProbeStage

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from ablate.analysis.search_table import Objective, SearchTable, TriedSetting
    from ablate.core.metric import Description
    from ablate.records.folder import StudyFolder
    from ablate.records.store import Store
    from ablate.session.session import Session
    from ablate.session.stage import Records
    from ablate.stages.search.plan import SearchPlan
    from ablate.stages.search.search import Search
    from ablate.stages.search.space import Point
    from ablate.stages.search.spec import SearchSpec
    from ablate.study.designs import Variant
    from ablate.study.study import Study


class SearchStage(Stage):
    """Searches for settings with Optuna, and has the best of them judged; base of a sweep and of tuning."""

    name = "search"
    selects_after = (ProbeStage,)

    def __init__(self, *, selects: bool) -> None:
        self._selects = selects
        # What `check` reads; None for a section with mistakes.
        self._spec: SearchSpec | None = None
        # What `select` finds.
        self._table: SearchTable | None = None

    @property
    def selects(self) -> bool:
        return self._selects

    def in_confirmation(self, selected_by: str, claimed: Collection[str]) -> Stage | None:
        """Returns itself where the variants were tuned, as they are tuned again on other seeds; else None.

        The section of a sweep, which selects nothing in a confirmation, stays in its study.
        """
        return self if selected_by == "tuning" else None

    def has_results(self, study: Study, folder: StudyFolder, store: Store) -> bool:
        """Returns whether a setting was trained."""
        try:
            tried = [cell for cell in folder.trial_list.cells() if cell.role in (TRIED, UNKNOWN_ROLE)]
        except AblateError:
            return True  # Nobody knows.
        return any(store.has(cell.id) for cell in tried)

    def collect(self, study: Study, beside: Sequence[Cell], records: Records) -> StageEvidence:
        """Collects the settings that were tried, and what their searches share."""
        if self._table is None:
            return StageEvidence()
        return StageEvidence(self._table.facts, self._table.trials)

    @property
    def _checked(self) -> SearchSpec:
        assert self._spec is not None, "a study with mistakes is not run"
        return self._spec

    def _tried(self, plan: SearchPlan, session: Session, later: int) -> tuple[SearchTable, list[Cell]]:
        """Searches until the budget is used; returns the settings that were tried, and their trials.

        later: the most trainings that may follow. Raises `IncompleteSelection`.
        """
        from ablate.analysis.search_table import searches_tabulated
        from ablate.stages.search.versions import installed_versions, say_versions_changed

        say_versions_changed(session, plan.spec, plan.left)
        records = session.train(plan, later=later)
        cells = list(plan.cells.values())
        if not plan.is_complete:
            raise session.incomplete(self.name, cells, records)

        facts = plan.spec.facts  # After the training, which may widen a grid.
        objectives = _with_own_source(facts.objectives, plan.searches)
        facts = replace(facts, objectives=objectives, versions=installed_versions())
        self._table = searches_tabulated(facts, [search.tried for search in plan.searches])
        return self._table, cells


def search_of(study: Study, spec: SearchSpec, variant: Variant, task: str, prefix: str = "") -> Search:
    """Returns the search of a variant on one task; `prefix` begins the names of its settings."""
    from ablate.core.sizes import known_size
    from ablate.stages.search.search import Search

    def prepare(number: int, point: Point) -> tuple[list[Cell], Description]:
        """Returns the cells of a setting, one a tuning seed, and its description. Raises `Invalid`."""
        setting = study.patched(variant.configs[task], spec.space.patches(point), task)
        description = study.workload.describe(setting)
        name = f"{prefix}setting {number:03d}"
        cells: list[Cell] = []
        for seed in spec.seeds[task]:
            # Only the trials of the comparison are evaluated.
            trial = replace(study.trial(setting, seed), checkpoint="none")
            cells.append(
                Cell(
                    name,
                    task,
                    seed,
                    trial,
                    f"{name}{study.on(task)} seed {seed}",
                    levels=spec.space.labels(point),
                    role=TRIED,
                    size=partial(known_size, description),
                )
            )
        return cells, description

    return Search(spec, prepare, variant.name, task)


def _with_own_source(objectives: list[Objective], searches: Sequence[Search]) -> list[Objective]:
    """Returns the objectives; all that are measured have the source `own` if one setting lacks validation data."""
    settings: list[TriedSetting] = []
    for search in searches:
        settings += search.tried
    if not any(setting.own for setting in settings):
        return objectives
    return [replace(objective, source="own") if objective.measured else objective for objective in objectives]
