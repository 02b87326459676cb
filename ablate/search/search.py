"""One search: draws settings batch by batch, asks for their trials, and tells Optuna their values.

All settings of a batch are chosen before any is trained, and told in order when all are trained. The result depends
therefore on the search alone: not on the number of workers, nor on how often it was interrupted.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from ablate.base.errors import Invalid
from ablate.base.streams import stream_seed
from ablate.core.cell import Cell
from ablate.core.metric import Description, size_of
from ablate.core.record import Record
from ablate.core.search_table import Parameter, setting_name
from ablate.core.trial import Trial
from ablate.search.objectives import intermediate, measured, reported, summarised
from ablate.search.pruning import BatchPruner
from ablate.search.queue import Item, Queue
from ablate.search.quiet import quiet
from ablate.study.searches import SearchSpec
from ablate.study.space import Point

if TYPE_CHECKING:
    import optuna

Prepared = tuple[list[Trial], Description]
"""The trials of a setting, one for each tuning seed, and what is known of it without training."""


@dataclass
class Setting:
    """One trial of the search that has not ended."""

    item: Item
    point: Point
    cells: list[Cell] = field(default_factory=list)
    "One for each tuning seed."
    description: Description | None = None
    invalid: str = ""
    "Why it cannot be built."
    steps: dict[int, float] = field(default_factory=dict)
    "The values that the pruner has seen."
    attributes: dict[str, Any] = field(default_factory=dict)
    "Attributes that the pruner has given it."
    judged: bool = False
    "Whether the pruner has seen every value that it reads."
    pruned_at: int | None = None


class Search:
    """The search of a sweep, or of one variant on one task.

    `prepare` makes the trials of a point and raises `Invalid` if it cannot be built. Two searches of the same
    `stream` draw the same random settings. `on` names the task in the names of cells, if there are several. `swept`:
    the search is that of a sweep, not of a tuned variant.
    """

    def __init__(
        self,
        spec: SearchSpec,
        queue: Queue,
        stream: str,
        prepare: Callable[[Point], Prepared],
        variant: str,
        task: str = "",
        *,
        on: str = "",
        swept: bool = False,
    ) -> None:
        self.spec = spec
        self.queue = queue
        self.stream = stream
        self.prepare = prepare
        self.variant = variant
        self.task = task
        self.on = on
        self.swept = swept
        self.open: list[Setting] = []
        self.elsewhere = 0
        "Trials that other drivers train, when this one has nothing left to draw."
        self.done = False
        self._asked: set[str] = set()
        self._judge: BatchPruner
        self._grid: list[Point] = []
        self._reads = spec.pruner.part.reads  # type: ignore[attr-defined]
        self._metric = spec.objectives[0].name

    def next(self, records: Mapping[str, Record]) -> list[Cell]:
        """Returns the cells needed now; none if the search is done or waits for other drivers."""
        while not self.done:
            if not self.open and not self._begin():
                return []
            needed = [cell for setting in self.open for cell in self._needed(setting, records)]
            if needed:
                self._asked |= {cell.id for cell in needed}
                return needed
            self._tell(records)
        return []

    @property
    def left(self) -> int:
        """The most trainings that this process may ask for later."""
        if self.done:
            return 0
        later = [c for s in self.open if self._reads != "nothing" and s.pruned_at is None for c in s.cells]
        return len({cell.id for cell in later} - self._asked) + self.queue.left * len(self.spec.seeds)

    def _begin(self) -> bool:
        """Chooses the settings of the next batch; False if there is none."""
        drawn = self.queue.draw(self.spec.batch)
        self.elsewhere = 0 if drawn else self.queue.count_unfinished()
        if not drawn:
            self.done = not self.elsewhere
            return False
        self.open = [setting for item in drawn if (setting := self._setting(item)) is not None]
        if self._reads != "nothing":
            self._judge = self._judging(min(item.rank for item in drawn) // self.spec.batch)
        return bool(self.open) or self._begin()

    def _judging(self, batch: int) -> BatchPruner:
        """Makes the pruner, which knows earlier batches alone: not what this one told before an interruption."""
        earlier = self.queue.trials()[: batch * self.spec.batch]
        told = [trial for trial in earlier if trial.state.name in ("COMPLETE", "PRUNED")]
        reports = [s.description.reports[-1] for s in self.open if s.description and s.description.reports]
        steps = [step for trial in told for step in trial.intermediate_values]
        last = max(reports or steps, default=None) if self._reads == "steps" else len(self.spec.seeds) - 1
        pruner = self.spec.pruner.build().build(last)
        return BatchPruner(pruner, self.spec.objectives[0].direction, told, self.queue.name)

    def _setting(self, item: Item) -> Setting | None:
        """Chooses the setting of an item; None if another driver has taken the item over meanwhile."""
        from optuna.exceptions import UpdateFinishedTrialError

        try:
            with quiet():
                point = self._choose(item)
            self.queue.save_point(item, point)
            setting = Setting(item, point)
            try:
                trials, setting.description = self.prepare(point)
            except Invalid as error:
                trials, setting.invalid = [], str(error).partition("\n")[0]
        except UpdateFinishedTrialError:
            return None
        name, levels = setting_name(self.variant, item.rank, self.swept), self.spec.space.labels(point)
        size, named = partial(size_of, setting.description), f"{name}{self.on} seed"
        setting.cells = [
            Cell(name, self.task, t.seed, t, f"{named} {t.seed}", levels, "tried", size) for t in trials
        ]
        return setting

    def _choose(self, item: Item) -> Point:
        """Returns the point of an earlier attempt, of the grid, or of the sampler."""
        import optuna

        study = self.queue.study
        fixed: Mapping[str, Any] | None = item.point
        if self.spec.sampler.part.exhaustive and fixed is None:  # type: ignore[attr-defined]
            self._grid = self._grid or list(self.spec.space.grid())
            fixed = self._grid[item.rank]
        if fixed is not None:
            self.queue.fix(item, fixed)
        study.sampler = self._sampler(item) if fixed is None else optuna.samplers.RandomSampler(0)
        # Only `ask` and `tell` clear what samplers remember of the storage, and neither was called.
        study._thread_local.cached_all_trials = None
        trial = optuna.Trial(study, item.trial_id)
        if fixed is None:
            _ = trial.relative_params  # otherwise drawn at a parameter that an interruption would change
        point: Point = {}
        for parameter in self.spec.space.parameters:
            if not self.spec.space.active(parameter, point):
                continue
            if fixed is None:
                # With a seed of its own, for the same reason.
                study.sampler = self._sampler(item, parameter.path)
            point[parameter.path] = parameter.rounded(_suggested(trial, parameter))
        return point

    def _sampler(self, item: Item, *names: str) -> Any:
        seed = stream_seed(0, "search", self.stream, item.rank, *names)
        return self.spec.sampler.build().build(seed, self.spec.trials)

    def _needed(self, setting: Setting, records: Mapping[str, Record]) -> list[Cell]:
        """Returns the cells of a setting that must be looked up or trained next."""
        if setting.invalid or setting.pruned_at is not None:
            return []
        if self._reads == "seeds":
            return self._needed_by_seed(setting, records)
        if self._reads == "steps" and not setting.judged:
            first = setting.cells[0]
            record = records.get(first.id)
            if record is None or not self._accepted(setting, record):
                setting.steps, setting.attributes = {}, {}
                return [replace(first, trial=replace(first.trial, prunable=True))]
            setting.judged = True
        return [c for c in setting.cells if setting.pruned_at is None and _unfinished(c, records)]

    def _accepted(self, setting: Setting, record: Record) -> bool:
        """Whether a record agrees with the pruner, which sees one from the store step by step."""
        if setting.steps or record.status not in ("completed", "pruned"):
            return True
        shown = intermediate(record, self._metric).items()
        return any(self._prune(setting, *each) for each in shown) or record.status == "completed"

    def _needed_by_seed(self, setting: Setting, records: Mapping[str, Record]) -> list[Cell]:
        for index, cell in enumerate(setting.cells):
            if _unfinished(cell, records):
                return [cell]
            record = records[cell.id]
            if record.status == "failed":
                return []
            if index in setting.steps:
                continue
            value, _ = measured(record, self._metric, self.spec.at)
            if record.status == "diverged" and self.spec.objectives[0].floor is not None:
                value = self.spec.objectives[0].floor
            if self._prune(setting, index, value) and cell is not setting.cells[-1]:
                return []
            setting.pruned_at = None
        return []

    def _prune(self, setting: Setting, step: int, value: float) -> bool:
        """Shows the pruner one more value."""
        setting.steps[step] = value
        ends = self._judge.should_prune(setting.item.number, setting.steps, setting.attributes)
        if ends:
            setting.pruned_at = step
        return ends

    def hear(self, trial_id: str, step: int, metrics: Mapping[str, float]) -> bool:
        """Takes a report of a trial that waits, and returns whether it ends there."""
        setting = next((s for s in reversed(self.open) if s.cells and s.cells[0].id == trial_id), None)
        if setting is None or self._reads != "steps" or setting.judged:
            return False
        return self._prune(setting, step, reported(metrics, self._metric))

    def _tell(self, records: Mapping[str, Record]) -> None:
        """Tells Optuna the values of the settings of the batch, in order of rank."""
        for setting in self.open:
            found = [records[cell.id] for cell in setting.cells if cell.id in records]
            state, values, result = self._outcome(setting, found)
            # For Optuna's own plots and pruners: of the first seed, or seed by seed.
            steps = setting.steps or (intermediate(found[0], self._metric) if found else {})
            shown = state != "FAIL" and len(self.spec.objectives) == 1
            known = {step: value for step, value in steps.items() if shown and not math.isnan(value)}
            self.queue.tell(setting.item, state, values, result, known, setting.attributes)
        self.open = []

    def _outcome(
        self, setting: Setting, records: Sequence[Record]
    ) -> tuple[str, Sequence[float] | None, dict[str, Any]]:
        """Returns the state, the values and the result of a setting."""
        result: dict[str, Any] = {
            "point": setting.point,
            "ids": [record.id for record in records],
            "train_seconds": sum(r.metrics.get("train_seconds") or 0.0 for r in records),
        }
        if setting.description is None:
            # Pruned without a value: a sampler that reads this state learns to avoid such points.
            return "PRUNED", None, result | {"status": "invalid", "reason": setting.invalid}
        result |= {"parameters": setting.description.parameters, "flops": setting.description.flops}
        if failed := [record for record in records if record.status == "failed"]:
            return "FAIL", None, result | {"status": "failed", "reason": failed[0].reason}
        found = summarised(records, self.spec.objectives, setting.description, self.spec.at)
        values = dict(zip((o.name for o in self.spec.objectives), found.values, strict=True))
        result |= {"by_seed": found.by_seed, "spread": found.spread, "own": found.own, "values": values}
        result["diverged"] = found.diverged
        if setting.pruned_at is not None:
            values[self._metric] = setting.steps[setting.pruned_at]
            at = setting.pruned_at
            unit, at = ("seed", at + 1) if self._reads == "seeds" else ("step", at)
            result |= {"status": "pruned", "reason": f"pruned after {unit} {at}", "pruned_at": at}
            return "PRUNED", None, result
        diverged = [record for record in records if record.status == "diverged"]
        result |= {
            "status": "diverged" if diverged else "completed",
            "reason": f"{len(diverged)} of {len(records)} seeds {diverged[0].reason}" if diverged else "",
        }
        return "COMPLETE", found.values, result


def _unfinished(cell: Cell, records: Mapping[str, Record]) -> bool:
    """Whether a cell has no record, or one of a trial that another search ended early."""
    record = records.get(cell.id)
    return record is None or record.status == "pruned"


def _suggested(trial: optuna.Trial, parameter: Parameter) -> Any:
    if parameter.kind == "choice":
        return trial.suggest_categorical(parameter.path, list(parameter.choices))
    if parameter.kind == "int":
        step = int(parameter.step or 1)
        return trial.suggest_int(parameter.path, *parameter.ends(), log=parameter.log, step=step)
    return trial.suggest_float(parameter.path, *parameter.ends(), log=parameter.log, step=parameter.step)
