"""The driver: asks the plan, has trials run, stores every record at once. It alone writes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from ablate.core.events import Decide, Event, Finished, Saved, go_on
from ablate.core.plan import Plan
from ablate.core.record import Record
from ablate.execution.pool import Engine
from ablate.records.store import Store


def drive(
    plan: Plan,
    records: dict[str, Record],
    engine: Callable[[], Engine],
    store: Store,
    environment: Mapping[str, Any],
    *,
    listen: Callable[[Event], None] = lambda event: None,
    decide: Decide = go_on,
    fail_fast: bool = False,
    fresh: bool = False,
) -> None:
    """Trains what the plan asks for until it asks no more; `records` gains what is finished.

    The engine is made when there is something to train, and closed at the end whatever happens. A record is in
    the store before anything else hears of it. A trial that was cut short goes on from the state that it has
    saved, unless all is to be trained `fresh`, or the trial is prunable: what it had reported by then must be
    decided on too. `decide` says when a prunable trial ends early. With `fail_fast` the first failed trial ends
    the run.
    """
    running: Engine | None = None
    try:
        while trials := plan.ask(records):
            running = running or engine()
            if not fresh:
                trials = [t if t.prunable else replace(t, state=store.load_state(t.id)) for t in trials]
            for event in running.run(trials, decide):
                if isinstance(event, Saved):
                    store.save_state(event.trial_id, event.state)
                elif isinstance(event, Finished):
                    record = event.record
                    record.environment = {**environment, **record.environment}
                    store.save(record)
                    record.weights = None  # in the store now, and large
                    records[record.id] = record
                listen(event)
                if fail_fast and isinstance(event, Finished) and event.record.status == "failed":
                    return
    finally:
        if running is not None:
            running.close()
