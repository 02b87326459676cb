"""The process that brings MLflow up to date as its driver asks; it keeps what it has read between updates."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection

from ablate.base.text import first_line
from ablate.execution.child import parent
from ablate.records.store import Store
from ablate.tracking.database import Database, import_client
from ablate.tracking.messages import Ended, Progress, Status, Update
from ablate.tracking.study_runs import StudyRuns
from ablate.tracking.sync import GoesOn, sync

# Seconds between two reports of progress.
SAID_EVERY = 0.25
# Seconds before the deadline of the last update at which it writes no further trial.
RESERVE = 1.0


def main() -> None:
    """Runs the process: brings MLflow up to date as its driver asks, and tells in the end what went wrong."""
    driver = _Driver(parent())
    os.nice(5)  # It may be the one that ends the run, on a machine with other work.
    import_client()
    warnings: list[str] = []
    with suppress(EOFError, OSError):  # a driver that is gone
        update = driver.newest()
        updater = _Updater(update, driver, warnings.append)
        while True:
            fault = updater.update(update)
            if update.is_last:
                driver.tell(Ended(fault, warnings))
            update = driver.newest()


class _Driver:
    """The driver, as its process hears it: of several requests the newest counts."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._waiting: Update | None = None

    def newest(self) -> Update:
        """Waits for a request, and returns the newest one. Raises `EOFError` or `OSError` where the driver is gone."""
        update = self._waiting or self._connection.recv()
        self._waiting = None
        while self._connection.poll():
            update = self._connection.recv()
        return update

    def asks_for_the_last(self) -> bool:
        """Returns whether the driver waits for the last update meanwhile, or is gone."""
        try:
            while self._connection.poll():
                self._waiting = self._connection.recv()
        except (EOFError, OSError):
            return True
        return self._waiting is not None and self._waiting.is_last

    def tell(self, message: Progress | Ended) -> None:
        """Sends the driver a message. Raises `OSError` where it is gone."""
        self._connection.send(message)


class _Countdown:
    """The time of the last update, for which the driver waits and hears of progress."""

    def __init__(self, deadline: float, driver: _Driver) -> None:
        self._end = deadline - RESERVE
        self._driver = driver
        self._due = 0.0
        self.is_over = False

    def seconds(self) -> float:
        """Returns how many are left."""
        return max(0.0, self._end - time.monotonic())

    def goes_on(self, done: int, total: int) -> bool:
        """Returns whether there is time for another trial; tells the driver of the progress now and then."""
        now = time.monotonic()
        self.is_over = now >= self._end
        if self.is_over or now >= self._due:
            self._due = now + SAID_EVERY
            self._driver.tell(Progress(done, total))
        return not self.is_over


class _Updater:
    """What brings one study up to date in one database, and keeps what it has read of MLflow in between."""

    def __init__(self, first: Update, driver: _Driver, warn: Callable[[str], None]) -> None:
        """`first` names the study and the database, as every later update does."""
        self._folder = first.folder
        # The driver alone writes to the store.
        self._store = Store(first.folder.results / "store", read_only=True)
        self._database = Database(self._store.root, first.uri, warn)
        self._driver = driver
        self._known: StudyRuns | None = None

    def update(self, update: Update) -> str:
        """Brings MLflow up to date, and returns why it is not, or nothing."""
        if update.deadline is None:
            return self._update(update.status, 0.0, self._is_not_urgent)
        countdown = _Countdown(update.deadline, self._driver)
        fault = self._update(update.status, countdown.seconds(), countdown.goes_on)
        return "there was no time left" if countdown.is_over and not fault else fault

    def _update(self, status: Status | None, wait: float, goes_on: GoesOn) -> str:
        """Shows a status and writes what is new, as long as `goes_on`; returns what went wrong, or nothing."""
        known = self._known
        self._known = None  # After an error all is read again.
        try:
            with self._database.opened(wait) as client:
                if known is not None and known.client is not client:
                    known = None
                if status is not None:
                    known = sync(client, self._folder, self._store, status, known=known, goes_on=goes_on)
        except Exception as error:
            return first_line(error)
        self._known = known
        return ""

    def _is_not_urgent(self, done: int, total: int) -> bool:
        """Returns whether an update goes on, which is not the last one."""
        return not self._driver.asks_for_the_last()
