"""Forks of the driver, which share all that it has imported: of torch alone, seconds of work.

A fork has one thread, and what others held locked stays locked in it for ever. So the driver is forked only while it
has no other thread, and starts none until then: numpy, scipy and torch are imported to compute on one.
"""

from __future__ import annotations

import gc
import io
import os
import signal
import sys
import threading
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import NoReturn

from ablate.base.process import THREADS
from ablate.execution.child import Forked

_GPUS = "nvidia[0-9]*"
_TASKS = Path("/proc/self/task")
_DESCRIPTORS = Path("/proc/self/fd")
_HARMLESS_THREADS = ("jemalloc_bg_thd",)
"""Names of threads that a fork may lack: pyarrow's allocator takes its locks before a fork, and frees them after it."""
# Signals that end a run.
_INTERRUPTIONS = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}
_SHARED = ("socket:", "pipe:", "anon_inode:", "/dev/", "/proc/")
"""The beginnings of what open descriptors lead to that a fork closes without harm."""
_SHARED_FILES = (".lock", " (deleted)")
"""The ends of the names of open files that it closes without harm: those of locks, and the output of processes."""


def is_likely() -> bool:
    """Returns whether a fork of a driver that has not imported anything yet will be sound, as far as is known."""
    return sys.platform == "linux" and not any(Path("/dev").glob(_GPUS))


def import_for_forks() -> None:
    """Imports numpy, scipy and torch so that none starts threads, unless they are imported already."""
    before = {name: os.environ.get(name) for name in THREADS}
    os.environ.update(dict.fromkeys(THREADS, "1"))
    try:
        import scipy.special  # noqa: F401 - it has a BLAS of its own
        import torch

        torch.set_num_threads(1)
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def is_sound() -> bool:
    """Returns whether this process can be forked now.

    It can on Linux alone, from its main thread, beside no other thread but that of pyarrow's allocator, and with no
    file open but locks and the output of processes. It cannot where torch is imported and finds a GPU: by looking for
    one a process claims it, and its forks cannot use it.
    """
    if sys.platform != "linux" or threading.current_thread() is not threading.main_thread():
        return False
    torch = sys.modules.get("torch")
    has_gpu = torch is not None and torch.cuda.is_available()
    return not has_gpu and not [*_other_threads()] and not [*_open_files()]


def _other_threads() -> Iterator[str]:
    """Yields the names of the threads that a fork would lack."""
    for task in _TASKS.iterdir():
        with suppress(OSError):  # It has ended.
            name = (task / "comm").read_text().strip()
            if int(task.name) != os.getpid() and name not in _HARMLESS_THREADS:
                yield name


def _open_files() -> Iterator[str]:
    """Yields the files that this process has open beside its standard streams, which a fork would share."""
    for descriptor in _DESCRIPTORS.iterdir():
        with suppress(OSError):  # It was that of the folder itself.
            place = os.readlink(descriptor)
            if (
                int(descriptor.name) > 2
                and not place.startswith(_SHARED)
                and not place.endswith(_SHARED_FILES)
            ):
                yield place


class _OfDriver(Forked):
    """A fork of the driver, which is its child."""

    def exit_code(self) -> int:
        """Waits for the end of the process, and returns its exit code."""
        _, status = os.waitpid(self.pid, 0)
        return os.waitstatus_to_exitcode(status)


def forked(main: Callable[[Connection], NoReturn], pipe: int, output: int) -> Forked:
    """Forks this process, and returns the fork; the caller has made sure that a fork `is_sound`.

    `partial(forked, main)` is a `Start`. The fork runs `main` with its end of the pipe to the driver, and prints to the
    file of output. pipe, output: their descriptors.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    # An interruption waits until the fork has left the driver, of which it would interrupt a copy.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _INTERRUPTIONS)
    pid = os.fork()
    if pid == 0:
        try:
            _leave_driver(pipe, output)
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
            main(Connection(pipe))
        except BaseException:  # A fork never goes on with what the driver does.
            traceback.print_exc()
        os._exit(1)
    signal.pthread_sigmask(signal.SIG_SETMASK, before)
    return _OfDriver(pid)


def _leave_driver(pipe: int, output: int) -> None:
    """Turns a fork into what `child.fresh` starts: its signals, streams, thread limits, arguments and warnings.

    Of what the driver has open it keeps the pipe and the output; what the driver has imported stays.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is left to the driver.
    for number in _INTERRUPTIONS - {signal.SIGINT}:
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)
    with open(os.devnull, "rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    for stream in (1, 2):
        os.dup2(output, stream)
    # An end of a pipe or of a lock that stayed open here would outlive the driver.
    for descriptor in sorted(map(int, os.listdir(_DESCRIPTORS))):
        if descriptor > 2 and descriptor != pipe:
            with suppress(OSError):
                os.close(descriptor)
    sys.stdout, sys.stderr = (
        io.TextIOWrapper(
            io.FileIO(stream, "w", closefd=False), "utf-8", "backslashreplace", write_through=True
        )
        for stream in (1, 2)
    )
    os.environ.update(dict.fromkeys(THREADS, "1"))
    sys.argv = ["-c"]
    warnings.resetwarnings()
    warnings.simplefilter("always")
    gc.freeze()
