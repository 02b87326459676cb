"""The files that a trial has opened, as noted by the hook."""

import hashlib
import os
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ablate.base.files import NotReadableError, read_plain
from ablate.base.plugins import is_users
from ablate.external.kinds import is_of_environment

HOOK = Path(__file__).with_name("hook")
# Bytes of the notes of one process.
MAX_NOTES = 100 * 2**20
_RELATIVE = re.compile(r"(?<![\w./~$+-])(?:\./)?[\w.-]+(?:/[\w.@+-]+)+")
"""A relative path with a slash."""
_NOTE = re.compile(rb"(\d{1,20})\t([rwaesm])\t([^\0]+)")


@dataclass(frozen=True)
class Opening:
    """The first opening of a file."""

    # Nanoseconds since the epoch.
    time: int
    # Whether it was read before it was written anew.
    is_read: bool


@dataclass(frozen=True)
class Trace:
    """What the processes of a trial that run Python have opened and read."""

    # Path → its opening.
    opened: Mapping[str, Opening]
    # Variable of the environment that a user's code names → digests of its values.
    variables: Mapping[str, str]
    # Files outside of the copy that were written after they had been read.
    shared: Sequence[str]
    # Paths of the copy that were looked for and not there, where the original has them.
    missing: Sequence[str]

    @classmethod
    def read(cls, folder: Path) -> "Trace":
        """Reads the notes of all processes of a trial in a folder."""
        events: list[tuple[int, str, str]] = []
        for file in folder.glob("*.txt"):
            try:
                notes = read_plain(file, MAX_NOTES)
            except NotReadableError:
                continue  # The code of the trial has put something else in its place.
            for line in notes.split(b"\0"):
                note = _NOTE.fullmatch(line)
                if note:
                    time, kind, path = note.groups()
                    events.append((int(time), kind.decode(), os.fsdecode(path)))
        opened: dict[str, Opening] = {}
        written: set[str] = set()
        variables: dict[str, list[str]] = {}
        lists: dict[str, list[str]] = {"s": [], "m": []}
        for time_ns, kind, path in sorted(events):
            if kind in lists:
                lists[kind].append(path)
                continue
            if kind == "e":
                name, _, value = path.rpartition("=")
                variables.setdefault(name, []).append(value)
                continue
            source = _source(path)
            first = opened.setdefault(source, Opening(time_ns, False))
            if kind == "w":
                written.add(source)
            elif kind == "r" and source not in written:
                opened[source] = Opening(first.time, True)
        digests = {name: " ".join(sorted({*values})) for name, values in variables.items()}
        return cls(opened, digests, shared=lists["s"], missing=lists["m"])

    def below(self, folder: Path) -> dict[str, Opening]:
        """Returns path below a folder → its opening."""
        start = f"{folder}{os.sep}"
        return {path[len(start) :]: first for path, first in self.opened.items() if path.startswith(start)}

    def modules_beside(self, folders: Iterable[Path]) -> list[str]:
        """Returns the files of the user's modules outside of these folders."""
        starts = tuple(f"{folder}{os.sep}" for folder in (*folders, HOOK.parent))
        return [
            path
            for path in self.opened
            if path.endswith(".py") and not path.startswith(starts) and is_users(path)
        ]


def digest_of_variable(name: str) -> str:
    """Returns the digest of a variable of this process, as the hook has it of those of a trial."""
    value = os.environ.get(name)
    return "unset" if value is None else hashlib.sha256(value.encode()).hexdigest()[:16]


def variables(trace: Path, root: Path, copy: Path) -> dict[str, str]:
    """Returns the variables that start the hook, with PYTHONPATH entries of the original moved to the copy."""
    before = os.environ.get("PYTHONPATH", "")
    paths = [path_in_copy(path, root, copy) for path in before.split(os.pathsep) if path]
    return {
        "PYTHONPATH": os.pathsep.join([str(HOOK), *paths]),
        "ABLATE_TRACE": str(trace),
        "ABLATE_ROOT": str(root),
        "ABLATE_COPY": str(copy),
        # `git status` must not change the index.
        "GIT_OPTIONAL_LOCKS": "0",
    }


def path_in_copy(text: str, root: Path, copy: Path) -> str:
    """Returns a text with a path of the original replaced by the one in the copy, where the copy has it."""
    # It begins there: `/mnt/code/x` is no path in `/code`.
    start = re.search(rf"(?:(?<![\w./~+-])|(?<=://)){re.escape(f'{root}{os.sep}')}", text)
    # An environment in the repository, such as the `python` of a command, is not copied whole.
    if start is None or text.startswith(sys.prefix):
        return text
    inside = text[start.end() :]
    if not (copy / inside).exists() or (f"{root}{os.sep}{inside}").startswith(f"{copy}{os.sep}"):
        return text
    return f"{text[: start.start()]}{copy / inside}"


def in_place(text: str, folder: Path) -> str:
    """Returns a text with each relative path into an environment of a folder, which no copy has, made absolute.

    Such are `.venv/bin/python` and `node_modules/.bin/tsc`.
    """

    def placed(match: re.Match[str]) -> str:
        path = os.path.normpath(match[0])
        place = folder / path
        return str(place) if is_of_environment(path, folder) and os.path.lexists(place) else match[0]

    return _RELATIVE.sub(placed, text)


def _source(path: str) -> str:
    """Returns the file of Python of a file of bytecode, and any other path as it is."""
    folder, name = os.path.split(path)
    if os.path.basename(folder) != "__pycache__":
        return path
    return os.path.join(os.path.dirname(folder), f"{name.split('.')[0]}.py")
