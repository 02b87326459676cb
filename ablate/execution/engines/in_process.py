"""The engine of `--jobs 0`: runs one trial after the other in this process, for a debugger."""

from collections.abc import Sequence

from ablate.core.events import Ended, Engine, EngineEvent, Idle, OnEvent, Started
from ablate.core.trial import Trial
from ablate.core.workload import Workload
from ablate.execution.devices import refuse_too_few, visible_devices
from ablate.execution.run_trial import WorkloadRef, run_trial


class InProcess(Engine):
    """Runs trials in the process of the caller; time limits have no effect, as nothing else runs while a trial does."""

    def __init__(self, reference: WorkloadRef, workload: Workload | None = None) -> None:
        """`workload` is the one that `reference` names, if it is loaded already."""
        self.reference = reference
        self.workload = workload or reference.load()

    def run(self, trials: Sequence[Trial], on_event: OnEvent) -> None:
        """Runs one trial after the other; see `Engine.run`.

        Raises `AblateError` where a trial takes more GPUs than are visible.
        """
        if self.reference.gpus is not None:
            refuse_too_few(self.reference.gpus, visible_devices())

        def hear_within_trial(event: EngineEvent) -> bool:
            try:
                return on_event(event)
            except Exception as error:
                raise _DriverFault from error

        for trial in trials:
            on_event(Started(trial.id))
            try:
                record = run_trial(self.workload, trial, hear_within_trial, self.reference.environment)
            except _DriverFault as fault:
                raise fault.__cause__ from None  # type: ignore[misc]
            on_event(Ended(record))
            on_event(Idle())


class _DriverFault(BaseException):
    """Carries an exception of `on_event` past the trial, which is not recorded as failed."""
