"""Time, memory, signals and standard streams of this process."""

import atexit
import gc
import os
import resource
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

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
    """Returns the bytes of the machine, or the least that a limit of the process or of its container leaves of them."""
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
    """Lets SIGTERM end a run as Ctrl-C does, while the block runs."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


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


def hush_at_exit() -> None:
    """Discards what libraries print to standard error after Python has run its exit handlers.

    triton from 3.8 on, which torch loads where it is installed, reports its own leaks there. Call this first: handlers
    run in reverse order, and those of the program still print.
    """
    atexit.register(_hush)


def _hush() -> None:
    """Sends standard error, from here on, to nowhere."""
    if sys.stderr is not None:
        sys.stderr.flush()
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
