"""Files that are written whole or not at all."""

from __future__ import annotations

import functools
import hashlib
import os
import platform
import re
import stat
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from ablate.base.errors import StoreError

_OURS = re.compile(r"\..*\.ablate-([0-9a-f]{12})-(\d+)-\w{8}\.part(-journal|-wal|-shm)?", re.DOTALL)
"""A temporary file: where it is written, by which process; and what SQLite keeps beside one."""
_OURS_BEFORE = re.compile(r"\..+\.\d+-\w{8}\.part", re.DOTALL)
"""The names of earlier versions, which do not say on which machine the process runs."""
_MAX_NAME = 120
"""Bytes of a file's own name in that of its temporary file, which must not exceed 255."""
_DAY = 24 * 3600.0


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A temporary path beside `path`, which takes its place when the block ends without an error.

    The content reaches the disk before the name does, so that neither a kill nor a power cut leaves half a
    file under `path`. Raises `StoreError` when the disk is full or the folder cannot be written.
    """
    temporary = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        shown = os.fsencode(path.name)[:_MAX_NAME].decode(errors="ignore")
        # Its own ending, so that nobody who looks for finished files takes it for one.
        handle, name = tempfile.mkstemp(
            prefix=f".{shown}.ablate-{_place()}-{os.getpid()}-", suffix=".part", dir=path.parent
        )
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


def write_files(folder: Path, files: Mapping[str, str | bytes]) -> None:
    """Writes files by their paths in a folder, each whole or not at all."""
    for name, content in files.items():
        with replacing(folder / name) as temporary:
            temporary.write_bytes(content.encode() if isinstance(content, str) else content)


def leftovers(folder: Path) -> list[Path]:
    """The temporary files that killed processes have left in `folder`; none where the folder is a link.

    A file that was written here (on this machine since it started, among the processes that this one sees) is left
    over when its process is gone; one that was written elsewhere, when it has not changed for a day.
    """
    return [] if folder.is_symlink() else sorted(path for path in folder.glob(".*.part*") if _is_left(path))


def remove_leftovers(folder: Path) -> None:
    """Removes `leftovers`."""
    for path in leftovers(folder):
        path.unlink(missing_ok=True)


def _is_left(path: Path) -> bool:
    match = _OURS.fullmatch(path.name)
    if not (match or _OURS_BEFORE.fullmatch(path.name)):
        return False
    try:
        state = path.lstat()
    except FileNotFoundError:
        return False
    if not stat.S_ISREG(state.st_mode):
        return False
    if match and match[1] == _place():
        return not _is_running(int(match[2]))
    return time.time() - state.st_mtime > _DAY


@functools.cache
def _place() -> str:
    """Where a process number means one process: the machine, its start and, in a container, the container."""
    parts = [platform.node()]
    with suppress(OSError):
        parts.append(Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii"))
    with suppress(OSError):
        parts.append(str(os.stat("/proc/self/ns/pid").st_ino))
    return hashlib.blake2b("\n".join(parts).encode(), digest_size=6).hexdigest()


def _is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        pass
    return True


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
