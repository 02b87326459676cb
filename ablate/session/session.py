"""A run of a study: its workers, display, MLflow and lock."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from itertools import islice
from typing import TYPE_CHECKING, Self

from ablate.base import locks
from ablate.base.locks import Say
from ablate.base.process import BEGAN, interruptible
from ablate.base.text import saying
from ablate.base.wording import joined
from ablate.core.events import Event, Plan
from ablate.core.overhead import Overhead, guessed
from ablate.core.record import Record
from ablate.core.trial import Cell
from ablate.execution.driver import drive
from ablate.execution.engines.local_pool import Server
from ablate.execution.progress import Display
from ablate.records.folder import StudyFolder
from ablate.records.store import Store, whereabouts
from ablate.report.terminal import print_verdicts
from ablate.session.forks import forks_driver, has_processes
from ablate.session.options import Options, RunOutcome
from ablate.session.workers import Workers
from ablate.tracking.tracker import Tracker

if TYPE_CHECKING:
    from rich.console import Console

    from ablate.study.document import Document
    from ablate.study.study import Study

MAX_FAILED = 12
"""The most failed trials that a run names when it ends."""


class IncompleteSelection(Exception):
    """Ends a run in which variants could not be selected because trials are missing; carries the outcome."""

    def __init__(self, outcome: RunOutcome) -> None:
        self.outcome = outcome


class Session:
    """The processes and locks of a run.

    Open, its workers and MLflow start; locked, it is the only one that trains its study.
    """

    def __init__(self, document: Document, folder: StudyFolder, options: Options, console: Console) -> None:
        self.folder = folder
        self.options = options
        self.console = console
        self.say: Say = saying(console)
        self.warn: Say = saying(console, "warning")
        self.store = Store(options.results_folder / "store", self.warn)
        self._forks_driver = forks_driver(document, options)
        # What a user's own workload needs is not known before the study is read.
        is_built_in = "workload" not in document.data
        self._starts_early = is_built_in and has_processes(options) and not self._forks_driver
        # When the run began, later by the time in which it awaited others; a notebook has begun long before.
        self._began = BEGAN if options.forks else time.monotonic()
        # The earliest date of a trial.
        self._not_before = ""
        # When the last training and measurement had ended.
        self._trained_until = self._began
        self._open = ExitStack()
        self._workers: Workers | None = None
        self._display: Display | None = None

    def __enter__(self) -> Self:
        self.server = self._open.enter_context(closing(Server()))
        tracker = Tracker(self.folder, self.options.tracking_uri, self.warn)
        self.tracker = self._open.enter_context(closing(tracker))
        # Beside this process, which checks the study; in vain where nothing is left to train.
        if self._starts_early:
            self.server.start_early()
        self.tracker.start()
        return self

    def __exit__(self, *raised: object) -> None:
        self._open.close()

    @contextmanager
    def lock(self, study: Study, *, selects: bool) -> Iterator[None]:
        """Waits until no other driver runs the study; an interruption inside says what is kept."""
        with self._awaited(locks.exclusive(self.store.root, self.folder.name, self.say)), interruptible():
            self._workers = Workers(study, self.options, self.server)
            self._display = self._display_of(study, self._workers, selects=selects)
            try:
                with self.tracker:
                    yield
            except KeyboardInterrupt as error:
                # What was raised names the processes that have timed variants.
                kept = joined([self._kept(study, selects=selects), *error.args])
                raise KeyboardInterrupt(kept) from None

    @contextmanager
    def training(self, *, not_before: str) -> Iterator[None]:
        """Keeps speed from being measured while trials are trained; afterwards the workers are gone.

        The code and data that trials get are fixed first. not_before: the earliest date of a trial, that of its plan.
        Raises `AblateError`.
        """
        self._not_before = not_before
        self.workers.freeze()
        if self._forks_driver:
            self.server.fork_driver()  # Before the display has a thread.
        with (
            self._awaited(locks.training(self.store.root, self.folder.name, self.say)),
            closing(self.workers),
            self.display,
        ):
            yield

    @contextmanager
    def _awaited(self, lock: AbstractContextManager[None]) -> Iterator[None]:
        """Holds a lock; the time until it is free is none of the run's own."""
        asked = time.monotonic()
        with lock:
            self._began += time.monotonic() - asked
            yield

    @property
    def workers(self) -> Workers:
        """The supervised engine that trains the trials of a run, while the lock of its study is held."""
        assert self._workers is not None, "a session trains while it holds the lock of its study"
        return self._workers

    @property
    def display(self) -> Display:
        """The display of progress, which a session has while it holds the lock of its study."""
        assert self._display is not None, "a session trains while it holds the lock of its study"
        return self._display

    def train(
        self,
        plan: Plan,
        *,
        later: int = 0,
        wanted: Callable[[Cell], bool] = lambda cell: True,
        fresh: bool = False,
    ) -> Mapping[str, Record]:
        """Trains what a plan asks for and the store lacks; returns the records by trial id.

        wanted: tells which cells are trained. fresh: trains those that the store has, too. later: the most trainings
        that follow this plan.
        """
        return drive(
            plan,
            self.workers,
            self.store,
            self._on_event,
            wanted=wanted,
            later=later,
            fresh=fresh,
            not_before=self._not_before,
            fail_fast=self.options.fail_fast,
            keep_going=self.options.keep_going or self.display.has_results,
        )

    def enlist(self, cells: Sequence[Cell]) -> None:
        """Adds cells to the list of the study's trials, before they are trained."""
        self.folder.trial_list.add(cells)

    def incomplete(
        self, what: str, cells: Sequence[Cell], records: Mapping[str, Record]
    ) -> IncompleteSelection:
        """Returns the end of a run whose selection lacks trials."""
        failed = self.failed(cells, records)
        self.say(f"The {what} is incomplete; run the same command to continue it.")
        return IncompleteSelection(RunOutcome(self.folder.path, failed, self.display.done))

    def failed(self, cells: Sequence[Cell], records: Mapping[str, Record]) -> list[str]:
        """Warns of the failed trials, and returns the first of their cells with the reason."""
        names = {cell.id: cell.name for cell in reversed(cells)}
        reasons = {trial: record.reason for trial, record in records.items() if record.status == "failed"}
        for trial, reason in islice(reasons.items(), MAX_FAILED):
            where = whereabouts(trial, self.folder.results)
            self.warn(f"failed: {names.get(trial, trial)}: {reason} ({where})")
        if len(reasons) > MAX_FAILED:
            self.warn(f"failed: {len(reasons) - MAX_FAILED} more; {self.folder.report_file} names every one")
        return [f"{names.get(trial, trial)}: {reason}" for trial, reason in reasons.items()]

    def announce_report(self) -> None:
        """Says that the report is being made, and has MLflow show the trials so far, in its own process."""
        self._trained_until = time.monotonic()
        self.tracker.start()
        if self.display.done:
            self.say("Comparing, and writing the report …")
            self.tracker.tell("RUNNING")

    def overhead(self) -> Overhead:
        """Returns the overhead of the run, which ends now."""
        assert self.display.trains_since is not None, "a run ends after its training"
        return Overhead(
            start=self.display.trains_since - self._began,
            report=time.monotonic() - self._trained_until,
        )

    def print_verdicts(self) -> None:
        """Prints the verdicts of the report."""
        print_verdicts(self.folder, self.folder.facts(), self.console)

    def _on_event(self, event: Event) -> None:
        self.tracker(event)
        self.display(event)

    def _display_of(self, study: Study, workers: Workers, *, selects: bool) -> Display:
        compute = study.baseline_description.compute
        return Display(
            self.console,
            study.config.name,
            study.metric,
            workers.capacity,
            at_most=selects or bool(study.config.seeds.looks),
            compute=compute,
            usual=self.store.usual_seconds(compute),
            overhead=self.folder.usual_overhead() or guessed(time.monotonic() - self._began),
            began=self._began,
            ends_at_failure=not self.options.keep_going and not self.options.fail_fast,
        )

    def _kept(self, study: Study, *, selects: bool) -> str:
        """Says how many trials of the study are in the store.

        By the files: an interruption can come between a trial's record and the event that tells of it.
        """
        cells = self.folder.trial_list.cells() if selects else study.cells()
        ids = {cell.id for cell in cells}
        stored = sum(self.store.has(trial) for trial in ids)
        of_all = "" if selects else f" of {len(ids)}"
        return f"{stored}{of_all} trials in {self.store.root}"
