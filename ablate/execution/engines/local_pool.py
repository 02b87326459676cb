"""The engine of `--jobs N`: long-lived worker processes, each of which runs one trial at a time.

They are forked from a process of their own, `ablate.execution.forking`.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial
from multiprocessing.connection import wait
from multiprocessing.reduction import send_handle

from ablate.base.extras import is_installed
from ablate.base.wording import counted
from ablate.core.events import Capacity, Ended, Engine, EngineEvent, Idle, OnEvent, Progress, WorkerLost
from ablate.core.trial import Trial
from ablate.execution import driver_fork, forking
from ablate.execution.child import Child, Forked, Keeper, fresh
from ablate.execution.devices import refuse_too_few, shares_of, visible_devices
from ablate.execution.run_trial import WorkloadRef


class _Worker(Child):
    """The driver's end of one worker process."""

    trial: Trial | None = None


class LocalPool(Engine):
    """Processes on this machine; no more than there are trials."""

    name = "local"

    def __init__(
        self,
        reference: WorkloadRef,
        jobs: int | None = None,
        server: Server | None = None,
        visible: Sequence[str] | None = None,
    ) -> None:
        """`jobs`: most processes, by default one a share of the GPUs, or one a core. `server`: which may have begun.

        `visible`: the GPUs of which each worker sees a share, by default all that a study needs; empty: what this
        process sees.
        """
        if visible is None:
            visible = _visible_devices(reference)
            self._gpus = reference.gpus or 0
        else:
            self._gpus = 0
        self._visible = visible
        self._shares = shares_of(visible, reference.gpus or 1)
        if jobs is None:
            jobs = (len(self._shares) or default_jobs()) if reference.parallel else 1
        if reference.gpus is not None and self._shares:
            jobs = min(jobs, len(self._shares))
        self.reference = reference
        self.jobs = jobs
        self.server = server or Server()
        self._workers: list[_Worker] = []
        # Trials without a worker, the next one last.
        self._waiting: list[Trial] = []

    def capacity(self) -> Capacity:
        """Returns the number of processes, and what each has of the GPUs where the study says so."""
        if not self._gpus:
            return Capacity(self.jobs)
        return Capacity(
            self.jobs, f", each with {self._gpus:g} of {counted(len(self._visible), 'visible GPU')}"
        )

    def run(self, trials: Sequence[Trial], on_event: OnEvent) -> None:
        """Hands out trials in order, as workers come free; see `Engine.run`.

        Raises `AblateError` where a trial takes more GPUs than are visible.
        """
        refuse_too_few(self._gpus, self._visible)
        self._on_event = on_event
        self._waiting = list(reversed(trials))
        while len(self._workers) < min(self.jobs, len(trials)):
            self._workers.append(self._start(len(self._workers), trials[0]))
        for worker in self._workers:
            self._occupy(worker)
        while busy := {worker.connection: worker for worker in self._workers if worker.trial}:
            for connection in wait(list(busy), timeout=0.2):
                self._receive(busy[connection])  # type: ignore[index]
            on_event(Idle())

    def _occupy(self, worker: _Worker) -> None:
        """Gives a worker the next trial, if there is one."""
        worker.trial = self._waiting.pop() if self._waiting else None
        if worker.trial is not None:
            worker.send(worker.trial)

    def _start(self, index: int, trial: Trial) -> _Worker:
        """Starts the worker at a place in the pool, which will train trials such as this one."""
        worker = _Worker(partial(self.server.fork, self.reference, trial))
        share = self._shares[index % len(self._shares)] if self._shares else None
        worker.send((self.reference, share))
        return worker

    def _receive(self, worker: _Worker) -> None:
        """Takes the next event of a worker's trial, and answers a report that waits."""
        trial = worker.trial
        assert trial is not None
        try:
            event: EngineEvent = worker.connection.recv()
        except (EOFError, OSError):
            self._replace(worker, trial, f"the worker process {worker.fate()}")
            return
        if isinstance(event, Ended):
            # It trains the next one while the driver stores this one's record.
            self._occupy(worker)
        answer = self._on_event(event)
        if isinstance(event, Progress) and trial.prunable:
            worker.send(answer)

    def _replace(self, worker: _Worker, trial: Trial, fate: str) -> None:
        """Starts a new worker in the place of one whose trial is lost."""
        output = worker.end()
        index = self._workers.index(worker)
        successor = self._start(index, trial)
        self._workers[index] = successor
        self._occupy(successor)
        self._on_event(WorkerLost(trial.id, fate, output))

    def stop(self, trial_id: str, why: str) -> None:
        """Kills the worker that runs the trial."""
        for worker in list(self._workers):
            if worker.trial is not None and worker.trial.id == trial_id:
                self._replace(worker, worker.trial, why)

    def close(self) -> None:
        """Ends all workers, whatever they do."""
        while self._workers:
            self._workers.pop().end()
        self.server.close()


class Server(Keeper):
    """Starts workers, which go on when it is closed. Its process is started when one is asked for, unless it was."""

    def start_early(self) -> None:
        """Starts its process, which imports the built-in parts at once, beside a driver that checks a study."""
        self.started(partial(fresh, forking.__name__, arguments=["early"]))

    def fork_driver(self) -> None:
        """Makes its process a fork of this one where that is sound."""
        if driver_fork.is_sound():
            self.started(partial(driver_fork.forked, forking.main_of_fork))

    def fork(self, reference: WorkloadRef, trial: Trial, pipe: int, output: int) -> Forked:
        """Starts a worker that will train such trials."""
        server = self.started(partial(fresh, forking.__name__, threads=reference.threads))
        pid = _ask(server, (reference, trial.config, trial.files), pipe, output)
        return _OfServer(server, pid)


class _OfServer(Forked):
    """A worker's process, of which its server alone can tell how it ended."""

    def __init__(self, server: Child, pid: int | None) -> None:
        """Without a `pid`, the server has ended instead of starting it."""
        super().__init__(pid or 0)
        self._server = server

    def exit_code(self) -> int:
        """Returns the exit code of the process; where its server has ended, that of the server."""
        code = _ask(self._server, self.pid) if self.pid else None
        return self._server.process.wait() if code is None else code


def _ask(server: Child, message: object, *descriptors: int) -> int | None:
    """Returns the server's answer; None where it has ended."""
    try:
        server.connection.send(message)
        for descriptor in descriptors:
            send_handle(server.connection, descriptor, server.process.pid)
        return server.connection.recv()
    except (EOFError, OSError):
        return None


def _visible_devices(reference: WorkloadRef) -> list[str]:
    """Returns the GPUs that trials of a workload may use."""
    if reference.device != "cuda":
        return []
    visible = visible_devices()
    if visible or not is_installed("torch"):
        return visible
    import torch

    # Where the driver has no `nvidia-smi`, as with GPUs of another make.
    return [str(index) for index in range(torch.cuda.device_count())]


def default_jobs() -> int:
    """Returns the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
