"""Time, memory, signals and standard streams of this process."""

import atexit
import errno
import gc
import os
import resource
import signal
import sys
import termios
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType
from typing import NoReturn

BEGAN = time.monotonic()
"""When this process imported the first of this package, by `time.monotonic`."""
_GROUPS = Path("/sys/fs/cgroup")
# Variables that say how many threads libraries use.
THREADS = [f"{library}_NUM_THREADS" for library in ("OMP", "MKL", "OPENBLAS", "NUMEXPR", "VECLIB")]


def now() -> str:
    """Returns the time as ISO 8601 in UTC, to the millisecond."""
    return stopwatch()()


def stopwatch() -> Callable[[], str]:
    """Returns a clock like `now` that never goes back: the time of day at the start, advanced by the monotonic clock.

    Durations are right even when the time of day is changed meanwhile.
    """
    ahead = time.time() - time.monotonic()
    return lambda: datetime.fromtimestamp(time.monotonic() + ahead, UTC).isoformat(timespec="milliseconds")


def memory_allowed() -> int:
    """Returns the usable memory in bytes: that of the machine, or the lowest limit of process or container."""
    limits = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    soft = [resource.getrlimit(kind)[0] for kind in (resource.RLIMIT_AS, resource.RLIMIT_DATA)]
    limits += [limit for limit in soft if limit != resource.RLIM_INFINITY]
    # Of control groups, of version 2 and 1, a container sees its own at the top.
    for file in ("memory.max", "memory/memory.limit_in_bytes"):
        with suppress(OSError, ValueError):  # there is none, or it says "max"
            limits.append(int((_GROUPS / file).read_text()))
    return min(limits)


@contextmanager
def interruptible() -> Iterator[None]:
    """Lets SIGTERM, and SIGHUP of a terminal that is closed, end a run as Ctrl-C does, while the block runs.

    What `nohup` has a process ignore is ignored.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    handlers = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}
    heard = [number for number, handler in handlers.items() if handler != signal.SIG_IGN]
    for number in heard:
        signal.signal(number, _interrupt)
    try:
        yield
    finally:
        for number in heard:
            signal.signal(number, handlers[number])


def _interrupt(_number: int, _frame: FrameType | None) -> NoReturn:
    """Interrupts as Ctrl-C does; what would be printed to a terminal that is gone is discarded."""
    for descriptor in (0, 1, 2):
        try:
            termios.tcgetattr(descriptor)
        except termios.error as error:
            if error.args[0] == errno.EIO:
                os.dup2(os.open(os.devnull, os.O_RDWR), descriptor)
    raise KeyboardInterrupt


def rarely_collect() -> None:
    """Lets Python look for garbage rarely: each time, it looks through all that is imported, which stays.

    At the end it does not look at all, which would take half a second where torch is loaded.
    """
    gc.set_threshold(100_000, 20, 100)
    atexit.register(gc.freeze)


def forgive() -> None:
    """Lets standard output and standard error take any text: `?` for what they cannot show."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)  # Other streams may stand in their place.
        if reconfigure is not None:
            reconfigure(errors="replace")


class Ending:
    """The end of this process, after all other exit handlers where it is made before them.

    What libraries print to standard error from then on is discarded: triton from 3.8 on, which torch loads where it is
    installed, reports its own leaks there.
    """

    def __init__(self) -> None:
        """Registers the exit handler that silences standard error."""
        self._code: int | None = None
        atexit.register(self._hush)

    def interrupted(self, code: int) -> None:
        """Has the process end with this exit code, whatever comes; a further Ctrl-C does nothing.

        Python itself would end by the signal where that had come into an `exec`, such as that of a dataclass.
        """
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        self._code = code

    def _hush(self) -> None:
        """Sends standard error, from here on, to nowhere."""
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError, AttributeError):  # It is closed, or there is none.
                stream.flush()
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        if self._code is not None:
            os._exit(self._code)
