"""The driver's end of the process from which workers are forked, which is started before anything heavy is imported."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from functools import partial
from multiprocessing.reduction import send_handle
from typing import TYPE_CHECKING

from ablate.execution.child import Child, fresh

if TYPE_CHECKING:
    from ablate.core.trial import Trial
    from ablate.execution.trial import WorkloadRef

# The built-in workload; as the argument of the process: imports its parts, and torch with them, at once.
BUILTIN = "sequence"


class Server:
    """Starts workers. Its process is started when one is asked for, unless it was before."""

    def __init__(self) -> None:
        self._child: Child | None = None

    def prepare(self, threads: int = 1, *arguments: str) -> Child:
        """Its process, which is started unless it runs."""
        # It says nothing unasked: what can be read is the end.
        if self._child is None or self._child.connection.poll():
            self.close()
            start = partial(fresh, "ablate.execution.forking", threads=threads, arguments=arguments)
            self._child = Child(start)
        return self._child

    def fork(self, reference: WorkloadRef, trial: Trial, pipe: int, output: int) -> _Forked:
        """Starts a worker that will train such trials."""
        server = self.prepare(reference.threads)
        return _Forked(server, _ask(server, (reference, trial.config, trial.files), pipe, output))

    def close(self) -> None:
        """Ends the process; its workers go on."""
        if self._child is not None:
            self._child.end()
            self._child = None


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
        answer: int = server.connection.recv()
        return answer
    except (EOFError, OSError):
        return None
