"""Which files of a store no study refers to, and their removal.

A study refers to the trials on its roster, which is written when a run starts, and to those of its last report.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from ablate.base.errors import AblateError, StoreError
from ablate.base.files import leftovers, remove_leftovers
from ablate.records.folder import StudyFolder
from ablate.records.store import SUFFIXES

_UNCHANGED = "nothing was removed. Clean as a user who may read and write there"


@dataclass(frozen=True)
class Rubbish:
    """What can go."""

    results: Path
    trials: dict[str, list[Path]]
    "Id → its files, the record first."
    aside: list[Path]
    "Corrupt records that were set aside, with their arrays."
    unfinished: list[Path]
    "What killed processes were writing."
    num_trials: int
    "Trials in the store, those to be dropped included."
    studies: list[str]
    "The studies there are."

    @property
    def files(self) -> list[Path]:
        """Everything that would be removed."""
        return [*(path for paths in self.trials.values() for path in paths), *self.aside, *self.unfinished]


def find(results: Path, warn: Callable[[str], None]) -> Rubbish:
    """What can go from the store of a results folder. Raises `AblateError` when it cannot be told."""
    root = results / "store"
    stored = _stored(root / "trials")
    for path in results.iterdir():
        if path.is_dir() and not os.access(path, os.R_OK | os.X_OK):
            raise StoreError(f"{path}: cannot be read, and may be a study's folder; {_UNCHANGED}")
    here = {folder.name: folder for folder in StudyFolder.all(results)}
    known = {folder.name: folder for folder in StudyFolder.remembered(results)}
    folders = known | here
    kept = {trial for folder in folders.values() for trial in folder.ids()}
    for name in sorted(here.keys() - known.keys()):
        if stored.keys() - kept and not here[name].has_report:
            raise AblateError(
                f"{here[name].path}: which trials belong to {name} cannot be told: the store does not know it, and it "
                f"was never reported. Nothing was removed. Run {name} again, or remove {here[name].path}"
            )
    for name in sorted(known.keys() - here.keys()):
        gone = known[name]
        warn(f"{gone.path} is gone; its trials are kept until {gone.roster.path} is removed as well")
    places = {root / "trials", *(path for folder in folders.values() for path in folder.written_folders())}
    return Rubbish(
        results,
        {trial: files for trial, files in stored.items() if trial not in kept},
        sorted((root / "trials").glob("[!.]*.corrupt-*")),
        sorted(path for place in places for path in leftovers(place)),
        len(stored),
        sorted(folders),
    )


def remove(rubbish: Rubbish) -> int:
    """Removes what was found; how many bytes that frees. Raises `StoreError`."""
    before = bytes_of(rubbish.files)
    try:
        for path in [*(p for files in rubbish.trials.values() for p in files), *rubbish.aside]:
            path.unlink(missing_ok=True)
        for folder in {path.parent for path in rubbish.unfinished}:
            remove_leftovers(folder)
    except OSError as error:
        hint = "clean as a user who may write there"
        raise StoreError(f"{error.filename}: cannot be removed: {error.strerror}; {hint}") from error
    return before - bytes_of(rubbish.files)


@contextmanager
def standstill(results: Path) -> Iterator[set[str]]:
    """Holds the lock of every study that is known, and gives their names; `StoreError` when one is being run."""
    from filelock import FileLock, Timeout

    root = results / "store"
    names = locks(results) | {f"{folder.name}.lock" for folder in StudyFolder.all(results)}
    with ExitStack() as held:
        for name in sorted(names):
            try:
                (root / "locks").mkdir(exist_ok=True)
                held.enter_context(FileLock(root / "locks" / name, timeout=0))
            except Timeout:
                raise under_way(results, name) from None
            except OSError as error:
                path = root / "locks" / name
                raise StoreError(f"{path}: cannot be written: {error.strerror}; {_UNCHANGED}") from error
        yield names


def _stored(folder: Path) -> dict[str, list[Path]]:
    """Id → files. The record comes first: a trial without it has not finished, one without arrays is corrupt."""
    found: dict[str, list[Path]] = {}
    for suffix in SUFFIXES:
        for path in sorted(folder.glob(f"[!.]*{suffix}")):
            if ".corrupt-" not in path.name:
                found.setdefault(path.stem, []).append(path)
    return found


def locks(results: Path) -> set[str]:
    """Names of the files by which runs of studies keep one another out."""
    return {path.name for path in (results / "store" / "locks").glob("*.lock")}


def under_way(results: Path, lock: str) -> StoreError:
    """The error of a study that is being run."""
    study = lock.removesuffix(".lock")
    return StoreError(
        f"{results}: a run of {study} is under way; nothing was removed. Clean when it has ended"
    )


def bytes_of(paths: Iterable[Path]) -> int:
    """The size of files together; those that are gone count nothing."""
    total = 0
    for path in paths:
        try:
            total += path.stat().st_size
        except FileNotFoundError:
            continue
    return total
