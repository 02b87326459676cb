"""The step of a driver that takes into the store what trials have left that were trained alone."""

from __future__ import annotations

from pathlib import Path

from pydantic import ValidationError

from ablate.base.errors import AblateError, listed
from ablate.base.wording import counted
from ablate.core.record import Record
from ablate.core.trial import Trial
from ablate.records.inbox import Damaged, Inbox
from ablate.records.store import Store
from ablate.records.superseded import note_superseded, superseded_by
from ablate.session.session import Session
from ablate.study.study import Study

MAX_NAMED = 3
"""The most files of one kind that are named."""


def adopt_jobs(study: Study, session: Session) -> None:
    """Takes the trials of a study in the inbox into the store, and says so; others stay, and are named.

    A trial is of the study where its id is the one that this process would give to its config and seed, under the code,
    data and versions that are here now.
    """
    inbox = Inbox(session.store.root)
    num_adopted = 0
    damaged: list[str] = []
    foreign: list[Path] = []
    for path in inbox.files():
        try:
            record = inbox.read(path)
        except FileNotFoundError:
            continue  # Another driver has taken it.
        except Damaged as fault:
            damaged.append(f"{path.name} ({fault})")
            continue
        trial = _trial_of(record, study)
        if trial is None:
            foreign.append(path)
            continue
        if _take(record, trial, session.store):
            num_adopted += 1
        inbox.remove(record.id)

    if num_adopted:
        session.say(f"{counted(num_adopted, 'trial')} from {inbox.folder} adopted.")
    if damaged:
        session.warn(
            f"{inbox.folder}: {listed(damaged, MAX_NAMED)}: not what a trial has left, and not adopted; remove it, and "
            "train its trial again"
        )
    if foreign:
        names = listed([path.name for path in foreign], MAX_NAMED)
        session.warn(
            f"{inbox.folder}: {names}: of another study, or of other code, data or versions than are here now, and not "
            "adopted"
        )


def _trial_of(record: Record, study: Study) -> Trial | None:
    """Returns the trial of a record as the study would train it now; None where it would have another id."""
    try:
        trial = study.trial(dict(record.config), record.seed, record.stream)
    except (AblateError, ValidationError):
        return None
    return trial if trial.id == record.id else None


def _take(record: Record, trial: Trial, store: Store) -> bool:
    """Stores a record, unless the store has all of it; returns whether it was stored."""
    earlier = store.load(trial)
    if store.is_finished(earlier, trial.checkpoint):
        return False
    note_superseded(store.root, superseded_by(record, earlier), store.warn)
    store.save(record)
    return True
