"""One driver per study at a time, and a signal that ends it."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from ablate.base.errors import StoreError


@contextmanager
def exclusive(root: Path, study: str, say: Callable[[str], None]) -> Iterator[None]:
    """Holds the study's lock in the store `root`; waits, and says so, while another driver has it."""
    from filelock import FileLock, Timeout

    path = root / "locks" / f"{study}.lock"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        lock = FileLock(path)
        try:
            lock.acquire(timeout=0)
        except Timeout:
            say(f"{study} is already running; waiting for it to finish …")
            lock.acquire()
    except OSError as error:
        # Names the lock file when it exists: another user may have created it in a shared folder.
        where = path if os.path.exists(path) else root
        raise StoreError(f"{where}: cannot be written: {error.strerror}; choose another --results") from error
    try:
        yield
    finally:
        lock.release()


@contextmanager
def interruptible() -> Iterator[None]:
    """Inside, SIGTERM ends a run as Ctrl-C does."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
