"""Data beside the code, which runs read in place: linked into their copies, and watched.

A folder is made anew in each copy, with a link for each file: the files that a library writes beside its data stay in
the copy, and a run that removes the folder removes links. A folder of more files than `MAX_LINKS` is one link.
"""

import os
import shutil
import stat
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from glob import escape
from itertools import islice
from pathlib import Path

from ablate.base.errors import AblateError, Invalid, dotted_path, listed
from ablate.base.files import digest_of_data, digest_of_file, unreadable
from ablate.base.text import to_add
from ablate.external.tree import matches

MAX_LINKS = 10_000
# Bytes up to which the content of a file is digested; and of all such files of an entry.
MAX_DIGESTED = 10 * 2**20
MAX_DIGESTED_IN_ALL = 2**30

# The size of a file in bytes, and the time of its last change in nanoseconds.
State = tuple[int, int]


@dataclass(frozen=True)
class Data:
    """A file or folder of data."""

    # The place that names the data: a path in a study, or an option of the command line.
    at: tuple[str | int, ...]
    # Their path as it is written there, relative to the folder of the study, or to the working directory.
    given: str
    place: Path
    # Their path below the root of the code; empty where they are elsewhere, and not linked into copies.
    inside: str
    # Path below the place → the state of the file; `.` alone where the place is a file.
    files: Mapping[str, State]
    # Folders below the place.
    folders: Sequence[str] = ()
    # The digest of paths, sizes and contents on which results depend.
    identity: str = ""
    exclude: Sequence[str] = field(default=(), repr=False)


def read_data(
    given: str, *, at: tuple[str | int, ...], folder: Path, root: Path, exclude: Sequence[str] = ()
) -> Data:
    """Reads a file or folder of data, given at a place, relative to a folder below the root. Raises `Invalid`."""
    place = Path(os.path.normpath(folder / given))
    fault = None if os.path.isdir(place) else unreadable(place, sys.maxsize)
    if fault is not None:
        allowed = f"a file or a folder in {folder}, or an absolute path"
        raise Invalid("", fault, given, allowed).under(*at)
    if folder.is_relative_to(place):
        raise Invalid("", f"contains the code in {folder}", given, "a folder that holds only data").under(*at)
    is_inside = place.is_relative_to(root)
    if not is_inside and not os.path.isabs(given):
        rule = f"is outside {root}, of which each run gets a copy"
        allowed = "a path in it, or the absolute path that the code uses"
        raise Invalid("", rule, given, allowed).under(*at)
    inside = place.relative_to(root).as_posix() if is_inside else ""
    return _read(Data(at, given, place, inside, {}, exclude=tuple(exclude)))


def read_linked(inside: str, place: Path, *, folder: str, exclude: Sequence[str] = ()) -> Data:
    """Reads the target of a link that leads out of the root of the code.

    inside: the link, from the root. folder: the study's, from the root. Raises `Invalid` for more files than can be
    taken for data that nobody has named.
    """
    given = os.path.relpath(inside, folder)
    at = (f"{given} (a link to {place})",)
    if len(list(islice(_files(place, exclude), MAX_LINKS + 1))) > MAX_LINKS:
        rule = f"has more than {MAX_LINKS} files, all of which a run may read"
        excluded = to_add("exclude", [escape(given)])
        hint = f"Add {to_add('data', [given])} under workload if it is data, else {excluded}"
        raise Invalid("", rule, hint=hint).under(*at)
    return _read(Data(at, given, place, inside, {}, exclude=tuple(exclude)))


def _read(entry: Data) -> Data:
    """Returns an entry with the files and folders at its place."""
    files = dict(_files(entry.place, entry.exclude))
    folders = [path for path in _folders(entry.place) if not matches(path, entry.exclude)]
    return replace(entry, files=files, folders=folders, identity=_identity(entry.given, entry.place, files))


def _files(place: Path, exclude: Sequence[str]) -> Iterator[tuple[str, State]]:
    """Yields path and state of the plain files of an entry."""
    if not place.is_dir():
        state = _state(place)
        if state is not None:
            yield ".", state
        return
    for folder, _, names in _walked(place):
        for name in names:
            path = os.path.relpath(os.path.join(folder, name), place)
            if matches(path, exclude):
                continue
            state = _state(place / path)
            if state is not None:
                yield path, state


def _folders(place: Path) -> Iterator[str]:
    """Yields the paths of the folders below a place."""
    for folder, names, _ in _walked(place):
        for name in names:
            yield os.path.relpath(os.path.join(folder, name), place)


def _walked(place: Path) -> Iterator[tuple[str, list[str], list[str]]]:
    """Yields folder, names of folders and names of files below a place; follows links, except to folders above."""
    for folder, folders, names in os.walk(place, followlinks=True):
        real = Path(folder).resolve()
        for name in [*folders]:
            path = os.path.join(folder, name)
            if os.path.islink(path) and real.is_relative_to(os.path.realpath(path)):
                folders.remove(name)
        yield folder, folders, names


def _state(path: Path) -> State | None:
    """Returns the state of a plain file.

    None: a link to nowhere, a file that is gone or, as it may never end, a pipe or a device.
    """
    try:
        status = os.stat(path)
    except OSError:
        return None
    return (status.st_size, status.st_mtime_ns) if stat.S_ISREG(status.st_mode) else None


def _identity(given: str, place: Path, files: Mapping[str, State]) -> str:
    """Returns a digest of paths and sizes, and of the contents of small files, up to a total."""
    left = MAX_DIGESTED_IN_ALL
    lines: list[tuple[str, int, str]] = []
    for path, (size, _) in sorted(files.items()):
        digest = ""
        if size <= MAX_DIGESTED:
            left -= size
            if left >= 0:
                digest = digest_of_file(str(place / path))
        lines.append((path, size, digest))
    return digest_of_data([given, lines])


def check_unchanged(data: Sequence[Data]) -> list[str]:
    """Returns the paths of files that were added. Raises `AblateError` for one that was changed or removed."""
    added: list[str] = []
    for entry in data:
        now = dict(_files(entry.place, entry.exclude)) if os.path.exists(entry.place) else {}
        removed = [path for path in entry.files if path not in now]
        changed = [path for path, state in entry.files.items() if path in now and now[path] != state]
        if removed or changed:
            event = "removed" if removed else "changed"
            paths = [os.path.normpath(os.path.join(entry.given, path)) for path in removed or changed]
            raise AblateError(
                f"{dotted_path(entry.at)}: {event} since the first run began: {listed(paths, 3)}. Runs did not have "
                "the same data; restore the files, and have the code write elsewhere"
            )
        added += [os.path.normpath(entry.place / path) for path in now if path not in entry.files]
    return added


def link_data(data: Sequence[Data], copy: Path) -> None:
    """Links the entries of data at their places in a copy."""
    for entry in data:
        if entry.inside:
            _link(entry, copy / entry.inside)


def _link(entry: Data, target: Path) -> None:
    """Links one entry at a place of a copy: a file or many files by one link, else each file in folders made anew."""
    target.parent.mkdir(parents=True, exist_ok=True)
    if target.is_symlink() or target.is_file():
        target.unlink()
    if not entry.place.is_dir() or len(entry.files) > MAX_LINKS:
        if target.is_dir():
            shutil.rmtree(target)
        target.symlink_to(entry.place)
        return
    target.mkdir(exist_ok=True)
    for folder in entry.folders:
        (target / folder).mkdir(parents=True, exist_ok=True)
    for path in entry.files:
        link = target / path
        if not os.path.lexists(link):
            link.symlink_to(entry.place / path)


def is_link_to(path: Path, data: Sequence[Data]) -> bool:
    """Returns whether a path of a copy is a link that `link_data` has made."""
    if not stat.S_ISLNK(path.lstat().st_mode):
        return False
    target = Path(os.readlink(path))
    return any(target.is_relative_to(entry.place) for entry in data)
