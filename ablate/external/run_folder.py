"""The folder of one trial: a fresh copy of the frozen code, which only it changes, and what it leaves there.

<store>/runs/<id>/         the copy; after a success what the trial has written, after a failure all
<store>/runs/<id>.trace/   what it opens, while it runs
"""

import os
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
from ablate.external.missing import missing_paths
from ablate.external.snapshot import RUNS, Snapshot, remove
from ablate.external.trace import Opening, Trace, variables
from ablate.external.tree import is_document, matches

LOCKS = ".locks"
# Bytes of a file that is kept after a success whatever the study says.
MAX_KEPT = 10 * 2**20
# Nanoseconds by which the clock of a disk is behind.
_CLOCK = 20_000_000


class StudyStop(AblateError):
    """What no further trial of a study would mend."""


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
        return variables(self.trace, self.snapshot.root, self.place)

    def check(self) -> None:
        """Checks how the trial has used its code and data, after it has ended well.

        Raises `StudyStop` for changed data and for a file that an earlier run must have left, and `AblateError` for
        code that is not that of the copy.
        """
        trace = Trace.read(self.trace)
        self._check_data()
        frozen = self.snapshot.frozen
        elsewhere = [
            path
            for path in trace.below(self.snapshot.root)
            if (frozen / path).is_file() and not self._is_in_store(self.snapshot.root / path)
        ]
        if elsewhere:
            raise AblateError(
                f"{listed(elsewhere, 3)} of {self.snapshot.root} was opened, not that of the trial's copy, and may be "
                "edited while the study runs; name it by a relative path, or set `isolate: off` under workload"
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
        self._check_data()
        opened = Trace.read(self.trace).below(self.place)
        missing = missing_paths(printed, opened, self.place, self.snapshot)
        if missing:
            names = listed(missing, 3)
            raise StudyStop(
                f"{names} is in {self.snapshot.root / self.snapshot.inside} and not in the trial's copy, which has "
                f"tracked files, and untracked code and config up to 1 MB; add `data: [{names}]` under workload"
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

    def added_data(self) -> list[str]:
        """Returns the files that were added to data while it ran."""
        return check_unchanged(self.snapshot.data)

    def tidy(self, keep: Sequence[str]) -> None:
        """Leaves what the trial has written, but for large files that no pattern of `keep` matches."""
        for path in self._files():
            inside = path.relative_to(self.place)
            from_study = os.path.relpath(inside, self.snapshot.inside)
            is_large = path.lstat().st_size > MAX_KEPT and not matches(from_study, keep)
            is_cache = "__pycache__" in inside.parts or str(inside) == ".git"
            is_given = _is_same(path, self.snapshot.frozen / inside) or is_link_to(path, self.snapshot.data)
            if is_large or is_cache or is_given:
                path.unlink()
        for folder, _, _ in os.walk(self.place, topdown=False):
            if not os.listdir(folder):
                os.rmdir(folder)
        remove(self.trace)

    def _check_data(self) -> None:
        """Raises `StudyStop` where data have changed or are gone."""
        try:
            check_unchanged(self.snapshot.data)
        except AblateError as error:
            raise StudyStop(str(error)) from None

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
        if not (resumes and folder.place.is_dir()):
            _make(folder)
        folder.trace.mkdir(exist_ok=True)
        folder._check_data()
        yield folder


def _make(folder: RunFolder) -> None:
    """Makes the copy of a trial afresh, whole or not at all."""
    temporary = folder.place.with_name(f"{folder.place.name}.part")
    for path in (folder.place, folder.trace, temporary):
        remove(path)
    make_copy(folder.snapshot.frozen, temporary)
    link_data(folder.snapshot.data, temporary)
    (temporary / folder.snapshot.inside).mkdir(parents=True, exist_ok=True)
    repository = _repository(folder.snapshot.root)
    if repository:
        (temporary / ".git").write_text(f"gitdir: {repository}\n")
    temporary.rename(folder.place)


def _repository(root: Path) -> Path | None:
    """Returns the folder of git's own of a work tree; None where there is none."""
    place = root / ".git"
    if place.is_file():
        # A work tree beside the first, or a submodule.
        return (root / place.read_text().removeprefix("gitdir:").strip()).resolve()
    return place if place.is_dir() else None


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
