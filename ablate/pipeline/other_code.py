"""Finished trials that differ from planned ones in code alone: what changed, and what it costs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pydantic import ValidationError

from ablate.base.errors import AblateError
from ablate.base.wording import counted, duration
from ablate.core.record import INPUTS, Record
from ablate.pipeline.evidence.reused import REUSED_FROM
from ablate.records.folder import StudyFolder
from ablate.records.store import Store
from ablate.study.study import Study

if TYPE_CHECKING:
    from ablate.session.session import Session


@dataclass(frozen=True)
class OtherCode:
    """The finished trials of a study whose code has changed since."""

    records: Mapping[str, Record]
    """Id of the planned trial → the record that could be reused for it."""
    diff: str
    """The change as a unified diff; empty where the workload shows none."""

    def __str__(self) -> str:
        """Returns what has changed, and how long retraining takes."""
        took = duration(sum(record.seconds for record in self.records.values()))
        trials = counted(len(self.records), "finished trial")
        change = f":\n{self.diff}" if self.diff else ""
        return f"{trials} ({took} of training) ran with older code; nothing else has changed{change}"


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
    baseline = study.baseline_config
    if not study.workload.inputs(study.trial(baseline, study.config.seeds.values[0])):
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
        trial_id = _planned_id(record, study)
        if trial_id is None or trial_id == record.id or store.has(trial_id):
            continue
        if planned_ids is None or trial_id in planned_ids:
            records[trial_id] = record
    if not records:
        return None
    newest = max(records.values(), key=lambda record: record.finished_at)
    return OtherCode(records, study.workload.code_change(newest, baseline))


def _planned_id(record: Record, study: Study) -> str | None:
    """Returns the id that the trial of a record has with the present code; None if more than code has changed."""
    if INPUTS not in record.environment:
        return None
    try:
        trial = study.trial(dict(record.config), record.seed, record.stream)
    except (AblateError, ValidationError):
        return None  # Another version of ablate wrote its config.
    return trial.id if record.environment[INPUTS] == study.workload.inputs(trial) else None
