"""A clock that is set back, and folders that cannot be written: really caused, through the command line."""

import csv
import json
import os
import re
import shutil
import sqlite3
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from drivers import assert_tracked_once, records
from harness import TOY_STUDY, ablate, give_up_the_rights_of_root

# Python reads this before anything else is imported, in the driver and in each worker. The time of day goes back
# by an hour every 50 ms for all that asks Python's clock for it, MLflow included, and the monotonic clock goes on:
# what a process sees when the clock of its machine is set back, again and again. Only the dates of files stay right.
SET_BACK = """
import os, time

of_day, since = time.time, float(os.environ["CLOCK_IS_SET_BACK_SINCE"])
time.time = lambda: of_day() - 3600 * int((time.monotonic() - since) / 0.05)
time.time_ns = lambda: int(time.time() * 1e9)
"""
SLOW = TOY_STUDY + "training: {seconds: 0.3}\n"
CLAIM = "model.effect=0.2 beats baseline on accuracy"


@pytest.fixture
def set_back(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """The command line on a machine whose clock is set back all the time."""
    folder = tmp_path / "clock"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(SET_BACK)
    path = os.pathsep.join(filter(None, [str(folder), os.environ.get("PYTHONPATH")]))
    environment = {"PYTHONPATH": path, "CLOCK_IS_SET_BACK_SINCE": str(time.monotonic())}

    def run(*arguments: object) -> subprocess.CompletedProcess[str]:
        return ablate(*arguments, cwd=tmp_path, env=os.environ | environment)

    return run


def stored(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(p.read_text()) for p in (folder / "results/store/trials").glob("*.json")]


def seconds(record: dict[str, Any]) -> float:
    ends = [datetime.fromisoformat(record[name]) for name in ("started_at", "finished_at")]
    return (ends[1] - ends[0]).total_seconds()


def tracked(folder: Path, sql: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(folder / "results/store/mlflow.db")) as database:
        return database.execute(sql).fetchall()


@pytest.mark.slow
@pytest.mark.usefixtures("tracking")
def test_a_clock_that_is_set_back_again_and_again(write, set_back):
    whole = f"{SLOW}claims: [{CLAIM}]\n"
    study = write(whole.replace("seeds: 3", "seeds: 2"))
    folder = study.parent
    done = set_back("run", study, "--jobs", 0)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "warning" not in done.stdout + done.stderr
    assert all(0 <= float(took) < 60 for took in re.findall(r"\((\S+) s\)", done.stdout))
    study = write(whole)
    done = set_back("run", study, "--jobs", 2)
    assert "3 trials to train" in done.stdout
    finished = stored(folder)
    # The clock went back under every trial, and by hours from one to the next: none is dated before its plan.
    assert len(finished) == 9
    (claim,) = csv.DictReader((folder / "results/toy/claims.csv").read_text().splitlines())
    assert claim["exploratory"] == "False"
    assert all(record["started_at"] >= claim["declared"] for record in finished)
    assert all(0.3 <= seconds(record) < 60 for record in finished)
    assert_tracked_once(folder)
    runs = tracked(folder, "SELECT name, start_time, end_time FROM runs")
    assert all(0 < start <= end for _, start, end in runs), runs
    outside = (
        "SELECT runs.name FROM metrics JOIN runs USING (run_uuid)"
        " WHERE timestamp NOT BETWEEN start_time AND end_time"
    )
    assert tracked(folder, outside) == []
    # Nothing is trained again, and nothing is dropped.
    kept = records(folder)
    assert "Nothing to train" in set_back("run", study).stdout
    assert "nothing to remove" in set_back("clean", "--yes").stdout
    assert set_back("report", study).returncode == 0
    assert records(folder) == kept


def refused(*arguments: object, cwd: Path, code: int = 1) -> str:
    """What the command line says when the machine refuses what it asks for: one line, and no traceback."""
    done = ablate(*arguments, cwd=cwd, preexec_fn=give_up_the_rights_of_root)
    assert done.returncode == code, (done.returncode, done.stdout, done.stderr)
    assert "Traceback" not in done.stdout + done.stderr
    lines = [line for line in done.stderr.splitlines() if line]
    assert len(lines) == 1, done.stderr
    return lines[0]


@pytest.fixture
def locked() -> Iterator[Callable[[Path, int], None]]:
    """Takes rights from a file or a folder, until the test ends."""
    before: list[tuple[Path, int]] = []

    def lock(path: Path, mode: int) -> None:
        before.append((path, stat.S_IMODE(path.stat().st_mode)))
        path.chmod(mode)

    yield lock
    for path, mode in reversed(before):
        path.chmod(mode)


def test_the_rights_of_root_are_given_up(tmp_path, locked):
    """Else the tests below would show nothing."""
    locked(tmp_path, 0o500)
    code = f"open({str(tmp_path / 'file')!r}, 'w')"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, preexec_fn=give_up_the_rights_of_root
    )
    assert done.returncode == 1
    assert "PermissionError" in done.stderr


@pytest.mark.slow
def test_a_folder_that_may_not_be_written_and_one_below_a_file(toy_study, locked):
    folder = toy_study.parent
    (folder / "closed").mkdir()
    (folder / "file").write_text("mine")
    locked(folder / "closed", 0o500)
    for place, reason in (("closed", "Permission denied"), ("file", "Not a directory")):
        below = ("--results", f"{place}/results")
        said = refused("run", toy_study, "--jobs", 0, *below, cwd=folder)
        assert said == f"{place}/results/store: cannot be written: {reason}; name another place"
        said = refused("new", f"{place}/mine", cwd=folder, code=2)
        assert f"{place}/mine.yaml: cannot be written" in said
        for command in (("ui",), ("clean",), ("report", toy_study)):
            said = refused(*command, *below, cwd=folder, code=2)
            assert said.startswith(f"{place}/results")
            assert "has no" in said or "does not exist" in said
    assert not list((folder / "closed").iterdir())
    for command in (("run", toy_study), ("clean",)):
        done = ablate(*command, "--results", "file", cwd=folder)
        assert done.returncode == 2
        assert "Invalid value for '--results': Directory 'file' is a file" in done.stderr
    assert (folder / "file").read_text() == "mine"


MADE = TOY_STUDY


@pytest.fixture
def copy(made: Path, tmp_path: Path) -> Path:
    """A copy of it, to be damaged; its files look changed, so that a run has something to do."""
    return Path(shutil.copytree(made, tmp_path / "copy", copy_function=shutil.copyfile))


@pytest.mark.slow
@pytest.mark.usefixtures("tracking")
def test_results_that_may_only_be_read(made, copy, locked):
    for folder in (made, copy):
        for path in [folder / "results", *(folder / "results").rglob("*")]:
            locked(path, 0o500 if path.is_dir() else 0o400)
    denied = "Permission denied"
    said = refused("run", "study.yaml", cwd=copy)
    assert said == f"results/store/locks/toy.lock: cannot be written: {denied}; name another place"
    said = refused("report", "study.yaml", cwd=copy)
    assert said.startswith(f"results/toy/comparisons.csv: cannot be written: {denied};")
    said = refused("clean", "--yes", cwd=copy)
    assert said.startswith(
        f"results/store/locks/bench.lock: cannot be written: {denied}; nothing was removed."
    )
    said = refused("ui", "--port", 50999, cwd=copy)
    assert "MLflow's database cannot be made or written: " in said
    assert denied in said
    # What only reads goes on.
    for command in (("run", "study.yaml"), ("plan", "study.yaml"), ("show", next(iter(records(made))))):
        done = ablate(*command, cwd=made, preexec_fn=give_up_the_rights_of_root)
        assert done.returncode == 0, done.stderr
    assert len(records(copy)) == len(records(made)) == 9


@pytest.mark.slow
@pytest.mark.parametrize("name", ["toy", "store"])
def test_what_cannot_be_looked_into_is_neither_used_nor_cleaned(copy, locked, name):
    """A study's folder that is closed still has its trials, though nothing else knows of them."""
    (copy / "results/store/studies/toy.json").unlink()
    kept = records(copy)
    locked(copy / "results" / name, 0)
    for command in (("run", "study.yaml", "--jobs", 0), ("clean", "--yes")):
        said = refused(*command, cwd=copy)
        assert said.startswith(f"results/{name}")
        assert "Permission denied" in said or "cannot be read" in said
    if name == "toy":
        assert refused("report", "study.yaml", cwd=copy).startswith("results/toy")
    locked(copy / "results" / name, 0o700)
    assert records(copy) == kept


@pytest.mark.fast_cases(1)
@pytest.mark.parametrize("words", [["--help"], ["list"], ["plan", "study.yaml"]])
def test_a_command_whose_output_nobody_reads_ends_as_others_do(write, tmp_path, words):
    write(TOY_STUDY)
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "ablate", *words]
    done = subprocess.run(command, cwd=tmp_path, stdout=writer, stderr=subprocess.PIPE, check=False)
    os.close(writer)
    assert (done.returncode, done.stderr) == (141, b"")


@pytest.mark.fast_cases(1)
@pytest.mark.parametrize("words", [["--help"], ["run", "--help"], ["list"]])
def test_a_full_disk_below_the_output_is_a_message(tmp_path, words):
    with open("/dev/full", "w") as full:
        command = [sys.executable, "-m", "ablate", *words]
        done = subprocess.run(command, cwd=tmp_path, stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 1
    assert done.stderr.startswith("standard output: cannot be used: No space left")
    assert len(done.stderr.splitlines()) == 1
