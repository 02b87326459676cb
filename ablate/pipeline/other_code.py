"""Finished trials of one's own code that differ from planned ones in code alone: what changed, and what it costs."""

from __future__ import annotations

import difflib
import filecmp
import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import ValidationError

from ablate.base.errors import AblateError
from ablate.base.wording import counted, duration
from ablate.core.record import CODE, INPUTS, Record
from ablate.external.kinds import MAX_UNTRACKED, is_document
from ablate.external.links import place_of
from ablate.external.snapshot import CODE_FOLDER
from ablate.external.tree import Tree, paths_below
from ablate.external.workload import External
from ablate.pipeline.reused import REUSED_FROM
from ablate.records.folder import StudyFolder
from ablate.records.store import Store
from ablate.study.study import Study

if TYPE_CHECKING:
    from ablate.session.session import Session

MAX_LINES = 40
"""The most lines of a diff that are shown."""


@dataclass(frozen=True)
class OtherCode:
    """The finished trials of a study whose code has changed since."""

    records: Mapping[str, Record]
    """Id of the planned trial → the record that could be reused for it."""
    diff: str
    """The change as a unified diff of at most `MAX_LINES` lines."""

    def __str__(self) -> str:
        """Returns what has changed, and how long retraining takes."""
        took = duration(sum(record.seconds for record in self.records.values()))
        trials = counted(len(self.records), "finished trial")
        return f"{trials} ({took} of training) ran with older code; nothing else has changed:\n{self.diff}"


def resolve_other_code(study: Study, session: Session) -> None:
    """Removes, reuses or refuses the finished trials that differ in code alone, as the options say.

    Without an option, raises `AblateError` with the diff.
    """
    options = session.options
    if options.retrain and options.keep_finished:
        raise AblateError("--retrain and --keep-finished exclude each other; give one")
    if options.retrain:
        _remove_reused(session.folder, session.store)
    if options.retrain or options.fresh:
        return
    other = other_code(study, session.folder, session.store)
    if other is None:
        return
    if not options.keep_finished:
        raise AblateError(
            f"{other}\nRetrain them with --retrain, or reuse them with --keep-finished; the report will say so"
        )
    for trial_id, record in other.records.items():
        environment = {REUSED_FROM: record.id} | record.environment
        session.store.save(replace(record, id=trial_id, environment=environment))


def _remove_reused(folder: StudyFolder, store: Store) -> None:
    """Removes the records that were reused for later code, so that its trials are trained."""
    try:
        listed = folder.trial_list.cells()
    except AblateError:
        return
    for cell in listed:
        record = store.load(cell.id)
        if record is not None and REUSED_FROM in record.environment:
            store.remove(cell.id)


def other_code(study: Study, folder: StudyFolder, store: Store) -> OtherCode | None:
    """Returns the listed trials of a study that are finished and differ from the planned ones in code alone."""
    workload = study.workload
    if not isinstance(workload, External):
        return None
    # The configs of a study that selects settings, and so its ids, are not known before it has selected them.
    planned_ids = None if study.selected_paths else {cell.id for cell in study.cells()}
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
        if trial_id is None or trial_id == record.id or store.has(trial_id):
            continue
        if planned_ids is None or trial_id in planned_ids:
            records[trial_id] = record
    if not records:
        return None
    newest = max(records.values(), key=lambda record: record.finished_at)
    earlier = store.root / CODE_FOLDER / str(newest.environment[CODE])
    tree = workload.snapshot(study.variants[0].configs[0]).tree
    return OtherCode(records, diff(earlier, tree) if tree is not None else "")


def _planned_id(record: Record, study: Study, workload: External) -> str | None:
    """Returns the id that the trial of a record has with the present code; None if more than code has changed."""
    if CODE not in record.environment:
        return None
    try:
        trial = study.trial(dict(record.config), record.seed, record.stream)
    except (AblateError, ValidationError):
        return None  # Another version of ablate wrote its config.
    return trial.id if record.environment.get(INPUTS) == workload.inputs(trial) else None


def diff(earlier: Path, tree: Tree) -> str:
    """Returns the change from a frozen copy to a tree; lines beyond `MAX_LINES` are only counted."""
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
