"""Runs a function in a copy of this process first, to see whether it ends the process or never returns."""

from __future__ import annotations

import faulthandler
import os
import re
import select
import signal
import sys
import time
import traceback
import warnings
from collections.abc import Callable
from contextlib import suppress
from typing import NoReturn

_DONE = b"\0done"
_MARGIN = 2.0
"""Seconds that a copy has to say where it is after its time is over, before it is killed."""


def fate(run: Callable[[], object], seconds: float, file: str) -> tuple[str, int | None] | None:
    """How a copy of this process ends that calls `run`, and the line of `file` at which; None where `run` returns.

    An `Exception` or `SystemExit` counts as a return: the caller can catch it itself. Only on Linux, where a process
    with libraries loaded can be copied; elsewhere the answer is None.
    """
    if sys.platform != "linux":
        return None
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        # The copy calls nothing but `run`, whatever threads of others there are.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if not child:
        _in_copy(run, writing, seconds, file)
    os.close(writing)
    said, status = b"", 0
    try:
        deadline = time.monotonic() + seconds + _MARGIN
        while _DONE not in said and (left := deadline - time.monotonic()) > 0:
            if select.select([reading], [], [], left)[0]:
                if not (found := os.read(reading, 65536)):
                    break
                said += found
        overdue = time.monotonic() >= deadline - _MARGIN
    finally:
        os.close(reading)
        for kill in (os.killpg, os.kill):
            with suppress(ProcessLookupError):
                kill(child, signal.SIGKILL)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    text, done, _ = said.decode(errors="replace").partition(_DONE.decode())
    if done:
        line, _, raised = text.partition(" ")
        return (raised, int(line) or None) if text else None
    lines = re.findall(rf'File "{re.escape(file)}", line (\d+)', text)
    how = f"by {signal.Signals(-status).name}" if status < 0 else f"with exit code {status}"
    what = f"it does not end within {seconds:g} s" if overdue else f"it ends the process {how}"
    return what, int(lines[0]) if lines else None


def described(error: BaseException, *files: str) -> tuple[str, str | None, int | None]:
    """What an error says in a line, and where, the last line of `files` that led to it; None where none did."""
    said, frames = str(error), traceback.extract_tb(error.__traceback__)
    places = [(frame.filename, frame.lineno) for frame in frames if frame.filename in files]
    if isinstance(error, SyntaxError) and error.filename in files:
        said, places = error.msg, [(error.filename, error.lineno)]
    first = (said.strip().splitlines() or [""])[0][:300]
    return f"{type(error).__name__}: {first}".removesuffix(": "), *(places[-1] if places else (None, None))


def _in_copy(run: Callable[[], object], writing: int, seconds: float, file: str) -> NoReturn:
    leave, write, said = os._exit, os.write, ""
    try:
        os.setsid()
        nowhere = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1, 2):
            os.dup2(nowhere, descriptor)
        # These may be other files, in a notebook.
        sys.stdout = sys.stderr = open(nowhere, "w", closefd=False)  # noqa: SIM115
        faulthandler.enable(writing)
        # Its thread needs nothing of the interpreter, which may be inside a library that never returns.
        faulthandler.dump_traceback_later(seconds, exit=True, file=writing)
        try:
            run()
        except (Exception, SystemExit):
            pass
        except BaseException as error:
            raised, _, line = described(error, file)
            said = f"{line or 0} {raised}"
        write(writing, said.encode(errors="replace")[:4096] + _DONE)
    finally:
        leave(0)
