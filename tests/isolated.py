"""Studies of commands of one's own that are written for a test, and what their runs leave."""

import json
import subprocess
import sys
import textwrap
from pathlib import Path

from harness import ablate_here, with_database

from ablate import load


def script(folder: Path, text: str, name: str = "train.py", **values: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    head = "".join(f"{key} = {value!r}\n" for key, value in values.items())
    (folder / name).write_text(head + textwrap.dedent(text))
    return folder


def study(
    folder: Path, *, path: str = "study.yaml", seeds: int = 3, command: str = "", **workload: object
) -> Path:
    command = command or f"{sys.executable} train.py --rate {{rate}} --seed {{seed}}"
    content = {
        "name": "own",
        "workload": {"command": command, "read": {"loss": r"loss (\S+)"}} | workload,
        "config": {"rate": 0.1},
        "metrics": {"loss": {"direction": "min", "margin": 0.05}},
        "factors": {"config.rate": [0.5]},
        "seeds": seeds,
    }
    (folder / path).write_text(json.dumps(content))
    with_database(folder / "results/store")
    return folder / path


def run(folder: Path, *options: str, path: str = "study.yaml") -> subprocess.CompletedProcess[str]:
    return ablate_here("run", path, *options, "--jobs", "1", cwd=folder)


def said(done: subprocess.CompletedProcess[str]) -> str:
    return " ".join((done.stdout + done.stderr).split())


def verdict(folder: Path) -> str:
    (row,) = load(folder / "results/own").comparisons.itertuples()
    return str(row.verdict)


def git(folder: Path, *words: str) -> None:
    command = ["git", "-C", str(folder), "-c", "user.name=a", "-c", "user.email=a@b", *words]
    subprocess.run(command, check=True, capture_output=True)


def committed(folder: Path, *files: str, ignored: str = "results/\n") -> None:
    (folder / ".gitignore").write_text(ignored)
    git(folder, "init", "-q")
    git(folder, "add", ".gitignore", *files)
    git(folder, "commit", "-q", "-m", "first")


def runs(folder: Path) -> list[Path]:
    return sorted((folder / "results/store/runs").glob("[0-9a-f]" * 16))
