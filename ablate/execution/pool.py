"""A local pool of long-lived worker processes, one trial at a time each."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from multiprocessing.connection import Connection, wait
from typing import Protocol

from ablate.core.events import Answer, Decide, Event, Finished, Progress, Saved, Started, go_on
from ablate.core.trial import Emit, Trial
from ablate.core.workload import Workload
from ablate.execution.trial import WorkloadRef, failed, run_trial
from ablate.execution.worker import read_output

ATTEMPTS = 2
"""How often a trial is begun before the loss of its worker makes it `failed`."""

MOST_AHEAD = 8
"""Workers that are started before it is known how many are needed."""

_ONE_THREAD = {f"{library}_NUM_THREADS": "1" for library in ("OMP", "MKL", "OPENBLAS", "NUMEXPR", "VECLIB")}


class Engine(Protocol):
    """Runs trials; the driver's only way to have work done."""

    def run(self, trials: Sequence[Trial], decide: Decide = go_on) -> Iterator[Event]:
        """The events of all `trials`, each of which ends in one `Finished`.

        A prunable trial waits at each report until `decide` has said whether it shall end there.
        """

    def close(self) -> None:
        """Ends all work at once."""


class InProcess:
    """`--jobs 0`: one trial after the other in this process, for a debugger.

    `save` takes a trial's id and state as soon as there is one: events have to wait until the trial is over.
    """

    def __init__(
        self, workload: Workload, save: Callable[[str, bytes], None] = lambda trial_id, state: None
    ) -> None:
        self.workload = workload
        self.save = save

    def run(self, trials: Sequence[Trial], decide: Decide = go_on) -> Iterator[Event]:
        """One trial after the other; only `decide` is told of progress while a trial runs."""
        for trial in trials:
            yield Started(trial.id)
            try:
                record = run_trial(self.workload, trial, self._emit(trial, decide))
            except _DriverFault as fault:
                raise fault.error from None
            yield Finished(record)

    def _emit(self, trial: Trial, decide: Decide) -> Emit:
        def emit(step: int, metrics: Mapping[str, float], state: bytes | None = None) -> bool:
            try:
                if state is not None:
                    self.save(trial.id, state)
                reports = bool(metrics) or state is None
                return reports and trial.prunable and decide(Progress(trial.id, step, dict(metrics)))
            except Exception as error:
                raise _DriverFault(error) from error

        return emit

    def close(self) -> None:
        """Nothing runs between two events."""


class _DriverFault(BaseException):
    """An error of the driver on its way through a trial that runs in its process, and that has not failed."""

    def __init__(self, error: Exception) -> None:
        self.error = error


class _Worker:
    """The driver's end of one worker process."""

    def __init__(self, ahead: bool = False) -> None:
        ours, theirs = socket.socketpair()
        self.output = tempfile.TemporaryFile()  # noqa: SIM115 - closed when the worker ends
        command = [sys.executable, "-W", "always", "-m", "ablate.execution.worker", str(theirs.fileno())]
        with theirs:
            self.process = subprocess.Popen(
                [*command, "ahead"] if ahead else command,
                stdin=subprocess.DEVNULL,
                stdout=self.output,
                stderr=self.output,
                pass_fds=[theirs.fileno()],
                # What a trial prints is kept in its order, and not lost with a process that dies.
                env=os.environ | _ONE_THREAD | {"PYTHONUNBUFFERED": "1"},
            )
        self.connection = Connection(ours.detach())
        self.trial: Trial | None = None
        self.began: float | None = None

    def assign(self, reference: WorkloadRef, device: int | None) -> None:
        """Says what it will train; `device` is the only GPU that it will see."""
        # A worker that is gone already is noticed when it is given a trial.
        with suppress(OSError):
            self.connection.send((reference, device))

    def begin(self, trial: Trial) -> None:
        # The clock starts when the worker says so: a new one is still importing.
        self.trial, self.began = trial, None
        self.connection.send(trial)

    def overdue(self) -> bool:
        limit = self.trial.time_limit if self.trial else None
        return limit is not None and self.began is not None and time.monotonic() - self.began > limit

    def end(self) -> str:
        """Kills the process, if it still runs; what it printed last."""
        self.process.kill()
        self.process.wait()
        self.connection.close()
        with self.output:
            return read_output(self.output.fileno())

    def fate(self) -> str:
        """How the process ended, in words."""
        code = self.process.wait()
        if code >= 0:
            return f"the worker process ended with exit code {code}"
        try:
            return f"the worker process was killed by {signal.Signals(-code).name}"
        except ValueError:
            return f"the worker process was killed by signal {-code}"


class Standby:
    """Workers that import the package's parts before it is known what they will train.

    The driver's own imports and checks take as long, so that training begins as soon as these are done.
    """

    def __init__(self, jobs: int) -> None:
        self._workers = [_Worker(ahead=True) for _ in range(min(jobs, MOST_AHEAD))]

    def take(self) -> _Worker | None:
        """One of them, if any is left; it is now the caller's to end."""
        return self._workers.pop() if self._workers else None

    def close(self) -> None:
        """Ends those that were not taken."""
        while self._workers:
            self._workers.pop().end()


class LocalPool:
    """`--jobs N`: N processes; those on `standby` are taken first."""

    def __init__(
        self, reference: WorkloadRef, jobs: int, devices: int = 0, standby: Standby | None = None
    ) -> None:
        self.reference = reference
        self.devices = devices
        self._workers: list[_Worker] = []
        self._attempts: dict[str, int] = {}
        self._answers: dict[str, dict[Hashable, bool]] = {}
        for index in range(jobs):
            self._workers.append((standby and standby.take()) or _Worker())
            self._assign(index)

    def _assign(self, index: int) -> None:
        device = index % self.devices if self.devices else None
        self._workers[index].assign(self.reference, device)

    def run(self, trials: Sequence[Trial], decide: Decide = go_on) -> Iterator[Event]:
        """Hands out trials in order, as workers come free."""
        waiting = list(reversed(trials))
        while waiting or any(worker.trial for worker in self._workers):
            for worker in list(self._workers):
                if worker.trial is None and waiting:
                    yield from self._begin(worker, waiting.pop(), waiting)
            busy = {worker.connection: worker for worker in self._workers if worker.trial}
            for connection in wait(list(busy), timeout=0.2):
                yield from self._receive(busy[connection], waiting, decide)  # type: ignore[index]
            for worker in [worker for worker in self._workers if worker.overdue()]:
                yield from self._overdue(worker)

    def _begin(self, worker: _Worker, trial: Trial, waiting: list[Trial]) -> Iterator[Event]:
        self._attempts[trial.id] = self._attempts.get(trial.id, 0) + 1
        try:
            worker.begin(trial)
        except OSError:
            yield from self._lost(worker, waiting)

    def _receive(self, worker: _Worker, waiting: list[Trial], decide: Decide) -> Iterator[Event]:
        try:
            event: Event = worker.connection.recv()
        except (EOFError, OSError):
            yield from self._lost(worker, waiting)
            return
        if isinstance(event, Started):
            worker.began = time.monotonic()
        if isinstance(event, Saved) and worker.trial is not None and not self._stopped(event.trial_id):
            # Should the process be lost, the next one goes on from here: never behind the step of a stop.
            worker.trial = replace(worker.trial, state=event.state)
        if isinstance(event, Progress) and worker.trial is not None and worker.trial.prunable:
            self._answer(worker, event, decide)
        if isinstance(event, Finished):
            event.record.attempts = self._ended(event.record.id)
            worker.trial = None
        yield event

    def _answer(self, worker: _Worker, report: Progress, decide: Decide) -> None:
        """Says whether the trial goes on; to one that is begun once more, what was said the first time."""
        said = self._answers.setdefault(report.trial_id, {})
        key = (report.step, *report.metrics)
        if key not in said:
            said[key] = decide(report)
        # A worker that is gone by now is noticed when it is next listened to.
        with suppress(OSError):
            worker.connection.send(Answer(report.trial_id, said[key]))

    def _stopped(self, trial_id: str) -> bool:
        return any(self._answers.get(trial_id, {}).values())

    def _lost(self, worker: _Worker, waiting: list[Trial]) -> Iterator[Event]:
        """The process of a running trial is gone: the trial is begun once more, then it has failed."""
        trial = worker.trial
        assert trial is not None
        fate = worker.fate()
        output = self._replace(worker)
        attempts = self._attempts[trial.id]
        if attempts < ATTEMPTS:
            waiting.append(trial)
            return
        reason = f"{fate}, {attempts} times"
        yield Finished(failed(trial, reason, output or reason, output=output, attempts=self._ended(trial.id)))

    def _overdue(self, worker: _Worker) -> Iterator[Event]:
        trial = worker.trial
        assert trial is not None
        reason = f"time limit of {trial.time_limit:g} s exceeded"
        output = self._replace(worker)
        yield Finished(failed(trial, reason, output or reason, output=output, attempts=self._ended(trial.id)))

    def _ended(self, trial_id: str) -> int:
        """Forgets a trial; how often it was begun."""
        self._answers.pop(trial_id, None)
        return self._attempts.pop(trial_id)

    def _replace(self, worker: _Worker) -> str:
        """A new worker for a lost one; what the lost one printed."""
        output = worker.end()
        index = self._workers.index(worker)
        self._workers[index] = _Worker()
        self._assign(index)
        return output

    def close(self) -> None:
        """Ends all workers, whatever they do."""
        while self._workers:
            self._workers.pop().end()


def default_jobs() -> int:
    """As many as there are cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
