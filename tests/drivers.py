"""Drivers of studies as processes of their own, to be watched, interrupted and killed; and what they leave."""

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from harness import TOY_STUDY

SLOW_TRIALS = TOY_STUDY.replace("seeds: 3", "seeds: 4") + "training: {seconds: 0.5}\n"


def start(study: Path, *options: object, jobs: int = 2) -> subprocess.Popen[str]:
    words = [sys.executable, "-m", "ablate", "run", str(study), "--jobs", str(jobs), *map(str, options)]
    pipe = subprocess.PIPE
    return subprocess.Popen(
        words, cwd=study.parent, stdout=pipe, stderr=pipe, text=True, start_new_session=True
    )


def records(folder: Path) -> dict[str, int]:
    return {p.stem: p.stat().st_mtime_ns for p in (folder / "results/store/trials").glob("*.json")}


def wait_for(condition: Callable[[], object], seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.01)


def workers_of(folder: Path, module: str = "ablate.execution.") -> list[int]:
    """Worker processes that were started in a folder, and the server that has forked them."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            command, place = (path / "cmdline").read_bytes(), (path / "cwd").resolve()
        except OSError:
            continue
        if module.encode() in command and place == folder:
            found.append(int(path.name))
    return found


def assert_tracked_once(folder: Path) -> None:
    """MLflow shows each trial of the toy study as one finished run, and one run above them."""
    from mlflow.tracking import MlflowClient

    client = MlflowClient(f"sqlite:///{folder}/results/store/mlflow.db")
    reports = [e.experiment_id for e in client.search_experiments() if e.name.partition("@")[0] == "toy"]
    runs = client.search_runs(reports, max_results=1000)
    assert {run.info.status for run in runs} == {"FINISHED"}
    trials = [run.data.tags.get("ablate.trial", "") for run in runs]
    assert sorted(filter(None, trials)) == sorted(records(folder))
    assert trials.count("") == 1
