"""The paths for which a trial has failed, since the original has them and its copy lacks them."""

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from ablate.external.snapshot import Snapshot

_FAILURES = re.compile(
    r"no such file|filenotfound|not found|does not exist|doesn't exist|can't open|cannot open|unable to open|"
    r"not a directory|no files|missing|is empty|nosuchfile|cannot access|couldn't find",
    re.IGNORECASE,
)
_NO_MODULE = re.compile(r"No module named '?([\w.]+)'?")
_QUOTED = re.compile(r"""['"`]([^'"`\n]+)['"`]""")
_WORD = re.compile(r"[^\s'\"`,;:()\[\]{}<>]+")


def missing_paths(printed: Sequence[str], opened: Iterable[str], copy: Path, snapshot: Snapshot) -> list[str]:
    """Returns the outermost missing paths, relative to the study.

    printed: the last lines that the trial printed. opened: the paths below the copy that it has opened, or tried to.
    """
    here = copy / snapshot.inside
    names = [path for line in printed if _FAILURES.search(line) for path in _paths(line)]
    names += [path for line in printed for path in _modules(line, snapshot)]
    names += [str(copy / path) for path in opened]
    missing: dict[str, None] = {}
    for name in names:
        inside = _inside(os.path.normpath(here / name), copy, snapshot)
        if inside is not None:
            missing[os.path.relpath(_outermost(inside, copy), snapshot.inside)] = None
    return list(missing)


def paths_outside(printed: Sequence[str], copy: Path, snapshot: Snapshot) -> list[str]:
    """Returns the missing paths that lead out of the root, where the original has something."""
    here = snapshot.root / snapshot.inside
    outside: dict[str, None] = {}
    for line in printed:
        names = _paths(line) if _FAILURES.search(line) else ()
        for name in names:
            place = Path(os.path.normpath(here / name))
            is_outside = name.startswith("..") and not place.is_relative_to(snapshot.root)
            if is_outside and place.exists() and not (copy / snapshot.inside / name).exists():
                outside[name] = None
    return list(outside)


def _paths(line: str) -> Iterator[str]:
    """Yields the parts of a line that may be paths."""
    quoted = _QUOTED.findall(line)
    yield from quoted
    for word in _WORD.findall(line):
        if "/" in word or "." in word.strip("."):
            yield word


def _modules(line: str, snapshot: Snapshot) -> Iterator[str]:
    """Yields the paths, from the study's folder, of modules that a line reports missing and the original has."""
    for name in _NO_MODULE.findall(line):
        path = name.replace(".", os.sep)
        for folder in (".", "src", os.path.relpath(".", snapshot.inside)):
            place = snapshot.root / snapshot.inside / folder
            for module in [*place.glob(f"{path}.py"), *place.glob(f"{path}.*so"), *place.glob(path)]:
                yield os.path.relpath(module, snapshot.root / snapshot.inside)


def _inside(path: str, copy: Path, snapshot: Snapshot) -> str | None:
    """Returns the path below the root of a file that only the original has; None for any other."""
    inside = os.path.relpath(path, copy)
    if inside.startswith("..") or inside == "." or len(path) > 4000 or "\0" in path:
        return None
    original = snapshot.root / inside
    is_ours = original.is_relative_to(snapshot.store.parent)
    if is_ours or os.path.exists(path) or not original.exists():
        return None
    return inside


def _outermost(inside: str, copy: Path) -> str:
    """Returns the outermost folder of a path that the copy lacks."""
    path = Path(inside)
    for folder in reversed([path, *path.parents]):
        if str(folder) != "." and not (copy / folder).exists():
            return str(folder)
    return inside
