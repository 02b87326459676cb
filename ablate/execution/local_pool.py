"""The engine of `--jobs N`: long-lived worker processes, each of which runs one trial at a time."""

from __future__ import annotations

import os
from collections.abc import Sequence
from multiprocessing.connection import wait

from ablate.core.events import Ended, EngineEvent, Hear, Idle, Lost, Progress
from ablate.core.trial import Trial
from ablate.execution.child import Child
from ablate.execution.trial import Answer, WorkloadRef

MOST_AHEAD = 8
"""Workers that are started before it is known how many are needed."""


class _Worker(Child):
    """The driver's end of one worker process."""

    def __init__(self, threads: int = 1, ahead: bool = False) -> None:
        super().__init__("ablate.execution.worker", threads, *["ahead"] * ahead)
        self.trial: Trial | None = None


class Standby:
    """Workers that import the package's parts before it is known what they will train.

    They do it while the driver imports and checks, so that training begins at once.
    """

    def __init__(self, jobs: int) -> None:
        self._workers = [_Worker(ahead=True) for _ in range(min(jobs, MOST_AHEAD))]

    def take(self) -> _Worker | None:
        """Returns one of them, if any is left; the caller must end it."""
        return self._workers.pop() if self._workers else None

    def close(self) -> None:
        """Ends those that were not taken."""
        while worker := self.take():
            worker.end()


class LocalPool:
    """At most `jobs` processes, and no more than there are trials; those on `standby` are taken first."""

    def __init__(
        self, reference: WorkloadRef, jobs: int, devices: int = 0, standby: Standby | None = None
    ) -> None:
        """`devices`: number of GPUs, of which each worker sees one; 0: none."""
        self.reference = reference
        self.jobs = jobs
        self.devices = devices
        self.standby = standby
        self._workers: list[_Worker] = []

    def run(self, trials: Sequence[Trial], hear: Hear) -> None:
        """Hands out trials in order, as workers come free; see `Engine.run`."""
        self._hear = hear
        waiting = list(reversed(trials))
        while waiting or any(worker.trial for worker in self._workers):
            while len(self._workers) < min(self.jobs, len(trials)):
                self._workers.append(self._started(len(self._workers), self.standby))
            for worker in self._workers:
                if worker.trial is None and waiting:
                    worker.trial = waiting.pop()
                    worker.send(worker.trial)
            busy = {worker.connection: worker for worker in self._workers if worker.trial}
            for connection in wait(list(busy), timeout=0.2):
                self._receive(busy[connection])  # type: ignore[index]
            hear(Idle())

    def _started(self, index: int, standby: Standby | None = None) -> _Worker:
        ready = standby.take() if standby is not None and self.reference.threads == 1 else None
        worker = ready or _Worker(self.reference.threads)
        worker.send((self.reference, index % self.devices if self.devices else None))
        return worker

    def _receive(self, worker: _Worker) -> None:
        trial = worker.trial
        assert trial is not None
        try:
            event: EngineEvent = worker.connection.recv()
        except (EOFError, OSError):
            self._replace(worker, f"the worker process {worker.fate()}")
            return
        if isinstance(event, Ended):
            worker.trial = None
        answer = self._hear(event)
        if isinstance(event, Progress) and trial.prunable:
            worker.send(Answer(answer))

    def _replace(self, worker: _Worker, fate: str) -> None:
        """Starts a new worker in the place of one whose trial is lost."""
        trial, output, index = worker.trial, worker.end(), self._workers.index(worker)
        self._workers[index] = self._started(index)
        if trial is not None:
            self._hear(Lost(trial.id, fate, output))

    def stop(self, trial_id: str, why: str) -> None:
        """Kills the worker that runs the trial."""
        for worker in [w for w in self._workers if w.trial is not None and w.trial.id == trial_id]:
            self._replace(worker, why)

    def close(self) -> None:
        """Ends all workers, whatever they do."""
        while self._workers:
            self._workers.pop().end()


def default_jobs() -> int:
    """The number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
