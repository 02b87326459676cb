"""Files: written whole or not at all, read only if plain and of a bounded size, known again by digests."""

import errno
import functools
import hashlib
import json
import os
import re
import secrets
import shutil
import stat
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path, PurePath
from typing import Any

from ablate.base.errors import AblateError, StoreError
from ablate.base.wording import size

# A temporary file, and what SQLite keeps beside one.
_TEMPORARY = re.compile(r"\..*\.ablate-[\w-]{8,}\.part(-journal|-wal|-shm)?", re.DOTALL)
_MAX_NAME = 120  # Bytes of a file's own name in that of its temporary file, which must not exceed 255.
# Seconds after which a temporary file that has not changed is one that a killed process has left.
_ABANDONED = 3600.0
MISNAMED = (errno.ENAMETOOLONG, errno.ELOOP)  # What the system says of a name that no file can have.


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yields a temporary path beside `path`, which takes its place when the block ends without an error.

    The content reaches the disk before the name does, so that neither a kill nor a power cut leaves half a file under
    `path`. A link there is replaced, so that a folder from elsewhere leads no write outside it; `destination` follows
    the links of a path that the user names. Raises `StoreError` when the disk is full or the folder cannot be written,
    and `AblateError` where a folder, a pipe or a device has the name.
    """
    if not path.is_symlink():
        _refuse_what_is_no_file(path, path)
    short_name = os.fsencode(path.name)[:_MAX_NAME].decode(errors="ignore")
    # Its own ending, so that nobody who looks for finished files takes it for one.
    temporary = path.with_name(f".{short_name}.ablate-{secrets.token_hex(8)}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield temporary
        with temporary.open("rb") as file:
            os.fsync(file.fileno())
        temporary.replace(path)
    except FileExistsError as error:  # Raised by `mkdir`.
        raise StoreError(
            f"{path}: cannot be written: {error.filename} is no folder, or a link to none; name another place"
        ) from error
    except OSError as error:
        raise StoreError(
            f"{path}: cannot be written: {error.strerror or error}; free space, or name another place"
        ) from error
    finally:
        with suppress(OSError):
            temporary.unlink()


def destination(path: Path) -> Path:
    """Returns the file to write where the user names `path`: the one behind all links, which stay.

    Raises `AblateError` for a folder, a pipe or a device, and for a link into a folder that is not there.
    """
    target = Path(os.path.realpath(path)) if path.is_symlink() else path
    _refuse_what_is_no_file(path, target)
    if path.is_symlink() and not target.parent.is_dir():
        raise AblateError(f"{path}: is a link into {target.parent}, which is no folder; name another file")
    return target


def _refuse_what_is_no_file(path: Path, target: Path) -> None:
    """Raises `AblateError` where the target of a path is there and is no plain file."""
    try:
        mode = os.stat(target).st_mode
    except FileNotFoundError:
        return
    except ValueError:  # A NUL, or half of a surrogate pair.
        raise AblateError(f"{os.fspath(path)!r}: cannot be the name of a file; choose another") from None
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise AblateError(f"{path}: is a link that leads back to itself; name another file") from None
        return  # Writing says what is wrong.
    kind = _other_than_file(mode)
    if kind:
        raise AblateError(f"{path}: {kind}, and is not written over; name another file")


def _other_than_file(mode: int) -> str:
    """Returns in words why a mode is not that of a plain file; empty where it is."""
    if stat.S_ISREG(mode):
        return ""
    if stat.S_ISDIR(mode):
        return "is a folder, not a file"
    return "is a pipe, a socket or a device, not a file"


def write_text(path: Path, text: str) -> None:
    """Writes `text` as UTF-8, whole or not at all."""
    write_whole(path, text.encode())


def write_whole(path: Path, content: bytes) -> None:
    """Writes a content, whole or not at all."""
    with replacing(path) as temporary:
        temporary.write_bytes(content)


def write_files(folder: Path, files: Mapping[str, str | bytes | None]) -> None:
    """Writes files into a folder, each whole or not at all, and removes those without content.

    files: path in the folder → content; None removes the file. Raises `AblateError` where a folder below `folder` is a
    link, behind which other files may lie.
    """
    for name in files:
        for below in PurePath(name).parents:
            if below.name and (folder / below).is_symlink():
                raise AblateError(f"{folder / below}: is a link to another folder; remove the link")
    for name, content in files.items():
        if content is None:
            (folder / name).unlink(missing_ok=True)
            continue
        write_whole(folder / name, content.encode() if isinstance(content, str) else content)


def set_aside(stem: Path, files: Iterable[Path], mark: str = "corrupt") -> str:
    """Renames the files that exist to names that nothing looks for, and returns that of the first.

    With the mark `corrupt`, `x` and `x.json` become `x.corrupt-1`, and `x.npz` becomes `x.corrupt-1.npz`, where `x` is
    the `stem`; the number is the first that is free.
    """
    number = 1
    while any(stem.parent.glob(f"{stem.name}.{mark}-{number}*")):
        number += 1
    new_names = []
    for file in list(files):  # All of them, before the first has another name.
        ending = file.name.removeprefix(stem.name).removesuffix(".json")
        new_name = f"{stem.name}.{mark}-{number}{ending}"
        new_names.append(new_name)
        if os.path.lexists(file):
            file.replace(file.with_name(new_name))
    return new_names[0]


def leftovers(folder: Path) -> list[Path]:
    """Returns the temporary files below `folder` that a killed process has left; none where it is a link.

    They have not changed within an hour.
    """
    if folder.is_symlink():
        return []
    return sorted(filter(_is_left, folder.rglob(".*.ablate-*")))


def _is_left(path: Path) -> bool:
    """Returns whether a file is a temporary one that a killed process has left."""
    try:
        status = path.lstat()
    except FileNotFoundError:
        return False
    is_temporary = _TEMPORARY.fullmatch(path.name) is not None and stat.S_ISREG(status.st_mode)
    # Also one of an hour ahead: the clock has been set back since.
    return is_temporary and abs(time.time() - status.st_mtime) > _ABANDONED


def remove_leftovers(folder: Path) -> None:
    """Removes the `leftovers` below a folder."""
    for path in leftovers(folder):
        path.unlink(missing_ok=True)


def remove_tree(path: Path) -> None:
    """Removes a file, or a folder with all its files, including write-protected ones."""
    if path.is_symlink() or path.is_file():
        path.unlink()
        return
    if not path.is_dir():
        return
    for folder, _, _ in os.walk(path):
        os.chmod(folder, 0o700)
    shutil.rmtree(path, ignore_errors=True)


def unreadable(path: Path, limit: int) -> str | None:
    """Returns why a file cannot be read, in words that follow its name; None if it can.

    limit: the most bytes that it may have. A pipe or a device is not read, which may never end.
    """
    try:
        status = os.stat(path)
    except FileNotFoundError:
        return "does not exist"
    except ValueError:  # A NUL, or half of a surrogate pair.
        return "cannot be the name of a file"
    except OSError as error:
        return f"cannot be read: {error.strerror}"
    kind = _other_than_file(status.st_mode)
    if kind:
        return kind
    if status.st_size > limit:
        return f"is too large: {size(status.st_size)}, and at most {size(limit)} are read"
    return None


class NotReadableError(AblateError):
    """A file that is not read; the message follows its name."""


def read_plain(path: Path, limit: int) -> bytes:
    """Returns the content of a plain file of at most `limit` bytes. Raises `NotReadableError` for any other."""
    fault = unreadable(path, limit)
    if fault is not None:
        raise NotReadableError(fault)
    try:
        return path.read_bytes()
    except OSError as error:
        raise NotReadableError(f"cannot be read: {error.strerror}") from None


def digest_of(*contents: bytes) -> str:
    """Returns the digest of contents, one after the other: 32 hexadecimal digits.

    It shows accidental changes, and is no signature.
    """
    return hashlib.blake2b(b"".join(contents), digest_size=16).hexdigest()


def digest_of_data(data: Any) -> str:
    """Returns the digest of plain data, the same before it is written as JSON and after it is read.

    Floats are written exactly.
    """
    # JSON turns keys that are numbers into texts, which then are sorted as texts.
    plain = json.loads(json.dumps(data))
    return digest_of(json.dumps(plain, sort_keys=True).encode())


def digest_of_file(path: str) -> str:
    """Returns the digest of a plain file's content. Raises `AblateError` when it cannot be read."""
    try:
        status = os.stat(path)
        if not stat.S_ISREG(status.st_mode):
            raise AblateError(f"{path}: is not a plain file; name one")
        return _digest(path, (status.st_mtime_ns, status.st_size, status.st_ino))
    except OSError as error:
        raise AblateError(
            f"{path}: cannot be read ({error.strerror}); restore the file, or name another"
        ) from None


@functools.lru_cache(maxsize=1000)
def _digest(path: str, version: object) -> str:
    """Returns the digest of a file, which is read again only for another `version`."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=16)).hexdigest()
