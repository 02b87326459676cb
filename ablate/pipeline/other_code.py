"""Finished trials of one's own code that differ from planned ones in code alone: what changed, and what it costs."""

from __future__ import annotations

import difflib
import filecmp
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import ValidationError

from ablate.base.errors import AblateError
from ablate.base.wording import counted, duration
from ablate.core.record import CODE, INPUTS, Record
from ablate.external.kinds import MAX_UNTRACKED, is_document
from ablate.external.snapshot import CODE_FOLDER
from ablate.external.tree import Tree
from ablate.external.workload import External
from ablate.records.folder import StudyFolder
from ablate.records.store import Store
from ablate.study.study import Study

if TYPE_CHECKING:
    from ablate.session.session import Session

MAX_LINES = 40
# In the environment of a record that stands for a trial of later code: the id of the trial that was trained.
KEPT_FROM = "kept_from"


@dataclass(frozen=True)
class OtherCode:
    """The finished trials of a study whose code has changed since."""

    # Id of the planned trial → the record that would stand for it.
    records: Mapping[str, Record]
    # The change as a unified diff, up to some lines.
    diff: str

    def __str__(self) -> str:
        """Returns what has changed, and the time that training anew takes."""
        took = duration(sum(record.seconds for record in self.records.values()))
        trials = counted(len(self.records), "finished trial")
        return f"{trials} ({took} of training) had other code, and nothing else is different:\n{self.diff}"


def settle_other_code(study: Study, session: Session) -> None:
    """Stops before finished trials are trained again because of their code alone, unless an option says what to do.

    Raises `AblateError` with the diff.
    """
    options = session.options
    if options.retrain and options.keep_finished:
        raise AblateError("--retrain, --keep-finished: give one of them")
    if options.retrain:
        _remove_kept(session.folder, session.store)
    if options.retrain or options.fresh:
        return
    other = other_code(study, session.folder, session.store)
    if other is None:
        return
    if not options.keep_finished:
        raise AblateError(
            f"{other}\nTrain them again with --retrain, or use them as they are with --keep-finished, which the report "
            "then says"
        )
    for trial_id, record in other.records.items():
        environment = {KEPT_FROM: record.id} | record.environment
        session.store.save(replace(record, id=trial_id, environment=environment))


def _remove_kept(folder: StudyFolder, store: Store) -> None:
    """Removes the records that stand for trials of later code, so that these are trained."""
    try:
        listed = folder.trial_list.cells()
    except AblateError:
        return
    for cell in listed:
        record = store.load(cell.id)
        if record is not None and KEPT_FROM in record.environment:
            store.remove(cell.id)


def kept_earlier(records: Mapping[str, Record]) -> int:
    """Returns the number of trials that had earlier code than the repository has now."""
    return sum(KEPT_FROM in record.environment for record in records.values())


def other_code(study: Study, folder: StudyFolder, store: Store) -> OtherCode | None:
    """Returns the listed trials of a study that are finished and differ from the planned ones in code alone."""
    workload = study.workload
    if not isinstance(workload, External):
        return None
    planned = None if study.selected_paths else {cell.id for cell in study.cells()}
    try:
        listed = folder.trial_list.cells()
    except AblateError:
        return None
    records: dict[str, Record] = {}
    for cell in listed:
        record = store.load(cell.id)
        if record is None or not store.is_finished(record):
            continue
        trial_id = _planned_id(record, study, workload)
        is_wanted = trial_id is not None and (planned is None or trial_id in planned)
        if trial_id and is_wanted and trial_id != record.id and not store.has(trial_id):
            records[trial_id] = record
    if not records:
        return None
    newest = max(records.values(), key=lambda record: record.finished_at)
    earlier = store.root / CODE_FOLDER / str(newest.environment[CODE])
    tree = workload.snapshot(study.variants[0].configs[0]).tree
    return OtherCode(records, diff(earlier, tree) if tree is not None else "")


def _planned_id(record: Record, study: Study, workload: External) -> str | None:
    """Returns the id of the trial that a record would be of with the present code; None where more has changed."""
    if CODE not in record.environment:
        return None
    try:
        trial = study.trial(dict(record.config), record.seed, record.stream)
    except (AblateError, ValidationError):
        return None  # Its config is of another version of ablate.
    return trial.id if record.environment.get(INPUTS) == workload.inputs(trial) else None


def diff(earlier: Path, tree: Tree) -> str:
    """Returns the change from a frozen copy to a tree; the lines that are too many are counted."""
    if not earlier.is_dir():
        return "(the earlier code is no longer kept)"
    lines: list[str] = []
    for path in sorted(_changed(earlier, tree)):
        lines += _file_diff(earlier / path, tree.root / path, path, is_kept=path in tree.files)
    if len(lines) > MAX_LINES:
        return "\n".join([*lines[:MAX_LINES], f"… and {counted(len(lines) - MAX_LINES, 'more line')}"])
    return "\n".join(lines)


def _changed(earlier: Path, tree: Tree) -> Iterator[str]:
    """Yields the paths of files that were added, removed or changed, but for documents."""
    before = set()
    for folder, _, names in os.walk(earlier):
        before |= {os.path.relpath(os.path.join(folder, name), earlier) for name in names}
    for path in before | tree.files.keys():
        is_same = path in before and path in tree.files and _is_same(earlier / path, tree.root / path)
        if not is_same and not is_document(path):
            yield path


def _is_same(one: Path, other: Path) -> bool:
    if one.is_symlink() or other.is_symlink():
        return one.is_symlink() == other.is_symlink()
    return filecmp.cmp(one, other)


def _file_diff(before: Path, after: Path, path: str, *, is_kept: bool) -> Sequence[str]:
    """Returns the lines of a diff of one file."""
    old = _text(before)
    new = _text(after) if is_kept else []
    if old is None or new is None:
        return [f"  {path}: changed"]
    return [line.rstrip("\n") for line in difflib.unified_diff(old, new, path, path, n=1)] or [
        f"  {path}: changed"
    ]


def _text(path: Path) -> list[str] | None:
    """Returns the lines of a text; none of a file that is not there, and None for what is no text."""
    if not path.is_file():
        return []
    if path.stat().st_size > MAX_UNTRACKED:
        return None
    try:
        return path.read_text().splitlines(keepends=True)
    except UnicodeDecodeError:
        return None
