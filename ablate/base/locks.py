"""Locks of a store: one driver per study at a time, and no training while speed is measured."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from ablate.base.errors import StoreError

if TYPE_CHECKING:
    from filelock import FileLock

Say = Callable[[str], None]
MEASURING = "bench"  # The lock of all measurements of speed in a store; no study has this name.
_TRAINING = ".training"


def exclusive(root: Path, study: str, say: Say) -> AbstractContextManager[None]:
    """Holds the study's lock in the store `root`. Waits, and says so, while another driver has it."""
    return _held(root, f"{study}.lock", say, f"{study} is already running")


@contextmanager
def if_free(root: Path, study: str) -> Iterator[bool]:
    """Holds the study's lock in the store `root`, and yields whether: not while another driver has it."""
    lock = _lock(root, f"{study}.lock")
    try:
        yield _is_acquired(lock, root, waits=False)
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
    lock = _lock(root, name)
    if not _is_acquired(lock, root, waits=False):
        say(f"{reason}; waiting for it to finish …")
        _is_acquired(lock, root, waits=True)
    try:
        yield
    finally:
        lock.release()


def _lock(root: Path, name: str) -> FileLock:
    """Returns a lock file of the store, which the caller is to acquire."""
    from filelock import FileLock

    return FileLock(root / "locks" / name)


def _is_acquired(lock: FileLock, root: Path, *, waits: bool) -> bool:
    """Takes a lock, and returns whether: not while another process has it, unless it `waits`. Raises `StoreError`."""
    from filelock import Timeout

    path = Path(lock.lock_file)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        lock.acquire(timeout=-1 if waits else 0)
    except Timeout:
        return False
    except OSError as error:
        # Another user may have created the lock file in a shared folder; then the message names it.
        place = path if os.path.exists(path) else root
        raise StoreError(f"{place}: cannot be written: {error.strerror}; name another place") from error
    return True
