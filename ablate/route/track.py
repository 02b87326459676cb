"""MLflow kept up to date with a study by processes of their own, one at a time: training waits for none of them.

All that they write is in the store and the study's folder already: what one of them misses, the next one writes. Where
`ABLATE_TRACKING` is `off` in the environment, there are none, and `ablate ui` writes all.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from contextlib import suppress

from ablate.core.events import Event, Finished, Known
from ablate.execution.child import Child, parent
from ablate.records.folder import StudyFolder
from ablate.records.store import Store
from ablate.tracking.database import first_line, import_client, opened
from ablate.tracking.sync import Status, sync

# Seconds between two processes while a study trains; that MLflow may take in the end; and after an interruption.
EVERY, LIMIT, INTERRUPTED = 60.0, 30.0, 10.0


class Tracker:
    """A listener that has MLflow brought up to date: in the store's own database, unless `uri` names another place.

    Leaving the context without `finish` shows the study as interrupted.
    """

    def __init__(self, folder: StudyFolder, uri: str | None, warn: Callable[[str], None]) -> None:
        self.folder, self.uri, self.warn = folder, uri, warn
        self._ready: Child | None = None
        self._busy: Child | None = None
        self._due = time.monotonic() + EVERY
        self._is_off = os.environ.get("ABLATE_TRACKING") == "off"
        self._may_lack = False

    def __enter__(self) -> Tracker:
        return self

    def __exit__(self, *raised: object) -> None:
        """Unless the study is finished, shows what there is, as interrupted."""
        try:
            if self._may_lack:
                self._last("KILLED", INTERRUPTED)
        finally:
            for child in filter(None, (self._ready, self._busy)):
                child.end()

    def __call__(self, event: Event) -> None:
        """Where a trial has a record, starts a process if it is time and there is none."""
        if not self._is_off and isinstance(event, Known | Finished):
            self._may_lack = True
            if time.monotonic() >= self._due and (self._busy is None or self._busy.connection.poll()):
                self.rest()
                self._due = time.monotonic() + EVERY
                self._start("RUNNING")

    def prepare(self) -> None:
        """Starts the last process, which imports MLflow while the report is written."""
        if not self._is_off:
            self._ready = Child(__name__)

    def rest(self, seconds: float = LIMIT) -> str:
        """Waits for the process, and ends it after so many seconds; why MLflow is not up to date, if so."""
        child, self._busy = self._busy, None
        if child is None:
            return ""
        try:
            if not child.connection.poll(max(0, seconds)):
                return "there was no time left"
            fault, warnings = child.connection.recv()
            for warning in warnings:
                self.warn(warning)
            return str(fault)
        except (EOFError, OSError):
            return f"its process {child.fate()}"
        finally:
            child.end()

    def finish(self) -> bool:
        """Brings MLflow up to date with the report; returns whether it is.

        A tracker that is down, locked, full or silent is a warning, not an error.
        """
        self._may_lack = False
        fault = "" if self._is_off else self._last("FINISHED", LIMIT)
        if fault:
            root = self.folder.results / "store"
            where = self.uri or f"the database in {root}"
            later = "the next run of the study" + ("" if self.uri else ", or `ablate ui`,")
            self.warn(
                f"MLflow ({where}) is not up to date: {fault}. Nothing is lost: every trial is in {root}, "
                f"and {later} brings MLflow up to date."
            )
        return not fault

    def _last(self, status: Status, seconds: float) -> str:
        until = time.monotonic() + seconds
        self.rest(seconds)
        self._start(status)
        return self.rest(until - time.monotonic())

    def _start(self, status: Status) -> None:
        self._busy, self._ready = self._ready or Child(__name__, 1, *["polite"] * (status == "RUNNING")), None
        self._busy.send((self.folder, self.uri, status))


def main() -> None:
    """In such a process: waits for what to bring up to date, does it, and says what went wrong."""
    driver, warnings = parent(), list[str]()
    if "polite" in sys.argv[3:]:
        os.nice(10)
    import_client()
    with suppress(EOFError, OSError):  # a driver that is gone
        folder, uri, status = driver.recv()
        driver.send((_synced(folder, uri, status, warnings.append), warnings))


def _synced(folder: StudyFolder, uri: str | None, status: Status, warn: Callable[[str], None]) -> str:
    """Why MLflow could not be brought up to date, or nothing."""
    from ablate.route.publish import describe

    # The driver alone writes to the store.
    store, trains = Store(folder.results / "store", read_only=True), status == "RUNNING"
    try:
        with opened(store.root, uri, 0 if trains else LIMIT, warn, checked=not trains) as client:
            sync(client, folder, store, describe, status)
    except Exception as error:
        return first_line(error)
    return ""
