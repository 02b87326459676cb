"""The environment of a trial: command, commit, versions and machine."""

import functools
import importlib.metadata
import os
import platform
import re
import shlex
import subprocess
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ablate.base.git import without_repository
from ablate.base.text import masked, printable

DRIVER = Path("/proc/driver/nvidia/gpus")
PACKAGES = ("ablate", "torch", "numpy", "pandas", "scipy", "mlflow", "optuna", "scikit-learn")


def command_line(words: Sequence[str]) -> str:
    """Returns a command as it can be typed, without passwords."""
    program, *arguments = words
    # `python -m ablate` is the same program.
    name = Path(program).name.replace("__main__.py", "ablate")
    return printable(shlex.join([name, *map(masked, arguments)]))


ORIGIN = ("command", "commit", "dirty", "ablate_commit", "ablate_dirty")
"""The keys of an environment that say what was run; those of ablate itself are there for a user's own code."""


@dataclass(frozen=True)
class OwnCode:
    """Where a user's own training code lies, and where its results do."""

    folder: Path
    results: Path


@functools.cache
def environment(command: str, watched: tuple[Path, ...], own: OwnCode | None = None) -> dict[str, Any]:
    """Returns command, commit, dirty flag, versions and machine of this process; kept from the first call.

    The commit of a user's own code is that of its repository, and that of ablate stands beside it.

    `watched` are the study and its plugins: changes to them or to the package make a commit dirty, results never do.
    """
    origin: dict[str, Any] = {"command": command}
    if own is None:
        origin["commit"], origin["dirty"] = _commit(watched)
    else:
        origin["commit"], origin["dirty"] = _commit_of_own(own, watched)
        origin["ablate_commit"], origin["ablate_dirty"] = _commit(())
    return {**origin, "versions": versions(), "machine": machine()}


def machine() -> str:
    """Returns processor, cores and system."""
    return f"{_processor()}, {os.cpu_count()} cores, {platform.system()} {platform.release()}"


def kind(device: str = "cpu") -> str:
    """Returns the kind of this machine; machines of one kind give the same numbers.

    It is the processor, the model of the GPU where trials train on one, and the version of torch.
    """
    models = _gpus() if device == "cuda" else [device]
    return ", ".join([_processor(), *dict.fromkeys(models), f"torch {versions().get('torch')}"])


def _gpus(driver: Path = DRIVER) -> list[str]:
    """Returns the models that the driver lists; torch would take a GPU over to name its model."""
    files = sorted(driver.glob("*/information"))
    text = "\n".join(file.read_text(encoding="utf-8") for file in files)
    return re.findall(r"(?m)^Model:\s*(.*?)\s*$", text)


def here(driver: Path = DRIVER) -> dict[str, Any]:
    """Returns what a measurement of speed depends on here: machine, GPUs, the visible ones, Python and torch."""
    gpus = _gpus(driver)
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if visible:
        gpus.append(visible)
    timed = {name: version for name, version in versions().items() if name in ("python", "torch")}
    return {"machine": machine(), "node": platform.node(), "gpus": gpus, "versions": timed}


@functools.cache
def versions(*others: str) -> dict[str, str]:
    """Returns the versions of Python, and of the packages that results depend on and `others`, where installed."""
    installed = {"python": platform.python_version()}
    for package in (*PACKAGES, *others):
        with suppress(importlib.metadata.PackageNotFoundError):
            installed[package] = importlib.metadata.version(package)
    return installed


def _commit(watched: Sequence[Path]) -> tuple[str | None, bool | None]:
    """Returns the commit of the checkout that holds the package, else the first watched file, and whether it is dirty.

    It is dirty when the package or anything watched differs from its commit, whichever checkout that is in. Both are
    None outside of git.
    """
    package = Path(__file__).resolve().parents[1]
    paths = [package, *(path.resolve() for path in watched)]
    heads = [_git(path.parent, "rev-parse", "HEAD") for path in paths]
    commits = [head for head in heads if head]
    if not commits:
        return None, None
    return commits[0], _is_dirty(paths)


def _commit_of_own(own: OwnCode, watched: Sequence[Path]) -> tuple[str | None, bool | None]:
    """Returns the commit of the repository of a user's own code, and whether it is dirty; None outside of git.

    It is dirty when a file that git tracks there, or anything watched, differs from its commit; results never count.
    """
    commit = _git(own.folder, "rev-parse", "HEAD")
    root = _git(own.folder, "rev-parse", "--show-toplevel")
    if not commit or not root:
        return None, None
    places = ["--", ":/"]
    results = own.results.resolve()
    if results.is_relative_to(Path(root).resolve()):
        places.append(f":(top,exclude){results.relative_to(Path(root).resolve())}")
    changed = _git(own.folder, "status", "--porcelain", "--untracked-files=no", *places)
    return commit, bool(changed) or _is_dirty(path.resolve() for path in watched)


def _is_dirty(paths: Iterable[Path]) -> bool:
    """Returns whether any of these files and folders differs from its commit, whichever checkout that is in."""
    return any(_git(path.parent, "status", "--porcelain", "--", str(path)) for path in paths)


def _git(folder: Path, *arguments: str) -> str | None:
    """Returns the output of a git command in a folder; None where it fails."""
    command = ["git", "-C", str(folder), *arguments]
    try:
        process = subprocess.run(
            command, env=without_repository(os.environ), capture_output=True, text=True, timeout=10
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return process.stdout.strip() if process.returncode == 0 else None


def _processor() -> str:
    """Returns the name of the processor."""
    with suppress(OSError):
        match = re.search(r"model name\s*: (.+)", Path("/proc/cpuinfo").read_text())
        if match:
            return match[1].strip()
    return platform.processor() or platform.machine()
