"""The files of a store that no study refers to, and their removal.

A study refers to the trials on its list, which is written when a run starts, and to those of its last report.
Measurements of speed are small, and kept.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from ablate.base.errors import AblateError, StoreError
from ablate.base.files import leftovers, remove_leftovers
from ablate.records.folder import StudyFolder
from ablate.records.store import ANY_ID, stored

_UNCHANGED = "nothing was removed. Run `ablate clean` as a user who may read and write there"


@dataclass(frozen=True)
class Rubbish:
    """The files that can be removed."""

    results: Path
    trials: dict[str, list[Path]]  # Id → its files, the record first.
    # Records that were set aside, with their arrays; and databases of MLflow's.
    aside: list[Path]
    unfinished: list[Path]  # Files that killed processes were writing.
    num_trials: int  # Trials in the store, including those that can be removed.
    studies: list[str]  # All studies, by name.

    @property
    def files(self) -> list[Path]:
        """All of them."""
        return [*(path for paths in self.trials.values() for path in paths), *self.aside, *self.unfinished]


def find(results: Path, warn: Callable[[str], None]) -> Rubbish:
    """The files that can be removed from a results folder. Raises `AblateError` when that is unknown."""
    root = results / "store"
    trials = stored(root / "trials")
    for path in results.iterdir():
        if path.is_dir() and not os.access(path, os.R_OK | os.X_OK):
            raise StoreError(f"{path}: may be a study's folder, and cannot be read; {_UNCHANGED}")
    here = {folder.name: folder for folder in StudyFolder.all(results)}
    known = {path.stem: StudyFolder(results, path.stem) for path in (root / "studies").glob("*.json")}
    folders = known | here
    kept = {trial for folder in folders.values() for trial in folder.ids()}
    for name in sorted(here.keys() - known.keys()):
        if trials.keys() - kept and not here[name].has_report:
            raise AblateError(
                f"{here[name].path}: the trials of {name} are unknown: it has no list in the store, and no report. "
                f"Nothing was removed. Run {name} again, or remove {here[name].path}"
            )
    for name in sorted(known.keys() - here.keys()):
        gone = known[name]
        warn(f"{gone.path} is missing; to give up its trials, remove {gone.trial_list.path} as well")
    return Rubbish(
        results,
        {trial: files for trial, files in trials.items() if trial not in kept},
        [
            path
            for aside in (f"trials/{ANY_ID}.corrupt", "mlflow.db.old", "speed/*.corrupt")
            for path in sorted(root.glob(f"{aside}-[0-9]*"))
            if path.is_file()
        ],
        leftovers(results),
        len(trials),
        sorted(folders),
    )


def remove(rubbish: Rubbish) -> int:
    """Removes these files, and returns the number of bytes that this frees. Raises `StoreError`."""
    before = bytes_of(rubbish.files)
    try:
        for path in sorted(set(rubbish.files) - set(rubbish.unfinished)):
            path.unlink(missing_ok=True)
        # But for those that have changed meanwhile.
        remove_leftovers(rubbish.results)
    except OSError as error:
        raise StoreError(
            f"{error.filename}: cannot be removed: {error.strerror}; run `ablate clean` as a user who may write there"
        ) from error
    return before - bytes_of(rubbish.files)


@contextmanager
def standstill(results: Path) -> Iterator[Callable[[], None]]:
    """Holds the locks of all known studies; what it gives raises `StoreError` where a study has come since.

    Raises `StoreError` when one is running.
    """
    from filelock import FileLock, Timeout

    folder = results / "store" / "locks"
    names = {f"{study.name}.lock" for study in StudyFolder.all(results)}
    running = "{}: {} is running; nothing was removed. Try again when it has finished"
    names |= {path.name for path in folder.glob("*.lock")}

    def no_more() -> None:
        if new := {path.name for path in folder.glob("*.lock")} - names:
            raise StoreError(running.format(results, Path(min(new)).stem))

    with ExitStack() as held:
        for name in sorted(names):
            try:
                folder.mkdir(exist_ok=True)
                held.enter_context(FileLock(folder / name, timeout=0))
            except Timeout:
                raise StoreError(running.format(results, Path(name).stem)) from None
            except OSError as error:
                raise StoreError(
                    f"{folder / name}: cannot be written: {error.strerror}; {_UNCHANGED}"
                ) from error
        yield no_more


def bytes_of(paths: Iterable[Path]) -> int:
    """The total size of those files that exist."""
    return sum(path.stat().st_size for path in paths if path.exists())
