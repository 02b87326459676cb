"""One file of a tree: its digest, and the modules that it imports."""

import functools
import hashlib
import os
import re
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from ablate.base.errors import AblateError
from ablate.external.kinds import MAX_UNTRACKED

# Files whose digests are remembered.
_MAX_REMEMBERED = 40_000
# A study has both keys at its top level.
_STUDY_KEYS = (re.compile(rb"(?m)^[\"']?workload[\"']?\s*:"), re.compile(rb"(?m)^[\"']?metrics[\"']?\s*:"))
_JSON_KEYS = (b'"workload"', b'"metrics"', b'"name"')
_IMPORT = re.compile(rb"(?m)^[ \t]*(?:from|import)[ \t]+([A-Za-z_]\w*)((?:[ \t]*,[ \t]*[A-Za-z_]\w*)*)")


@dataclass(frozen=True)
class File:
    """A file or a link of a tree, as it was when it was read."""

    # The digest of the content; of a link, the place to which it points.
    digest: str
    size: int
    # The outermost modules that a Python file imports.
    imports: frozenset[str] = frozenset()
    is_link: bool = False


def read_file(path: Path) -> File | None:
    """Reads a file; None for a study, and for a file that is gone."""
    try:
        status = path.lstat()
        if stat.S_ISLNK(status.st_mode):
            return File(f"link {os.readlink(path)}", 0, is_link=True)
        state = _FileState(
            status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino, status.st_mode
        )
        return _read_again(str(path), state)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise AblateError(
            f"{path}: cannot be read ({error.strerror}); exclude it, or make it readable"
        ) from None


class _FileState(NamedTuple):
    """The status of a file; files of the same status are taken to be unchanged."""

    modified_ns: int
    changed_ns: int
    size: int
    inode: int
    mode: int


@functools.lru_cache(maxsize=_MAX_REMEMBERED)
def _read_again(path: str, state: _FileState) -> File | None:
    """Reads a file again only when its `state` differs from earlier ones; None for a study."""
    with open(path, "rb") as file:
        if state.size > MAX_UNTRACKED:
            digest = hashlib.file_digest(file, _hash).hexdigest()
            return File(digest + _executable(state.mode), state.size)
        content = file.read()
    if _is_study(path, content):
        return None
    hashed = _hash()
    hashed.update(content)
    imports = _imports(content) if path.endswith((".py", ".pyx")) else frozenset[str]()
    return File(hashed.hexdigest() + _executable(state.mode), state.size, imports)


def _hash() -> "hashlib.blake2b":
    return hashlib.blake2b(digest_size=16)


def _executable(mode: int) -> str:
    return " x" if mode & stat.S_IXUSR else ""


def _is_study(path: str, content: bytes) -> bool:
    """Returns whether a file is a study of the user's code."""
    if path.endswith((".yaml", ".yml")):
        if content.lstrip().startswith(b"{"):
            return all(key in content for key in _JSON_KEYS)
        return all(key.search(content) for key in _STUDY_KEYS)
    return False


def _imports(content: bytes) -> frozenset[str]:
    """Returns the outermost modules that a source may import, relative ones left out."""
    names: set[str] = set()
    for first, others in _IMPORT.findall(content):
        names.update(name.strip().decode() for name in (first, *others.split(b",")) if name.strip())
    return frozenset(names)
