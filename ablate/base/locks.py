"""Locks of a store: one driver per study at a time, and no training while speed is measured."""

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path

from ablate.base.errors import StoreError

Say = Callable[[str], None]
MEASURING = "bench"  # The lock of all measurements of speed in a store; no study has this name.
_TRAINING = ".training"


def exclusive(root: Path, study: str, say: Say) -> AbstractContextManager[None]:
    """Holds the study's lock in the store `root`. Waits, and says so, while another driver has it."""
    return _held(root, f"{study}.lock", say, f"{study} is already running")


@contextmanager
def if_free(root: Path, study: str) -> Iterator[bool]:
    """Holds the study's lock in the store `root`, and yields whether: not while another driver has it."""
    from filelock import FileLock, Timeout

    lock = FileLock(root / "locks" / f"{study}.lock")
    try:
        lock.acquire(timeout=0)
    except Timeout:
        yield False
        return
    try:
        yield True
    finally:
        lock.release()


@contextmanager
def training(root: Path, study: str, say: Say) -> Iterator[None]:
    """Blocks measurements of speed while a study trains; first waits for a running one, and says so."""
    with ExitStack() as locks:
        # A measurement that begins meanwhile finds the lock of this training.
        with _held(root, f"{MEASURING}.lock", say, "speed is being measured, which training would disturb"):
            locks.enter_context(_held(root, f"{study}{_TRAINING}", say, f"{study} is training"))
        yield


@contextmanager
def measuring(root: Path, say: Say) -> Iterator[None]:
    """Keeps all studies of the store from training while speed is measured; waits, and says so, while one trains."""
    with _held(root, f"{MEASURING}.lock", say, "speed is already being measured"):
        for path in sorted((root / "locks").glob(f"*{_TRAINING}")):
            with _held(root, path.name, say, f"{path.stem} is training, which would disturb the measurement"):
                pass
        yield


@contextmanager
def _held(root: Path, name: str, say: Say, reason: str) -> Iterator[None]:
    """Holds a lock of the store; waits, and says for which `reason`, while another process has it."""
    from filelock import FileLock, Timeout

    path = root / "locks" / name
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        lock = FileLock(path)
        try:
            lock.acquire(timeout=0)
        except Timeout:
            say(f"{reason}; waiting for it to finish …")
            lock.acquire()
    except OSError as error:
        # Another user may have created the lock file in a shared folder; then the message names it.
        place = path if os.path.exists(path) else root
        raise StoreError(f"{place}: cannot be written: {error.strerror}; name another place") from error
    try:
        yield
    finally:
        lock.release()
