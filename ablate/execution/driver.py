"""The driver asks the plan, looks cells up, has the rest trained, and stores every record at once. It alone writes."""

from collections.abc import Callable
from dataclasses import replace

from ablate.core.events import (
    Asked,
    Ended,
    Engine,
    EngineEvent,
    Finished,
    Found,
    Listen,
    Plan,
    Progress,
    Saved,
    Started,
    Told,
)
from ablate.core.record import Record
from ablate.core.trial import Cell
from ablate.records.store import Store


class _Enough(Exception):
    """Ends a run at its first failed trial."""


def drive(
    plan: Plan,
    engine: Engine,
    store: Store,
    listen: Listen,
    *,
    wanted: Callable[[Cell], bool] = lambda cell: True,
    later: int = 0,
    fresh: bool = False,
    fail_fast: bool = False,
) -> dict[str, Record]:
    """Trains what the plan asks for until it asks no more, and returns the records of its cells by trial id.

    Cells that are not `wanted` are looked up and never trained. A trial that several cells share is trained once, and
    listeners hear of each cell. A record is in the store before any listener hears of it. An interrupted trial resumes
    from its saved state, unless everything wanted is trained `fresh`, or the trial is prunable: then its earlier
    reports need decisions too. `later`: the most trainings that follow this plan. With `fail_fast` the first failed
    trial ends the run.
    """
    records: dict[str, Record] = {}
    outdated: dict[str, Record] = {}
    while asked := plan.ask(records):
        cells: dict[str, list[Cell]] = {}
        for cell in asked:
            cells.setdefault(cell.id, []).append(cell)
        todo = {}
        without_weights = 0
        for trial_id, same in cells.items():
            asked_for = [cell.trial for cell in same if wanted(cell)]
            train, trial = bool(asked_for), (asked_for or [same[0].trial])[-1]
            record = None if trial_id in records else store.load(trial)
            finished = record is not None and store.is_finished(record, pruned=trial.prunable)
            kept = finished and store.is_finished(record, trial.checkpoint, pruned=trial.prunable)
            if record is not None and (not train or (kept and not fresh)):
                records[trial_id] = record
                for cell in same:
                    listen(Found(cell, record))
            elif train:
                resumes = not fresh and not trial.prunable
                todo[trial_id] = replace(trial, state=store.load_state(trial_id)) if resumes else trial
                without_weights += finished and not fresh
                if record is not None:
                    outdated[trial_id] = record

        def hear(event: EngineEvent) -> bool:
            if isinstance(event, Saved):
                store.save_state(event.trial_id, event.state)
            elif isinstance(event, Ended):
                record = event.record
                record.environment |= {k: n for k, n in cells[record.id][0].size().items() if n}  # noqa: B023
                store.save(record)
                record.weights = None  # in the store now, and large
                records[record.id] = record
                for cell in cells[record.id]:  # noqa: B023 - called before the loop goes on
                    listen(Finished(cell, record))
                if fail_fast and record.status == "failed":
                    raise _Enough
            elif isinstance(event, (Started, Progress, Told)):
                listen(event)
            return isinstance(event, Progress) and todo[event.trial_id].prunable and plan.hear(event)  # noqa: B023

        listen(Asked(len(todo), plan.left + later, without_weights))
        if todo:
            try:
                engine.run(list(todo.values()), hear)
            except _Enough:
                break
    return outdated | records
