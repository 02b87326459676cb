"""A process of our own, started afresh and not forked: no script of a user runs twice, and no state is shared."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
from contextlib import suppress
from multiprocessing.connection import Connection

MAX_OUTPUT = 64 * 1024
"""Bytes of a process's output that are kept, from its end."""

# Modules come from where the driver has its own, and never from the folder in which it was started.
_START = "import json, sys; sys.path[:] = json.loads(sys.argv[2]); from {} import main; main()"
_THREADS = [f"{library}_NUM_THREADS" for library in ("OMP", "MKL", "OPENBLAS", "NUMEXPR", "VECLIB")]


class Child:
    """The driver's end of a process that runs `main` of a module, which takes its pipe from `parent`."""

    def __init__(self, module: str, threads: int = 1, *arguments: str) -> None:
        ours, theirs = socket.socketpair()
        self.output = tempfile.TemporaryFile()  # noqa: SIM115 - closed when the process ends
        path = json.dumps([os.path.abspath(entry) for entry in sys.path])
        python = (sys.executable, "-W", "always", "-P", "-c", _START.format(module))
        with theirs:
            self.process = subprocess.Popen(
                [*python, str(theirs.fileno()), path, *arguments],
                stdin=subprocess.DEVNULL,
                stdout=self.output,
                stderr=self.output,
                pass_fds=[theirs.fileno()],
                # Unbuffered: output is kept in its order, and not lost with a process that dies.
                env=os.environ | dict.fromkeys(_THREADS, str(threads)) | {"PYTHONUNBUFFERED": "1"},
            )
        self.connection = Connection(ours.detach())

    def send(self, message: object) -> None:
        """Sends a message; who receives notices later if the process is gone."""
        with suppress(OSError):
            self.connection.send(message)

    def end(self) -> str:
        """Kills the process if it still runs, and returns what it printed last."""
        self.process.kill()
        self.process.wait()
        self.connection.close()
        with self.output:
            return read_output(self.output.fileno())

    def fate(self) -> str:
        """How the process ended, in words."""
        code = self.process.wait()
        if code >= 0:
            return f"ended with exit code {code}"
        names = {number.value: number.name for number in signal.Signals}
        return f"was killed by {names.get(-code, f'signal {-code}')}"


def parent() -> Connection:
    """In such a process, once: the pipe to its driver, which also decides what Ctrl-C does to the whole group."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    return Connection(int(sys.argv[1]))


def read_output(descriptor: int) -> str:
    """Returns the end of a process's output file."""
    size = os.fstat(descriptor).st_size
    text = os.pread(descriptor, MAX_OUTPUT, max(0, size - MAX_OUTPUT)).decode(errors="replace")
    return text if size <= MAX_OUTPUT else f"[{size - MAX_OUTPUT} bytes left out]\n{text}"
