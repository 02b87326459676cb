"""A worker process: trains what it is sent until its pipe closes.

Standard output and error are a file that the driver has opened: what a trial
prints goes into its record, and what a crash leaves behind can still be read.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Collection
from multiprocessing.connection import Connection
from pathlib import Path
from queue import SimpleQueue
from typing import Any, NoReturn

from ablate.core.events import Ended, EngineEvent, Progress, Started
from ablate.execution.child import parent, read_output
from ablate.execution.trial import run_trial
from ablate.study.ids import TrialIds


def main() -> NoReturn:
    """Entry point; see `Child`."""
    serve(parent())


def serve(connection: Connection, reads: Reads | None = None) -> NoReturn:
    """Works for the driver at the other end; `reads`: what this process has listened to so far."""
    messages: SimpleQueue[Any] = SimpleQueue()
    threading.Thread(target=_listen, args=(connection, messages), daemon=True).start()

    def send(event: EngineEvent) -> None:
        try:
            connection.send(event)
        except OSError:
            os._exit(0)

    reference, device = messages.get()
    if device is not None:
        os.environ["CUDA_VISIBLE_DEVICES"] = str(device)
    reads = reads or Reads(reference.watched)
    workload = reference.load()
    ids = TrialIds(workload)
    while True:
        trial = messages.get()
        os.ftruncate(1, 0)
        os.lseek(1, 0, os.SEEK_SET)
        send(Started(trial.id))

        def hear(event: EngineEvent, prunable: bool = trial.prunable) -> bool:
            send(event)
            return isinstance(event, Progress) and prunable and bool(messages.get())

        record = run_trial(workload, trial, hear, reference.environment, _printed, ids)
        if unknown := reads.undeclared(trial.files):
            record.environment[KEY] = unknown
        send(Ended(record))


def _listen(connection: Connection, messages: SimpleQueue[Any]) -> NoReturn:
    """Takes messages: what all trials need, and then each trial, and the answers to its reports while it trains.

    A closed pipe means that the driver is gone, and the process ends at once.
    """
    while True:
        try:
            messages.put(connection.recv())
        except (EOFError, OSError):
            os._exit(0)


def _printed() -> str:
    sys.stdout.flush()
    sys.stderr.flush()
    return read_output(1)


# In the environment of a record: the files that this process had read, and the trial did not declare.
KEY = "undeclared_files"
_CODE = (".py", ".pyc", ".pyi", ".so")
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT
_MOST = 1000


class Reads:
    """Listens, from now to the end of the process, to the opening of files below some folders."""

    def __init__(self, watched: Collection[Path]) -> None:
        """`watched` are the study and its plugins; what lies beside or below them may be data."""
        known = {os.path.realpath(path) for path in watched}
        folders = tuple({os.path.join(os.path.dirname(path), "") for path in known})
        installed = tuple(
            os.path.join(os.path.realpath(prefix), "") for prefix in {sys.prefix, sys.base_prefix}
        )
        self._seen: dict[str, None] = {}
        self._declared: set[str] = set()

        def hear(event: str, args: tuple[Any, ...]) -> None:
            if (
                event != "open"
                or len(self._seen) > _MOST
                or not isinstance(args[0], str)
                or args[2] & _WRITES
            ):
                return
            path = os.path.realpath(args[0])
            ours = path in known or path.endswith(_CODE) or path.startswith(installed)
            if path.startswith(folders) and not ours and f"{os.sep}." not in path:
                self._seen[path] = None

        sys.addaudithook(hear)

    def undeclared(self, declared: Collection[str]) -> list[str]:
        """The files that were read so far, and not `declared`, now or before."""
        self._declared.update(map(os.path.realpath, declared))
        return [path for path in self._seen if path not in self._declared and os.path.isfile(path)]
