"""One trial of a study, trained alone: its record goes into the inbox of the store, and nothing else is written."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ablate.base.errors import AblateError, Problem, listed, nearest
from ablate.base.process import interruptible
from ablate.base.text import at_results, typed
from ablate.base.wording import duration
from ablate.core.events import Ended, EngineEvent, EngineMessage, Saved
from ablate.core.record import Record, outcome
from ablate.core.trial import Cell
from ablate.execution.driver import complete
from ablate.pipeline.jobs.batch import Rehearsed
from ablate.pipeline.jobs.commands import overrides_of
from ablate.pipeline.prepare import companions
from ablate.pipeline.preregister.claims import as_preregistered
from ablate.records.folder import StudyFolder
from ablate.records.inbox import Inbox
from ablate.session.options import Options
from ablate.session.workers import Workers

if TYPE_CHECKING:
    from rich.console import Console


class JobFailed(AblateError):
    """The end of a trial that failed; its record is in the inbox."""

    exit_code = 1


def train_alone(path: Path, trial_id: str, options: Options, console: Console) -> None:
    """Trains one trial of a study, unless store or inbox have it, and says where its record is.

    Raises `StudyError`, `AblateError` for an id that no trial has which the study lacks, and `JobFailed`.
    """
    rehearsed = Rehearsed.of(path, options, console, read_only=True)
    session = rehearsed.session
    cell = next((cell for cell in _cells_of(rehearsed) if cell.id == trial_id), None)
    if cell is None:
        raise _refusal(trial_id, rehearsed, options)
    inbox = Inbox(session.store.root, session.warn)
    kept = _kept(cell, rehearsed, inbox)
    if kept:
        session.say(f"{cell.name}: is trained already: {kept}.")
        return

    record = _trained(cell, rehearsed, options, inbox)
    file = inbox.save(record)
    if record.status == "failed":
        raise JobFailed(f"{cell.name}: failed: {record.reason} ({file})")
    end = "" if record.status == "completed" else f" ({outcome(record.status, record.reason)})"
    session.say(f"{cell.name}: trained in {duration(record.seconds)}{end}: {file}.")


def _cells_of(rehearsed: Rehearsed) -> Iterator[Cell]:
    """Yields the cells that may be trained alone: of the study as its file gives it, of a run now, of earlier runs."""
    study, stages = rehearsed.study, rehearsed.stages
    cells = study.cells()
    yield from cells
    yield from companions(study, stages, cells)
    store = rehearsed.session.store
    yield from rehearsed.batch(as_preregistered(study, stages, rehearsed.folder, store)).cells
    yield from (cell for cell in rehearsed.folder.trial_list.cells() if store.has(cell.id))


def _refusal(trial_id: str, rehearsed: Rehearsed, options: Options) -> AblateError:
    """Returns the error of an id that no trial of the study has."""
    study = rehearsed.study
    ids = dict.fromkeys(cell.id for cell in study.cells())
    words = [*overrides_of(options), *at_results(options.results_folder)]
    listing = typed("plan", study.path, *words, "--commands", "FILE")
    hint = nearest(trial_id, ids) or "Code, data, versions or study may have changed since it was planned:"
    problem = Problem(
        "is no trial that the study lacks now",
        given=trial_id,
        allowed=listed(ids, 3),
        hint=f"{hint} `{listing}` writes a line for each trial",
        source="ID",
    )
    return AblateError(str(problem))


def _kept(cell: Cell, rehearsed: Rehearsed, inbox: Inbox) -> str:
    """Returns the file that has the finished trial of a cell; empty where none has."""
    store = rehearsed.session.store
    checkpoint = cell.trial.checkpoint
    if store.is_finished(store.load(cell.trial), checkpoint):
        return str(store.trials / f"{cell.id}.json")
    if store.is_finished(inbox.load(cell.id), checkpoint):
        return str(inbox.file(cell.id))
    return ""


def _trained(cell: Cell, rehearsed: Rehearsed, options: Options, inbox: Inbox) -> Record:
    """Trains the trial of a cell in a worker, as a run does, and returns its record."""
    records: list[Record] = []
    session = rehearsed.session

    def on_event(event: EngineEvent) -> bool:
        if isinstance(event, Saved):
            inbox.states.save_state(event.trial_id, event.state)
        elif isinstance(event, Ended):
            records.append(event.record)
        elif isinstance(event, EngineMessage):
            session.say(event.text)
        return False

    trial = cell.trial
    state = inbox.states.load_state(cell.id) or session.store.load_state(cell.id)
    with interruptible(), closing(Workers(rehearsed.study, options)) as workers:
        workers.freeze()
        workers.run([replace(trial, state=state)], on_event)
    complete(records[0], cell, _dated(rehearsed.folder))
    return records[0]


def _dated(folder: StudyFolder) -> str:
    """Returns the date of the plan and claims of a study, after which this trial began; empty where they have none."""
    dates = [plan.declared for plan in folder.plans()]
    dates += [row["declared"] for row in folder.claims()]
    return max(dates, default="")
