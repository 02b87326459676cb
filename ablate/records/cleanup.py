"""The files of a store that no study refers to, and their removal.

A study refers to the trials on its list, which is written when a run starts, and to those of its last report.
Measurements of speed are small, and kept.
"""

import os
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from ablate.base.errors import AblateError, StoreError
from ablate.base.files import leftovers, remove_leftovers, remove_tree
from ablate.core.record import CODE
from ablate.external.snapshot import CODE_FOLDER, RUNS
from ablate.records.folder import StudyFolder
from ablate.records.store import ANY_ID, Store, stored

_UNCHANGED = "nothing was removed. Run `ablate clean` as a user who may read and write there"
# Beginnings of the names of files that a store has set aside, which end in a number.
_SET_ASIDE = (f"trials/{ANY_ID}.corrupt", "mlflow.db.old", "speed/*.corrupt")


@dataclass(frozen=True)
class Rubbish:
    """The files that can be removed."""

    results: Path
    trials: dict[str, list[Path]]  # Id → its files, the record first.
    # Records that were set aside, with their arrays; and databases of MLflow's.
    aside: list[Path]
    unfinished: list[Path]  # Files that killed processes were writing.
    # Of a user's own code: frozen copies that no record needs, and what trials have left that no study refers to.
    folders: list[Path]
    num_trials: int  # Trials in the store, including those that can be removed.
    studies: list[str]  # All studies, by name.

    @property
    def files(self) -> list[Path]:
        """The files of all kinds, but for those in folders."""
        return [*chain.from_iterable(self.trials.values()), *self.aside, *self.unfinished]


def find(results: Path, warn: Callable[[str], None]) -> Rubbish:
    """Returns the files that can be removed from a results folder. Raises `AblateError` when that is unknown."""
    root = results / "store"
    trials = stored(root / "trials")
    _check_readable(results)
    with_folder = {study.name: study for study in StudyFolder.all(results)}
    with_list = {study.name: study for study in StudyFolder.listed(results)}
    studies = with_list | with_folder

    needed: set[str] = set()
    for study in studies.values():
        needed |= study.ids()
    removable = {trial_id: files for trial_id, files in trials.items() if trial_id not in needed}
    for name in sorted(with_folder.keys() - with_list.keys()):
        study = with_folder[name]
        if removable and not study.has_report:
            raise AblateError(
                f"{study.path}: the trials of {name} are unknown: it has no list in the store, and no report. "
                f"Nothing was removed. Run {name} again, or remove {study.path}"
            )
    for name in sorted(with_list.keys() - with_folder.keys()):
        study = with_list[name]
        warn(f"{study.path} is missing; to give up its trials, remove {study.trial_list.path} as well")

    return Rubbish(
        results=results,
        trials=removable,
        aside=_set_aside(root),
        unfinished=leftovers(results),
        folders=[*_needless_runs(root, needed), *_needless_code(root, needed & trials.keys())],
        num_trials=len(trials),
        studies=sorted(studies),
    )


def _needless_runs(root: Path, needed: Collection[str]) -> list[Path]:
    """Returns the folders of trials that no study refers to, and what killed trials have left beside theirs."""
    paths = sorted((root / RUNS).glob("[0-9a-f]*"))
    return [path for path in paths if path.name not in needed]


def _needless_code(root: Path, needed: Iterable[str]) -> list[Path]:
    """Returns the frozen copies of which no needed record is."""
    paths = sorted((root / CODE_FOLDER).glob("[.0-9a-f]*"))
    if not paths:
        return []
    store = Store(root, read_only=True)
    used: set[str] = set()
    for trial_id in needed:
        record = store.load(trial_id)
        if record is not None:
            used.add(str(record.environment.get(CODE)))
    return [path for path in paths if path.name not in used]


def _check_readable(results: Path) -> None:
    """Raises `StoreError` for a folder that may be a study's and cannot be read."""
    for path in results.iterdir():
        if path.is_dir() and not os.access(path, os.R_OK | os.X_OK):
            raise StoreError(f"{path}: may be a study's folder, and cannot be read; {_UNCHANGED}")


def _set_aside(root: Path) -> list[Path]:
    """Returns the files of a store that were set aside."""
    files: list[Path] = []
    for beginning in _SET_ASIDE:
        paths = sorted(root.glob(f"{beginning}-[0-9]*"))
        files += filter(Path.is_file, paths)
    return files


def remove(rubbish: Rubbish) -> int:
    """Removes the files, and returns the number of bytes that this frees. Raises `StoreError`."""
    size_before = bytes_of(rubbish.files)
    size_of_folders = bytes_below(rubbish.folders)
    try:
        for path in sorted(set(rubbish.files) - set(rubbish.unfinished)):
            path.unlink(missing_ok=True)
        for path in rubbish.folders:
            remove_tree(path)
        # Unfinished files are looked for again: those that have changed meanwhile stay.
        remove_leftovers(rubbish.results)
    except OSError as error:
        raise StoreError(
            f"{error.filename}: cannot be removed: {error.strerror}; run `ablate clean` as a user who may write there"
        ) from error
    return size_before - bytes_of(rubbish.files) + size_of_folders - bytes_below(rubbish.folders)


@contextmanager
def standstill(results: Path) -> Iterator[Callable[[], None]]:
    """Holds the locks of all studies, and yields a function that raises `StoreError` where a study has come since.

    Raises `StoreError` when a study is running.
    """
    from filelock import FileLock, Timeout

    folder = results / "store" / "locks"
    names = {f"{study.name}.lock" for study in StudyFolder.all(results)}
    names |= _names_of_locks(folder)

    def check_no_new_study() -> None:
        new = _names_of_locks(folder) - names
        if new:
            raise _running(results, min(new))

    with ExitStack() as locks:
        for name in sorted(names):
            try:
                folder.mkdir(exist_ok=True)
                locks.enter_context(FileLock(folder / name, timeout=0))
            except Timeout:
                raise _running(results, name) from None
            except OSError as error:
                raise StoreError(
                    f"{folder / name}: cannot be written: {error.strerror}; {_UNCHANGED}"
                ) from error
        yield check_no_new_study


def _names_of_locks(folder: Path) -> set[str]:
    """Returns the names of the files of locks in a folder."""
    return {path.name for path in folder.glob("*.lock")}


def _running(results: Path, lock: str) -> StoreError:
    """Returns the error that the study of a lock is running."""
    study = Path(lock).stem
    return StoreError(f"{results}: {study} is running; nothing was removed. Try again when it has finished")


def bytes_of(paths: Iterable[Path]) -> int:
    """Returns the total size of those files that exist."""
    return sum(path.stat().st_size for path in paths if path.exists())


def bytes_below(folders: Iterable[Path]) -> int:
    """Returns the total size of the files in folders, without what links point to."""
    total = 0
    for folder in folders:
        for parent, _, names in os.walk(folder):
            total += sum(os.lstat(os.path.join(parent, name)).st_size for name in names)
    return total
