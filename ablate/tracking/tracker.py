"""The listener of a run that brings MLflow up to date with the finished trials of its study during training.

A thread of its own does all the work for MLflow (import, database, every write), so that training starts at once. A
slow or broken tracker loses no trial: records are in the store before they come here.
"""

from __future__ import annotations

import queue
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress

from ablate.core.cell import Cell
from ablate.core.events import Event, Finished, Known
from ablate.core.record import Record
from ablate.records.folder import StudyFolder
from ablate.records.store import Store
from ablate.tracking import THREAD
from ablate.tracking.database import first_line
from ablate.tracking.parent import Describe, parent_of
from ablate.tracking.sync import BATCH, study_runs, sync, sync_all

LIMIT = 20.0
"""Seconds that MLflow may take after the last trial."""
_FLUSH_SECONDS = 3.0
_WAIT_FOR_WRITER = 30.0


def to_stderr(message: str) -> None:
    """Prints a warning."""
    print(message, file=sys.stderr)


class Tracker:
    """MLflow for one study, written by a thread while the context is open.

    The SQLite database is in the folder of `store`, unless `uri` names another tracker. `finish` calls `warn` at most
    once. Leaving the context without `finish` shows the study as interrupted.
    """

    def __init__(
        self,
        folder: StudyFolder,
        store: Store,
        describe: Describe,
        uri: str | None = None,
        warn: Callable[[str], None] = to_stderr,
    ) -> None:
        self.folder = folder
        self.store = store
        self.describe = describe
        self.uri = uri
        self._warn = warn
        self._cells: dict[str, Cell] = {}
        self._orders: queue.SimpleQueue[tuple[Cell, Record] | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._work, name=THREAD, daemon=True)
        self._deadline = float("inf")
        self._completing = False
        self._ended = threading.Event()
        self._given_up = False
        self._handed = self._written = 0
        self._error: Exception | None = None
        self._done = False

    def __enter__(self) -> Tracker:
        """Starts the thread: it imports MLflow, makes or opens the database, and shows the study as running."""
        self._thread.start()
        return self

    def __exit__(self, *raised: object) -> None:
        """Unless the study is finished, writes as much as a few seconds allow and shows it as interrupted."""
        if self._thread.is_alive() and not self._given_up:
            self._end(_FLUSH_SECONDS)

    def __call__(self, event: Event) -> None:
        """Hands over a trial that has a record, and returns at once."""
        if isinstance(event, Known | Finished):
            # If cells share a trial, the first names its run.
            cell = self._cells.setdefault(event.cell.id, event.cell)
            self._handed += 1
            self._orders.put((cell, event.record))

    def rest(self) -> None:
        """Waits until it has written what it was handed, and disturbs no measurement; at most `LIMIT` seconds."""
        until = time.monotonic() + LIMIT
        while self._written < self._handed and self._error is None and time.monotonic() < until:
            time.sleep(0.05)

    def finish(self) -> bool:
        """Waits until all is written, the runs of trials that the folder no longer refers to are removed, and the
        parent is completed from the folder's report; at most `LIMIT` seconds for everything.

        Returns whether MLflow is up to date. A tracker that is down, locked, full or silent is a warning, not an error.
        """
        self._completing = True
        self._end(LIMIT)
        self._given_up = True
        if not self._done:
            reason = f"not done after {LIMIT:g} s" if self._error is None else first_line(self._error)
            root = self.store.root
            where = self.uri or f"the database in {root}"
            later = "the next run of the study" + ("" if self.uri else ", or `ablate ui`,")
            self._warn(
                f"MLflow ({where}) is not up to date: {reason}. Nothing is lost: every trial is in {root}, "
                f"and {later} brings MLflow up to date."
            )
        return self._done

    def _end(self, seconds: float) -> None:
        """Has the thread end; it may take so many seconds to write, and two more to say that it was interrupted."""
        self._deadline = time.monotonic() + seconds
        self._orders.put(None)
        self._ended.set()
        self._thread.join(seconds + 2)

    def _work(self) -> None:
        try:
            self._write()
        except Exception as error:
            self._error = error
            self._ended.wait()  # What failed is repeated when all is there.
            if self._completing and time.monotonic() < self._deadline:
                self._repeat()

    def _write(self) -> None:
        whole, root = False, self.store.root
        with study_runs(self.folder.name, root, self.uri, _WAIT_FOR_WRITER, self._warn) as runs:
            if time.monotonic() > self._deadline:
                return
            with runs.running():
                runs.put_all(self._batches())
                if self._completing and time.monotonic() < self._deadline:
                    runs.finish(parent_of(self.folder, self.describe))
                    whole = True
        if whole and runs.alone:
            self._repeat()  # for trials of the study that this run has not heard of
            # One that another driver is writing just now is left to it, and `ablate ui` says what is wrong with others.
            sync_all(StudyFolder.all(self.folder.results), self.store, self.describe, lambda warning: None)
        else:
            self._done = whole

    def _repeat(self) -> None:
        try:
            sync(self.folder, self.store, self.describe, self._warn, self.uri, _WAIT_FOR_WRITER)
            self._done = True
        except Exception as error:
            self._error = error

    def _batches(self) -> Iterator[list[tuple[Cell, Record]]]:
        """Trials as they come, those that have come meanwhile together."""
        while (order := self._orders.get()) is not None:
            batch = [order]
            with suppress(queue.Empty):
                while len(batch) < BATCH and (order := self._orders.get_nowait()) is not None:
                    batch.append(order)
            if time.monotonic() < self._deadline:
                yield batch
                self._written += len(batch)
            if order is None:
                return
