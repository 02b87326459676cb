"""A command: split, filled in, and run in a process group of its own, which never outlives the process that ran it."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import string
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ablate.base.errors import AblateError, Invalid, listed, nearest
from ablate.base.process import THREADS, ending, read_output

# Ends the group whose number it is given as soon as its own input ends: when the process that holds it open is gone.
_GUARD = ("sh", "-c", 'read -r _; kill -KILL "-$0"')
_TICK = 0.05  # Seconds between two looks at what was printed.
_BLOCK = 1 << 20  # Bytes that are looked at together; a longer line is taken for several.


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    code: (
        int | None
    )  # Its exit code, or minus the number of the signal that ended it; None where we ended it.
    seconds: float
    output: str  # What it printed, of more than `base.process.MAX_OUTPUT` bytes their end.
    stopped: str = ""  # Why we ended it: `time limit of 5 s exceeded`, or `stopped`.

    @property
    def fault(self) -> str:
        """Why it does not count, in words; empty where it ended with exit code 0."""
        return self.stopped or ("" if self.code == 0 else f"the command {ending(self.code or 0)}")


def split(command: str | Sequence[str]) -> list[str]:
    """The words of a command, as a shell would split it; a list is split already. Raises `Invalid`."""
    try:
        words = shlex.split(command) if isinstance(command, str) else [*command]
    except ValueError as error:
        raise Invalid("", f"cannot be split into words: {error}", command, hint="Give it as a list") from None
    if not words or not words[0]:
        raise Invalid("", "names no program", command)
    return words


def placeholders(words: Sequence[str]) -> list[str]:
    """The names in single braces, in order. Raises `Invalid` for braces that hold none."""
    try:
        parsed = [part for word in words for part in string.Formatter().parse(word)]
    except ValueError as error:
        raise Invalid("", f"has a brace of its own: {error}", shlex.join(words), hint=_BRACES) from None
    return list(dict.fromkeys(name for _, name, _, _ in parsed if name is not None))


def filled(words: Sequence[str], values: Mapping[str, Any]) -> list[str]:
    """The words with each `{name}` replaced by its value; a value is never split, and no shell sees it.

    `{name:FORMAT}` formats a number; of a switch it is FORMAT where it is on, and nothing where it is off. A word that
    is a placeholder and nothing else becomes as many words as its value has: none for a switch that is off.
    Raises `Invalid` for a name without a value.
    """
    for name in placeholders(words):
        if name not in values:
            known = listed([f"{{{key}}}" for key in values])
            hint = nearest(name, values) or _BRACES
            raise Invalid("", f"{{{name}}} has no value", shlex.join(words), known, hint)
    return [text for word in words for text in _texts(word, values)]


def _texts(word: str, values: Mapping[str, Any]) -> list[str]:
    parts = [*string.Formatter().parse(word)]
    texts = [_written(values[name], spec or "") for _, name, spec, _ in parts if name is not None]
    if len(parts) == 1 and not parts[0][0] and texts:
        return texts[0]
    fill = iter(texts)
    return ["".join(text + (" ".join(next(fill)) if name is not None else "") for text, name, _, _ in parts)]


def _written(value: Any, spec: str) -> list[str]:
    """The words that a value is on a command line."""
    if isinstance(value, list):
        return [word for item in value for word in _written(item, spec)]
    if isinstance(value, bool) and spec:
        return [spec] if value else []
    try:
        return [format(value, spec) if spec else str(value)]
    except (ValueError, TypeError) as error:
        raise Invalid("", f"cannot be written as {{…:{spec}}}: {error}", value) from None


def variables(place: Path, config: Mapping[str, Any], seed: int, threads: int = 1) -> dict[str, str]:
    """What a command finds in its environment; `place` is the folder that it may write to."""
    own = {"ABLATE_DIR": str(place), "ABLATE_CONFIG": json.dumps(config), "ABLATE_SEED": str(seed)}
    # Unbuffered: what it has printed is known when it is ended.
    return own | dict.fromkeys(THREADS, str(threads)) | {"PYTHONUNBUFFERED": "1"}


def run(
    words: Sequence[str],
    folder: Path,
    env: Mapping[str, str],
    hear: Callable[[str], bool] = lambda line: False,
    limit: float | None = None,
) -> Ended:
    """Runs a command in `folder`, with `env` beside the environment of this process, until all of it has ended.

    `hear` gets each line as it is printed; True ends the command. `limit`: seconds after which it is ended. What it
    leaves behind is ended with it, and so is all of it when this process is interrupted or killed. Raises
    `AblateError` for a program that cannot be started.
    """
    began, stopped = time.monotonic(), ""
    with tempfile.TemporaryFile() as output:
        with _group(words, folder, env, output.fileno()) as process:
            for lines in _printed(process, output.fileno()):
                if any(hear(line) for line in lines):
                    stopped = "stopped"
                elif limit is not None and time.monotonic() - began > limit:
                    stopped = f"time limit of {limit:g} s exceeded"
                if stopped:
                    break
        code = None if stopped else process.returncode
        return Ended(code, time.monotonic() - began, read_output(output.fileno()), stopped)


@contextmanager
def _group(
    words: Sequence[str], folder: Path, env: Mapping[str, str], output: int
) -> Iterator[subprocess.Popen[bytes]]:
    """The first process of a group; at the end of the block, or of this process, all of the group is ended."""
    try:
        process = subprocess.Popen(
            [*words],
            cwd=folder,
            env=os.environ | dict(env),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    except OSError as error:
        raise AblateError(f"{words[0]}: cannot be started in {folder}: {error.strerror}") from None
    with subprocess.Popen(
        [*_GUARD, str(process.pid)], stdin=subprocess.PIPE, start_new_session=True
    ) as guard:
        try:
            yield process
        finally:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            guard.kill()


def _printed(process: subprocess.Popen[bytes], output: int) -> Iterator[list[str]]:
    """The lines as they are printed, several times a second, until the process ends."""
    begun, place, ended = b"", 0, False
    while not ended:
        ended = process.poll() is not None
        # By its place: the process shares the position in the file.
        while block := os.pread(output, _BLOCK, place):
            place += len(block)
            *lines, begun = re.split(rb"[\r\n]+", begun + block)
            if len(begun) > _BLOCK:
                lines, begun = [*lines, begun], b""
            yield [line.decode(errors="replace") for line in lines]
        yield []
        with suppress(subprocess.TimeoutExpired):
            process.wait(_TICK)
    yield [begun.decode(errors="replace")]


_BRACES = "Write {{ and }} for braces of its own"
