"""The command line in processes that can be timed, limited and killed.

A cold process starts as a user's does. A warm one is forked from a server that has imported everything: the same code
from the command line inward, 2 to 6 seconds sooner, which is what makes a thousand cases possible.
"""

import multiprocessing
import multiprocessing.connection
import os
import pkgutil
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

SLOWEST_REFUSAL = 10.0
"""Seconds."""
ROOT = Path(__file__).parents[2]
ENVIRONMENT = {
    "PYTHONPATH": os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH", "")])),
    "COLUMNS": "1000",
    "MPLBACKEND": "agg",
    "OMP_NUM_THREADS": "1",
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "ABLATE_TRACKING": "on",
}
"""Of every process. The package is the one beside these tests, whichever is installed; lines are wide, because a path
that is broken in two could not be found in a message."""
MEMORY = 6 << 30
"""Bytes of data that a process may hold: one that builds what it should refuse runs out of them, not the machine."""
LIBRARIES = (
    *("mlflow.tracking", "mlflow.store.tracking.sqlalchemy_store", "alembic.command", "alembic.config"),
    *("torch", "torch._dynamo", "pandas", "pyarrow.parquet", "pyarrow.dataset", "matplotlib.pyplot"),
    *("optuna", "statsmodels.api", "sklearn.ensemble", "rich.console", "ruamel.yaml"),
)
_CONTEXT = multiprocessing.get_context("forkserver")
_LOCK = threading.Lock()
"""Processes are started and reaped by one thread at a time: the module looks after them together."""


def warm_up() -> None:
    """Starts the server, which imports everything."""
    import ablate

    os.environ.update(ENVIRONMENT)
    modules = [m.name for m in pkgutil.walk_packages(ablate.__path__, "ablate.") if "__main__" not in m.name]
    _CONTEXT.set_forkserver_preload([*modules, *LIBRARIES])
    first = _CONTEXT.Process(target=int)
    first.start()
    first.join()


@dataclass(frozen=True)
class Done:
    """How a command ended."""

    arguments: Sequence[str]
    code: int | None
    "Exit code, −n where signal n ended it; None: it did not end, and was killed."
    output: str
    "Standard output and error together."
    seconds: float

    @property
    def refused(self) -> bool:
        """Whether it did not do what it was asked for."""
        return self.code == 2 or (self.code == 1 and "cannot be" in self.output)

    def __contains__(self, text: str) -> bool:
        return text in self.output


class Started:
    """`ablate` in a session of its own, with its output in a file."""

    def __init__(
        self,
        arguments: Sequence[str],
        cwd: Path,
        *,
        cold: bool = False,
        environment: Mapping[str, str] = {},
        before: Callable[[], None] | None = None,
        inside: Sequence[str] = (),
        output: Path | None = None,
    ) -> None:
        """`before` runs in the child; `inside` is a command that runs the command; both need a cold process."""
        self.arguments = arguments
        handle, name = tempfile.mkstemp(prefix="said-", dir=cwd.parent)
        os.close(handle)
        self.output = Path(name)
        self.began = time.monotonic()
        self._warm = self._cold = None
        if cold or before or inside or output:
            with (output or self.output).open("wb") as file:
                self._cold = subprocess.Popen(
                    [*inside, sys.executable, "-m", "ablate", *arguments],
                    cwd=cwd,
                    stdin=subprocess.DEVNULL,
                    stdout=file,
                    stderr=file if output is None else self.output.open("wb"),
                    env=os.environ | ENVIRONMENT | environment,
                    start_new_session=True,
                    preexec_fn=before,
                )
            self.pid = self._cold.pid
        else:
            process = _CONTEXT.Process(
                target=_call, args=(list(arguments), cwd, name, dict(environment)), daemon=True
            )
            with _LOCK:
                process.start()
            self._warm = process
            self.pid = process.pid or 0

    def wait(self, limit: float = 60) -> Done:
        """Waits for its end, at most `limit` seconds; then kills it."""
        code: int | None = None
        if self._ends(limit):
            code = self._code()
        else:
            self.kill()
        seconds = time.monotonic() - self.began
        # What it has started ends soon after it; nothing of it may go on in the folder.
        with suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        text = self.output.read_bytes().decode(errors="replace")
        self.output.unlink()
        return Done(self.arguments, code, text, seconds)

    def _ends(self, limit: float) -> bool:
        if self._cold:
            try:
                self._cold.wait(limit)
            except subprocess.TimeoutExpired:
                return False
            return True
        assert self._warm
        return bool(multiprocessing.connection.wait([self._warm.sentinel], limit))

    def _code(self) -> int | None:
        if self._cold:
            return self._cold.wait()
        assert self._warm
        with _LOCK:
            self._warm.join()
            return self._warm.exitcode

    def running(self) -> bool:
        """Whether it has not ended yet."""
        return not self._ends(0)

    def kill(self, whole: bool = True) -> None:
        """`kill -9`: of its whole process group, or of the driver alone."""
        self.send(signal.SIGKILL, whole)
        self._ends(60)

    def send(self, number: signal.Signals, whole: bool = True) -> None:
        """Sends a signal to its whole process group, or to the driver alone."""
        with suppress(ProcessLookupError):
            (os.killpg if whole else os.kill)(self.pid, number)

    def workers(self) -> list[int]:
        """The processes that it has started and that still run."""
        try:
            return [
                int(pid) for pid in Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text().split()
            ]
        except OSError:
            return []


def _call(arguments: list[str], cwd: Path, output: str, environment: dict[str, str]) -> None:
    """In the forked process: what `python -m ablate ARGUMENTS` does once Python has started."""
    os.setsid()
    os.chdir(cwd)
    os.environ.update(environment)
    to = os.open(output, os.O_WRONLY | os.O_APPEND)
    null = os.open(os.devnull, os.O_RDONLY)
    for source, target in ((null, 0), (to, 1), (to, 2)):
        os.dup2(source, target)
    sys.stdin = open(0, closefd=False)  # noqa: SIM115 - the server has closed its own
    signal.signal(signal.SIGINT, signal.default_int_handler)
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    if encoding := environment.get("PYTHONIOENCODING"):
        sys.stdout.reconfigure(encoding=encoding)  # type: ignore[union-attr]
        sys.stderr.reconfigure(encoding=encoding, errors="backslashreplace")  # type: ignore[union-attr]
    sys.argv = ["ablate", *arguments]
    from ablate.cli import main

    main(arguments, prog_name="ablate")
