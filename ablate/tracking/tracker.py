"""The listener of a run that brings MLflow up to date with the finished trials of its study during training.

A thread of its own does all the work for MLflow (import, database, every write), so that training starts at once. A
slow or broken tracker loses no trial: records are in the store before they come here.
"""

from __future__ import annotations

import queue
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress

from ablate.core.cell import Cell
from ablate.core.events import Event, Finished, Known
from ablate.core.record import Record
from ablate.records.folder import StudyFolder
from ablate.records.store import Store
from ablate.tracking.database import first_line
from ablate.tracking.parent import Describe, parent_of
from ablate.tracking.runs import study_runs
from ablate.tracking.sync import sync

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
        self._thread = threading.Thread(target=self._work, name="mlflow", daemon=True)
        self._deadline = float("inf")
        self._completing = False
        self._done = False

    def __enter__(self) -> Tracker:
        """Starts the thread: it imports MLflow, makes or opens the database, and shows the study as running."""
        self._thread.start()
        return self

    def __exit__(self, *raised: object) -> None:
        """Unless the study is finished, writes as much as a few seconds allow and shows it as interrupted."""
        if self._thread.is_alive():
            self._deadline = time.monotonic() + _FLUSH_SECONDS
            self._orders.put(None)
            self._thread.join(_FLUSH_SECONDS + 2)

    def __call__(self, event: Event) -> None:
        """Hands over a trial that has a record, and returns at once."""
        if isinstance(event, Known | Finished):
            # If cells share a trial, the first names its run.
            cell = self._cells.setdefault(event.cell.id, event.cell)
            self._orders.put((cell, event.record))

    def finish(self) -> bool:
        """Waits until all is written, removes the runs of trials that the folder no longer refers to, and completes
        the parent from the folder's report.

        Returns whether MLflow is up to date. A tracker that is down, locked or full is a warning, not an error.
        """
        self._completing = True
        self._orders.put(None)
        self._thread.join()
        try:
            if not self._done:
                sync(self.folder, self.store, self.describe, self._warn, self.uri, _WAIT_FOR_WRITER)
        except Exception as error:
            root = self.store.root
            where = self.uri or f"the database in {root}"
            later = "the next run of the study" + ("" if self.uri else ", or `ablate ui`,")
            self._warn(
                f"MLflow ({where}) is not up to date: {first_line(error)}. Nothing is lost: every trial is in {root}, "
                f"and {later} brings MLflow up to date."
            )
            return False
        return True

    def _work(self) -> None:
        # `finish` repeats what fails here, and reports errors.
        with (
            suppress(Exception),
            study_runs(self.folder.name, self.store.root, self.uri, _WAIT_FOR_WRITER) as runs,
        ):
            if time.monotonic() > self._deadline:
                return
            with runs.running():
                orders = iter(self._orders.get, None)
                runs.put_all(order for order in orders if time.monotonic() < self._deadline)
                if self._completing:
                    runs.finish(parent_of(self.folder, self.describe))
                    self._done = True
