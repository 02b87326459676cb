"""Files that are written whole or not at all."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ablate.base.errors import StoreError


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A temporary path beside `path`, which takes its place when the block ends without an error.

    The content reaches the disk before the name does, so that neither a kill nor a power cut leaves half a
    file under `path`. Raises `StoreError` when the disk is full or the folder cannot be written.
    """
    temporary = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        prefix = f".{path.name}.{os.getpid()}-"
        # Its own ending, so that nobody who looks for finished files takes it for one.
        handle, name = tempfile.mkstemp(prefix=prefix, suffix=".part", dir=path.parent)
        os.close(handle)
        temporary = Path(name)
        temporary.chmod(0o666 & ~_umask())
        yield temporary
        with temporary.open("rb") as file:
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as error:
        raise StoreError(
            f"{path}: cannot be written: {error.strerror or error}; free space or choose --results"
        ) from error
    finally:
        if temporary is not None:
            temporary.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Writes `text` as UTF-8, whole or not at all."""
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def leftovers(folder: Path) -> list[Path]:
    """The temporary files in `folder`, of processes that still run and of those that have ended."""
    return sorted(path for path in folder.glob(".*") if _writer(path) is not None)


def remove_leftovers(folder: Path) -> None:
    """Removes the temporary files that killed processes have left in `folder`."""
    for path in leftovers(folder):
        if (pid := _writer(path)) and not _is_running(pid):
            path.unlink(missing_ok=True)


def _writer(path: Path) -> int | None:
    """The process that writes a temporary file; None for any other file."""
    match = re.match(r"\..+\.(\d+)-", path.name)
    return int(match[1]) if match else None


def _is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
