"""The change of a user's code since a frozen copy of it, as a unified diff."""

import difflib
import filecmp
import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path

from ablate.base.wording import counted
from ablate.external.kinds import MAX_UNTRACKED, is_document
from ablate.external.links import place_of
from ablate.external.tree import Tree, paths_below

MAX_LINES = 40
"""The most lines of a diff that are shown."""


def diff(earlier: Path, tree: Tree) -> str:
    """Returns the change from a frozen copy to a tree; empty where nothing that is shown has changed.

    One line says that the copy is gone. Documents are left out, and lines beyond `MAX_LINES` are only counted.
    """
    if not earlier.is_dir():
        return "(the earlier code is no longer stored)"
    lines: list[str] = []
    for path in sorted(_changed_paths(earlier, tree)):
        lines += _file_diff(earlier, tree, path)
    if len(lines) > MAX_LINES:
        return "\n".join([*lines[:MAX_LINES], f"… and {counted(len(lines) - MAX_LINES, 'more line')}"])
    return "\n".join(lines)


def _changed_paths(earlier: Path, tree: Tree) -> Iterator[str]:
    """Yields the paths of files and links that were added, removed or changed, except documents."""
    before = set(paths_below(earlier))
    for path in before | tree.files.keys():
        is_same = path in before and path in tree.files and _is_same(earlier, tree.root, path)
        if not is_same and not is_document(path):
            yield path


def _is_same(earlier: Path, root: Path, path: str) -> bool:
    """Returns whether a path is the same file, or a link to the same place, below both roots."""
    before = earlier / path
    now = root / path
    if before.is_symlink() or now.is_symlink():
        return _link_target(before, earlier) == _link_target(now, root)
    return _is_executable(before) == _is_executable(now) and filecmp.cmp(before, now)


def _link_target(path: Path, root: Path) -> str:
    """Returns the place to which a link points, relative to the root if below it; "" for a file."""
    if not path.is_symlink():
        return ""
    target = place_of(path)
    return target.relative_to(root).as_posix() if target.is_relative_to(root) else str(target)


def _is_executable(path: Path) -> bool:
    """Returns whether the owner of a file may execute it."""
    return bool(path.stat().st_mode & stat.S_IXUSR)


def _file_diff(earlier: Path, tree: Tree, path: str) -> Sequence[str]:
    """Returns the lines of a diff of one file or link."""
    old = _text(earlier, path)
    new = _text(tree.root, path) if path in tree.files else []
    if old is None or new is None:
        return [f"  {path}: changed"]
    lines = [line.rstrip("\n") for line in difflib.unified_diff(old, new, path, path, n=1)]
    if lines:
        return lines
    is_in_both = path in tree.files and os.path.lexists(earlier / path)
    if not is_in_both or _is_executable(earlier / path) == _is_executable(tree.root / path):
        return [f"  {path}: changed"]
    return [f"  {path}: {'now' if _is_executable(tree.root / path) else 'no longer'} executable"]


def _text(root: Path, path: str) -> list[str] | None:
    """Returns the lines of a text file; [] if it is missing, None if it is not UTF-8 or too large.

    Of a link, one line with the place to which it points.
    """
    place = root / path
    if place.is_symlink():
        return [f"link to {_link_target(place, root)}"]
    if not place.is_file():
        return []
    if place.stat().st_size > MAX_UNTRACKED:
        return None
    try:
        return place.read_text().splitlines(keepends=True)
    except UnicodeDecodeError:
        return None
