"""Where and with what a trial ran."""

from __future__ import annotations

import functools
import importlib.metadata
import os
import platform
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

PACKAGES = ("ablate", "torch", "numpy", "pandas", "scipy", "statsmodels", "mlflow", "optuna", "scikit-learn")


def environment(command: Sequence[str], watched: Sequence[Path]) -> dict[str, Any]:
    """Command, commit, dirty flag, versions and machine.

    `watched` are the study and its plugins: with the package itself they make a commit dirty, results never do.
    """
    commit, dirty = _commit(watched)
    return {
        "command": " ".join(_quoted(word) for word in command),
        "commit": commit,
        "dirty": dirty,
        "versions": _versions(),
        "machine": f"{_processor()}, {os.cpu_count()} cores, {platform.system()} {platform.release()}",
    }


@functools.cache
def _versions() -> dict[str, str]:
    versions = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            versions[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return versions


def _commit(watched: Sequence[Path]) -> tuple[str | None, bool | None]:
    """The commit of the checkout that holds the package, else the first watched file; None outside of git."""
    package = Path(__file__).resolve().parents[1]
    for start in (package.parent, *(path.resolve().parent for path in watched)):
        commit = _git(start, "rev-parse", "HEAD")
        if commit:
            folder = Path(_git(start, "rev-parse", "--show-toplevel") or start)
            inside = [p for p in (package, *(w.resolve() for w in watched)) if p.is_relative_to(folder)]
            status = _git(folder, "status", "--porcelain", "--", *map(str, inside))
            return commit, bool(status)
    return None, None


def _git(folder: Path, *arguments: str) -> str | None:
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), *arguments], capture_output=True, text=True, timeout=10
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def _quoted(word: str) -> str:
    import shlex

    return shlex.quote(Path(word).name if word == sys.argv[0] else word)
