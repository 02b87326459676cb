"""MLflow kept up to date with a study by a process of its own, which training does not wait for.

All that it writes is in the store and the study's folder already: what it misses, the next one writes. Where
`ABLATE_TRACKING` is `off` in the environment, or MLflow is not installed, there is none, and `ablate ui` writes all.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from functools import partial
from typing import assert_never

from ablate.base.extras import is_installed, refuse_missing
from ablate.core.events import CacheHit, Event, TrialStored
from ablate.execution.child import Child, Keeper, fresh
from ablate.records.folder import StudyFolder
from ablate.tracking.database import check_uri
from ablate.tracking.messages import Ended, Progress, Status, Update

# Seconds between two updates while a study trains, unless so many trials wait that one would take seconds.
INTERVAL = 60.0
MANY = 200
# Seconds that MLflow may take in the end.
FINAL_LIMIT = 30.0
# Seconds that MLflow may take after an interruption.
INTERRUPTED_LIMIT = 10.0


class Tracker(Keeper):
    """A listener that has MLflow brought up to date: in the store's own database, unless `uri` names another place.

    Leaving the context without `finish` shows the study as interrupted.
    """

    def __init__(self, folder: StudyFolder, uri: str | None, warn: Callable[[str], None]) -> None:
        if uri:
            check_uri(uri)
            refuse_missing("mlflow", "--tracking-uri")
        self.folder = folder
        self.uri = uri
        self.warn = warn
        self.is_off = os.environ.get("ABLATE_TRACKING") == "off" or not is_installed("mlflow")
        self._due = time.monotonic() + INTERVAL
        # Trials with a record of which MLflow has not been told.
        self._waiting = 0
        self._is_behind = False
        self._progress: Progress | None = None

    def __enter__(self) -> Tracker:
        """Has the store's database made, where there is none, while trials train."""
        if self.uri is None:
            self.tell(None)
        return self

    def __exit__(self, *raised: object) -> None:
        """Shows what there is as interrupted, unless the study is finished."""
        try:
            if self._is_behind:
                self._write("KILLED", INTERRUPTED_LIMIT)
        finally:
            self.close()

    def __call__(self, event: Event) -> None:
        """Has MLflow brought up to date if it is time, where a trial has a record."""
        if not isinstance(event, CacheHit | TrialStored):
            return
        self._is_behind = not self.is_off
        self._waiting += 1
        if time.monotonic() >= self._due or self._waiting >= MANY:
            self._due = time.monotonic() + INTERVAL
            self._waiting = 0
            self.tell("RUNNING")

    def start(self) -> None:
        """Starts the process, unless it runs, so that it imports MLflow while there is other work."""
        # Where one is gone, the next writes what it missed.
        if not self.is_off:
            self.started(partial(fresh, "ablate.tracking.process"))

    def tell(self, status: Status | None, deadline: float | None = None) -> None:
        """Sends the process a status to show in MLflow; without one, it only makes the database.

        deadline: of the last update, by the clock of `time.monotonic`.
        """
        self.start()
        if self._child is not None:
            self._child.send(Update(self.folder, self.uri, status, deadline))

    def finish(self) -> bool:
        """Brings MLflow up to date with the report; returns whether it is.

        A tracker that is down, locked, full or silent is a warning, not an error.
        """
        self._is_behind = False
        fault = self._write("FINISHED", FINAL_LIMIT)
        if not fault:
            return True

        root = self.folder.results / "store"
        where = self.uri or f"the database in {root}"
        later = "each further run of the study goes on with it"
        if not self.uri:
            later += ", and `ablate ui` completes it"
        self.warn(
            f"MLflow ({where}) {self._state()}: {fault}. Nothing is lost: every trial is in {root}; {later}."
        )
        return False

    def _state(self) -> str:
        """Says what MLflow lacks, as far as its process has told."""
        if self._progress is None:
            return "is not up to date"
        return f"has {self._progress.done:,} of {self._progress.total:,} trials"

    def _write(self, status: Status, limit: float) -> str:
        """Waits at most `limit` seconds for all to be written, and returns why it is not, or nothing."""
        deadline = time.monotonic() + limit
        self.tell(status, deadline)
        child = self._child
        if child is None:
            return ""
        try:
            end = self._awaited(child, deadline)
        except (EOFError, OSError):
            return f"its process {child.fate()}"
        finally:
            self.close()
        if end is None:
            return "there was no time left"
        for warning in end.warnings:
            self.warn(warning)
        return end.fault

    def _awaited(self, child: Child, deadline: float) -> Ended | None:
        """Returns the end of the last update, or None at the deadline; keeps the progress until then."""
        while child.connection.poll(max(0.0, deadline - time.monotonic())):
            message: Progress | Ended = child.connection.recv()
            match message:
                case Progress():
                    self._progress = message
                case Ended():
                    return message
                case _:
                    assert_never(message)
        return None
