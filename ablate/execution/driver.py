"""The driver: asks the plan, has trials run, stores every record at once. It alone writes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ablate.execution.events import Event, Finished
from ablate.execution.pool import Engine
from ablate.records.record import Record
from ablate.records.store import Store
from ablate.study.plan import Plan


def drive(
    plan: Plan,
    records: dict[str, Record],
    engine: Callable[[], Engine],
    store: Store,
    environment: Mapping[str, Any],
    *,
    listen: Callable[[Event], None] = lambda event: None,
    fail_fast: bool = False,
) -> None:
    """Trains what the plan asks for until it asks no more; `records` gains what is finished.

    The engine is made when there is something to train, and closed at the end whatever happens. A record is in
    the store before anything else hears of it. With `fail_fast` the first failed trial ends the run.
    """
    running: Engine | None = None
    try:
        while trials := plan.ask(records):
            running = running or engine()
            for event in running.run(trials):
                if isinstance(event, Finished):
                    record = event.record
                    record.environment = {**environment, **record.environment}
                    store.save(record)
                    records[record.id] = record
                listen(event)
                if fail_fast and isinstance(event, Finished) and event.record.status == "failed":
                    return
    finally:
        if running is not None:
            running.close()
