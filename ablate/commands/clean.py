"""`ablate clean`: what of a store no study refers to, and its removal.

A study refers to the trials of its last report, and to those that it would have today: a run that was ended
before its report has left finished trials that only its plan knows. Studies are planned each in a process of
its own, since their plugins may give different parts the same name.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ablate.base.errors import AblateError, StoreError, listed
from ablate.base.files import sweep
from ablate.base.wording import counted, size
from ablate.records.references import TABLE, remembered, reported, study_folders
from ablate.records.store import SUFFIXES

if TYPE_CHECKING:
    from ablate.study.experiment import Experiment

MAX_COMMANDS = 10
"""Commands by which trials to be dropped were made that are listed, at most."""
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

    def __str__(self) -> str:
        if not self.files:
            return (
                f"{self.results / 'store'}: nothing to clean; all {self.num_trials} trials belong to a study."
            )
        lines = []
        if self.trials:
            asked = f"to none of the studies ({listed(self.studies)})" if self.studies else "to no study"
            paths = [path for files in self.trials.values() for path in files]
            lines.append(f"{len(self.trials)} of {self.num_trials} trials belong {asked}: {_size(paths)}")
            lines += [f"  {line}" for line in _origins(self.trials)]
        if self.aside:
            lines.append(f"{counted(len(self.aside), 'file')} set aside as corrupt: {_size(self.aside)}")
        if self.unfinished:
            lines.append(
                f"{counted(len(self.unfinished), 'file')} left half-written: {_size(self.unfinished)}"
            )
        return "\n".join(lines)


def clean(
    results: Path, agree: Callable[[], bool], say: Callable[[str], None], warn: Callable[[str], None]
) -> None:
    """Says what can go, and removes it if that is agreed to. Raises `AblateError` when it cannot be told, and
    `StoreError` while a study is being run.
    """
    root = results / "store"
    if not root.is_dir():
        raise AblateError(f"{results}: has no store of trials; name another folder with --results")
    with standstill(results) as locks:
        rubbish = find(results, warn)
        say(str(rubbish))
        if rubbish.files and agree():
            # A study that was new when the locks were taken is not held by any of them.
            for name in sorted(_locks(root) - locks):
                raise StoreError(_under_way(results, name))
            say(f"Removed: {size(remove(rubbish))} are free again.")


def find(results: Path, warn: Callable[[str], None]) -> Rubbish:
    """What can go from the store of a results folder. Raises `AblateError` when it cannot be told."""
    root = results / "store"
    stored = _stored(root / "trials")
    for path in results.iterdir():
        if path.is_dir() and not os.access(path, os.R_OK | os.X_OK):
            raise StoreError(f"{path}: cannot be read, and may be a study's folder; {_UNCHANGED}")
    folders = study_folders(results)
    latest = remembered(root)
    kept = {trial for trials in latest.values() for trial in trials}
    kept.update(trial for folder in folders for trial in reported(folder))
    if stored.keys() - kept:
        kept.update(_planned(folders, latest, warn))
    for study in sorted(latest.keys() - {folder.name for folder in folders}):
        path = root / "studies" / f"{study}.json"
        warn(f"{results / study} is gone; its trials are kept until {path} is removed as well")
    return Rubbish(
        results,
        {trial: files for trial, files in stored.items() if trial not in kept},
        sorted((root / "trials").glob("[!.]*.corrupt-*")),
        sorted(path for folder in _written(results, folders) for path in _half_written(folder)),
        len(stored),
        sorted({folder.name for folder in folders} | latest.keys()),
    )


def remove(rubbish: Rubbish) -> int:
    """Removes what was found; how many bytes that frees. Raises `StoreError`."""
    before = _bytes(rubbish.files)
    try:
        for path in [*(p for files in rubbish.trials.values() for p in files), *rubbish.aside]:
            path.unlink(missing_ok=True)
        for folder in {path.parent for path in rubbish.unfinished}:
            sweep(folder)
    except OSError as error:
        hint = "clean as a user who may write there"
        raise StoreError(f"{error.filename}: cannot be removed: {error.strerror}; {hint}") from error
    return before - _bytes(rubbish.files)


@contextmanager
def standstill(results: Path) -> Iterator[set[str]]:
    """Holds the lock of every study that is known, and gives their names; `StoreError` when one is being run."""
    from filelock import FileLock, Timeout

    root = results / "store"
    names = _locks(root) | {f"{folder.name}.lock" for folder in study_folders(results)}
    with ExitStack() as held:
        for name in sorted(names):
            try:
                (root / "locks").mkdir(exist_ok=True)
                held.enter_context(FileLock(root / "locks" / name, timeout=0))
            except Timeout:
                raise StoreError(_under_way(results, name)) from None
            except OSError as error:
                path = root / "locks" / name
                raise StoreError(f"{path}: cannot be written: {error.strerror}; {_UNCHANGED}") from error
        yield names


def _locks(root: Path) -> set[str]:
    return {path.name for path in (root / "locks").glob("*.lock")}


def _under_way(results: Path, lock: str) -> str:
    study = lock.removesuffix(".lock")
    return f"{results}: a run of {study} is under way; nothing was removed. Clean when it has ended"


def _stored(folder: Path) -> dict[str, list[Path]]:
    """Id → files. The record comes first: a trial without it has not finished, one without arrays is corrupt."""
    found: dict[str, list[Path]] = {}
    for suffix in SUFFIXES:
        for path in sorted(folder.glob(f"[!.]*{suffix}")):
            if ".corrupt-" not in path.name:
                found.setdefault(path.stem, []).append(path)
    return found


def _planned(folders: list[Path], latest: Iterable[str], warn: Callable[[str], None]) -> set[str]:
    """The trials that the studies would have today. Raises `AblateError` when nothing else tells a study's."""
    found: set[str] = set()
    for folder in folders:
        study = folder / "study.yaml"
        try:
            if not study.is_file():
                raise AblateError(f"{study}: does not exist")
            found.update(_in_own_process(study))
        except AblateError as error:
            if folder.name not in latest and not (folder / TABLE).is_file():
                hint = (
                    f"Nothing was removed: which trials belong to {folder.name} cannot be told, since it was "
                    f"never reported and cannot be planned. Mend it, or remove {folder}"
                )
                raise AblateError(f"{error}\n{hint}") from None
            first = str(error).strip().splitlines()
            warn(
                f"{folder}: cannot be planned, so that only the trials of its last report are kept "
                f"({first[-1].strip() if first else type(error).__name__})"
            )
    return found


def _in_own_process(study: Path) -> list[str]:
    spawn = multiprocessing.get_context("spawn")
    try:
        with ProcessPoolExecutor(1, mp_context=spawn) as pool:
            ids, problem = pool.submit(_trials_of, study).result()
    except BrokenProcessPool:
        ids, problem = [], f"{study}: the process that planned it ended at once"
    if problem:
        raise AblateError(problem)
    return ids


def _trials_of(study: Path) -> tuple[list[str], str]:
    """The trials of a resolved study, or why it has none."""
    from ablate.records.rates import FILE as RATES
    from ablate.records.rates import Rates
    from ablate.study.experiment import prepare

    try:
        experiment = Rates(study.parent.parent).apply(prepare(study))
        if experiment.awaits_rates:
            return [], f"{study}: its {RATES} is not there, without which its trials are not known"
        return [*(cell.trial.id for cell in experiment.cells()), *_tried(experiment, study.parent)], ""
    except Exception as error:
        return [], str(error) if isinstance(
            error, AblateError
        ) else f"{study}: {type(error).__name__}: {error}"


def _tried(experiment: Experiment, folder: Path) -> list[str]:
    """What searches of the study have asked for, by their storage: one that was cut short is in no table yet."""
    from ablate.search.queue import requested_ids
    from ablate.search.storage import FILE, open_storage, url_of

    found: list[str] = []
    for spec in (experiment.search, experiment.tune):
        # Where there is no file there was no search, and looking must not make one.
        if spec is not None and (spec.storage or (folder / FILE).is_file()):
            found += requested_ids(open_storage(url_of(spec.storage, folder)), experiment.study.name)
    return found


def _written(results: Path, folders: list[Path]) -> list[Path]:
    """The folders in which files are replaced while a study is run."""
    root = results / "store"
    return [root / "trials", root / "studies", *folders, *(folder / "figures" for folder in folders)]


def _half_written(folder: Path) -> list[Path]:
    """What `ablate.base.files.sweep` looks at."""
    return [path for path in folder.glob(".*") if re.match(r"\..+\.\d+-", path.name)]


def _origins(trials: dict[str, list[Path]]) -> Iterator[str]:
    """By which commands the trials were made, the latest first."""
    commands: Counter[str] = Counter()
    dates: dict[str, str] = {}
    for files in trials.values():
        try:
            record = json.loads(files[0].read_text(encoding="utf-8"))
            command, date = str(record["environment"]["command"]), str(record["finished_at"])[:10]
        except (OSError, ValueError, KeyError, TypeError):
            command, date = "what cannot be read", ""
        commands[command] += 1
        dates[command] = max(date, dates.get(command, ""))
    ordered = sorted(commands, key=lambda command: dates[command], reverse=True)
    for command in ordered[:MAX_COMMANDS]:
        date = f", last {dates[command]}" if dates[command] else ""
        yield f"{commands[command]} by {command}{date}"
    if len(ordered) > MAX_COMMANDS:
        yield f"and {sum(commands[c] for c in ordered[MAX_COMMANDS:])} by other commands"


def _bytes(paths: Iterable[Path]) -> int:
    total = 0
    for path in paths:
        try:
            total += path.stat().st_size
        except FileNotFoundError:
            continue
    return total


def _size(paths: Iterable[Path]) -> str:
    return size(_bytes(paths))
