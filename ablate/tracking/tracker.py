"""Brings MLflow up to date with the finished records of one study, beside the training.

A thread of its own does all that MLflow needs (the import, the database, every write), so that training starts at
once and a tracker that is slow or down costs no trial: records are in the store before they come here.
"""

from __future__ import annotations

import queue
import sys
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

from ablate.tracking.content import TrackedRun
from ablate.tracking.database import first_line, import_mlflow, quiet
from ablate.tracking.runs import StudyRuns, study_runs

__all__ = ["TrackedRun", "Tracker"]

_FLUSH_SECONDS = 3.0
_WAIT_FOR_WRITER = 30.0
_GIVE_UP_AFTER = 3
"Failures in a row after which the tracker counts as down."


class Tracker:
    """MLflow for one study, written by a thread.

    `store` is `results/store`, where the SQLite database is unless `uri` names another tracker. `warn` is called
    from `finish`, at most once.
    """

    def __init__(
        self, study: str, store: Path, uri: str | None = None, warn: Callable[[str], None] | None = None
    ) -> None:
        self.study = study
        self.store = store
        self.uri = uri
        self._warn = warn or (lambda message: print(message, file=sys.stderr))
        self._orders: queue.SimpleQueue[TrackedRun | Callable[[], None]] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._work, name="mlflow", daemon=True)
        self._waiting: list[TrackedRun] = []
        self._error: Exception | None = None
        self._deadline = float("inf")
        self._resources = ExitStack()
        self._runs: StudyRuns | None = None
        self._done = False

    def start(self) -> None:
        """Starts the thread: it imports MLflow, makes or opens the database, and shows the study as running."""
        self._thread.start()

    def add(self, run: TrackedRun) -> None:
        """Hands over a finished trial and returns at once."""
        self._orders.put(run)

    def finish(
        self,
        *,
        description: str,
        params: Mapping[str, Any],
        tags: Mapping[str, str],
        metrics: Mapping[str, float],
        artifacts: Sequence[Path],
        current: Collection[str],
    ) -> bool:
        """Waits until all is written, removes the runs of trials that are not `current`, completes the parent.

        Returns whether MLflow is up to date. A tracker that is down, locked or full is a warning, not an error.
        """

        def complete() -> None:
            self._error = None
            self._write_waiting()
            if self._runs is not None and not self._waiting:
                self._runs.finish(
                    description=description,
                    params=params,
                    tags=tags,
                    metrics=metrics,
                    artifacts=artifacts,
                    current=current,
                )
                self._done = True

        self._orders.put(complete)
        if self._thread.ident is None:
            self.start()
        self._thread.join()
        if not self._done:
            self._warn(self._message())
        return self._done

    def abandon(self) -> None:
        """After an interrupt: writes what it can within seconds and shows the study as interrupted."""
        if self._thread.ident is None:
            return
        self._deadline = time.monotonic() + _FLUSH_SECONDS

        def stop() -> None:
            if self._error is None:
                self._write_waiting()
            if self._runs is not None:
                self._runs.stop()

        self._orders.put(stop)
        self._thread.join(_FLUSH_SECONDS + 2)

    def _work(self) -> None:
        self._attempt(import_mlflow)
        with quiet():
            self._attempt(self._connect)
            while True:
                order = self._orders.get()
                if not isinstance(order, TrackedRun):
                    break
                self._waiting.append(order)
                if self._error is None:
                    self._attempt(self._write_waiting)
            self._attempt(order)
            if self._error is not None and self._runs is not None:
                with suppress(Exception):
                    self._runs.stop()
            self._attempt(self._resources.close)

    def _attempt(self, action: Callable[[], None]) -> None:
        """Keeps what goes wrong for the one warning at the end."""
        try:
            action()
        except Exception as error:
            self._error = error

    def _connect(self) -> None:
        self._resources.close()
        self._runs = None
        runs = self._resources.enter_context(study_runs(self.study, self.store, self.uri, _WAIT_FOR_WRITER))
        if time.monotonic() < self._deadline:
            runs.begin()
            self._runs = runs

    def _write_waiting(self) -> None:
        """Writes what waits. One trial that MLflow refuses does not hold up the others; raises the last error."""
        if self._runs is None:
            self._connect()
        failures = 0
        refused: list[TrackedRun] = []
        while self._waiting and self._runs is not None and time.monotonic() < self._deadline:
            run = self._waiting.pop(0)
            try:
                self._runs.put(run)
                failures = 0
            except Exception as error:
                refused.append(run)
                self._error = error
                failures += 1
                if failures == _GIVE_UP_AFTER:
                    break
        self._waiting = refused + self._waiting

    def _message(self) -> str:
        error = f": {first_line(self._error)}" if self._error is not None else ""
        where = self.uri or f"the database in {self.store}"
        later = "the next run of the study" + ("" if self.uri else ", or `ablate ui`,")
        return (
            f"MLflow ({where}) is not up to date{error}. Nothing is lost: every trial is in {self.store}, and {later}"
            f" brings MLflow up to date."
        )
