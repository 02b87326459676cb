"""The folder of one trial: a fresh copy of the frozen code, which only it changes, and what it leaves there.

<store>/runs/<id>/         the copy; after a success what the trial has written, after a failure all
<store>/runs/<id>.trace/   what it opens, while it runs
"""

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from filecmp import cmp
from pathlib import Path

from filelock import FileLock

from ablate.base.errors import AblateError, listed
from ablate.base.files import digest_of_file
from ablate.external.data import check_unchanged, is_link_to, link_data
from ablate.external.frozen import make_copy
from ablate.external.kinds import is_cached, is_document
from ablate.external.missing import missing_paths, paths_outside
from ablate.external.repository import link_repository
from ablate.external.snapshot import RUNS, Snapshot, remove
from ablate.external.trace import Opening, Trace, variables
from ablate.external.tree import matches

LOCKS = ".locks"
# Bytes of a file that is kept after a success whatever the study says.
MAX_KEPT = 10 * 2**20
# Nanoseconds by which the clock of a disk is behind.
_CLOCK = 20_000_000
# Variables that say where and as which process a trial runs, and not what it trains.
_OF_A_PLACE = re.compile(
    r"(ABLATE|SLURM|PBS|LSB|RAY|WANDB|MLFLOW|XDG|CI|GITHUB)_|(LOCAL_|NODE_|GROUP_)?RANK$|MASTER_|CUDA_VISIBLE|"
    r"(HOST(NAME)?|HOME|USER|LOGNAME|PWD|OLDPWD|PATH|TMPDIR|TEMP|TMP|TERM|COLUMNS|LINES|DISPLAY|SHELL)$|"
    r".*(TOKEN|KEY|SECRET|PASSWORD)$"
)


class StudyStop(AblateError):
    """What no further trial of a study would mend."""


def check_data(snapshot: Snapshot) -> None:
    """Raises `StudyStop` where data have changed or are gone."""
    try:
        check_unchanged(snapshot.data)
    except AblateError as error:
        raise StudyStop(str(error)) from None


@dataclass(frozen=True)
class RunFolder:
    """The folder of a trial that runs."""

    snapshot: Snapshot
    place: Path

    @property
    def trace(self) -> Path:
        """The folder of what it opens."""
        return self.place.with_name(f"{self.place.name}.trace")

    @property
    def folder(self) -> Path:
        """The folder in it that corresponds to that of the study."""
        return self.place / self.snapshot.inside

    def environment(self) -> dict[str, str]:
        """Returns the variables that its processes need."""
        return {"PWD": str(self.folder), **variables(self.trace, self.snapshot.root, self.place)}

    def check(self) -> None:
        """Checks how the trial has used its code and data, after it has ended well.

        Raises `StudyStop` for changed data, for files that are not those of the copy, and for one that an earlier run
        must have left.
        """
        trace = Trace.read(self.trace)
        check_data(self.snapshot)
        frozen = self.snapshot.frozen
        elsewhere = [
            path
            for path in trace.below(self.snapshot.root)
            if (frozen / path).is_file() and not self._is_in_store(self.snapshot.root / path)
        ]
        if elsewhere:
            raise StudyStop(
                f"{listed(elsewhere, 3)} of {self.snapshot.root} was opened by an absolute path, not that of the "
                "trial's copy, so that an edit while the study runs would change later trials. Name it by a relative "
                "path, or set `isolate: off` under workload"
            )
        shared = self._opened_in_original(trace)
        if shared:
            names = listed((os.path.relpath(path, self.snapshot.inside) for path in shared), 3)
            raise StudyStop(
                f"{names} of {self.snapshot.root / self.snapshot.inside} was opened by an absolute path, where all "
                f"trials and runs by hand find it. If it is data, add `data: [{names}]` under workload; else name it "
                "by a relative path, and each trial has its own"
            )
        beside = self._opened_beside(trace)
        if beside:
            raise StudyStop(
                f"{listed(beside, 3)} leads out of {self.snapshot.root}, of which each trial gets a copy, to a place "
                "that all trials share; have the code write to a folder in it, or to $ABLATE_DIR"
            )
        left = self._read_and_changed(trace)
        if left:
            names = listed((os.path.relpath(path, self.snapshot.inside) for path in left), 3)
            raise StudyStop(
                f"{names} was there before the trial, which read it and then wrote it: most likely it is what an "
                f"earlier run has left. If so, add `exclude: [{names}]` under workload, and no trial gets it; else "
                "have the code write elsewhere"
            )

    def check_missing(self, printed: Sequence[str]) -> None:
        """Raises `StudyStop` where a trial has failed for a path that the original has and the copy has not."""
        check_data(self.snapshot)
        opened = Trace.read(self.trace).below(self.place)
        missing = missing_paths(printed, opened, self.place, self.snapshot)
        if missing:
            names = listed(missing, 3)
            raise StudyStop(
                f"{names} is in {self.snapshot.root / self.snapshot.inside} and not in the trial's copy, which has "
                "tracked files, and untracked code and config up to 1 MB that lies beside no checkpoint. If trials are "
                f"to read it, add `data: [{names}]` under workload; else have the code make it"
            )

        outside = paths_outside(printed, self.place, self.snapshot)
        if outside:
            raise StudyStop(
                f"{listed(outside, 3)} lies outside of {self.snapshot.root}, of which each trial gets a copy; have the "
                "code read it by its absolute path, or make a git repository of the folder that holds both"
            )

    def files_beside(self) -> dict[str, str]:
        """Returns path → digest of what it has read that its id does not stand for: modules elsewhere, documents."""
        trace = Trace.read(self.trace)
        folders = (self.place, self.snapshot.root, self.snapshot.store)
        paths = trace.modules_beside(folders)
        for path, opening in trace.below(self.place).items():
            is_of_code = is_document(path) and (self.snapshot.frozen / path).is_file()
            if opening.is_read and is_of_code and (self.snapshot.root / path).is_file():
                paths.append(str(self.snapshot.root / path))
        return {path: digest_of_file(path) for path in paths if os.path.isfile(path)}

    def variables(self) -> dict[str, str]:
        """Returns variable that its code has read → digest of its value, but for those of a place."""
        read = Trace.read(self.trace).variables
        return {name: digest for name, digest in read.items() if not _OF_A_PLACE.match(name)}

    def shared(self) -> list[str]:
        """Returns the files outside of its copy that it has read and then written, and that are still there."""
        return [path for path in dict.fromkeys(Trace.read(self.trace).shared) if os.path.isfile(path)]

    def doubtful(self) -> list[str]:
        """Returns what it has read of the files that an earlier run may have left, relative to the study."""
        opened = Trace.read(self.trace).below(self.place)
        read: list[str] = []
        for path in sorted(self.snapshot.doubtful):
            place = self.place / path
            is_heard = path in opened and opened[path].is_read
            if is_heard or (path not in opened and os.path.lexists(place) and _was_read(place)):
                read.append(os.path.relpath(path, self.snapshot.inside))
        return read

    def added_data(self) -> list[str]:
        """Returns the files that were added to data while it ran."""
        return check_unchanged(self.snapshot.data)

    def tidy(self, keep: Sequence[str]) -> None:
        """Leaves what the trial has written, but for large files that no pattern of `keep` matches."""
        remove(self.place / ".git")
        for path in self._files():
            inside = path.relative_to(self.place)
            from_study = os.path.relpath(inside, self.snapshot.inside)
            is_large = path.lstat().st_size > MAX_KEPT and not matches(from_study, keep)
            is_cache = "__pycache__" in inside.parts
            is_given = _is_same(path, self.snapshot.frozen / inside) or is_link_to(path, self.snapshot.data)
            if is_large or is_cache or is_given:
                path.unlink()
        for folder, _, _ in os.walk(self.place, topdown=False):
            if not os.listdir(folder):
                os.rmdir(folder)
        remove(self.trace)

    def _opened_in_original(self, trace: Trace) -> list[str]:
        """Returns the files of the original that it has opened, but for data, caches and what a variable names."""
        root = self.snapshot.root
        known = [*(entry.place for entry in self.snapshot.data)]
        for value in os.environ.values():
            places = [Path(part) for part in value.split(os.pathsep) if os.path.isabs(part)]
            known += [place for place in places if place != root and place.is_relative_to(root)]
        opened: list[str] = []
        for path in trace.below(root):
            place = root / path
            is_known = self._is_in_store(place) or any(place.is_relative_to(folder) for folder in known)
            if not is_known and not is_cached(path) and place.is_file():
                opened.append(path)
        return opened

    def _opened_beside(self, trace: Trace) -> list[str]:
        """Returns the files beside its copy that it has opened, by their paths from where it runs."""
        runs = self.snapshot.store / RUNS
        opened: list[str] = []
        for path in trace.below(runs):
            place = runs / path
            is_own = place.is_relative_to(self.place) or place.is_relative_to(self.trace)
            if not is_own and place.is_file():
                opened.append(os.path.relpath(place, self.folder))
        return opened

    def _is_in_store(self, path: Path) -> bool:
        return path.is_relative_to(self.snapshot.store)

    def _read_and_changed(self, trace: Trace) -> list[str]:
        """Returns the files of the code that the trial has written, or removed, after it had read them."""
        opened = trace.below(self.place)
        changed: list[str] = []
        for path in _files_below(self.snapshot.frozen):
            inside = str(path.relative_to(self.snapshot.frozen))
            here = self.place / inside
            # Whatever its content now: what goes on from a finished run writes again what it has read.
            is_changed = not is_document(inside) and not _has_same_state(here, path)
            if is_changed and _was_read_before_its_change(here, path, opened.get(inside)):
                changed.append(inside)
        return changed

    def _files(self) -> list[Path]:
        return list(_files_below(self.place))


@contextmanager
def run_folder(snapshot: Snapshot, trial_id: str, *, resumes: bool) -> Iterator[RunFolder]:
    """Makes the folder of a trial, and yields it while no other process has it.

    resumes: whether a trial finds what an earlier attempt has left there. Raises `StudyStop` for changed data.
    """
    runs = snapshot.store / RUNS
    locks = runs / LOCKS
    locks.mkdir(parents=True, exist_ok=True)
    with FileLock(locks / f"{trial_id}.lock"):
        folder = RunFolder(snapshot, runs / trial_id)
        # The trace is gone once a trial has ended well, and with it what it could go on with.
        is_cut_short = folder.place.is_dir() and folder.trace.is_dir()
        if not (resumes and is_cut_short):
            _make(folder)
        folder.trace.mkdir(exist_ok=True)
        check_data(snapshot)
        yield folder


def _make(folder: RunFolder) -> None:
    """Makes the copy of a trial afresh, whole or not at all."""
    frozen = folder.snapshot.frozen
    if not frozen.is_dir():
        raise StudyStop(
            f"{frozen}, the code of which trials get copies, is not on this machine: choose a --results on a disk that "
            "all nodes share"
        )
    temporary = folder.place.with_name(f"{folder.place.name}.part")
    for path in (folder.place, folder.trace, temporary):
        remove(path)
    make_copy(frozen, temporary)
    link_data(folder.snapshot.data, temporary)
    (temporary / folder.snapshot.inside).mkdir(parents=True, exist_ok=True)
    link_repository(folder.snapshot.root, temporary)
    temporary.rename(folder.place)


def _files_below(folder: Path) -> Iterator[Path]:
    """Yields the files and links below a folder."""
    for parent, folders, names in os.walk(folder):
        links = [name for name in folders if os.path.islink(os.path.join(parent, name))]
        for name in (*names, *links):
            yield Path(parent, name)


def _is_same(path: Path, other: Path) -> bool:
    """Returns whether two paths have the same content, known by size and time where these agree."""
    if not (os.path.lexists(path) and os.path.lexists(other)):
        return False
    if path.is_symlink() or other.is_symlink():
        return path.is_symlink() and other.is_symlink() and os.readlink(path) == os.readlink(other)
    return _has_same_state(path, other) or (path.is_file() and cmp(path, other, shallow=False))


def _has_same_state(path: Path, other: Path) -> bool:
    """Returns whether two files have the same size and time of their last change."""
    if not os.path.lexists(path):
        return False
    one = path.lstat()
    two = other.lstat()
    return (one.st_mode, one.st_size, one.st_mtime_ns) == (two.st_mode, two.st_size, two.st_mtime_ns)


def _was_read(path: Path) -> bool:
    """Returns whether a file that has not changed was read, by its times."""
    status = path.lstat()
    return status.st_atime_ns > status.st_mtime_ns


def _was_read_before_its_change(path: Path, frozen: Path, opening: Opening | None) -> bool:
    """Returns whether a file that has changed, or is gone, was read first.

    Of programs of which the hook hears nothing, the times of the file tell, where the disk notes readings.
    """
    status = path.lstat() if os.path.lexists(path) else None
    if opening is not None:
        # What another program wrote before was not there when the trial began.
        is_older = status is not None and status.st_mtime_ns < opening.time - _CLOCK
        return opening.is_read and not is_older
    if status is None:
        return False
    return frozen.lstat().st_mtime_ns < status.st_atime_ns < status.st_mtime_ns
