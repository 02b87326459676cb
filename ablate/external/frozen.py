"""A tree of files, frozen beside the results, and fresh copies of it.

    frozen = freeze(read_tree(folder, results), store / "code")  # <store>/code/<digest>, shared by its trials
    make_copy(frozen, place)  # a copy that a trial may change

It knows nothing of trials.
"""

import errno
import os
import secrets
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from ablate.base.errors import AblateError, StoreError
from ablate.external.links import place_of
from ablate.external.tree import Tree

# Files that one call of a program copies.
_AT_ONCE = 500
# Files and folders, and their bytes, up to which a loop is faster than a program.
_FEW = 20
_SMALL = 2**20
# Nanoseconds by which the last reading of a file in a copy lies before its last change, so that a read moves it
# (`relatime` leaves a later one alone).
_UNREAD = 2 * 86_400 * 10**9


def freeze(tree: Tree, folder: Path) -> Path:
    """Copies a tree to a folder of its digest, whole or not at all, unless it is there; returns it.

    Raises `AblateError` where a file changes meanwhile, and `StoreError` where the folder cannot be written.
    """
    frozen = folder / tree.digest
    if frozen.is_dir():
        return frozen
    temporary = folder / f".{tree.digest}.ablate-{secrets.token_hex(8)}.part"
    try:
        temporary.mkdir(parents=True)
        parents = {os.path.dirname(path) for path in tree.files}
        for parent in parents:
            (temporary / parent).mkdir(parents=True, exist_ok=True)
        files = [path for path, file in tree.files.items() if not file.is_link]
        for path in tree.files.keys() - files:
            _freeze_link(tree.root / path, temporary / path, tree.root)
        if sys.platform == "linux":
            _freeze_by_program(tree.root, files, temporary)
        else:
            for path in files:
                shutil.copy2(tree.root / path, temporary / path)
        _check_unchanged(tree)
        temporary.rename(frozen)
    except FileNotFoundError as error:
        raise AblateError(f"{error.filename} vanished while the code was copied; run again") from None
    except OSError as error:
        if not frozen.is_dir():  # Another process was faster.
            raise _unwritten(frozen, error.strerror or str(error)) from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return frozen


def make_copy(frozen: Path, place: Path) -> None:
    """Copies a frozen tree into a folder that does not exist, with the times of its files.

    No file of the copy has been read since it changed, by its times. Raises `StoreError` where it cannot be written.
    """
    place.parent.mkdir(parents=True, exist_ok=True)
    if sys.platform == "linux" and not _is_small(frozen):
        _copy_by_program(frozen, place)
    else:
        _copy_by_loop(frozen, place)
    for folder, _, names in os.walk(place):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            for name in names:
                changed = os.stat(name, dir_fd=descriptor, follow_symlinks=False).st_mtime_ns
                times = (changed - _UNREAD, changed)
                os.utime(name, ns=times, dir_fd=descriptor, follow_symlinks=False)
        finally:
            os.close(descriptor)


def _is_small(frozen: Path) -> bool:
    """Returns whether a loop has copied a tree before a program has started."""
    size = 0
    for number, path in enumerate(frozen.rglob("*"), start=1):
        size += path.lstat().st_size
        if number > _FEW or size > _SMALL:
            return False
    return True


def _copy_by_loop(frozen: Path, place: Path) -> None:
    """Copies file by file."""
    try:
        shutil.copytree(frozen, place, symlinks=True)
    except OSError as error:
        raise _unwritten(place, str(error)) from error


def _copy_by_program(frozen: Path, place: Path) -> None:
    """Copies by `cp`, which takes less time than a loop for many files, and none where the disk shares blocks."""
    done = subprocess.run(
        ["cp", "-a", "--reflink=auto", "-T", str(frozen), str(place)],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise _unwritten(place, done.stderr.strip())


def _freeze_by_program(root: Path, files: Sequence[str], place: Path) -> None:
    """Copies files below a root by `cp`, into folders that are there. Raises `OSError`, or `AblateError`."""
    words = ["cp", "--preserve=mode,timestamps", "--reflink=auto", "--parents", "-t", str(place), "--"]
    for start in range(0, len(files), _AT_ONCE):
        some = files[start : start + _AT_ONCE]
        done = subprocess.run([*words, *some], cwd=root, capture_output=True, text=True, check=False)
        if not done.returncode:
            continue
        for path in some:
            if not os.path.lexists(root / path):
                raise FileNotFoundError(errno.ENOENT, "vanished", str(root / path))
        raise _unwritten(place, done.stderr.strip())


def _unwritten(place: Path, reason: str) -> StoreError:
    """Returns the error of a copy that cannot be written."""
    return StoreError(f"{place}: cannot be written: {reason[:200]}; free space or choose --results")


def _freeze_link(source: Path, target: Path, root: Path) -> None:
    """Copies a link; it leads to what the copy has, or out of the root to where it did."""
    place = place_of(source)
    is_inside = place.is_relative_to(root)
    target.symlink_to(os.path.relpath(place, source.parent) if is_inside else place)


def _check_unchanged(tree: Tree) -> None:
    """Raises `AblateError` where a file of a tree is not as it was read."""
    changed = tree.changed()
    if changed:
        raise AblateError(f"{tree.root / changed} changed while the code was copied; run again")
