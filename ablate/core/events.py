"""Events, from where a trial runs to the driver and on to its listeners; the contracts of engines and of plans."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from ablate.core.record import Record
from ablate.core.trial import Cell, Trial


@dataclass(frozen=True)
class Started:
    """The start of a trial."""

    trial_id: str


@dataclass(frozen=True)
class Progress:
    """The report of a trial at a step; a prunable trial waits for the answer."""

    trial_id: str
    step: int
    metrics: Mapping[str, float]


@dataclass(frozen=True)
class Saved:
    """The state of a trial at a step, from which it can resume."""

    trial_id: str
    step: int
    state: bytes


@dataclass(frozen=True)
class Ended:
    """The end of a trial, with its record."""

    record: Record


@dataclass(frozen=True)
class WorkerLost:
    """The end of a running trial's process without a record."""

    trial_id: str
    fate: str  # How it ended, in words.
    output: str = ""  # The last lines that it printed.


@dataclass(frozen=True)
class EngineMessage:
    """A line of an engine for the user: a wait, a machine that comes or goes."""

    text: str


@dataclass(frozen=True)
class Idle:
    """A sign that nothing has happened lately, which engines send a few times a second while trials run."""


@dataclass(frozen=True)
class BatchPlanned:
    """The cells of a plan, looked up by the driver: `to_train` of their trials remain to be trained."""

    to_train: int
    left: int = 0  # The largest number of trainings that may follow these.
    without_weights: int = 0  # Of those to train, the finished ones whose kept weights are missing.
    # Why there are fewer of them than announced before, in words, where there are.
    reason: str = ""


@dataclass(frozen=True)
class CacheHit:
    """A cell whose record was in the store."""

    cell: Cell
    record: Record


@dataclass(frozen=True)
class TrialStored:
    """A cell that was trained, and whose record is in the store."""

    cell: Cell
    record: Record


EngineEvent = Started | Progress | Saved | Ended | WorkerLost | EngineMessage | Idle
"""From an engine to the driver."""
Event = Started | Progress | EngineMessage | BatchPlanned | CacheHit | TrialStored
"""From the driver to the listeners of a run."""
OnEvent = Callable[[EngineEvent], bool]
"""Takes the events of an engine; the answer to the `Progress` of a prunable trial says whether it ends there."""
Listener = Callable[[Event], None]


@dataclass(frozen=True)
class Capacity:
    """The number of trials that an engine runs at once; 0: one, in this process."""

    trials: int
    where: str = ""  # In words that follow `on 2 workers`.


class Engine(Protocol):
    """Runs trials for the driver. A supervisor outside it handles attempts and time limits."""

    def capacity(self) -> Capacity:
        """Returns how many trials it runs at once, where a study has as many; here, one in this process."""
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
        """Returns the cells to look up or train now, by the records so far; none when the plan is done.

        records: trial id → record. Every cell gets one, from the store or by training; a trial is trained
        again when it is asked for again where it was pruned, or lacks weights that are to be kept.
        """

    def should_prune(self, report: Progress) -> bool:
        """Returns whether a prunable trial ends at this report; here, none does."""
        return False

    @property
    def left(self) -> int:
        """The most trainings that may follow those already asked for."""

    @property
    def reason(self) -> str:
        """Why there are fewer trainings than announced, in words that follow a colon."""
        return SHARED_OR_STORED


SHARED_OR_STORED = "their trials are shared with others or in the store"
"""Why a plan trains fewer trials than it has cells."""


class FixedPlan(Plan):
    """A plan that asks for its cells once."""

    left = 0

    def __init__(self, cells: Sequence[Cell]) -> None:
        self._cells = list(cells)

    def next_cells(self, records: Mapping[str, Record]) -> Sequence[Cell]:
        """Returns all cells the first time, then none."""
        cells = self._cells
        self._cells = []
        return cells
