"""The folder of one trial: a fresh copy of the frozen code, which only it changes, and what it leaves there.

<store>/runs/<id>/         the copy; after a success the files that the trial has written, after a failure all of it
<store>/runs/<id>.trace/   the names of the files that it opens, while it runs
"""

import os
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from filecmp import cmp
from functools import cached_property
from glob import escape
from pathlib import Path

from filelock import FileLock

from ablate.base.errors import AblateError, listed
from ablate.base.files import digest_of_file, remove_tree
from ablate.base.process import THREADS
from ablate.base.text import to_add
from ablate.external.beside import documents_named, variables_of_scripts
from ablate.external.data import check_unchanged, is_link_to, link_data
from ablate.external.frozen import make_copy
from ablate.external.kinds import is_cached, is_document, is_of_environment
from ablate.external.missing import missing_paths, paths_outside
from ablate.external.repository import link_repository
from ablate.external.snapshot import RUNS, Snapshot
from ablate.external.sources import entries_of
from ablate.external.trace import Opening, Trace, digest_of_variable, variables
from ablate.external.tree import matches, paths_below
from ablate.external.variables import OF_A_PLACE, SECRETS

LOCKS = ".locks"
# Bytes of a file that is kept after a success whatever the study says.
MAX_KEPT = 10 * 2**20
# Nanoseconds by which the clock of a disk may be behind.
_CLOCK_LAG_NS = 20_000_000
# The files that start a trial. They lie in the original where the studied repository is that of ablate.
_STARTERS = Path(__file__).resolve().parent


class StudyStop(AblateError):
    """A fault that any further trial of the study would meet again."""


def check_data(snapshot: Snapshot) -> None:
    """Raises `StudyStop` where data have changed or are gone."""
    try:
        check_unchanged(snapshot.data)
    except AblateError as error:
        raise StudyStop(str(error)) from None


@dataclass(frozen=True)
class RunFolder:
    """The folder of one trial."""

    snapshot: Snapshot
    place: Path
    given: frozenset[str] = frozenset()
    """Paths below the root of files that the trial is given, in place of what its copy has there."""

    @property
    def trace_folder(self) -> Path:
        """The folder in which the hook notes the files that the trial opens."""
        return self.place.with_name(f"{self.place.name}.trace")

    @cached_property
    def trace(self) -> Trace:
        """What the processes of the trial have noted, once they have ended."""
        return Trace.read(self.trace_folder)

    @property
    def folder(self) -> Path:
        """The folder of the study in the copy."""
        return self.place / self.snapshot.inside

    def environment(self) -> dict[str, str]:
        """Returns the environment variables that the processes of the trial need."""
        return {"PWD": str(self.folder), **variables(self.trace_folder, self.snapshot.root, self.place)}

    def check_given(self) -> None:
        """Raises `StudyStop` for a file to be given whose folder is linked from elsewhere."""
        for path in sorted(self.given):
            if not (self.place / path).parent.resolve().is_relative_to(self.place.resolve()):
                name = os.path.relpath(path, self.snapshot.inside)
                raise StudyStop(
                    f"workload.files.{name}: lies in a folder that is linked from elsewhere, where all trials would "
                    "write it; choose another path"
                )

    def check(self) -> None:
        """Checks how the trial has used its code and data, after it has ended well.

        Raises `StudyStop` for changed data, for files opened outside of its copy, and for one that an earlier run must
        have left.
        """
        trace = self.trace
        check_data(self.snapshot)
        self._refuse_code_of_original(trace)
        self._refuse_files_of_original(trace)
        self._refuse_files_beside(trace)
        self._refuse_leftovers(trace)

    def _refuse_code_of_original(self, trace: Trace) -> None:
        """Raises `StudyStop` where a trial has opened a file of the original that its copy has, too."""
        root = self.snapshot.root
        opened: list[str] = []
        for path in trace.below(root):
            is_copied = (self.snapshot.frozen / path).is_file()
            if is_copied and not self._is_in_store(root / path):
                opened.append(path)
        if opened:
            raise StudyStop(
                f"a trial opened {listed(opened, 3)} of {root} by an absolute path, not in its copy, so that an edit "
                "while the study runs would change later trials. Use a relative path, or set `isolate: off` under "
                "workload"
            )

    def _refuse_files_of_original(self, trace: Trace) -> None:
        """Raises `StudyStop` where a trial has opened a file that the original alone has."""
        opened = self._opened_in_original(trace)
        if opened:
            names = self._from_study(opened)
            folder = self.snapshot.root / self.snapshot.inside
            raise StudyStop(
                f"a trial opened {listed(names, 3)} of {folder} by an absolute path, shared with all trials and runs "
                f"by hand. If this is data, add {to_add('data', names)} under workload; otherwise "
                "use a relative path, so that each trial has its own"
            )

    def _refuse_files_beside(self, trace: Trace) -> None:
        """Raises `StudyStop` where a trial has opened a file beside its copy."""
        opened = self._opened_beside(trace)
        if opened:
            raise StudyStop(
                f"a trial opened {listed(opened, 3)} by a relative path that leaves {self.snapshot.root}, of which "
                "each trial gets a copy, for a folder that all trials share. Have the code write below the root, or to "
                "$ABLATE_DIR"
            )

    def _refuse_leftovers(self, trace: Trace) -> None:
        """Raises `StudyStop` where a trial has read a file of the code and then changed it."""
        changed = self._read_and_changed(trace)
        if changed:
            names = self._from_study(changed)
            raise StudyStop(
                f"a trial read and then changed {listed(names, 3)}, in its copy from the start: most likely left by an "
                f"earlier run. If so, add {to_add('exclude', map(escape, names))} under workload, and no trial gets a "
                "copy; otherwise have the code write elsewhere"
            )

    def _from_study(self, paths: Sequence[str]) -> list[str]:
        """Returns paths below the root as ones relative to the study."""
        return [os.path.relpath(path, self.snapshot.inside) for path in paths]

    def check_missing(self, printed: Sequence[str]) -> None:
        """Raises `StudyStop` where a trial has failed for a path that the original has and the copy has not."""
        check_data(self.snapshot)
        opened = self.trace.below(self.place)
        missing = missing_paths(printed, opened, self.place, self.snapshot)
        if missing:
            raise StudyStop(
                f"a trial's copy lacks {listed(missing, 3)} of {self.snapshot.root / self.snapshot.inside}. The copy "
                "has tracked files, and untracked code and config up to 1 MB outside folders with a checkpoint. If "
                f"trials are to read this, add {to_add('data', missing)} under workload; otherwise have the code "
                "create it"
            )

        outside = paths_outside(printed, self.place, self.snapshot)
        if outside:
            raise StudyStop(
                f"a trial cannot reach {listed(outside, 3)}, outside of {self.snapshot.root}, of which each trial gets "
                "a copy; have the code use an absolute path, or make a git repository of the folder that holds "
                "both"
            )

    def files_beside(self, words: Sequence[str]) -> dict[str, str]:
        """Returns path → digest of the files read that the id of the trial leaves out: modules elsewhere, documents.

        words: those of its command. The documents that they name, or a script of a shell among them, count as read.
        """
        trace = self.trace
        folders = (self.place, self.snapshot.root, self.snapshot.store)
        paths = trace.modules_beside(folders)
        for path, opening in trace.below(self.place).items():
            is_copied_document = is_document(path) and (self.snapshot.frozen / path).is_file()
            if path in self.given:
                continue
            if opening.is_read and is_copied_document and (self.snapshot.root / path).is_file():
                paths.append(str(self.snapshot.root / path))
        for document in documents_named(entries_of(words, self.folder), words, self.folder):
            paths.append(str(self.snapshot.root / document.relative_to(self.place)))
        return {path: digest_of_file(path) for path in paths if os.path.isfile(path)}

    def variables(self, words: Sequence[str], given: Collection[str]) -> dict[str, str]:
        """Returns variable that its code has read → digest of its value, but for those of a place.

        words: those of its command, whose scripts of a shell are searched for variables. Left out is what the trial's
        own scripts have set, which is part of their code, what it was given, and threads, which the
        study sets.
        """
        inherited: dict[str, str] = {}
        for name in variables_of_scripts(entries_of(words, self.folder), words, self.folder):
            inherited[name] = digest_of_variable(name)
        for name, digests in self.trace.variables.items():
            digest = digest_of_variable(name)
            if digest in digests.split():
                inherited[name] = digest
        return {name: digest for name, digest in inherited.items() if not _is_left_out(name, given)}

    def shared(self) -> list[str]:
        """Returns the files outside of its copy that it has read and then written, and that are still there."""
        return [path for path in dict.fromkeys(self.trace.shared) if os.path.isfile(path)]

    def lacked(self) -> list[str]:
        """Returns what the trial looked for in vain and the original has, relative to the study.

        What the trial made itself, or the study excludes, is not lacking.
        """
        lacked: list[str] = []
        for place in dict.fromkeys(self.trace.missing):
            inside = os.path.relpath(place, self.place)
            from_study = os.path.relpath(inside, self.snapshot.inside)
            original = self.snapshot.root / inside
            is_ours = original.is_relative_to(self.snapshot.store.parent) or is_cached(inside)
            is_known = matches(from_study, self.snapshot.scope.exclude) or is_of_environment(
                inside, self.snapshot.root
            )
            if not (is_ours or is_known or os.path.lexists(place) or is_document(inside)):
                lacked.append(from_study)
        return lacked

    def doubtful(self) -> list[str]:
        """Returns the files read that an earlier run may have left, relative to the study."""
        opened = self.trace.below(self.place)
        read: list[str] = []
        for path in sorted(self.snapshot.doubtful - self.given):
            place = self.place / path
            is_traced = path in opened
            is_read = is_traced and opened[path].is_read
            if is_read or (not is_traced and os.path.lexists(place) and _was_read(place)):
                read.append(os.path.relpath(path, self.snapshot.inside))
        return read

    def added_data(self) -> list[str]:
        """Returns the files that were added to data while the trial ran."""
        return check_unchanged(self.snapshot.data)

    def written(self) -> list[str]:
        """Returns the files that the trial has written to its copy, relative to the study."""
        paths: list[str] = []
        for inside in sorted(paths_below(self.place)):
            is_ours = is_cached(inside) or inside in self.given
            if not (is_ours or self._was_there(inside)):
                paths.append(os.path.relpath(inside, self.snapshot.inside))
        return paths

    def _was_there(self, inside: str) -> bool:
        """Returns whether the copy has a path as it had it at first."""
        path = self.place / inside
        return _is_same(path, self.snapshot.frozen / inside) or is_link_to(path, self.snapshot.data)

    def tidy(self, keep: Sequence[str]) -> None:
        """Removes all but the files that the trial has written, of large ones those that `keep` matches."""
        remove_tree(self.place / ".git")
        for relative in list(paths_below(self.place)):
            path = self.place / relative
            inside = Path(relative)
            from_study = os.path.relpath(inside, self.snapshot.inside)
            is_large = path.lstat().st_size > MAX_KEPT and not matches(from_study, keep)
            is_cache = "__pycache__" in inside.parts
            if is_large or is_cache or self._was_there(relative):
                path.unlink()
        for folder, _, _ in os.walk(self.place, topdown=False):
            if not os.listdir(folder):
                os.rmdir(folder)
        remove_tree(self.trace_folder)

    def _opened_in_original(self, trace: Trace) -> list[str]:
        """Returns the files of the original that were opened.

        Left out are data, caches, files below folders of variables, and those by which ablate starts a trial.
        """
        root = self.snapshot.root
        opened: list[str] = []
        for path in trace.below(root):
            place = root / path
            if not self._is_in_store(place) and not is_cached(path) and place.is_file():
                opened.append(path)
        if not opened:
            return opened

        allowed = [_STARTERS, *(entry.place for entry in self.snapshot.data)]
        for value in os.environ.values():
            places = [Path(part) for part in value.split(os.pathsep) if os.path.isabs(part)]
            allowed += [place for place in places if place != root and place.is_relative_to(root)]
        return [
            path for path in opened if not any((root / path).is_relative_to(folder) for folder in allowed)
        ]

    def _opened_beside(self, trace: Trace) -> list[str]:
        """Returns the files beside the copy that were opened, by their paths from the study's folder in it."""
        runs = self.snapshot.store / RUNS
        opened: list[str] = []
        for path in trace.below(runs):
            place = runs / path
            is_of_trial = place.is_relative_to(self.place) or place.is_relative_to(self.trace_folder)
            if not is_of_trial and place.is_file():
                opened.append(os.path.relpath(place, self.folder))
        return opened

    def _is_in_store(self, path: Path) -> bool:
        return path.is_relative_to(self.snapshot.store)

    def _read_and_changed(self, trace: Trace) -> list[str]:
        """Returns the files of the code that the trial has changed or removed after it had read them."""
        opened = trace.below(self.place)
        changed: list[str] = []
        for inside in paths_below(self.snapshot.frozen):
            path = self.snapshot.frozen / inside
            here = self.place / inside
            # By its time, not its content: a script that goes on from a finished run writes what it has read.
            is_ours = is_document(inside) or inside in self.given
            is_changed = not is_ours and not _has_same_state(here, path)
            if is_changed and _was_read_before_its_change(here, path, opened.get(inside)):
                changed.append(inside)
        return changed


@contextmanager
def run_folder(
    snapshot: Snapshot, trial_id: str, *, resumes: bool, given: Iterable[str] = ()
) -> Iterator[RunFolder]:
    """Makes the folder of a trial, and yields it while no other process has it.

    resumes: whether a trial finds what an earlier attempt has left there. given: paths from the study's folder of
    files that the trial will be given. Raises `StudyStop` for changed data.
    """
    runs = snapshot.store / RUNS
    locks = runs / LOCKS
    locks.mkdir(parents=True, exist_ok=True)
    with FileLock(locks / f"{trial_id}.lock"):
        paths = frozenset(os.path.normpath(os.path.join(snapshot.inside, path)) for path in given)
        folder = RunFolder(snapshot, runs / trial_id, paths)
        # A trial that has ended well leaves no trace, and cannot go on.
        is_cut_short = folder.place.is_dir() and folder.trace_folder.is_dir()
        if not (resumes and is_cut_short):
            _make(folder)
        folder.trace_folder.mkdir(exist_ok=True)
        check_data(snapshot)
        yield folder


def remove_run_folder(snapshot: Snapshot, trial_id: str) -> None:
    """Removes all that a trial has left in the store."""
    runs = snapshot.store / RUNS
    folder = RunFolder(snapshot, runs / trial_id)
    for path in (folder.place, folder.trace_folder, runs / LOCKS / f"{trial_id}.lock"):
        remove_tree(path)


def _make(folder: RunFolder) -> None:
    """Makes the copy of a trial afresh, whole or not at all."""
    frozen = folder.snapshot.frozen
    if not frozen.is_dir():
        raise StudyStop(
            f"{frozen}, the code of which trials get copies, is not on this machine: choose a --results on a disk that "
            "all nodes share"
        )
    temporary = folder.place.with_name(f"{folder.place.name}.part")
    for path in (folder.place, folder.trace_folder, temporary):
        remove_tree(path)
    make_copy(frozen, temporary)
    link_data(folder.snapshot.data, temporary)
    (temporary / folder.snapshot.inside).mkdir(parents=True, exist_ok=True)
    link_repository(folder.snapshot.root, temporary)
    temporary.rename(folder.place)


def _is_same(path: Path, other: Path) -> bool:
    """Returns whether two paths have the same content, which files of the same state are taken to have."""
    if not (os.path.lexists(path) and os.path.lexists(other)):
        return False
    if path.is_symlink() or other.is_symlink():
        return path.is_symlink() and other.is_symlink() and os.readlink(path) == os.readlink(other)
    return _has_same_state(path, other) or (path.is_file() and cmp(path, other, shallow=False))


def _has_same_state(path: Path, other: Path) -> bool:
    """Returns whether two files have the same mode, size and modification time."""
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

    Where the Python hook saw no opening, this is told by the access time, if the file system records it.
    """
    status = path.lstat() if os.path.lexists(path) else None
    if opening is not None:
        # A file that another program wrote before this opening was not read as the copy had it.
        is_older = status is not None and status.st_mtime_ns < opening.time - _CLOCK_LAG_NS
        return opening.is_read and not is_older
    if status is None:
        return False
    return frozen.lstat().st_mtime_ns < status.st_atime_ns < status.st_mtime_ns


def _is_left_out(name: str, given: Collection[str]) -> bool:
    """Returns whether a variable is given, set by the study, of a place, or a secret."""
    is_set = name in given or name in THREADS
    return is_set or OF_A_PLACE.match(name) is not None or SECRETS.match(name) is not None
