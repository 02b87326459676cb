"""The engine of `--jobs N`: long-lived worker processes, each of which runs one trial at a time."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial
from multiprocessing.connection import wait

from ablate.core.events import Ended, EngineEvent, Hear, Idle, Lost, Progress
from ablate.core.trial import Trial
from ablate.execution.child import Child
from ablate.execution.server import Server
from ablate.execution.trial import WorkloadRef


class _Worker(Child):
    """The driver's end of one worker process."""

    trial: Trial | None = None


class LocalPool:
    """At most `jobs` processes, and no more than there are trials."""

    def __init__(
        self, reference: WorkloadRef, jobs: int, devices: int = 0, server: Server | None = None
    ) -> None:
        """`devices`: number of GPUs, of which each worker sees one; 0: none. `server`: which may have begun."""
        self.reference = reference
        self.jobs = jobs
        self.devices = devices
        self.server = server or Server()
        self._workers: list[_Worker] = []
        self._waiting: list[Trial] = []

    def run(self, trials: Sequence[Trial], hear: Hear) -> None:
        """Hands out trials in order, as workers come free; see `Engine.run`."""
        self._hear, self._waiting = hear, list(reversed(trials))
        while len(self._workers) < min(self.jobs, len(trials)):
            self._workers.append(self._started(len(self._workers), trials[0]))
        for worker in self._workers:
            self._occupy(worker)
        while busy := {w.connection: (w, w.trial) for w in self._workers if w.trial}:
            for connection in wait([*busy], timeout=0.2):
                self._receive(*busy[connection])  # type: ignore[index]
            hear(Idle())

    def _occupy(self, worker: _Worker) -> None:
        """Gives a worker the next trial, if there is one."""
        worker.trial = self._waiting.pop() if self._waiting else None
        if worker.trial is not None:
            worker.send(worker.trial)

    def _started(self, index: int, trial: Trial) -> _Worker:
        worker = _Worker(partial(self.server.fork, self.reference, trial))
        worker.send((self.reference, index % self.devices if self.devices else None))
        return worker

    def _receive(self, worker: _Worker, trial: Trial) -> None:
        try:
            event: EngineEvent = worker.connection.recv()
        except (EOFError, OSError):
            return self._replace(worker, trial, f"the worker process {worker.fate()}")
        if isinstance(event, Ended):
            # It trains the next one while the driver stores this one's record.
            self._occupy(worker)
        answer = self._hear(event)
        if isinstance(event, Progress) and trial.prunable:
            worker.send(answer)

    def _replace(self, worker: _Worker, trial: Trial, fate: str) -> None:
        """Starts a new worker in the place of one whose trial is lost."""
        output, index = worker.end(), self._workers.index(worker)
        self._workers[index] = self._started(index, trial)
        self._occupy(self._workers[index])
        self._hear(Lost(trial.id, fate, output))

    def stop(self, trial_id: str, why: str) -> None:
        """Kills the worker that runs the trial."""
        for worker, trial in [(w, w.trial) for w in self._workers if w.trial and w.trial.id == trial_id]:
            self._replace(worker, trial, why)

    def close(self) -> None:
        """Ends all workers, whatever they do."""
        while self._workers:
            self._workers.pop().end()
        self.server.close()


def default_jobs() -> int:
    """The number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
