"""The process from which workers are forked, so that they share one import of what all of them need.

It computes nothing and touches no GPU. Where a fork would not be sound it starts workers afresh: on another system than
Linux, where there is a GPU, and after a plugin that starts threads when it is loaded.
"""

import ctypes
import os
import signal
import sys
from contextlib import suppress
from multiprocessing.connection import Connection
from multiprocessing.reduction import recv_handle
from pathlib import Path
from typing import Any

import numpy as np

from ablate.base.registry import CATALOGUE
from ablate.execution.child import fresh, parent
from ablate.execution.worker import Reads, serve
from ablate.study.ids import TrialIds

# PR_SET_PDEATHSIG of Linux; a fork does not inherit it.
END_WITH_PARENT = 1


def main() -> None:
    """Entry point; see `Child`. Starts workers, and waits for those that are to end, until the driver is gone."""
    driver, fresh_ones, reads = parent(), list[Any](), None
    if sys.platform == "linux":
        # A plugin that is being imported would keep it from noticing that the driver is gone.
        ctypes.CDLL(None).prctl(END_WITH_PARENT, signal.SIGKILL)
    if sys.argv[3:]:
        CATALOGUE.load_builtin()
    while True:
        try:
            message = driver.recv()
            if isinstance(message, int):
                driver.send(os.waitstatus_to_exitcode(os.waitpid(message, 0)[1]))
                continue
            pipe, output = recv_handle(driver), recv_handle(driver)
        except (EOFError, OSError):
            os._exit(0)
        # From here on, what is printed is that of the worker.
        for stream in (1, 2):
            os.dup2(output, stream)
        os.close(output)
        reference, config, files = message
        reads = reads or Reads(reference.watched)
        reads.undeclared(files)
        # All that a worker computes alike. What fails will fail there again, and is told by it.
        with suppress(Exception, SystemExit):
            reference.environment()
            TrialIds(reference.load()).identity(config)
        if not _is_sound():
            fresh_ones.append(fresh("ablate.execution.worker", pipe, 1, reference.threads))
            pid = fresh_ones[-1].pid
        elif not (pid := os.fork()):
            driver.close()
            # Whoever draws without a seed draws something else in each worker.
            np.random.seed()  # noqa: NPY002
            serve(Connection(pipe), reads)
        os.close(pipe)
        driver.send(pid)


def _is_sound() -> bool:
    """Whether this process may be forked; not where there is a GPU, since to have looked for one takes it."""
    tasks, torch = Path("/proc/self/task"), sys.modules.get("torch")
    alone = tasks.is_dir() and len([*tasks.iterdir()]) == 1
    return alone and not (torch is not None and torch.cuda.is_available())
