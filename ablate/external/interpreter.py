"""The Python that runs a user's code: the one that the user's shell would find, and what is installed for it."""

from __future__ import annotations

import functools
import importlib.metadata
import json
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from glob import escape, glob
from pathlib import Path, PurePath

from ablate.base.errors import Invalid, listed

_PYTHON = re.compile(r"(?:python|pypy)\d*(?:\.\d+)?")
"""The name of an interpreter."""
_IN_TEXT = re.compile(r"(?<![\w./$-])((?:[\w.~-]*/)*(?:python|pypy)\d*(?:\.\d+)?)(?=\s)")
"""An interpreter that a line of a shell calls."""
_SHELLS = re.compile(r"(?:ba|da|k|z)?sh|env|nice|time|timeout|stdbuf|xargs|make")
"""Programs that run what their words, or a file of these, name."""
_ON_LINE = re.compile(rb"(?:#!|'''exec' )\s*(\S+)(?:\s+(\S+))?")
"""The line of a program that names its interpreter: the first, or behind one with `sh` the second."""
_LEAST = (3, 11)
"""The version from which Python has `-P`, so that files of ours hide no module of the user's."""
_PATIENCE = 60.0
"""Seconds within which an interpreter tells its version."""
_ASKED = """
import json, platform, sys
try:
    from importlib import metadata
except ImportError:
    metadata = None
packages = {}
for each in metadata.distributions() if metadata else ():
    name = each.metadata["Name"]
    tops = (each.read_text("top_level.txt") or "").split()
    files = [] if tops else {str(file).split("/")[0] for file in each.files or ()}
    tops += [file[:-3] if file.endswith(".py") else file for file in files if file.endswith(".py") or "." not in file]
    for top in tops:
        packages.setdefault(top, {})[name] = each.version
print(json.dumps([platform.python_implementation(), list(sys.version_info[:3]), packages]))
"""


@dataclass(frozen=True)
class Interpreter:
    """A Python, and the packages that it finds."""

    place: str
    """Its path as the shell finds it: that of an environment is a link, which is not followed."""
    implementation: str
    version: tuple[int, int, int]
    packages: Mapping[str, Mapping[str, str]]
    """Outermost module → package that has it → version."""

    @property
    def name(self) -> str:
        """Its implementation and version: `CPython 3.11.7`."""
        return f"{self.implementation} {'.'.join(map(str, self.version))}"

    def versions(self, modules: Iterable[str]) -> dict[str, str]:
        """Returns package → version of the installed packages that have these outermost modules."""
        found: dict[str, str] = {}
        for module in modules:
            found |= self.packages.get(module, {})
        return dict(sorted(found.items()))


def interpreter_at(place: str) -> Interpreter | None:
    """Returns the interpreter at a path; None where nothing there answers as a Python does."""
    if not place:
        return None
    return own_interpreter() if place == sys.executable else _asked(place)


@functools.cache
def own_interpreter() -> Interpreter:
    """Returns the interpreter of this process."""
    packages: dict[str, dict[str, str]] = {}
    for module, names in importlib.metadata.packages_distributions().items():
        packages[module] = {name: importlib.metadata.version(name) for name in names}
    major, minor, micro, *_ = sys.version_info
    return Interpreter(sys.executable, platform.python_implementation(), (major, minor, micro), packages)


@functools.cache
def _asked(place: str) -> Interpreter | None:
    """Returns what another interpreter says of itself."""
    try:
        done = subprocess.run(
            [place, "-c", _ASKED], capture_output=True, cwd="/", timeout=_PATIENCE, check=True
        )
        implementation, version, packages = json.loads(done.stdout)
    except (OSError, subprocess.SubprocessError, ValueError):
        return None
    return Interpreter(place, implementation, tuple(version), packages)


def state_of(place: str) -> list[object]:
    """Returns what shows that another interpreter, or what is installed for it, has changed, without starting it."""
    if place == sys.executable:
        return [place]
    library = glob(os.path.join(escape(os.path.dirname(os.path.dirname(place))), "lib", "*", "site-packages"))
    return [place, *(os.stat(path).st_mtime_ns for path in (place, *sorted(library)))]


def python_of_code() -> str:
    """Returns the path of the Python that runs a function or a script, which name none.

    It is that of the active environment, else that of this process. Raises `Invalid` for one that is too old.
    """
    active = os.environ.get("VIRTUAL_ENV") or os.environ.get("CONDA_PREFIX")
    place = os.path.join(active, "bin", "python") if active else sys.executable
    if (
        not active
        or os.path.realpath(active) == os.path.realpath(sys.prefix)
        or not os.access(place, os.X_OK)
    ):
        return sys.executable
    found = interpreter_at(place)
    if found is not None and found.version < _LEAST:
        rule = f"cannot be run by the active environment: {place} is {found.name}"
        hint = "Write command: python …, which runs with any version"
        raise Invalid("workload", rule, allowed=f"Python {'.'.join(map(str, _LEAST))} or later", hint=hint)
    return place


def python_of(words: Sequence[str], folder: Path) -> str:
    """Returns the path of the Python that a command runs; empty where its words do not show one.

    It is the first word; or the one that runs the program of the first word, such as `torchrun`; or the one that a line
    or a file of a shell calls.
    """
    program = found_program(words[0], folder)
    name = PurePath(words[0]).name
    if _PYTHON.fullmatch(name):
        return program
    if _SHELLS.fullmatch(name):
        return _python_of_shell(words[1:], folder)
    return _python_of_file(program, folder)


def found_program(name: str, folder: Path) -> str:
    """Returns the path of a program as a shell in `folder` finds it, absolute; empty where there is none."""
    place = str(folder / name) if os.sep in name else shutil.which(name) or ""
    return os.path.abspath(place) if place and os.access(place, os.X_OK) else ""


def check_found(name: str, folder: Path) -> None:
    """Raises `Invalid` where a shell finds no program of this name, with the interpreters that it finds."""
    if os.sep in name or found_program(name, folder):
        return
    pythons = [other for other in ("python", "python3") if found_program(other, folder)]
    hint = "Activate the environment that has it, or write its path"
    if _PYTHON.fullmatch(name) and pythons:
        hint = f"Write {pythons[0]}, or activate the environment that has {name}"
    raise Invalid("", "is no program that your shell would find on $PATH", name, listed(pythons), hint)


def _python_of_shell(words: Sequence[str], folder: Path) -> str:
    """Returns the Python that the words of a shell call, or the file that they name."""
    texts = [*words]
    for word in words:
        file = folder / word
        if word.endswith(".sh") or word == "Makefile":
            texts += _text_of(file)
    for text in texts:
        match = _IN_TEXT.search(f"{text} ")
        if match is not None:
            return found_program(match[1], folder)
    return ""


def _python_of_file(program: str, folder: Path) -> str:
    """Returns the Python that the first lines of a program name; empty for a program without such a line."""
    try:
        with open(program, "rb") as file:
            lines = [file.readline(1000), file.readline(1000)]
    except OSError:
        return ""
    for line in lines:
        match = _ON_LINE.match(line)
        for word in match.groups() if match else ():
            if word and _PYTHON.fullmatch(PurePath(os.fsdecode(word)).name):
                return found_program(os.fsdecode(word), folder)
    return ""


def _text_of(file: Path) -> list[str]:
    try:
        return [file.read_text(errors="replace")[:100_000]]
    except OSError:
        return []
