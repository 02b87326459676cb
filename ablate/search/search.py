"""One search: draws settings batch by batch, says which trials they need, and tells Optuna what they are worth.

Settings of a batch are chosen before any of them is trained, and told in order when all are. What is found depends
therefore on the search alone: not on the number of workers, nor on how often it was interrupted.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from ablate.base.errors import Invalid
from ablate.base.streams import stream_seed
from ablate.core.cell import Cell
from ablate.core.metric import Description, Direction
from ablate.core.record import Record
from ablate.core.search_table import Parameter, setting_name
from ablate.core.trial import Trial
from ablate.search.objectives import intermediate, measured, reported, summarised
from ablate.search.queue import Item, Queue
from ablate.search.quiet import quiet
from ablate.study.searches import SearchSpec
from ablate.study.space import Point

if TYPE_CHECKING:
    import optuna
    from optuna.samplers import BaseSampler
    from optuna.trial import FrozenTrial

    from ablate.search.pruning import BatchPruner

Prepared = tuple[list[Trial], Description]
"""The trials of a setting, one a tuning seed, and what is known of it without training."""


@dataclass
class Setting:
    """One trial of the search, while it is under way."""

    item: Item
    point: Point
    cells: list[Cell] = field(default_factory=list)
    "Of its trainings, one a tuning seed."
    description: Description | None = None
    invalid: str = ""
    "Why it cannot be built."
    steps: dict[int, float] = field(default_factory=dict)
    "What the pruner has seen."
    attributes: dict[str, Any] = field(default_factory=dict)
    "What the pruner keeps of it."
    judged: bool = False
    "Whether the pruner has seen all that it reads."
    pruned_at: int | None = None


class Search:
    """One search: for a sweep, or for one variant on one task.

    `prepare` makes the trials of a point and raises `Invalid` when it cannot be built. Two searches of the same
    `stream` draw the same random settings. `swept`: the settings are those of a sweep, not of a tuned variant.
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
        """`on` names the task in the names of cells, where there are several."""
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
        "Trials that other drivers are at, when there is nothing left for this one."
        self.done = False
        self._asked: set[str] = set()
        self._by_id: dict[str, Setting] = {}
        self._judge: BatchPruner | None = None
        self._grid: list[Point] = []
        self._reads = spec.pruner.part.reads  # type: ignore[attr-defined]
        self._metric = spec.objectives[0].name

    def next(self, records: Mapping[str, Record]) -> list[Cell]:
        """The cells that are needed now; none when the search is done or only other drivers have something to do."""
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
        """Trainings that this process may ask for later, at most."""
        if self.done:
            return 0
        later = [c for s in self.open if self._reads != "nothing" and s.pruned_at is None for c in s.cells]
        return len({cell.id for cell in later} - self._asked) + self.queue.left * len(self.spec.seeds)

    def _begin(self) -> bool:
        """Chooses the settings of the next batch; False when there is none."""
        drawn = self.queue.draw(self.spec.batch)
        if not drawn:
            self.elsewhere = self.queue.count_unfinished()
            self.done = not self.elsewhere
            return False
        self.elsewhere = 0
        self.open = [setting for item in drawn if (setting := self._setting(item)) is not None]
        if self._reads != "nothing":
            self._judge = self._judging(min(item.rank for item in drawn) // self.spec.batch)
        self._by_id = {s.cells[0].id: s for s in self.open if s.cells}
        return bool(self.open) or self._begin()

    def _told(self, batch: int) -> list[FrozenTrial]:
        """What earlier batches have shown: not what this one had told before an interruption."""
        from optuna.trial import TrialState

        outcomes = (TrialState.COMPLETE, TrialState.PRUNED)
        earlier = self.queue.trials()[: batch * self.spec.batch]
        return [trial for trial in earlier if trial.state in outcomes]

    def _judging(self, batch: int) -> BatchPruner:
        """The pruner, before what the batches before this one have shown."""
        from ablate.search.pruning import BatchPruner

        told = self._told(batch)
        reports = [s.description.reports[-1] for s in self.open if s.description and s.description.reports]
        steps = [step for trial in told for step in trial.intermediate_values]
        last = max(reports or steps, default=None) if self._reads == "steps" else len(self.spec.seeds) - 1
        pruner = self.spec.pruner.build().build(last)
        direction: Direction = "max" if self.spec.objectives[0].direction == "max" else "min"
        return BatchPruner(pruner, direction, told, self.queue.name)

    def _setting(self, item: Item) -> Setting | None:
        """What a item stands for; None when another driver has taken it over meanwhile."""
        from optuna.exceptions import UpdateFinishedTrialError

        try:
            with quiet():
                point = self._choose(item)
            self.queue.save_point(item, point)
            setting = Setting(item, point)
            try:
                trials, setting.description = self.prepare(point)
                setting.cells = [self._cell(item.rank, point, trial) for trial in trials]
            except Invalid as error:
                setting.invalid = str(error).partition("\n")[0]
            self.queue.save_ids(item, [cell.id for cell in setting.cells])
        except UpdateFinishedTrialError:
            return None
        return setting

    def _cell(self, rank: int, point: Point, trial: Trial) -> Cell:
        name = setting_name(self.variant, rank, self.swept)
        levels = self.spec.space.labels(point)
        full_name = f"{name}{self.on} seed {trial.seed}"
        return Cell(name, self.task, trial.seed, trial, full_name, levels, judged=False)

    def _choose(self, item: Item) -> Point:
        """The point that the sampler, the grid or an earlier attempt gives."""
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
            # Drawn now: at the first parameter that is not known yet, which after an interruption is another.
            _ = trial.relative_params
        point: Point = {}
        for parameter in self.spec.space.parameters:
            if not self.spec.space.active(parameter, point):
                continue
            if fixed is None:
                # With a seed of its own, for the same reason.
                study.sampler = self._sampler(item, parameter.path)
            point[parameter.path] = parameter.rounded(_suggested(trial, parameter))
        return point

    def _sampler(self, item: Item, *names: str) -> BaseSampler:
        seed = stream_seed(0, "search", self.stream, item.rank, *names)
        sampler: BaseSampler = self.spec.sampler.build().build(seed, self.spec.trials)
        return sampler

    def _needed(self, setting: Setting, records: Mapping[str, Record]) -> list[Cell]:
        """The cells of a setting that must be looked up or trained next."""
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
            if setting.pruned_at is not None:
                return []
        return [cell for cell in setting.cells if _unfinished(cell, records)]

    def _accepted(self, setting: Setting, record: Record) -> bool:
        """Whether a record tells what the pruner decides; one from the store is shown to it step by step."""
        if setting.steps or record.status not in ("completed", "pruned"):
            return True
        for step, value in intermediate(record, self._metric).items():
            if self._prune(setting, step, value):
                return True
        return record.status == "completed"

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
            floor = self.spec.objectives[0].floor
            if record.status == "diverged" and floor is not None:
                value = floor
            last = index == len(setting.cells) - 1
            if self._prune(setting, index, value) and not last:
                return []
            setting.pruned_at = None
        return []

    def _prune(self, setting: Setting, step: int, value: float) -> bool:
        """Shows the pruner one more value."""
        assert self._judge is not None
        setting.steps[step] = value
        if self._judge.should_prune(setting.item.number, setting.steps, setting.attributes):
            setting.pruned_at = step
            return True
        return False

    def hear(self, trial_id: str, step: int, metrics: Mapping[str, float]) -> bool:
        """Takes a report of a trial that waits; whether it shall stop."""
        setting = self._by_id.get(trial_id)
        if setting is None or self._reads != "steps" or setting.judged:
            return False
        return self._prune(setting, step, reported(metrics, self._metric))

    def _tell(self, records: Mapping[str, Record]) -> None:
        """Tells Optuna, in order, what the settings of the batch are worth."""
        for setting in sorted(self.open, key=lambda s: s.item.rank):
            found = [records.get(cell.id) for cell in setting.cells]
            state, values, result = self._outcome(setting, [r for r in found if r is not None])
            several = len(self.spec.objectives) > 1
            steps = {} if several or state == "FAIL" else self._steps(setting, found)
            self.queue.tell(setting.item, state, values, result, steps, setting.attributes)
        self.open, self._by_id = [], {}

    def _steps(self, setting: Setting, records: Sequence[Record | None]) -> dict[int, float]:
        """What Optuna's own plots and pruners see: of the first seed, or seed by seed."""
        first = records[0] if records else None
        found = setting.steps or (intermediate(first, self._metric) if first is not None else {})
        return {step: value for step, value in found.items() if not math.isnan(value)}

    def _outcome(
        self, setting: Setting, records: Sequence[Record]
    ) -> tuple[str, Sequence[float] | None, dict[str, Any]]:
        """State, values and result of a setting."""
        result: dict[str, Any] = {
            "point": setting.point,
            "ids": [record.id for record in records],
            "train_seconds": sum(r.metrics.get("train_seconds") or 0.0 for r in records),
        }
        if setting.description is not None:
            result |= {"parameters": setting.description.parameters, "flops": setting.description.flops}
        if setting.invalid:
            # Pruned without a value: a sampler that reads this state learns to keep away.
            return "PRUNED", None, result | {"status": "invalid", "reason": setting.invalid}
        if failed := [record for record in records if record.status == "failed"]:
            return "FAIL", None, result | {"status": "failed", "reason": failed[0].reason}
        assert setting.description is not None
        found = summarised(records, self.spec.objectives, setting.description, self.spec.at)
        values = dict(zip((o.name for o in self.spec.objectives), found.values, strict=True))
        result |= {"by_seed": found.by_seed, "spread": found.spread, "diverged": found.diverged}
        result["own"] = found.own
        if setting.pruned_at is not None:
            values[self._metric] = setting.steps[setting.pruned_at]
            unit = "seed" if self._reads == "seeds" else "step"
            at = setting.pruned_at + (self._reads == "seeds")
            result |= {"status": "pruned", "reason": f"pruned after {unit} {at}", "pruned_at": at}
            return "PRUNED", None, result | {"values": values}
        diverged = [record for record in records if record.status == "diverged"]
        result |= {
            "status": "diverged" if diverged else "completed",
            "reason": f"{len(diverged)} of {len(records)} seeds {diverged[0].reason}" if diverged else "",
        }
        return "COMPLETE", found.values, result | {"values": values}


def _unfinished(cell: Cell, records: Mapping[str, Record]) -> bool:
    """Whether a cell has no record, or one of a trial that another search gave up."""
    record = records.get(cell.id)
    return record is None or record.status == "pruned"


def _suggested(trial: optuna.Trial, parameter: Parameter) -> Any:
    if parameter.kind == "choice":
        return trial.suggest_categorical(parameter.path, list(parameter.choices))
    if parameter.kind == "int":
        step = int(parameter.step or 1)
        return trial.suggest_int(parameter.path, *parameter.ends(), log=parameter.log, step=step)
    return trial.suggest_float(parameter.path, *parameter.ends(), log=parameter.log, step=parameter.step)
