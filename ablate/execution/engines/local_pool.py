"""The engine of `--jobs N`: long-lived worker processes, each of which runs one trial at a time.

They are forked from a process of their own, `ablate.execution.forking`.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from multiprocessing.connection import wait
from multiprocessing.reduction import send_handle

from ablate.core.events import Capacity, Ended, Engine, EngineEvent, Hear, Idle, Lost, Progress
from ablate.core.trial import Trial
from ablate.execution.child import Child, Keeper, fresh
from ablate.execution.engines import ENGINES
from ablate.execution.trial import WorkloadRef


class _Worker(Child):
    """The driver's end of one worker process."""

    trial: Trial | None = None


@ENGINES.register("engine", "local")
class LocalPool(Engine):
    """Processes on this machine; no more than there are trials."""

    def __init__(
        self,
        reference: WorkloadRef,
        jobs: int | None = None,
        server: Server | None = None,
        devices: int | None = None,
    ) -> None:
        """`jobs`: most processes, by default one a GPU or one a core. `server`: which may have begun.

        `devices`: GPUs, of which each worker sees one, by default all that a study needs; 0: what this process sees.
        """
        if devices is None and reference.device == "cuda":
            import torch

            devices = torch.cuda.device_count()
        self.reference, self.devices = reference, devices or 0
        self.jobs = ((self.devices or default_jobs()) if reference.parallel else 1) if jobs is None else jobs
        self.server = server or Server()
        self._workers: list[_Worker] = []
        self._waiting: list[Trial] = []

    def capacity(self) -> Capacity:
        """As many as there are processes."""
        return Capacity(self.jobs)

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


class Server(Keeper):
    """Starts workers, which go on when it is closed. Its process is started when one is asked for, unless it was."""

    def prepare(self, threads: int = 1, *early: str) -> Child:
        """Its process, which is started unless it runs; with an argument, it imports built-in parts at once."""
        return self.started(partial(fresh, "ablate.execution.forking", threads=threads, arguments=early))

    def fork(self, reference: WorkloadRef, trial: Trial, pipe: int, output: int) -> _Forked:
        """Starts a worker that will train such trials."""
        server = self.prepare(reference.threads)
        return _Forked(server, _ask(server, (reference, trial.config, trial.files), pipe, output))


class _Forked:
    """A worker's process, of which its server alone can tell how it ended."""

    def __init__(self, server: Child, pid: int | None) -> None:
        """Without a `pid`, the server has ended instead of starting it."""
        self._server, self.pid = server, pid or 0
        self._code: int | None = None

    def kill(self) -> None:
        """As of a `Popen`."""
        with suppress(ProcessLookupError):
            if self.pid and self._code is None:
                os.kill(self.pid, signal.SIGKILL)

    def wait(self) -> int:
        """As of a `Popen`; where the server has ended, what is known is how that did."""
        if self._code is None:
            code = _ask(self._server, self.pid) if self.pid else None
            self._code = self._server.process.wait() if code is None else code
        return self._code


def _ask(server: Child, message: object, *descriptors: int) -> int | None:
    """The server's answer; None where it has ended."""
    try:
        server.connection.send(message)
        for descriptor in descriptors:
            send_handle(server.connection, descriptor, server.process.pid)
        return server.connection.recv()
    except (EOFError, OSError):
        return None


def default_jobs() -> int:
    """The number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
