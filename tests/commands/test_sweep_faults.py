"""What machines do to a sweep, really caused: kills at any moment, several drivers, a driver that is gone or stops."""

import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path

import optuna
import pandas as pd
import pytest
from drivers import records, wait_for, workers_of
from searching import GRID, SWEEP, TIMES

from ablate.records.folder import StudyFolder
from ablate.search.quiet import quiet

SLOWER = "training: {seconds: 0.15}\n"
ADAPTIVE = SWEEP.replace("trials: 8", "trials: 12\n  sampler: {name: tpe, n_startup_trials: 4}\n  batch: 3")
FAST_BEAT = {"ABLATE_HEARTBEAT": "1"}


def start(study: Path, *options: object, jobs: int = 1, env: Mapping[str, str] = {}) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "ablate", "sweep", str(study), "--jobs", str(jobs), *map(str, options)]
    return subprocess.Popen(
        command,
        cwd=study.parent,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env=os.environ | env,
    )


def finish(driver: subprocess.Popen[str], code: int = 0) -> str:
    stdout, stderr = driver.communicate(timeout=120)
    assert driver.returncode == code, stdout + stderr
    assert "Traceback" not in stdout + stderr
    return stdout


def table(folder: Path, study: str = "peaks") -> pd.DataFrame:
    searched = StudyFolder.at(folder / study).search_table("sweep")
    assert searched is not None
    return searched.trials.drop(columns=TIMES)


def drawn(url: str) -> list[optuna.trial.FrozenTrial]:
    """Every trial of the one search in a storage."""
    with quiet():
        storage = url
        if url.startswith("journal:"):
            backend = optuna.storages.journal.JournalFileBackend(url.removeprefix("journal:"))
            storage = optuna.storages.JournalStorage(backend)  # type: ignore[assignment]
        (name,) = optuna.get_all_study_names(storage)
        return optuna.load_study(study_name=name, storage=storage).get_trials(deepcopy=False)


def kill(driver: subprocess.Popen[str], folder: Path) -> None:
    driver.kill()
    driver.communicate()
    wait_for(lambda: not workers_of(folder), 20)


def whole(study: Path) -> pd.DataFrame:
    """The table of a sweep that nothing interrupts."""
    finish(start(study, "--results", "whole", "--set", "training.seconds=0", jobs=2))
    return table(study.parent / "whole")


@pytest.mark.slow
@pytest.mark.parametrize(("text", "seed"), [(GRID, 1), (ADAPTIVE, 2)])
def test_a_sweep_that_is_killed_again_and_again_at_any_moment(
    write: Callable[..., Path], text: str, seed: int
) -> None:
    study = write(text + SLOWER)
    expected = whole(study)
    moments = random.Random(seed)
    kept: dict[str, object] = {}
    for _ in range(4):
        driver = start(study, jobs=moments.choice([0, 1, 2]))
        time.sleep(moments.uniform(0.8, 4))
        kill(driver, study.parent)
        assert kept.items() <= records(study.parent).items(), "a finished trial was trained again"
        kept = records(study.parent)
    finish(start(study, "--set", "training.seconds=0", jobs=2))
    assert kept.items() <= records(study.parent).items()
    pd.testing.assert_frame_equal(table(study.parent / "results"), expected)


@pytest.mark.slow
def test_an_interruption_says_what_is_kept(write: Callable[..., Path]) -> None:
    study = write(SWEEP + "training: {seconds: 1}\n")
    driver = start(study)
    wait_for(lambda: len(records(study.parent)) >= 2)
    os.killpg(driver.pid, signal.SIGINT)
    _, stderr = driver.communicate(timeout=60)
    assert driver.returncode == 130
    assert (
        f"{len(records(study.parent))} trials are kept in results/store; run the same command to continue"
        in stderr
    )
    assert "Traceback" not in stderr
    assert "at most" in finish(start(study, "--set", "training.seconds=0"))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["sqlite", "journal"])
def test_two_drivers_share_one_search(write: Callable[..., Path], kind: str) -> None:
    study = write(SWEEP.replace("trials: 8", "trials: 17").replace("seeds: 2", "seeds: 1") + SLOWER)
    url = {"sqlite": "sqlite:///shared.db", "journal": "journal:shared.log"}[kind]
    folders = [study.parent / name for name in ("one", "two")]
    drivers = [start(study, "--results", folder.name, "--storage", url) for folder in folders]
    outputs = [finish(driver) for driver in drivers]
    trials = drawn(url.replace("shared", f"{study.parent}/shared"))
    ended = [trial for trial in trials if trial.state.is_finished()]
    assert len(ended) == 17
    assert {trial.state.name for trial in ended} == {"COMPLETE"}
    # Each was trained by one of them, and by one alone.
    tuned = [{p.stem for p in (folder / "store/trials").glob("*.json")} for folder in folders]
    judged = [set(pd.read_parquet(folder / "peaks/trials.parquet").id) for folder in folders]
    assert judged[0] == judged[1]
    assert not (tuned[0] - judged[0]) & (tuned[1] - judged[1])
    assert len((tuned[0] | tuned[1]) - judged[0]) == 17
    assert len({trial.user_attrs["driver"] for trial in ended}) == 2, outputs
    pd.testing.assert_frame_equal(table(folders[0]), table(folders[1]))
    assert len(table(folders[0])) == 17


@pytest.mark.slow
def test_what_a_driver_that_is_gone_for_good_has_left_is_done_by_the_other(
    write: Callable[..., Path],
) -> None:
    """In a journal; below, SQLite has one that comes back."""
    study = write(SWEEP.replace("trials: 8", "trials: 10").replace("seeds: 2", "seeds: 1"))
    url = "journal:shared.log"
    long = ("--set", "training.seconds=600")
    gone = start(study, "--results", "gone", "--storage", url, *long, env=FAST_BEAT)
    wait_for(lambda: any(t.state.name == "RUNNING" for t in drawn_or_none(study.parent, url)))
    kill(gone, study.parent)
    output = finish(start(study, "--results", "here", "--storage", url, env=FAST_BEAT))
    assert "Waiting for " in output
    found = table(study.parent / "here")
    assert list(found.number) == list(range(10))
    assert set(found.status) == {"completed"}


def drawn_or_none(folder: Path, url: str) -> list[optuna.trial.FrozenTrial]:
    path = folder / url.rpartition("/")[2].removeprefix("journal:")
    if not path.is_file():
        return []
    try:
        return drawn(url.replace("shared", f"{folder}/shared"))
    except Exception:
        return []  # It is being made.


def fall_asleep(driver: subprocess.Popen[str], database: Path) -> None:
    """Stops a driver at a moment at which it does not hold the lock of its database, which nobody could take over."""
    while True:
        os.killpg(driver.pid, signal.SIGSTOP)
        try:
            with closing(sqlite3.connect(database, timeout=0)) as connection:
                connection.execute("BEGIN IMMEDIATE")
            return
        except sqlite3.OperationalError:
            os.killpg(driver.pid, signal.SIGCONT)
            time.sleep(0.05)


@pytest.mark.slow
def test_a_driver_that_comes_back_after_it_was_replaced(write: Callable[..., Path]) -> None:
    study = write(
        SWEEP.replace("trials: 8", "trials: 6").replace("seeds: 2", "seeds: 1") + "training: {seconds: 1}\n"
    )
    url = "sqlite:///shared.db"
    asleep = start(study, "--results", "asleep", "--storage", url, env=FAST_BEAT)
    wait_for(lambda: len(list((study.parent / "asleep/store/trials").glob("*.json"))) >= 1)
    fall_asleep(asleep, study.parent / "shared.db")
    try:
        finish(
            start(study, "--results", "awake", "--storage", url, "--set", "training.seconds=0", env=FAST_BEAT)
        )
        found = table(study.parent / "awake")
        assert set(found.status) == {"completed"}
    finally:
        os.killpg(asleep.pid, signal.SIGCONT)
    finish(asleep)
    pd.testing.assert_frame_equal(table(study.parent / "asleep"), found)
