"""Attempts and time limits over any engine: a lost trial begins again, an overdue trial ends."""

import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ablate.base.process import stopwatch
from ablate.core.events import (
    Capacity,
    Ended,
    Engine,
    EngineEvent,
    Hear,
    Idle,
    Lost,
    Progress,
    Saved,
    Started,
    Told,
)
from ablate.core.record import Record
from ablate.core.trial import Trial

# How often a trial may begin before the loss of its process makes it `failed`.
ATTEMPTS = 2


@dataclass
class _Watched:
    """One trial and its attempts."""

    trial: Trial
    lost: int = 0
    # Whether it must begin, or begin again.
    again: bool = True
    # Of the last attempt.
    started_at: str = ""
    overdue: bool = False
    # The answer to each report, so that a second attempt gets the same.
    answers: dict[Hashable, bool] = field(default_factory=dict)


class Supervised(Engine):
    """An engine under supervision. `environment` goes into the records of trials that left none themselves."""

    def __init__(self, engine: Engine, environment: Callable[[], Mapping[str, Any]] = dict) -> None:
        self.engine = engine
        self.environment = environment
        self._clock = stopwatch()

    def capacity(self) -> Capacity:
        """That of the engine."""
        return self.engine.capacity()

    def run(self, trials: Sequence[Trial], hear: Hear) -> None:
        """Runs all `trials` until each is `Ended`; see `Engine.run`."""
        watched = {trial.id: _Watched(trial) for trial in trials}
        # Those that are running, and since when.
        self._began: dict[str, float] = {}
        while waiting := [one for one in watched.values() if one.again]:
            for one in waiting:
                one.again = False
            self.engine.run([one.trial for one in waiting], lambda event: self._hear(event, watched, hear))

    def _hear(self, event: EngineEvent, watched: Mapping[str, _Watched], hear: Hear) -> bool:
        if isinstance(event, Idle):
            for trial_id, began in [*self._began.items()]:
                limit = watched[trial_id].trial.time_limit
                if limit is not None and time.monotonic() - began > limit:
                    watched[trial_id].overdue = True
                    self.engine.stop(trial_id, f"time limit of {limit:g} s exceeded")
            return False
        if isinstance(event, Told):
            return hear(event)
        one = watched[event.record.id if isinstance(event, Ended) else event.trial_id]
        if isinstance(event, Lost):
            return self._lost(event, one, hear)
        if isinstance(event, Started):
            # Not before: a new process is still importing.
            self._began[event.trial_id], one.started_at = time.monotonic(), self._clock()
        elif isinstance(event, Saved) and not any(one.answers.values()):
            # A further attempt resumes here, but never after the step at which the trial was told to end.
            one.trial = replace(one.trial, state=event.state)
        elif isinstance(event, Ended):
            self._began.pop(event.record.id, None)
            event.record.attempts = one.lost + 1
        elif isinstance(event, Progress) and one.trial.prunable:
            key = (event.step, *event.metrics)
            if key not in one.answers:
                one.answers[key] = hear(event)
            return one.answers[key]
        return hear(event)

    def _lost(self, event: Lost, one: _Watched, hear: Hear) -> bool:
        one.lost += 1
        self._began.pop(event.trial_id, None)
        if one.lost < ATTEMPTS and not one.overdue:
            one.again = True
            return False
        reason = event.fate if one.overdue else f"{event.fate}, {one.lost} times"
        ended_at = self._clock()
        record = Record.of(
            one.trial,
            "failed",
            reason=reason,
            error=event.output or reason,
            output=event.output,
            attempts=one.lost,
            environment=dict(self.environment()),
            started_at=one.started_at or ended_at,
            finished_at=ended_at,
        )
        return hear(Ended(record))

    def close(self) -> None:
        """Ends all work at once."""
        self.engine.close()
