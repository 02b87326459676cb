"""A process of our own, never forked from that of the user: no script runs twice, and no state is shared."""

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Protocol

from ablate.base.process import THREADS

# Bytes of a process's output that are kept, from its end.
MAX_OUTPUT = 64 * 1024

# Modules come from where the driver has its own, and never from the folder in which it was started.
_START = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[2]); "
    "from ablate.base.process import rarely_collect; rarely_collect(); from {} import main; main()"
)


class Process(Protocol):
    """A process that can be killed and awaited, such as a `Popen`."""

    pid: int

    def kill(self) -> None:
        """Kills the process, unless it has ended."""

    def wait(self) -> int:
        """Waits for the end of the process, and returns its exit code; −n where signal n ended it."""


class Forked(ABC):
    """A forked process, which can be killed and awaited; see `Process`."""

    def __init__(self, pid: int) -> None:
        """`pid` is 0 where it has not begun."""
        self.pid = pid
        self._code: int | None = None

    def kill(self) -> None:
        """Kills the process, unless it is known to have ended."""
        if self.pid and self._code is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)

    def wait(self) -> int:
        """Waits for the end of the process, and returns its exit code; −n where signal n ended it."""
        if self._code is None:
            self._code = self.exit_code()
        return self._code

    @abstractmethod
    def exit_code(self) -> int:
        """Waits for the end of the process, once, and returns its exit code."""


# Starts a process, given the descriptors of its end of the pipe and of the file that takes its output.
Start = Callable[[int, int], Process]


class Child:
    """The driver's end of a process; its own end of the pipe it takes from `parent`."""

    def __init__(self, start: Start) -> None:
        """`start` makes the process."""
        ours, theirs = socket.socketpair()
        self.output = tempfile.TemporaryFile()  # noqa: SIM115 - closed when the process ends
        with ours, theirs:
            self.process = start(theirs.fileno(), self.output.fileno())
            self.connection = Connection(ours.detach())

    def send(self, message: object) -> None:
        """Sends a message; if the process is gone, whoever receives from it notices that later."""
        with suppress(OSError):
            self.connection.send(message)

    def end(self) -> str:
        """Kills the process if it still runs, and returns the end of its output; nothing the second time."""
        self.process.kill()
        self.process.wait()
        self.connection.close()
        if self.output.closed:
            return ""
        with self.output:
            return read_output(self.output.fileno())

    def fate(self) -> str:
        """Waits for the end of the process, and returns in words how it ended."""
        code = self.process.wait()
        if code >= 0:
            return f"ended with exit code {code}"
        names = {number.value: number.name for number in signal.Signals}
        name = names.get(-code, f"signal {-code}")
        return f"was killed by {name}"


class Keeper:
    """Keeps one process, which is started when it is needed, and again where it has ended."""

    _child: Child | None = None

    def started(self, start: Start) -> Child:
        """Returns the process, which is started unless it runs."""
        # It says nothing unasked: what can be read is the end.
        if self._child is None or self._child.connection.poll():
            self.close()
            self._child = Child(start)
        return self._child

    def close(self) -> None:
        """Ends the process, whatever it does."""
        if self._child is not None:
            self._child.end()
            self._child = None


def fresh(
    module: str, pipe: int, output: int, threads: int = 1, arguments: Sequence[str] = ()
) -> subprocess.Popen[bytes]:
    """Starts a process that runs `main` of a module; a `Start`, once the module is given."""
    path = json.dumps([os.path.abspath(entry) for entry in sys.path])
    python = (sys.executable, "-W", "always", "-P", "-c", _START.format(module))
    return subprocess.Popen(
        [*python, str(pipe), path, *arguments],
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=output,
        pass_fds=[pipe],
        # Unbuffered: output is kept in its order, and not lost with a process that dies.
        env=os.environ | dict.fromkeys(THREADS, str(threads)) | {"PYTHONUNBUFFERED": "1"},
    )


def parent() -> Connection:
    """Returns the pipe to the driver, in a fresh process and once; Ctrl-C is left to the driver from then on."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    return Connection(int(sys.argv[1]))


def read_output(descriptor: int) -> str:
    """Returns the end of a process's output file."""
    size = os.fstat(descriptor).st_size
    start = max(0, size - MAX_OUTPUT)
    text = os.pread(descriptor, MAX_OUTPUT, start).decode(errors="replace")
    return f"[{start} bytes left out]\n{text}" if start else text
