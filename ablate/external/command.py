"""A command: filled in, and run under a guard, so that nothing that it starts outlives the process that ran it."""

from __future__ import annotations

import os
import re
import shlex
import signal
import string
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from select import select
from typing import IO, Any

from ablate.base.errors import AblateError, Invalid, listed, nearest
from ablate.base.git import without_repository
from ablate.base.wording import size
from ablate.external import guard
from ablate.external.dialect import Dialect, words_of

MAX_LINE = 16_000_000
"""Bytes of a line of output."""
_CHUNK = 2**18
"""Bytes of output that are read at once."""
_TICK = 0.05
"""Seconds between two looks at what was printed."""
_PATIENCE = 10.0
"""Seconds after which a guard that does not end is killed."""
_BRACES = "Write {{ and }} for literal braces"


def filled(
    command: str | Sequence[str], values: Mapping[str, Any], dialect: Dialect | None = None
) -> list[str]:
    """Returns the words of a command, split as a shell would, with each `{name}` replaced by its value.

    No shell sees the words. `{name:FORMAT}` formats a number; for a switch that is on it becomes FORMAT, for one that
    is off nothing; `{name:ON|OFF}` becomes one of these. A word that is a placeholder and nothing else becomes as many
    words as its value has: none for a switch that is off. A command that is a list is split already. dialect: how null,
    lists and switches without a format are written. Raises `Invalid`, and `Unwritten` for a value that needs a dialect.
    """
    try:
        words = split(command)
        if not words:
            raise ValueError("it names no program")
        texts: list[str] = []
        for word in words:
            texts += _texts(word, values, dialect)
        if b"\0" in os.fsencode("".join(texts)):
            raise ValueError("a word of a command cannot hold a NUL")
        return texts
    except KeyError as error:
        (name,) = error.args
        allowed = listed(f"{{{key}}}" for key in values)
        hint = nearest(name, values) or _BRACES
        raise Invalid("", f"{{{name}}} has no value", command, allowed, hint) from None
    except (ValueError, TypeError) as error:
        raise Invalid("", f"cannot be filled in: {error}", command, hint=_BRACES) from None


def split(command: str | Sequence[str]) -> Sequence[str]:
    """Returns the words of a command with their placeholders. Raises `ValueError` where it cannot be split."""
    return shlex.split(command) if isinstance(command, str) else command


def placeholders(command: str | Sequence[str]) -> set[str]:
    """Returns the names of the placeholders of a command. Raises `ValueError` where it cannot be split."""
    names: set[str] = set()
    for word in split(command):
        names |= {name for _, name, _, _ in string.Formatter().parse(word) if name is not None}
    return names


def _texts(word: str, values: Mapping[str, Any], dialect: Dialect | None) -> list[str]:
    """Returns the words that one word becomes: one, or for a placeholder alone as many as its value has."""
    fields = list(string.Formatter().parse(word))
    is_alone = len(fields) == 1 and not fields[0][0]
    parts: list[tuple[str, list[str]]] = []
    for text, name, spec, conversion in fields:
        if conversion:
            raise ValueError(f"!{conversion} cannot change the text of {{{name}}}")
        if "{" in (spec or ""):
            raise ValueError(f"a placeholder stands inside {{{name}}}")
        if name is not None and isinstance(values[name], dict):
            raise ValueError(f"{{{name}}} is a section; name one of its settings")
        written = [] if name is None else words_of(name, values[name], spec or "", dialect, is_alone=is_alone)
        parts.append((text, written))
    if is_alone:
        return parts[0][1]
    return ["".join(text + " ".join(written) for text, written in parts)]


class TimeLimit:
    """The seconds that a run may take, including its reading; None for any number."""

    def __init__(self, seconds: float | None = None) -> None:
        self.seconds = seconds
        self._began = time.monotonic()

    def check(self) -> None:
        """Raises `AblateError` once the seconds are over."""
        if self.seconds is not None and time.monotonic() - self._began > self.seconds:
            raise AblateError(f"time limit of {self.seconds:g} s exceeded")


def lines(
    words: Sequence[str], folder: Path, env: Mapping[str, str], limit: TimeLimit | None = None
) -> Generator[str]:
    """Yields the lines that a command prints in `folder`, as it prints them; to be closed by `contextlib.closing`.

    When closed, or when this process is gone, the processes that the command has started are ended, as `guard` says.
    `env` is laid over the environment of this process, and git finds the repository of the folder, also where a hook of
    git has started this process. Raises `AblateError` for a program that cannot be started, past the `limit`, for a
    line that is too long, and for an exit code other than 0.
    """
    limit = limit or TimeLimit()
    # Appended to, it stays whole where the command opens it anew.
    with tempfile.NamedTemporaryFile("ab", delete=False) as output, open(output.name, "rb") as printed:
        os.unlink(output.name)  # A kill must not leave it.
        with _guarded(words, folder, env, output) as command:
            for line in _split(_chunks(command, printed, limit)):
                limit.check()
                yield line.decode(errors="replace")
            code = command.code
        if code:
            raise AblateError(f"{words[0]} {_ended(code)}")


def _ended(code: int) -> str:
    """Returns how a program ended, in words: by its exit code or by a signal."""
    if code > 0:
        return f"ended with exit code {code}"
    try:
        return f"was killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"was killed by signal {-code}"


def _chunks(command: _Command, printed: IO[bytes], limit: TimeLimit) -> Iterator[bytes]:
    """Yields what a command prints, in pieces of a bounded size, until it has ended."""
    while True:
        has_ended = command.code is not None
        chunk = printed.read(_CHUNK)
        limit.check()
        if chunk:
            yield chunk
        elif has_ended:
            return
        else:
            command.wait(_TICK)


def _split(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Yields the lines of pieces of output. Raises `AblateError` for one that is too long."""
    begun = bytearray()
    for chunk in chunks:
        first, *others = re.split(rb"[\r\n]", chunk)
        begun += first
        if len(begun) > MAX_LINE:
            raise AblateError(
                f"it printed a line of more than {size(MAX_LINE)}; end lines, or write to a file"
            )
        for line in others:
            yield bytes(begun)
            begun = bytearray(line)
    yield bytes(begun)


class _Command:
    """A command under its guard."""

    def __init__(self, reports: IO[bytes], fault: str) -> None:
        """`reports`: the messages of the guard; `fault`: the error message of a command that cannot be started."""
        self.code: int | None = None
        self._reports = reports
        self._fault = fault
        self._process = 0
        self._begun = b""  # A report of which the end is still to come.

    def wait(self, seconds: float) -> None:
        """Waits until the guard reports something, or seconds have passed.

        Raises `AblateError` where the command could not be started, or the guard is gone.
        """
        if not select([self._reports], [], [], seconds)[0]:
            return
        content = os.read(self._reports.fileno(), 2**10)
        if not content:
            raise AblateError("the process that guards it was killed")
        *reports, self._begun = (self._begun + content).split(b"\n")
        for report in reports:
            event, number = report.split()
            match event:
                case b"failed":
                    raise AblateError(f"{self._fault}: {os.strerror(int(number))}")
                case b"started":
                    self._process = int(number)
                case b"ended":
                    self.code = int(number)

    def kill(self) -> None:
        """Kills the process group of a command that has not ended; its guard, which would do so, was killed."""
        with suppress(ProcessLookupError, PermissionError):
            if self._process and self.code is None:
                os.killpg(self._process, signal.SIGKILL)


@contextmanager
def _guarded(
    words: Sequence[str], folder: Path, env: Mapping[str, str], output: IO[bytes]
) -> Iterator[_Command]:
    """Starts a command, yields it, and ends all that it has started. Raises `AblateError` where it does not start."""
    # Unbuffered, what it has printed is known when it is ended.
    env = without_repository(os.environ) | {"PYTHONUNBUFFERED": "1"} | dict(env)
    given = b"".join(os.fsencode(word) + b"\0" for word in words)
    fault = f"{words[0]}: cannot be started in {folder}"
    try:
        process = subprocess.Popen(
            [sys.executable, "-I", "-S", guard.__file__, str(output.fileno())],
            cwd=folder,
            env=env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            pass_fds=[output.fileno()],
            start_new_session=True,
        )
    except OSError as error:
        raise AblateError(f"{fault}: {error.strerror}") from None
    assert process.stdin is not None
    assert process.stdout is not None
    command = _Command(process.stdout, fault)
    try:
        with suppress(BrokenPipeError):  # Then the guard is gone, as its reports show.
            process.stdin.write(b"%d\0" % len(words) + given)
            process.stdin.flush()
        yield command
    finally:
        with suppress(BrokenPipeError):
            process.stdin.close()
        try:
            process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        if process.returncode:  # Else the guard has ended all, and the number may be that of another process.
            command.kill()
        process.stdout.close()
