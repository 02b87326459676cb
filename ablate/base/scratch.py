"""Temporary folders that no kill leaves for good: the next process that makes one removes those of killed processes."""

import fcntl
import functools
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ablate.base.files import remove_tree


@contextmanager
def scratch(kind: str) -> Iterator[str]:
    """Yields a temporary folder, `ablate-KIND-…`, which is removed at the end."""
    prefix = f"ablate-{kind}-"
    _remove_abandoned(prefix)
    folder, lock = _new_locked_folder(prefix)
    try:
        yield folder
    finally:
        with suppress(OSError):  # Something in it is another user's.
            remove_tree(Path(folder))
        os.close(lock)


def _new_locked_folder(prefix: str) -> tuple[str, int]:
    """Returns a new folder, and the descriptor that holds its lock."""
    while True:
        folder = tempfile.mkdtemp(prefix=prefix)
        with suppress(FileNotFoundError):  # Another process has removed it: it was not locked yet.
            lock = os.open(folder, os.O_RDONLY)
            # Without locks here, other processes cannot lock it either, and leave it.
            with suppress(OSError):
                fcntl.flock(lock, fcntl.LOCK_EX)
            if os.path.exists(folder):
                return folder, lock
            os.close(lock)


@functools.cache
def _remove_abandoned(prefix: str) -> None:
    """Removes the folders of this user that no process has locked; does so once in each process."""
    for folder in Path(tempfile.gettempdir()).glob(f"{prefix}*"):
        with suppress(OSError):  # It is in use, gone, or no folder.
            lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            try:
                if os.fstat(lock).st_uid == os.getuid():
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    remove_tree(folder)
            finally:
                os.close(lock)
