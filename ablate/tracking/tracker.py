"""MLflow kept up to date with a study by a process of its own, which training does not wait for.

All that it writes is in the store and the study's folder already: what it misses, the next one writes. Where
`ABLATE_TRACKING` is `off` in the environment, or MLflow is not installed, there is none, and `ablate ui` writes all.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial

from ablate.base.extras import is_installed, refuse_missing
from ablate.base.text import first_line
from ablate.core.events import CacheHit, Event, TrialStored
from ablate.execution.child import Keeper, fresh, parent
from ablate.records.folder import StudyFolder
from ablate.records.store import Store
from ablate.tracking.database import check_uri, import_client, opened
from ablate.tracking.sync import Status, sync

# Seconds between two updates while a study trains.
INTERVAL = 60.0
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
        self._is_off = os.environ.get("ABLATE_TRACKING") == "off" or not is_installed("mlflow")
        self._due = time.monotonic() + INTERVAL
        self._is_behind = False

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
        self._is_behind = not self._is_off
        if time.monotonic() >= self._due:
            self._due = time.monotonic() + INTERVAL
            self.tell("RUNNING")

    def start(self) -> None:
        """Starts the process, unless it runs, so that it imports MLflow while there is other work."""
        # Where one is gone, the next writes what it missed.
        if not self._is_off:
            self.started(partial(fresh, __name__))

    def tell(self, status: Status | None) -> None:
        """Sends the process a status to show in MLflow; without one, it only makes the database."""
        self.start()
        if self._child is not None:
            self._child.send((self.folder, self.uri, status))

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
        later = "the next run of the study" if self.uri else "the next run of the study, or `ablate ui`,"
        self.warn(
            f"MLflow ({where}) is not up to date: {fault}. Nothing is lost: every trial is in {root}, "
            f"and {later} brings MLflow up to date."
        )
        return False

    def _write(self, status: Status, limit: float) -> str:
        """Waits at most `limit` seconds for all to be written, and returns why it is not, or nothing."""
        self.tell(status)
        child = self._child
        if child is None:
            return ""
        try:
            if not child.connection.poll(limit):
                return "there was no time left"
            fault, warnings = child.connection.recv()
        except (EOFError, OSError):
            return f"its process {child.fate()}"
        finally:
            self.close()
        for warning in warnings:
            self.warn(warning)
        return str(fault)


def main() -> None:
    """Runs the process: brings MLflow up to date as its driver asks, and tells in the end what went wrong."""
    driver = parent()
    os.nice(5)  # It may be the one that ends the run, on a machine with other work.
    import_client()
    warnings: list[str] = []
    with suppress(EOFError, OSError):  # a driver that is gone
        while True:
            folder, uri, status = driver.recv()
            if driver.poll():
                continue  # What it is told next says more.
            is_last = status in ("KILLED", "FINISHED")
            wait = FINAL_LIMIT if is_last else 0
            fault = _update(folder, uri, status, wait=wait, warn=warnings.append)
            if is_last:
                driver.send((fault, warnings))


def _update(
    folder: StudyFolder, uri: str | None, status: Status | None, *, wait: float, warn: Callable[[str], None]
) -> str:
    """Brings MLflow up to date, and returns why it is not, or nothing."""
    # The driver alone writes to the store.
    store = Store(folder.results / "store", read_only=True)
    try:
        with opened(store.root, uri, wait, warn) as client:
            if status is not None:
                sync(client, folder, store, status)
    except Exception as error:
        return first_line(error)
    return ""
