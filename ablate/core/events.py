"""Events, from where a trial runs to the driver and on to its listeners; the contracts of engines and of plans."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from ablate.core.record import Record
from ablate.core.trial import Cell, Trial


@dataclass(frozen=True)
class Started:
    """A trial has begun."""

    trial_id: str


@dataclass(frozen=True)
class Progress:
    """A trial has reached `step`; a prunable one waits for an answer."""

    trial_id: str
    step: int
    metrics: Mapping[str, float]


@dataclass(frozen=True)
class Saved:
    """A trial can resume from `step`."""

    trial_id: str
    step: int
    state: bytes


@dataclass(frozen=True)
class Ended:
    """A trial has a record."""

    record: Record


@dataclass(frozen=True)
class WorkerLost:
    """The process of a running trial has ended without a record."""

    trial_id: str
    fate: str  # How it ended, in words.
    output: str = ""  # The last lines that it printed.


@dataclass(frozen=True)
class EngineMessage:
    """What an engine has to say: what it waits for, machines that come and go."""

    text: str


@dataclass(frozen=True)
class Idle:
    """No event has happened lately; engines send this a few times a second while trials run."""


@dataclass(frozen=True)
class BatchPlanned:
    """The plan has asked for cells and the driver has looked them up: `to_train` trials remain to be trained."""

    to_train: int
    left: int = 0  # The largest number of trainings that may follow these.
    without_weights: int = 0  # Of those to train, the finished ones whose kept weights are missing.


@dataclass(frozen=True)
class CacheHit:
    """The record of a cell was in the store."""

    cell: Cell
    record: Record


@dataclass(frozen=True)
class TrialStored:
    """A cell has been trained, and its record is in the store."""

    cell: Cell
    record: Record


EngineEvent = Started | Progress | Saved | Ended | WorkerLost | EngineMessage | Idle
Event = (
    Started | Progress | EngineMessage | BatchPlanned | CacheHit | TrialStored
)  # For the listeners of a run.

# Takes the events of an engine; the answer to the `Progress` of a prunable trial says whether it ends there.
OnEvent = Callable[[EngineEvent], bool]
Listener = Callable[[Event], None]


@dataclass(frozen=True)
class Capacity:
    """How many trials an engine runs at once; 0: one, in this process."""

    trials: int
    where: str = ""  # In words that follow `on 2 workers`.


class Engine(Protocol):
    """Runs trials for the driver. A supervisor outside it handles attempts and time limits."""

    def capacity(self) -> Capacity:
        """What it runs at once, of a study that has as many trials; here, one in this process."""
        return Capacity(0)

    def run(self, trials: Sequence[Trial], on_event: OnEvent) -> None:
        """Runs all `trials`, in order, as workers become free, and returns when each is `Ended` or `WorkerLost`.

        Every event goes through `on_event`, in the order of each trial's steps; a prunable trial waits at each report
        for the answer. An exception of `on_event` ends the call.
        """

    def stop(self, trial_id: str, why: str) -> None:
        """Ends a running trial by force, where that is possible: it is `WorkerLost`, with `why` as its fate."""
        return

    def close(self) -> None:
        """Ends all work at once, where any goes on between two calls."""
        return


class Plan(Protocol):
    """Decides what to train next. The driver knows nothing else about what is run."""

    def next_cells(self, records: Mapping[str, Record]) -> Sequence[Cell]:
        """The cells to look up or train now, given the records so far by trial id; empty when the plan is done.

        Every cell gets a record, from the store or by training. A cell that is asked for again is trained again.
        """

    def should_prune(self, report: Progress) -> bool:
        """Whether a prunable trial ends at this report; here, none does."""
        return False

    @property
    def left(self) -> int:
        """The largest number of trainings that may follow those already asked for."""


class FixedPlan(Plan):
    """A plan that asks for its cells once."""

    left = 0

    def __init__(self, cells: Sequence[Cell]) -> None:
        self._cells = list(cells)

    def next_cells(self, records: Mapping[str, Record]) -> Sequence[Cell]:
        """All cells, the first time; then none."""
        cells, self._cells = self._cells, []
        return cells
