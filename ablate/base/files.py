"""Files: written whole or not at all, read only if plain and of a bounded size, known again by digests."""

import errno
import functools
import hashlib
import json
import os
import re
import secrets
import stat
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import Any

from ablate.base.errors import AblateError, StoreError
from ablate.base.wording import size

# A temporary file, and what SQLite keeps beside one.
_OURS = re.compile(r"\..*\.ablate-[\w-]{8,}\.part(-journal|-wal|-shm)?", re.DOTALL)
_MAX_NAME = 120  # Bytes of a file's own name in that of its temporary file, which must not exceed 255.
# Seconds after which a temporary file that has not changed is one that a killed process has left.
_ABANDONED = 3600.0
MISNAMED = (errno.ENAMETOOLONG, errno.ELOOP)  # What the system says of a name that no file can have.


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A temporary path beside `path`, which takes its place when the block ends without an error.

    The content reaches the disk before the name does, so that neither a kill nor a power cut leaves half a
    file under `path`. Raises `StoreError` when the disk is full or the folder cannot be written.
    """
    shown = os.fsencode(path.name)[:_MAX_NAME].decode(errors="ignore")
    # Its own ending, so that nobody who looks for finished files takes it for one.
    temporary = path.with_name(f".{shown}.ablate-{secrets.token_hex(8)}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield temporary
        with temporary.open("rb") as file:
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as error:
        raise StoreError(
            f"{path}: cannot be written: {error.strerror or error}; free space or choose --results"
        ) from error
    finally:
        with suppress(OSError):
            temporary.unlink()


def write_text(path: Path, text: str) -> None:
    """Writes `text` as UTF-8, whole or not at all."""
    write_files(path.parent, {path.name: text})


def write_files(folder: Path, files: Mapping[str, str | bytes | None]) -> None:
    """Writes files by their paths in a folder, each whole or not at all; removes one without content."""
    for name, content in files.items():
        if content is None:
            (folder / name).unlink(missing_ok=True)
            continue
        with replacing(folder / name) as temporary:
            temporary.write_bytes(content.encode() if isinstance(content, str) else content)


def set_aside(stem: Path, files: Iterable[Path], mark: str = "corrupt") -> str:
    """Renames those of the files that exist to names that nothing looks for, and returns that of the first.

    `x.corrupt-1` is that of `x` and of `x.json`, and `x.corrupt-1.npz` that of `x.npz`, where `x` is the `stem`;
    `mark` takes the place of the word in it.
    """
    free = (n for n in count(1) if not any(stem.parent.glob(f"{stem.name}.{mark}-{n}*")))
    start = f"{stem.name}.{mark}-{next(free)}"
    aside = {file: start + file.name.removeprefix(stem.name).removesuffix(".json") for file in files}
    for file in filter(os.path.lexists, aside):
        file.replace(file.with_name(aside[file]))
    return next(iter(aside.values()))


def leftovers(folder: Path) -> list[Path]:
    """The temporary files below `folder` that have not changed for an hour; none where the folder is a link."""
    return [] if folder.is_symlink() else sorted(filter(_is_left, folder.rglob(".*.ablate-*")))


def _is_left(path: Path) -> bool:
    try:
        state = path.lstat()
    except FileNotFoundError:
        return False
    ours = _OURS.fullmatch(path.name) is not None and stat.S_ISREG(state.st_mode)
    return ours and time.time() - state.st_mtime > _ABANDONED


def remove_leftovers(folder: Path) -> None:
    """Removes `leftovers`."""
    for path in leftovers(folder):
        path.unlink(missing_ok=True)


def unreadable(path: Path, limit: int) -> str | None:
    """Why `path` is not read as a file of at most `limit` bytes, to follow its name; None where it can be.

    A pipe or a device may never end.
    """
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return "does not exist"
    except ValueError:  # A NUL, or half of a surrogate pair.
        return "cannot be the name of a file"
    except OSError as error:
        return f"cannot be read: {error.strerror}"
    if stat.S_ISDIR(found.st_mode):
        return "is a folder, not a file"
    if not stat.S_ISREG(found.st_mode):
        return "is a pipe, a socket or a device, not a file"
    if found.st_size > limit:
        return f"is too large: {size(found.st_size)}, and at most {size(limit)} are read"
    return None


def digest_of(*contents: bytes) -> str:
    """Of the contents, one after the other: 32 hexadecimal digits. It tells of accidents, and is no signature."""
    return hashlib.blake2b(b"".join(contents), digest_size=16).hexdigest()


def digest_of_data(data: Any) -> str:
    """Of plain data, the same before it is written as JSON and after it is read: floats are written exactly."""
    # Through JSON once, which makes text of keys that are numbers, and then sorts them as such.
    return digest_of(json.dumps(json.loads(json.dumps(data)), sort_keys=True).encode())


def digest_of_file(path: str) -> str:
    """Of the content. Raises `AblateError` when it cannot be read."""
    try:
        state = os.stat(path)
        return _digest(path, (state.st_mtime_ns, state.st_size, state.st_ino))
    except OSError as error:
        raise AblateError(
            f"{path}: cannot be read ({error.strerror}); restore the file, or name another"
        ) from None


@functools.lru_cache(maxsize=1000)
def _digest(path: str, state: object) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=16)).hexdigest()
