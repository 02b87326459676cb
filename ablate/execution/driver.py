"""The driver asks the plan, looks cells up, has the rest trained, and stores every record at once. It alone writes."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial

from ablate.base.errors import AblateError
from ablate.base.wording import counted
from ablate.core.events import (
    BatchPlanned,
    CacheHit,
    Ended,
    Engine,
    EngineEvent,
    EngineMessage,
    Listener,
    Plan,
    Progress,
    Saved,
    Started,
    TrialStored,
)
from ablate.core.record import STOPS, Record
from ablate.core.trial import Cell, Trial
from ablate.core.unread import is_unread
from ablate.records.store import Store
from ablate.records.superseded import note_superseded, superseded_by, superseded_in


class _FirstFailure(Exception):
    """Ends a run at its first failed trial."""


class NextBatch(Exception):
    """Ends a rehearsal at the cells that a run would train now: the first cell of each trial that is missing."""

    def __init__(self, cells: Sequence[Cell], left: int) -> None:
        """`left`: the most trainings that may follow."""
        self.cells = cells
        self.left = left


class BaselineFailed(AblateError):
    """The end of a run of which a trial of the baseline failed and none had another end: all would probably fail."""

    exit_code = 1


def drive(
    plan: Plan,
    engine: Engine,
    store: Store,
    listen: Listener,
    *,
    wanted: Callable[[Cell], bool] = lambda cell: True,
    later: int = 0,
    fresh: bool = False,
    not_before: str = "",
    fail_fast: bool = False,
    keep_going: bool = True,
) -> dict[str, Record]:
    """Trains what the plan asks for until it asks no more, and returns the records of its cells by trial id.

    Cells that are not `wanted` are looked up and never trained. A trial that several cells share is trained once, also
    where the plan asks for them one after the other, and listeners hear of each cell. It is trained again when the plan
    asks again where it was pruned, or lacks weights that the later cell keeps. A record is in the store before any
    listener hears of it. An interrupted trial resumes from its saved state, unless everything wanted is trained
    `fresh`, or the trial is prunable: then its earlier reports need decisions too. `later`: the most trainings that
    follow this plan. A trial that began before the date `not_before` gets that date: the clock of a node may be behind,
    or was set back. With `fail_fast` the first failed trial ends the run. Raises `AblateError` for one that failed for
    what no further trial would mend. While no trial has another end, a failed trial of the variant that is trained
    first, which is the baseline, raises `AblateError` where a pattern of its study has read nothing, and without
    `keep_going` `BaselineFailed`.
    """
    superseded_in(store.root)  # A damaged file is named before anything is trained.
    driver = _Driver(
        plan,
        store,
        listen,
        wanted=wanted,
        fresh=fresh,
        not_before=not_before,
        fail_fast=fail_fast,
        keep_going=keep_going,
    )
    left = 0
    while cells := plan.next_cells(driver.records):
        batch = driver.look_up(cells)
        left = plan.left
        listen(BatchPlanned(len(batch.trials), left + later, batch.without_weights, plan.reason))
        if not batch.trials:
            continue
        try:
            engine.run(list(batch.trials.values()), partial(driver.on_event, batch))
        except _FirstFailure:
            return driver.replaced | driver.records
    if left:
        listen(BatchPlanned(0, later, reason=plan.reason))
    return driver.replaced | driver.records


def rehearse(
    plan: Plan, store: Store, *, wanted: Callable[[Cell], bool] = lambda cell: True, later: int = 0
) -> dict[str, Record]:
    """Returns the records of all cells that a plan asks for, by trial id, where the store has them; trains nothing.

    wanted: tells which cells are asked for. later: the most trainings that follow this plan. Raises `NextBatch` at the
    first cells of which the store lacks one.
    """
    driver = _Driver(plan, store, wanted=wanted)
    while cells := plan.next_cells(driver.records):
        batch = driver.look_up(cells)
        if batch.trials:
            missing = [
                replace(batch.cells[trial_id][0], trial=trial) for trial_id, trial in batch.trials.items()
            ]
            raise NextBatch(missing, plan.left + later)
    return driver.records


@dataclass
class _Batch:
    """The cells that the plan has asked for at once, by trial id, and those of their trials that are to be trained."""

    cells: Mapping[str, Sequence[Cell]]
    trials: dict[str, Trial] = field(default_factory=dict)
    # Of the trials, the finished ones whose kept weights are missing.
    without_weights: int = 0


class _Driver:
    """Looks up the cells of a plan in the store, and handles the events of the trials to train."""

    def __init__(
        self,
        plan: Plan,
        store: Store,
        listen: Listener = lambda event: None,
        *,
        wanted: Callable[[Cell], bool] = lambda cell: True,
        fresh: bool = False,
        not_before: str = "",
        fail_fast: bool = False,
        keep_going: bool = True,
    ) -> None:
        self.plan = plan
        self.store = store
        self.listen = listen
        self.wanted = wanted
        self.fresh = fresh
        self.not_before = not_before
        self.fail_fast = fail_fast
        self.keep_going = keep_going
        # The variant of the trial that is trained first, the trials that were started, and those that have ended.
        self.first_variant: str | None = None
        self.started: set[str] = set()
        self.trained: set[str] = set()
        self.records: dict[str, Record] = {}
        # Records of trials that are trained again: each counts until its trial has a new one.
        self.replaced: dict[str, Record] = {}

    def look_up(self, cells: Sequence[Cell]) -> _Batch:
        """Keeps the records that the store has of some cells, and returns the cells with the trials to train."""
        by_trial: dict[str, list[Cell]] = {}
        for cell in cells:
            by_trial.setdefault(cell.id, []).append(cell)
        batch = _Batch(by_trial)
        for trial_id in by_trial:
            self._look_up_trial(trial_id, batch)
        if self.first_variant is None and batch.trials:
            self.first_variant = by_trial[next(iter(batch.trials))][0].variant
        return batch

    def _look_up_trial(self, trial_id: str, batch: _Batch) -> None:
        """Keeps the record of a trial, and tells listeners of its cells; or adds the trial to those of the batch.

        A trial is trained where a cell of it is wanted, and its record is missing, is not finished or lacks weights
        that are to be kept, or with `fresh`; once in a run, but for weights and for what was pruned.
        """
        cells = batch.cells[trial_id]
        wanted = [cell.trial for cell in cells if self.wanted(cell)]
        trial = wanted[-1] if wanted else cells[0].trial
        record = self._known(trial)
        if record is not None and (not wanted or self._counts(record, trial)):
            self.records[trial_id] = record
            for cell in cells:
                self.listen(CacheHit(cell, record))
            return
        if not wanted:
            return

        if not self.fresh and not trial.prunable:
            trial = replace(trial, state=self.store.load_state(trial_id))
        batch.trials[trial_id] = trial
        if not self.fresh and self.store.is_finished(record, pruned=trial.prunable):
            batch.without_weights += 1
        if record is not None:
            self.replaced[trial_id] = record

    def _known(self, trial: Trial) -> Record | None:
        """Returns the record of a trial from this run or from the store; None of one that this run has seen pruned.

        Who asks for that again has seen how far the trial came, and needs it to go on.
        """
        seen = self.records.get(trial.id)
        if seen is None:
            return self.store.load(trial)
        return None if seen.status == "pruned" else seen

    def _counts(self, record: Record, trial: Trial) -> bool:
        """Returns whether nothing is left to train of a trial that is wanted and has this record."""
        is_trained = trial.id in self.trained
        if self.fresh and not is_trained:
            return False
        if self.store.is_finished(record, trial.checkpoint, pruned=trial.prunable):
            return True
        # One that failed in this run would fail again; one that lacks nothing but weights is trained for them.
        return is_trained and not self.store.is_finished(record, pruned=trial.prunable)

    def on_event(self, batch: _Batch, event: EngineEvent) -> bool:
        """Stores what an engine sends, and passes events on; returns whether to prune the trial that reports."""
        if isinstance(event, Saved):
            self.store.save_state(event.trial_id, event.state)
        elif isinstance(event, Ended):
            self._store(event.record, batch.cells[event.record.id])
        elif isinstance(event, Started | Progress | EngineMessage):
            if isinstance(event, Started):
                self.started.add(event.trial_id)
            self.listen(event)
        if isinstance(event, Progress) and batch.trials[event.trial_id].prunable:
            return self.plan.should_prune(event)
        return False

    def _store(self, record: Record, cells: Sequence[Cell]) -> None:
        """Stores the record of a trial, and then tells listeners of each of its cells."""
        complete(record, cells[0], self.not_before)
        earlier = self.replaced.get(record.id)
        note_superseded(self.store.root, superseded_by(record, earlier), self.store.warn)
        self.store.save(record)
        record.weights = None  # in the store now, and large
        self.records[record.id] = record
        self.trained.add(record.id)
        for cell in cells:
            self.listen(TrialStored(cell, record))
        if STOPS in record.environment:
            raise AblateError(f"{cells[0].name}: {record.reason}")
        if record.status != "failed":
            return
        if self.fail_fast:
            raise _FirstFailure
        is_first = cells[0].variant == self.first_variant and self._all_failed()
        if is_first and is_unread(record):
            raise AblateError(f"{self._first_failure(record, cells[0])}; correct the pattern under `read`")
        if is_first and not self.keep_going:
            raise BaselineFailed(f"{self._first_failure(record, cells[0])}; --keep-going goes on")

    def _all_failed(self) -> bool:
        """Returns whether no trial has another end than failure, in the store or in this run."""
        return all(record.status == "failed" for record in self.records.values())

    def _first_failure(self, record: Record, cell: Cell) -> str:
        """Returns what ends the run, with what became of the other trials, in words."""
        num_others = len(self.started - {record.id})
        others = "nothing else was started"
        if num_others:
            others = f"{counted(num_others, 'other run')} that had begun {'was' if num_others == 1 else 'were'} stopped"
        return f"the first run failed: {cell.name}: {record.reason}; {others}"


def complete(record: Record, cell: Cell, not_before: str) -> None:
    """Adds to the record of a trial the size of its model, and the date before which it has not begun."""
    _begin_at(not_before, record)
    sizes = cell.size()
    record.environment |= {name: size for name, size in sizes.items() if size}


def _begin_at(moment: str, record: Record) -> None:
    """Moves start and end of a trial, as far apart as they are, to where the start is not before a moment."""
    if not record.started_at or record.started_at >= moment:
        return
    end = datetime.fromisoformat(moment) + timedelta(seconds=record.seconds)
    record.started_at = moment
    record.finished_at = end.isoformat(timespec="milliseconds")
