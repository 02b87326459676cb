"""A command: filled in, and run in a process group of its own, which never outlives the process that ran it."""

import math
import os
import re
import shlex
import signal
import string
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from ablate.base.errors import AblateError, Invalid, listed, nearest

# Ends the group whose number it is given as soon as its own input ends: when the process that holds it open is gone.
_GUARD = ("sh", "-c", 'read -r _; kill -KILL "-$0"')
_TICK = 0.05  # Seconds between two looks at what was printed.
_BRACES = "Write {{ and }} for braces of its own"


def filled(command: str | Sequence[str], values: Mapping[str, Any]) -> list[str]:
    """Returns the words of a command, split as a shell would, with each `{name}` replaced; no shell sees them.

    `{name:FORMAT}` formats a number; of a switch it is FORMAT where it is on, and nothing where it is off. A word that
    is a placeholder and nothing else becomes as many words as its value has: none for a switch that is off. A list is
    split already. Raises `Invalid`.
    """
    try:
        words = shlex.split(command) if isinstance(command, str) else command
        if not words:
            raise ValueError("it names no program")
        return [text for word in words for text in _texts(word, values)]
    except KeyError as error:
        (name,), known = error.args, listed(f"{{{key}}}" for key in values)
        hint = nearest(name, values) or _BRACES
        raise Invalid("", f"{{{name}}} has no value", command, known, hint) from None
    except (ValueError, TypeError) as error:
        raise Invalid("", f"cannot be filled in: {error}", command, hint=_BRACES) from None


def _texts(word: str, values: Mapping[str, Any]) -> list[str]:
    """Returns the words that one word becomes: one, or for a placeholder alone as many as its value has."""
    parts: list[tuple[str, list[str]]] = []
    for text, name, spec, conversion in string.Formatter().parse(word):
        if conversion:
            raise ValueError(f"!{conversion} says how Python shows {{{name}}}, which has a text of its own")
        if "{" in (spec or ""):
            raise ValueError(f"a placeholder stands inside of {{{name}}}")
        if name is not None and isinstance(values[name], dict):
            raise ValueError(f"{{{name}}} is a section; name one of its settings")
        parts.append((text, [] if name is None else _written(values[name], spec or "")))
    if len(parts) == 1 and not parts[0][0]:
        return parts[0][1]
    return ["".join(text + " ".join(written) for text, written in parts)]


def _written(value: Any, spec: str) -> list[str]:
    """Returns the words of a value: a text for each item of a list, for a switch its format or nothing."""
    if isinstance(value, bool) and spec:
        return [spec] * value
    return [format(each, spec) for each in (value if isinstance(value, list) else [value])]


def lines(
    words: Sequence[str], folder: Path, env: Mapping[str, str], limit: float | None = None
) -> Generator[str]:
    """Yields the lines that a command prints in `folder`, as it prints them; to be closed by `contextlib.closing`.

    When closed, or when this process is gone, all processes that the command has started are ended. `env` is laid over
    the environment of this process, and `python` is the one that runs this process. Raises `AblateError` for a program
    that cannot be started, after `limit` seconds, and for an exit code other than 0.
    """
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    # Unbuffered, what it has printed is known when it is ended.
    env = os.environ | {"PATH": path, "PYTHONUNBUFFERED": "1"} | dict(env)
    with tempfile.NamedTemporaryFile() as output, open(output.name, "rb") as printed:
        try:
            process = subprocess.Popen(
                [*words],
                cwd=folder,
                env=env,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        except OSError as error:
            raise AblateError(f"{words[0]}: cannot be started in {folder}: {error.strerror}") from None
        guard = [*_GUARD, str(process.pid)]
        with subprocess.Popen(guard, stdin=subprocess.PIPE, start_new_session=True) as guarding:
            try:
                began, begun, code = time.monotonic(), b"", None
                while code is None:
                    code = process.poll()
                    *found, begun = re.split(rb"[\r\n]", begun + printed.read())
                    yield from (line.decode(errors="replace") for line in found)
                    if code is None and time.monotonic() - began > (limit or math.inf):
                        raise AblateError(f"time limit of {limit:g} s exceeded")
                    time.sleep(_TICK)
                yield begun.decode(errors="replace")
                if code:
                    raise AblateError(str(subprocess.CalledProcessError(code, words[0])).removesuffix("."))
            finally:
                with suppress(ProcessLookupError, PermissionError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
                guarding.kill()
