"""A search is replay: a seeded study of Optuna in memory is asked batch by batch, and answered from records.

All settings of a batch are asked for before any is trained, and told in order when all are. What is asked depends
therefore on the search and its records alone: not on the number of workers, and a search that was killed goes on by
being asked again from its beginning. Nothing but the records is kept.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile
from typing import TYPE_CHECKING, Any

from ablate.base.errors import Invalid
from ablate.base.quiet import quiet
from ablate.base.streams import stream_seed
from ablate.core.events import Progress
from ablate.core.metric import Description, validated
from ablate.core.record import Record, on_validation
from ablate.core.trial import Cell
from ablate.search.classes import refusing
from ablate.search.samplers import NUM_SEEDS
from ablate.stages.search.space import Point
from ablate.stages.search.spec import LOST, SearchSpec, intermediate, seed_value, summarised

if TYPE_CHECKING:
    import optuna

# From a number and a point to the cells of a setting, one for each tuning seed, and what is known of it without
# training; raises `Invalid` where it cannot be built.
Prepare = Callable[[int, Point], tuple[list[Cell], Description]]


@dataclass
class Setting:
    """One setting of the open batch."""

    asked: optuna.Trial
    point: Point
    # One for each tuning seed.
    cells: list[Cell] = field(default_factory=list)
    description: Description | None = None
    # Why it cannot be built.
    invalid: str = ""
    # What the pruner has seen, by step or by place of the seed.
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

        self.spec, self.prepare, self.variant, self.task = spec, prepare, variant, task
        # What each setting has come to, in the order in which they were asked for.
        self.rows: list[dict[str, Any]] = []
        self._batch: list[Setting] = []
        self._wanted: set[str] = set()
        # Whether the sampler has no other setting.
        self._stopped = False
        self._reads = spec.section.pruner.part.reads
        self._metric = spec.facts.objectives[0].name
        self._grid = spec.space.grid() if spec.section.sampler.part.exhaustive else []
        seed = stream_seed(0, "search", repr(spec.space.parameters), repr(spec.section.sampler), stream)
        self.study = optuna.create_study(
            sampler=spec.section.sampler.build().build(seed % NUM_SEEDS, spec.facts.trials),
            pruner=spec.section.pruner.build().make(),
            directions=["minimize" if o.direction == "min" else "maximize" for o in spec.facts.objectives],
        )
        # A sampler that has visited every point says so here, which Optuna itself allows inside `optimize` alone.
        self.study.stop = self._stop  # type: ignore[method-assign]

    def _stop(self) -> None:
        self._stopped = True

    @property
    def failed(self) -> bool:
        """Whether a trial has failed, on which nothing may rest: it asks for nothing more."""
        return any(row["status"] == "failed" for row in self.rows)

    @property
    def complete(self) -> bool:
        """Whether every setting of the budget, or of the space, has been tried."""
        return not self.failed and (self._stopped or len(self.rows) >= self.spec.facts.trials)

    @property
    def left(self) -> int:
        """The most trainings that it may ask for later."""
        if self.failed or self.complete:
            return 0
        later = {c.id for setting in self._batch if setting.pruned_at is None for c in setting.cells}
        rest = self.spec.facts.trials - len(self.rows) - len(self._batch)
        return len(later - self._wanted) + rest * len(self.spec.facts.seeds)

    @quiet()
    def ask(self, records: Mapping[str, Record]) -> list[Cell]:
        """The cells of the batch that need a record; where all have theirs, those of the next one."""
        while not (self.failed or self.complete):
            if not self._batch:
                end = min(len(self.rows) + self.spec.facts.batch, self.spec.facts.trials)
                self._batch = [self._setting(number) for number in range(len(self.rows), end)]
            needed = [cell for setting in self._batch for cell in self._needed(setting, records)]
            self._wanted |= {cell.id for cell in needed}
            if needed:
                return needed
            self._tell(records)
        return []

    @quiet()
    def hear(self, report: Progress) -> bool:
        """Whether a trial that waits ends at its report."""
        for setting in self._batch if self._reads == "steps" else []:
            if setting.cells and setting.cells[0].id == report.trial_id:
                # One that begins again after its process was lost reports its steps again.
                setting.shown = {step: v for step, v in setting.shown.items() if step < report.step}
                given = report.metrics
                value = given.get(validated(self._metric), given.get(self._metric, math.nan))
                return self._ends(setting, report.step, float(value))
        return False

    def _setting(self, number: int) -> Setting:
        """Asks for one setting."""
        if self._grid:
            self.study.enqueue_trial(self._grid[number])
        with refusing(self.spec.section.sampler):
            asked = self.study.ask()
            setting = Setting(asked, self.spec.space.suggested(asked))
        try:
            setting.cells, setting.description = self.prepare(number, setting.point)
        except Invalid as error:
            setting.invalid = str(error).partition("\n")[0]
        return setting

    def _needed(self, setting: Setting, records: Mapping[str, Record]) -> list[Cell]:
        """The cells of a setting that must be looked up or trained next.

        A record is cut where the pruner would have ended its training, wherever it comes from.
        """
        # Without a record, or with one that another search ended early.
        rest = [c for c in setting.cells if c.id not in records or records[c.id].status == "pruned"]
        if self._reads == "nothing" or not setting.cells:
            return rest
        setting.shown, last = {}, -1
        if self._reads == "seeds":
            # One after the other; the last saves no training.
            then, last = rest[:1], len(setting.cells) - 1
            ended = (records[cell.id] for cell in takewhile(lambda cell: cell not in then, setting.cells))
            values = (seed_value(r, self.spec.facts.objectives[0], self.spec.at) for r in ended)
            reports = dict(enumerate(values))
        else:
            first, record = setting.cells[0], records.get(setting.cells[0].id)
            reports = intermediate(record, self._metric) if record else {}
            # Another search, or this one with other settings before it, had it ended early. A second time it is
            # trained whole: what it reported was not what its record has.
            again = record is None or (record.status == "pruned" and first.id not in self._wanted)
            then = [replace(first, trial=replace(first.trial, prunable=True))] if again else rest
        ends = (step for step, v in reports.items() if self._ends(setting, step, v) and step != last)
        setting.pruned_at = next(ends, None)
        return then if setting.pruned_at is None else []

    def _ends(self, setting: Setting, step: int, value: float) -> bool:
        """Shows the pruner one more value. Of other settings it sees those that were told, of earlier batches."""
        import optuna

        setting.shown[step] = value
        so_far = optuna.create_trial(
            state=optuna.trial.TrialState.RUNNING, intermediate_values=dict(setting.shown)
        )
        return bool(self.study.pruner.prune(self.study, so_far))

    def _tell(self, records: Mapping[str, Record]) -> None:
        """Tells the values of the settings of the batch, in the order in which they were asked for."""
        from optuna.trial import TrialState

        for setting in self._batch:
            # Of seeds behind the one at which it was pruned, another search may know.
            end = None if setting.pruned_at is None else 1 + setting.pruned_at * (self._reads == "seeds")
            found = [records[cell.id] for cell in setting.cells[:end] if cell.id in records]
            state, values, row = self._outcome(setting, found)
            self.rows.append(row)
            for step, value in setting.shown.items():
                if not math.isnan(value):
                    setting.asked.report(value, step)
            self.study.tell(setting.asked, values, TrialState[state])
        self._batch = []

    def _outcome(
        self, setting: Setting, records: Sequence[Record]
    ) -> tuple[str, Sequence[float] | None, dict[str, Any]]:
        """Returns the state and the values of a setting for Optuna, and its row of the table."""
        row: dict[str, Any] = {
            "variant": self.variant,
            "task": self.task,
            "number": setting.asked.number,
            "ids": [record.id for record in records],
            "seeds": len(records),
            "train_seconds": sum(r.metrics.get("train_seconds") or 0.0 for r in records),
            **setting.point,
        }
        if setting.description is None:
            # Pruned without a value: a sampler that reads this state learns to avoid such points.
            return "PRUNED", None, row | {"status": "invalid", "reason": setting.invalid}
        row |= {"parameters": setting.description.parameters, "flops": setting.description.flops}
        if failed := [record for record in records if record.faulty]:
            return "FAIL", None, row | {"status": "failed", "reason": failed[0].reason}
        values, more = summarised(records, self.spec.facts.objectives, setting.description, self.spec.at)
        if setting.pruned_at is not None:
            # What a finished record has beyond its cut is not known either.
            row |= more if self._reads == "seeds" else {"values": [math.nan]}
            at = setting.pruned_at + (self._reads == "seeds")
            row |= {self._metric: setting.shown[setting.pruned_at], "pruned_at": at}
            reason = f"pruned after {self._reads.removesuffix('s')} {at}"
            return "PRUNED", None, row | {"status": "pruned", "reason": reason}
        if self.spec.tie:
            row["ties"] = [on_validation(record, self.spec.tie, self.spec.at)[0] for record in records]
        row |= more | dict(zip((o.name for o in self.spec.facts.objectives), values, strict=True))
        reasons = [record.reason for record in records if record.status in LOST]
        why = f"{len(reasons)} of {len(records)} seeds {reasons[0]}" if reasons else ""
        return "COMPLETE", values, row | {"status": "diverged" if why else "completed", "reason": why}


class SearchPlan:
    """Several searches that proceed together, so that all workers are busy; see `core.events.Plan`."""

    def __init__(self, searches: Sequence[Search], enlist: Callable[[Sequence[Cell]], None]) -> None:
        """`enlist` hears of cells before they are trained."""
        self.searches, self.enlist = searches, enlist
        self.cells: dict[str, Cell] = {}  # All that were asked for, by trial id.

    def ask(self, records: Mapping[str, Record]) -> Sequence[Cell]:
        """The cells that the searches need now."""
        cells = [cell for search in self.searches for cell in search.ask(records)]
        self.cells |= {cell.id: cell for cell in reversed(cells) if cell.id not in self.cells}
        self.enlist(cells)
        return cells

    def hear(self, report: Progress) -> bool:
        """Whether a setting that waits ends here."""
        # Each of those that share the trial keeps what it hears, so that all are asked.
        return True in [search.hear(report) for search in self.searches]

    @property
    def left(self) -> int:
        """The most trainings that the searches may ask for later."""
        return sum(search.left for search in self.searches)
