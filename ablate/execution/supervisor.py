"""Attempts and time limits over any engine: a lost trial begins again, an overdue trial ends."""

import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from ablate.base.process import stopwatch
from ablate.core.events import (
    Capacity,
    Ended,
    Engine,
    EngineEvent,
    EngineMessage,
    Idle,
    OnEvent,
    Progress,
    Saved,
    Started,
    WorkerLost,
)
from ablate.core.record import Record
from ablate.core.trial import Trial

# How often a trial may begin before the loss of its process makes it `failed`.
ATTEMPTS = 2


@dataclass
class _Attempts:
    """One trial and its attempts."""

    trial: Trial
    lost: int = 0
    # Whether it must begin, or begin again.
    is_waiting: bool = True
    # When the last attempt began.
    started_at: str = ""
    is_overdue: bool = False
    # The answer to each report, so that a second attempt gets the same.
    answers: dict[Hashable, bool] = field(default_factory=dict)


class Supervised(Engine):
    """An engine under supervision. `environment` goes into the records of trials that left none themselves."""

    def __init__(self, engine: Engine, environment: Callable[[], Mapping[str, object]] = dict) -> None:
        self.engine = engine
        self.environment = environment
        self._clock = stopwatch()
        # Trial that runs → when it began.
        self._running: dict[str, float] = {}

    def capacity(self) -> Capacity:
        """Returns the capacity of the engine."""
        return self.engine.capacity()

    def run(self, trials: Sequence[Trial], on_event: OnEvent) -> None:
        """Runs all `trials` until each is `Ended`; see `Engine.run`."""
        self._running = {}
        watched = {trial.id: _Attempts(trial) for trial in trials}
        while waiting := [attempts for attempts in watched.values() if attempts.is_waiting]:
            for attempts in waiting:
                attempts.is_waiting = False
            begun = [attempts.trial for attempts in waiting]
            self.engine.run(begun, partial(self._on_event, watched, on_event))

    def _on_event(self, watched: Mapping[str, _Attempts], on_event: OnEvent, event: EngineEvent) -> bool:
        """Takes an event of the engine and passes it on, unless the driver has no need of it."""
        if isinstance(event, Idle):
            self._stop_overdue(watched)
            return False
        if isinstance(event, EngineMessage):
            return on_event(event)

        attempts = watched[event.record.id if isinstance(event, Ended) else event.trial_id]
        if isinstance(event, WorkerLost):
            return self._begin_again_or_fail(attempts, event, on_event)
        if isinstance(event, Progress) and attempts.trial.prunable:
            return _answer(attempts, event, on_event)
        if isinstance(event, Started):
            # Not before: a new process is still importing.
            self._running[event.trial_id] = time.monotonic()
            attempts.started_at = self._clock()
        elif isinstance(event, Saved) and not any(attempts.answers.values()):
            # A further attempt resumes here, but never after the step at which the trial was told to end.
            attempts.trial = replace(attempts.trial, state=event.state)
        elif isinstance(event, Ended):
            self._running.pop(event.record.id, None)
            event.record.attempts = attempts.lost + 1
        return on_event(event)

    def _stop_overdue(self, watched: Mapping[str, _Attempts]) -> None:
        """Stops the trials that have run for longer than their limits."""
        for trial_id, began in list(self._running.items()):
            limit = watched[trial_id].trial.time_limit
            if limit is not None and time.monotonic() - began > limit:
                watched[trial_id].is_overdue = True
                self.engine.stop(trial_id, f"time limit of {limit:g} s exceeded")

    def _begin_again_or_fail(self, attempts: _Attempts, event: WorkerLost, on_event: OnEvent) -> bool:
        """Has a lost trial begin again, or ends it as failed where it is overdue or was lost too often."""
        attempts.lost += 1
        self._running.pop(event.trial_id, None)
        if attempts.lost < ATTEMPTS and not attempts.is_overdue:
            attempts.is_waiting = True
            return False

        reason = event.fate if attempts.is_overdue else f"{event.fate}, {attempts.lost} times"
        ended_at = self._clock()
        record = Record.of(
            attempts.trial,
            "failed",
            reason=reason,
            error=event.output or reason,
            output=event.output,
            attempts=attempts.lost,
            environment=dict(self.environment()),
            started_at=attempts.started_at or ended_at,
            finished_at=ended_at,
        )
        return on_event(Ended(record))

    def close(self) -> None:
        """Ends all work at once."""
        self.engine.close()


def _answer(attempts: _Attempts, report: Progress, on_event: OnEvent) -> bool:
    """Returns whether a prunable trial ends at a report; what was answered once is not asked again."""
    key = (report.step, *report.metrics)
    if key not in attempts.answers:
        attempts.answers[key] = on_event(report)
    return attempts.answers[key]
