"""A worker process: trains what it is sent until its pipe closes.

Standard output and error are a file that the driver has opened: what a trial
prints goes into its record, and what a crash leaves behind can still be read.
"""

from __future__ import annotations

import os
import sys
import threading
from multiprocessing.connection import Connection
from queue import SimpleQueue
from typing import Any, NoReturn

from ablate.core.events import Ended, EngineEvent, Progress, Started
from ablate.core.trial import Trial
from ablate.execution.child import parent, read_output
from ablate.execution.devices import VARIABLE
from ablate.execution.opened_files import UNDECLARED, OpenedFiles
from ablate.execution.run_trial import run_trial
from ablate.study.ids import TrialIds


def main() -> NoReturn:
    """Runs a worker that is started afresh; see `Child`."""
    serve(parent())


def serve(connection: Connection, opened: OpenedFiles | None = None) -> NoReturn:
    """Works for the driver at the other end.

    `opened` are the files that this process has opened so far, where it has listened to that.
    """
    driver = _Driver(connection)
    reference, share = driver.receive()
    if share is not None:
        os.environ[VARIABLE] = share
    opened = opened or OpenedFiles(reference.watched)
    workload = reference.load()
    ids = TrialIds(workload)
    while True:
        trial: Trial = driver.receive()
        _forget_output()
        driver.send(Started(trial.id))
        ask = driver.ask_at_reports if trial.prunable else driver.send
        record = run_trial(workload, trial, ask, reference.environment, _printed, ids)
        # Of trials in processes of their own, this one reads nothing.
        undeclared = [] if workload.runs_apart else opened.undeclared(trial.files)
        if undeclared:
            record.environment[UNDECLARED] = undeclared
        driver.send(Ended(record))


class _Driver:
    """The worker's end of the pipe. A closed one means that the driver is gone, and the process ends at once."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        # What all trials need, and then each trial, and the answers to its reports while it trains.
        self.messages: SimpleQueue[Any] = SimpleQueue()
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> NoReturn:
        """Takes messages, also while a trial trains, so that the end of the driver is noticed."""
        while True:
            try:
                self.messages.put(self.connection.recv())
            except (EOFError, OSError):
                os._exit(0)

    def receive(self) -> Any:
        """Waits for the next message."""
        return self.messages.get()

    def send(self, event: EngineEvent) -> bool:
        """Sends an event; returns False: the trial goes on."""
        try:
            self.connection.send(event)
        except OSError:
            os._exit(0)
        return False

    def ask_at_reports(self, event: EngineEvent) -> bool:
        """Sends an event of a prunable trial; returns whether the trial ends there, for which a report waits."""
        self.send(event)
        return isinstance(event, Progress) and bool(self.receive())


def _forget_output() -> None:
    """Empties the file of output: it is that of one trial."""
    os.ftruncate(1, 0)
    os.lseek(1, 0, os.SEEK_SET)


def _printed() -> str:
    """Returns the end of what the trial has written to standard output and error."""
    sys.stdout.flush()
    sys.stderr.flush()
    return read_output(1)
