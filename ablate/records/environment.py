"""The environment of a trial: command, commit, versions and machine."""

import functools
import importlib.metadata
import os
import platform
import re
import shlex
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from ablate.base.text import masked

DRIVER = Path("/proc/driver/nvidia/gpus")
PACKAGES = ("ablate", "torch", "numpy", "pandas", "scipy", "mlflow", "optuna", "scikit-learn")


def command_line(words: Sequence[str]) -> str:
    """A command as it can be typed, without passwords."""
    program, *rest = words
    # `python -m ablate` is the same program.
    return shlex.join([Path(program).name.replace("__main__.py", "ablate"), *map(masked, rest)])


@functools.cache
def environment(command: str, watched: tuple[Path, ...]) -> dict[str, Any]:
    """Command, commit, dirty flag, versions and machine of this process, as they were at first.

    `watched` are the study and its plugins: changes to them or to the package make a commit dirty, results never do.
    """
    commit, dirty = _commit(watched)
    return {
        "command": command,
        "commit": commit,
        "dirty": dirty,
        "versions": versions(),
        "machine": machine(),
    }


def machine() -> str:
    """Processor, cores and system."""
    return f"{_processor()}, {os.cpu_count()} cores, {platform.system()} {platform.release()}"


def kind(device: str = "cpu") -> str:
    """Machines of one kind give the same numbers: processor, model of the GPU where trials train on one, and torch."""
    model = dict.fromkeys(_gpus() if device == "cuda" else [device])
    return ", ".join([_processor(), *model, f"torch {versions().get('torch')}"])


def _gpus(driver: Path = DRIVER) -> list[str]:
    """The models that the driver lists; torch would take one over to say so."""
    told = "\n".join(file.read_text(encoding="utf-8") for file in sorted(driver.glob("*/information")))
    return re.findall(r"(?m)^Model:\s*(.*?)\s*$", told)


def here(driver: Path = DRIVER) -> dict[str, Any]:
    """The machine, its GPUs, with those of them that are visible, and the versions that something is measured under."""
    gpus = _gpus(driver)
    if visible := os.environ.get("CUDA_VISIBLE_DEVICES"):
        gpus.append(visible)
    used = {name: version for name, version in versions().items() if name in ("python", "torch")}
    return {"machine": machine(), "node": platform.node(), "gpus": gpus, "versions": used}


@functools.cache
def versions(*others: str) -> dict[str, str]:
    """Of Python and the packages that results depend on, with `others` of these that are installed."""
    found = {"python": platform.python_version()}
    for package in (*PACKAGES, *others):
        with suppress(importlib.metadata.PackageNotFoundError):
            found[package] = importlib.metadata.version(package)
    return found


def _commit(watched: Sequence[Path]) -> tuple[str | None, bool | None]:
    """The commit of the checkout that holds the package, else of the first watched file; None outside of git.

    Dirty when the package or anything watched differs from its commit, whichever checkout it is in.
    """
    paths = [Path(__file__).resolve().parents[1], *(path.resolve() for path in watched)]
    commits = list(filter(None, (_git(path.parent, "rev-parse", "HEAD") for path in paths)))
    if not commits:
        return None, None
    return commits[0], any(_git(path.parent, "status", "--porcelain", "--", str(path)) for path in paths)


def _git(folder: Path, *arguments: str) -> str | None:
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), *arguments], capture_output=True, text=True, timeout=10
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def _processor() -> str:
    with suppress(OSError):
        if found := re.search(r"model name\s*: (.+)", Path("/proc/cpuinfo").read_text()):
            return found[1].strip()
    return platform.processor() or platform.machine()
