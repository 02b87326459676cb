"""The process from which workers are forked, so that they share one import of what all of them need.

It computes nothing and touches no GPU. Where a fork would not be sound it starts workers afresh: on another system than
Linux, where there is a GPU, and after a plugin that starts threads when it is loaded.
"""

import ctypes
import os
import signal
import subprocess
import sys
from collections.abc import Collection, Mapping
from contextlib import suppress
from multiprocessing.connection import Connection
from multiprocessing.reduction import recv_handle
from pathlib import Path
from typing import NoReturn

import numpy as np

from ablate.base.registry import CATALOGUE
from ablate.execution.child import fresh, parent
from ablate.execution.opened_files import OpenedFiles
from ablate.execution.run_trial import WorkloadRef
from ablate.execution.worker import serve
from ablate.study.ids import TrialIds

# PR_SET_PDEATHSIG of Linux; a fork does not inherit it.
END_WITH_PARENT = 1


def main() -> NoReturn:
    """Runs a process that is started afresh; see `Child`. With an argument it imports the built-in parts at once."""
    driver = parent()
    _end_with_parent()
    if sys.argv[3:]:
        CATALOGUE.load_builtin()
    _start_workers(driver)


def main_of_fork(driver: Connection) -> NoReturn:
    """Runs a fork of the driver, which has imported what workers need."""
    _end_with_parent()
    _start_workers(driver)


def _end_with_parent() -> None:
    """Has the process end with its driver, which it would not notice while it imports a plugin."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(END_WITH_PARENT, signal.SIGKILL)


def _start_workers(driver: Connection) -> NoReturn:
    """Starts workers, and waits for those that are to end, until the driver is gone."""
    workers = _Workers(driver)
    while True:
        try:
            message = driver.recv()
            if isinstance(message, int):
                _, status = os.waitpid(message, 0)
                driver.send(os.waitstatus_to_exitcode(status))
                continue
            pipe = recv_handle(driver)
            output = recv_handle(driver)
        except (EOFError, OSError):
            os._exit(0)
        reference, config, files = message
        _print_into(output)
        workers.prepare(reference, config, files)
        pid = workers.start(reference, pipe)
        os.close(pipe)
        driver.send(pid)


class _Workers:
    """Starts workers; `main` closes their ends of pipes."""

    def __init__(self, driver: Connection) -> None:
        self.driver = driver
        # The files that this process has opened, and thus its forks, once they are watched.
        self.opened: OpenedFiles | None = None
        # Those that are not forked: kept, since Python would await one that is forgotten in the place of `main`.
        self.unforked: list[subprocess.Popen[bytes]] = []

    def prepare(self, reference: WorkloadRef, config: Mapping[str, object], files: Collection[str]) -> None:
        """Computes what all workers compute alike. What fails will fail there again, and is told by the worker."""
        if self.opened is None:
            self.opened = OpenedFiles(reference.watched)
        self.opened.undeclared(files)
        with suppress(Exception, SystemExit):
            reference.environment()
            TrialIds(reference.load()).identity(dict(config))

    def start(self, reference: WorkloadRef, pipe: int) -> int:
        """Starts a worker, whose output is that of this process, and returns its id."""
        if not _is_sound():
            worker = fresh(serve.__module__, pipe, 1, reference.threads)
            self.unforked.append(worker)
            return worker.pid

        pid = os.fork()
        if pid == 0:
            self.driver.close()
            # Whoever draws without a seed draws something else in each worker.
            np.random.seed()  # noqa: NPY002
            serve(Connection(pipe), self.opened)
        return pid


def _print_into(output: int) -> None:
    """Has what is printed from here on, which is that of a worker, go to a file, and closes its descriptor."""
    for stream in (1, 2):
        os.dup2(output, stream)
    os.close(output)


def _is_sound() -> bool:
    """Returns whether this process may be forked.

    It may not where there is a GPU, since to have looked for one takes it.
    """
    threads = Path("/proc/self/task")
    is_alone = threads.is_dir() and len(list(threads.iterdir())) == 1
    torch = sys.modules.get("torch")
    return is_alone and not (torch is not None and torch.cuda.is_available())
