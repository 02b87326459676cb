"""The engine of `--jobs 0`: one trial after the other in this process, for a debugger."""

from __future__ import annotations

from collections.abc import Sequence

from ablate.core.events import Ended, EngineEvent, Hear, Idle, Started
from ablate.core.trial import Trial
from ablate.core.workload import Workload
from ablate.execution.trial import WorkloadRef, run_trial


class InProcess:
    """Runs trials where it is called; time limits have no effect."""

    def __init__(self, reference: WorkloadRef, workload: Workload | None = None) -> None:
        """`workload` spares loading it where it is loaded already."""
        self.reference = reference
        self.workload = workload or reference.load()

    def run(self, trials: Sequence[Trial], hear: Hear) -> None:
        """One trial after the other; see `Engine.run`."""

        def heard(event: EngineEvent) -> bool:
            try:
                return hear(event)
            except Exception as error:
                raise _DriverFault(error) from error

        for trial in trials:
            hear(Started(trial.id))
            try:
                record = run_trial(self.workload, trial, heard, self.reference.environment)
            except _DriverFault as fault:
                raise fault.error from None
            hear(Ended(record))
            hear(Idle())

    def stop(self, trial_id: str, why: str) -> None:
        """Nothing else runs while a trial does."""

    def close(self) -> None:
        """Nothing runs between two calls."""


class _DriverFault(BaseException):
    """An error of the driver on its way through a trial that runs in its process, and that has not failed."""

    def __init__(self, error: Exception) -> None:
        self.error = error
