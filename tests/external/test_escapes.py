"""Processes that leave the session of their trial end with it, whatever ends the trial."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from committed import Repository, drawn
from drivers import wait_for
from harness import run_here

from ablate import load

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere, what leaves its group goes on")

# Starts a process in a session of its own, waits until it has noted its number, and goes on.
ESCAPE = """
note="{pids}/$$"
(setsid nohup sh -c 'echo $$ > "$0"; exec sleep 60' "$note" > /dev/null 2>&1 &)
until [ -s "$note" ]; do sleep 0.01; done
"""


def runs(pid: int) -> bool:
    """Whether a process has not ended; nobody may wait for it in this container."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return status.rpartition(")")[2].split()[0] != "Z"


def numbers(pids: Path) -> list[int]:
    return [int(text) for note in pids.iterdir() if (text := note.read_text())]


@pytest.fixture
def pids(tmp_path):
    folder = tmp_path / "pids"
    folder.mkdir()
    yield folder
    left = [pid for pid in numbers(folder) if runs(pid)]
    for pid in left:
        os.kill(pid, signal.SIGKILL)


@pytest.fixture
def folder(tmp_path, pids):
    """A study whose trials end well, fail, or run into their time limit, each after an escape."""
    made = tmp_path / "study"
    made.mkdir()
    (made / "train.sh").write_text(f"{ESCAPE.format(pids=pids)}\necho loss: $2.5\n$1\n")
    study = {
        "name": "escapes",
        "workload": {
            "command": ["sh", "train.sh", "{end}", "{seed}"],
            "read": {"loss": r"loss: (\S+)"},
            "resources": {"time": 2},
            "parallel": "on",
        },
        "config": {"end": "true"},
        "metrics": {"loss": "min"},
        "factors": {"config.end": ["false", "sleep 50"]},
        "seeds": 2,
    }
    (made / "study.yaml").write_text(json.dumps(study))
    return made


def test_at_the_end_of_a_trial_at_its_failure_and_past_its_time(folder, pids):
    outcome, _ = run_here(folder / "study.yaml")
    assert outcome.failed
    trials = load(folder / "results" / "escapes").trials
    assert sorted(trials.status) == ["completed"] * 2 + ["failed"] * 4
    assert len(numbers(pids)) == 6
    assert not [pid for pid in numbers(pids) if runs(pid)]


@pytest.mark.slow
@pytest.mark.parametrize(
    "number",
    [
        signal.SIGKILL,
        *(pytest.param(number, marks=pytest.mark.slow) for number in (signal.SIGINT, signal.SIGTERM)),
    ],
)
def test_with_the_driver(folder, pids, number):
    (folder / "train.sh").write_text(f"{ESCAPE.format(pids=pids)}\nsleep 50\n")
    text = (folder / "study.yaml").read_text().replace('"time": 2', '"time": 60')
    (folder / "study.yaml").write_text(text)
    driver = subprocess.Popen(
        [sys.executable, "-m", "ablate", "run", "study.yaml"],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    wait_for(lambda: numbers(pids))
    os.kill(driver.pid, number)
    assert driver.wait(timeout=30) == (130 if number != signal.SIGKILL else -number)
    wait_for(lambda: not [pid for pid in numbers(pids) if runs(pid)], 10)


@pytest.mark.fast_cases(1)
@pytest.mark.parametrize(
    "number", [None, signal.SIGINT, pytest.param(signal.SIGKILL, marks=pytest.mark.slow)]
)
def test_with_a_comparison_of_commits(tmp_path, pids, number):
    repository = Repository(tmp_path / "repository")
    repository.losses("base", drawn(0))
    repository.losses("head", drawn(1))
    script = f"{ESCAPE.format(pids=pids)}\necho loss: {{seed}}.5\n{'sleep 50' if number else ''}"
    words = (
        "base",
        "head",
        "--margin",
        "1",
        "--seeds",
        "2",
        "--direction",
        "min",
        "--read",
        r"loss=loss: (\S+)",
    )
    driver = subprocess.Popen(
        [sys.executable, "-m", "ablate", "compare", *words, "--", "sh", "-c", script],
        cwd=repository.folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    wait_for(lambda: numbers(pids))
    if number:
        os.kill(driver.pid, number)
    assert driver.wait(timeout=30) == {None: 3, signal.SIGKILL: -9, signal.SIGINT: 130}[number]
    wait_for(lambda: not [pid for pid in numbers(pids) if runs(pid)], 10)
