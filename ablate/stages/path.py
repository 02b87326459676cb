"""The stage of `design: path`: a greedy path from the baseline to a variant that changes several things.

At each step every change that is left is trained on tuning seeds, and the best one is taken. The seeds that choose
never judge: the best of several is in part the luckiest, and the same runs would flatter it on test data as on
validation data (winner's curse).
"""

from __future__ import annotations

import math
from dataclasses import replace
from statistics import fmean
from typing import TYPE_CHECKING, Self

from ablate.base.errors import Invalid
from ablate.base.wording import seeds_in_words
from ablate.core.events import FixedPlan
from ablate.core.metric import sign
from ablate.core.record import on_validation
from ablate.core.trial import Cell
from ablate.session.stage import Stage
from ablate.stages.probe import ProbeStage
from ablate.study.design_kinds import Path
from ablate.study.patch import key_of
from ablate.study.sections import TUNING_SEEDS_FROM

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ablate.core.record import Record
    from ablate.session.options import Options
    from ablate.session.session import Session
    from ablate.study.designs import Variant
    from ablate.study.schema import StudyConfig
    from ablate.study.study import Study


class PathStage(Stage):
    """Trains the steps of a path, and has its configurations judged.

    Its section is the design.
    """

    name = "path"
    selects_after = (ProbeStage,)

    def __init__(self, target: str, num_seeds: int) -> None:
        self._target_name = target
        self._seeds = range(TUNING_SEEDS_FROM, TUNING_SEEDS_FROM + num_seeds)

    @classmethod
    def from_study(cls, study: StudyConfig, options: Options) -> Self | None:
        design = study.design
        return cls(design.to, design.seeds) if isinstance(design, Path.Config) else None

    @property
    def selects(self) -> bool:
        return True

    def extra_variants(self, study: Study) -> Sequence[str]:
        """Returns a name for each configuration between the baseline and the target."""
        return [f"step {number}" for number in range(1, len(self._target(study).patches))]

    def max_trials(self, study: Study, judged: int) -> int:
        steps = num_candidates(len(self.extra_variants(study)) + 1) * len(self._seeds)
        return judged + steps + self._max_judged(study)

    def _max_judged(self, study: Study) -> int:
        """Returns the most trainings that judge the configurations of the path, with what is trained beside each."""
        cells = len(self.extra_variants(study)) * study.config.seeds.count
        return cells * (1 + study.companions_per_cell)

    def select(self, study: Study, session: Session, later: int) -> Study:
        """Returns the study with the configurations of the path, in order, before its other variants."""
        from ablate.study.study import Selection

        path: list[Variant] = []
        trained: dict[str, Cell] = {}
        notes: list[str] = []
        remaining = [*self._target(study).patches]
        judged = later + self._max_judged(study)
        while remaining:
            candidates = self._candidates(study, remaining)
            best = remaining[0]
            if len(remaining) > 1:
                step = {change: self._cells(study, variant) for change, variant in candidates.items()}
                for cells in step.values():
                    trained |= {cell.id: cell for cell in cells}
                number = len(path) + 1
                best, note = self._take_step(study, session, step, [*trained.values()], number, judged)
                notes.append(note)
            path.append(candidates[best])
            remaining.remove(best)

        baseline, *others = study.variants
        by_config = {key_of(variant.configs): variant for variant in others if not variant.placebo}
        path = [by_config.get(key_of(variant.configs), variant) for variant in path]
        variants = [baseline, *path, *(variant for variant in others if variant not in path)]
        chosen = study.judging(variants, study.design.paths, Selection("path", [*trained.values()]))
        return replace(chosen, notes=[*study.notes, *notes])

    def _take_step(
        self,
        study: Study,
        session: Session,
        step: Mapping[str, Sequence[Cell]],
        trained: Sequence[Cell],
        number: int,
        judged: int,
    ) -> tuple[str, str]:
        """Trains the candidates of a step; returns the best change with a note on it.

        step: change → the cells of its candidate. trained: all cells of the path up to this step. judged: the most
        trainings that judge what the path has chosen.
        """
        from ablate.report.words import message

        cells: list[Cell] = []
        for candidate in step.values():
            cells += candidate
        session.enlist(trained)
        later = num_candidates(len(step) - 1) * len(self._seeds) + judged
        records = session.train(FixedPlan(cells), later=later, fresh=session.options.fresh)
        if any(cell.id not in records or records[cell.id].faulty for cell in cells):
            raise session.incomplete("path", trained, records)
        scores: dict[str, float] = {}
        for change, candidate in step.items():
            scores[change] = _score(study, [records[cell.id] for cell in candidate])
        best, *others = sorted(scores, key=lambda change: -scores[change])
        sources = {
            on_validation(record, study.metric, study.config.metric.at)[1] for record in records.values()
        }
        code = "figures.by_validation" if sources == {"validation"} else "figures.by_seeds"
        judged_by = message(code, study.metric, seeds_in_words(self._seeds))
        note = message(
            "figures.path_step", number, self._target_name, best, others or ["nothing else"], judged_by
        )
        return best, note

    def _target(self, study: Study) -> Variant:
        return next(variant for variant in study.variants if variant.name == self._target_name)

    def _candidates(self, study: Study, remaining: Sequence[str]) -> dict[str, Variant]:
        """Returns the configurations that may come next, by the change that each adds.

        A change that cannot be built alone has to wait.

        Raises `Invalid` where none can be.
        """
        target = self._target(study)
        task = study.tasks[0]
        candidates: dict[str, Variant] = {}
        problems: list[Invalid] = []
        for change in remaining:
            patches = dict(target.patches)
            for other in remaining:
                if other != change:
                    del patches[other]
            name = ",".join(f"{path}={study.design.labels[path][target.name]}" for path in patches)
            try:
                config = study.patched(study.baseline_config, patches, task)
            except Invalid as error:
                problems.append(error)
                continue
            configs = {task: config}
            candidates[change] = replace(target, name=name, configs=configs, patches=patches, at=("design",))
        if not candidates:
            raise problems[0]
        return candidates

    def _cells(self, study: Study, variant: Variant) -> list[Cell]:
        """Returns the cells of a configuration on the tuning seeds."""
        cells: list[Cell] = []
        task = study.tasks[0]
        for seed in self._seeds:
            trial = study.trial(variant.configs[task], seed)
            name = f"{variant.name} seed {seed}"
            cells.append(Cell(variant.name, task, seed, trial, name, role="step"))
        return cells


def num_candidates(changes: int) -> int:
    """Returns how many configurations are trained to order so many changes.

    The last change needs no choice.
    """
    return max(0, changes * (changes + 1) // 2 - 1)


def _score(study: Study, records: Sequence[Record]) -> float:
    """Returns the mean over seeds on validation data, oriented so that more is better.

    A run without a value counts as guessing.
    """
    metric = study.baseline_description.metrics[study.metric]
    worst = -math.inf if metric.floor is None else sign(metric) * metric.floor
    values: list[float] = []
    for record in records:
        value = math.nan
        if record.status == "completed":
            value, _ = on_validation(record, study.metric, study.config.metric.at)
        values.append(sign(metric) * value if math.isfinite(value) else worst)
    return fmean(values)
