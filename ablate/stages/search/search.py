"""A search is replay: a seeded study of Optuna in memory is asked batch by batch, and answered from records.

All settings of a batch are asked for before any is trained, and told in order when all are. What is asked depends
therefore on the search and its records alone: not on the number of workers, and a search that was killed goes on by
being asked again from its beginning. Nothing but the records is kept.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from ablate.analysis.search_table import SettingRow, TriedSetting
from ablate.base.errors import Invalid
from ablate.base.quiet import quiet
from ablate.base.streams import stream_seed
from ablate.core.events import Progress
from ablate.core.metric import Description, validated
from ablate.core.pauses import without_pauses
from ablate.core.record import Record, on_validation
from ablate.core.sizes import known_parameters
from ablate.core.trial import Cell
from ablate.search.classes import refusing
from ablate.search.samplers import NUM_SEEDS
from ablate.stages.search.objectives import LOST, ObjectiveSummary, intermediate, seed_value, summarised
from ablate.stages.search.space import Point
from ablate.stages.search.spec import SearchSpec

if TYPE_CHECKING:
    import optuna
    from optuna.trial import TrialState

# From a number and a point to the cells of a setting, one for each tuning seed, and what is known of it without
# training; raises `Invalid` where it cannot be built.
Prepare = Callable[[int, Point], tuple[list[Cell], Description]]


@dataclass
class Setting:
    """A setting of the open batch."""

    asked: optuna.Trial
    point: Point
    # One for each tuning seed.
    cells: list[Cell] = field(default_factory=list)
    description: Description | None = None
    # Why it cannot be built.
    invalid: str = ""
    # The values that the pruner has seen, by step or by place of the seed.
    shown: dict[int, float] = field(default_factory=dict)
    pruned_at: int | None = None


class Search:
    """The search of a sweep, or of one variant on one task.

    Two searches of the same space, sampler and `stream` try the same settings as long as nothing that they are told
    differs.
    """

    @quiet()
    def __init__(
        self, spec: SearchSpec, prepare: Prepare, variant: str, task: str = "", stream: str = ""
    ) -> None:
        import optuna
        from optuna.study import StudyDirection

        self.spec = spec
        self.prepare = prepare
        self.variant = variant
        self.task = task
        # The settings that were told, in the order in which they were asked for.
        self.tried: list[TriedSetting] = []
        self._batch: list[Setting] = []
        # The ids of the trials that this search has asked for.
        self._requested: set[str] = set()
        # Those of the open batch that had a record when it was last looked at.
        self._answered: set[str] = set()
        # Whether the sampler has no other setting.
        self._stopped = False
        self._reads = spec.section.pruner.part.reads
        self._objective = spec.facts.objectives[0]

        seed = stream_seed(0, "search", repr(spec.space.parameters), repr(spec.section.sampler), stream)
        directions: list[StudyDirection] = []
        for objective in spec.facts.objectives:
            is_lower_better = objective.direction == "min"
            directions.append(StudyDirection.MINIMIZE if is_lower_better else StudyDirection.MAXIMIZE)
        self.study = optuna.create_study(
            sampler=spec.section.sampler.build().build(seed % NUM_SEEDS, spec.facts.trials),
            pruner=spec.section.pruner.build().make(),
            directions=directions,
        )
        # A sampler that has visited every point says so here, which Optuna itself allows inside `optimize` alone.
        self.study.stop = self._stop  # type: ignore[method-assign]

    def _stop(self) -> None:
        """Notes that the sampler has no other setting."""
        self._stopped = True

    @property
    def failed(self) -> bool:
        """True where a trial has failed: nothing may rest on it, and nothing more is asked for."""
        return any(tried.row.status == "failed" for tried in self.tried)

    @property
    def complete(self) -> bool:
        """True once every setting of the budget, or of the space, has been tried."""
        return not self.failed and (self._stopped or len(self.tried) >= self.spec.facts.trials)

    @property
    def left(self) -> int:
        """The most trainings that it may ask for later."""
        if self.failed or self.complete:
            return 0
        of_batch: set[str] = set()
        for setting in self._batch:
            if setting.pruned_at is None:
                of_batch |= {cell.id for cell in setting.cells}
        unasked = self.spec.facts.trials - len(self.tried) - len(self._batch)
        return len(of_batch - self._requested - self._answered) + unasked * len(self.spec.facts.seeds)

    @quiet()
    def next_cells(self, records: Mapping[str, Record]) -> list[Cell]:
        """Returns the cells of the batch that need a record.

        Where all have theirs, those of the next batch; none where the search has ended.
        """
        while not (self.failed or self.complete):
            if not self._batch:
                self._ask()
            needed: list[Cell] = []
            for setting in self._batch:
                needed += self._needed(setting, records)
            if needed:
                self._requested |= {cell.id for cell in needed}
                self._answered = self._with_record(records)
                return needed
            self._tell(records)
        return []

    def _with_record(self, records: Mapping[str, Record]) -> set[str]:
        """Returns the ids of the trials of the open batch that have a whole record."""
        answered: set[str] = set()
        for setting in self._batch:
            ids = {cell.id for cell in setting.cells}
            answered |= {trial for trial in ids if trial in records and records[trial].status != "pruned"}
        return answered

    @quiet()
    def should_prune(self, report: Progress) -> bool:
        """Returns whether a trial that waits ends at its report."""
        if self._reads != "steps":
            return False
        for setting in self._batch:
            if not setting.cells or setting.cells[0].id != report.trial_id:
                continue
            # A trial that begins again after its process was lost reports its steps again.
            setting.shown = {step: value for step, value in setting.shown.items() if step < report.step}
            name = self._objective.name
            value = report.metrics.get(validated(name), report.metrics.get(name, math.nan))
            return self._show(setting, report.step, float(value))
        return False

    def _ask(self) -> None:
        """Asks the sampler for the settings of the next batch."""
        first = len(self.tried)
        end = min(first + self.spec.facts.batch, self.spec.facts.trials)
        self._batch = [self._setting(number) for number in range(first, end)]

    def _setting(self, number: int) -> Setting:
        """Asks the sampler for one setting."""
        if self.spec.grid:
            self.study.enqueue_trial(dict(self.spec.grid[number]))
        with refusing(self.spec.section.sampler):
            asked = self.study.ask()
            setting = Setting(asked, self.spec.space.suggested(asked))
        try:
            setting.cells, setting.description = self.prepare(number, setting.point)
        except Invalid as error:
            setting.invalid = str(error).partition("\n")[0]
        return setting

    def _needed(self, setting: Setting, records: Mapping[str, Record]) -> list[Cell]:
        """Returns the cells of a setting that must be looked up or trained next.

        A record is cut where the pruner would have ended its training, wherever it comes from.
        """
        missing: list[Cell] = []
        for cell in setting.cells:
            # Without a record, or with one that another search ended early.
            if cell.id not in records or records[cell.id].status == "pruned":
                missing.append(cell)
        if self._reads == "nothing" or not setting.cells:
            return missing
        if self._reads == "seeds":
            return self._needed_by_seed(setting, missing, records)
        return self._needed_by_step(setting, missing, records)

    def _needed_by_seed(
        self, setting: Setting, missing: Sequence[Cell], records: Mapping[str, Record]
    ) -> list[Cell]:
        """Returns the next seed of a setting, unless the pruner ends it after those before."""
        values: dict[int, float] = {}
        for place, cell in enumerate(setting.cells):
            if cell in missing:
                break
            values[place] = seed_value(records[cell.id], self._objective, self.spec.at)
        setting.pruned_at = self._show_all(setting, values, last=len(setting.cells) - 1)
        return list(missing[:1]) if setting.pruned_at is None else []

    def _needed_by_step(
        self, setting: Setting, missing: Sequence[Cell], records: Mapping[str, Record]
    ) -> list[Cell]:
        """Returns the first seed of a setting, which may be pruned, and then the others."""
        first = setting.cells[0]
        record = records.get(first.id)
        values = intermediate(record, self._objective.name) if record else {}
        setting.pruned_at = self._show_all(setting, values)
        if setting.pruned_at is not None:
            return []
        # Another search, or this one after other settings, may have ended it at a step of its own.
        was_cut = record is not None and record.status == "pruned" and first.id not in self._requested
        if record is None or was_cut:
            return [replace(first, trial=replace(first.trial, prunable=True))]
        # Where this search pruned it, and its record has other values than it reported, `missing` has the first seed
        # too, which is then trained whole.
        return list(missing)

    def _show_all(self, setting: Setting, values: Mapping[int, float], last: int | None = None) -> int | None:
        """Shows the pruner the values of a setting; returns the step at which it ends, if any.

        last: the step at which no training is left that could be saved.
        """
        setting.shown = {}
        for step, value in values.items():
            if self._show(setting, step, value) and step != last:
                return step
        return None

    def _show(self, setting: Setting, step: int, value: float) -> bool:
        """Shows the pruner one more value of a setting; returns whether it ends the setting.

        Of other settings the pruner sees those that were told, of earlier batches.
        """
        import optuna

        setting.shown[step] = value
        so_far = optuna.create_trial(
            state=optuna.trial.TrialState.RUNNING, intermediate_values=dict(setting.shown)
        )
        return bool(self.study.pruner.prune(self.study, so_far))

    def _tell(self, records: Mapping[str, Record]) -> None:
        """Tells Optuna the values of the batch's settings, in the order in which they were asked."""
        for setting in self._batch:
            cells = setting.cells
            if setting.pruned_at is not None:
                # Another search may have trained seeds behind the one at which it was pruned.
                cells = cells[: setting.pruned_at + 1] if self._reads == "seeds" else cells[:1]
            trained = [records[cell.id] for cell in cells if cell.id in records]
            state, values, tried = self._outcome(setting, trained)
            self.tried.append(tried)
            for step, value in setting.shown.items():
                if not math.isnan(value):
                    setting.asked.report(value, step)
            self.study.tell(setting.asked, values, state)
        self._batch = []

    def _outcome(
        self, setting: Setting, records: Sequence[Record]
    ) -> tuple[TrialState, Sequence[float] | None, TriedSetting]:
        """Returns a setting's state and values for Optuna, and the setting for the table."""
        from optuna.trial import TrialState

        row = SettingRow(
            variant=self.variant,
            task=self.task,
            number=setting.asked.number,
            status="invalid",
            reason=setting.invalid,
            seeds=len(records),
            train_seconds=_train_seconds(records),
            ids=[record.id for record in records],
        )
        description = setting.description
        if description is None:
            # Pruned without a value: a sampler that reads this state learns to avoid such points.
            return TrialState.PRUNED, None, TriedSetting(row, setting.point)

        size = known_parameters(description)
        row = replace(row, parameters=math.nan if size is None else size, flops=description.flops)
        faulty = [record for record in records if record.faulty]
        if faulty:
            row = replace(row, status="failed", reason=faulty[0].reason)
            return TrialState.FAIL, None, TriedSetting(row, setting.point)

        summary = summarised(records, self.spec.facts.objectives, description, self.spec.at)
        if setting.pruned_at is not None:
            return TrialState.PRUNED, None, self._pruned(setting, setting.pruned_at, row, summary)
        return TrialState.COMPLETE, summary.objectives, self._completed(setting, records, row, summary)

    def _pruned(
        self, setting: Setting, step: int, row: SettingRow, summary: ObjectiveSummary
    ) -> TriedSetting:
        """Returns a setting that was pruned at a step, or at the place of a seed, with its value there."""
        objectives = {self._objective.name: setting.shown[step]}
        row = replace(row, status="pruned")
        if self._reads == "seeds":
            num_seeds = step + 1
            row = replace(row, pruned_at=num_seeds, reason=f"pruned after seed {num_seeds}")
            return TriedSetting(_with_summary(row, summary), setting.point, objectives, summary.own)
        # What a finished record has beyond its cut is not known either.
        row = replace(row, pruned_at=step, reason=f"pruned after step {step}", values=[math.nan])
        return TriedSetting(row, setting.point, objectives)

    def _completed(
        self, setting: Setting, records: Sequence[Record], row: SettingRow, summary: ObjectiveSummary
    ) -> TriedSetting:
        """Returns a setting that was trained to its end on every seed, though some may have diverged."""
        row = replace(_with_summary(row, summary), status="completed", reason="")
        reasons = [record.reason for record in records if record.status in LOST]
        if reasons:
            reason = f"{len(reasons)} of {len(records)} seeds {reasons[0]}"
            row = replace(row, status="diverged", reason=reason)
        if self.spec.tie:
            ties = [on_validation(record, self.spec.tie, self.spec.at)[0] for record in records]
            row = replace(row, ties=ties)
        names = [objective.name for objective in self.spec.facts.objectives]
        objectives = dict(zip(names, summary.objectives, strict=True))
        return TriedSetting(row, setting.point, objectives, summary.own)


def _train_seconds(records: Sequence[Record]) -> float:
    """Returns the total seconds of the trainings of a setting, with pauses taken out of those that completed."""
    completed: list[float] = []
    others: list[float] = []
    for record in records:
        seconds = completed if record.status == "completed" else others
        seconds.append(record.metrics.get("train_seconds") or 0.0)
    return sum(without_pauses(completed)) + sum(others)


def _with_summary(row: SettingRow, summary: ObjectiveSummary) -> SettingRow:
    """Returns the row with what is known over its seeds."""
    return replace(row, values=summary.values, spread=summary.spread, diverged=summary.diverged)
