"""The processes that bring MLflow up to date, as a driver has them."""

import os
import re
import shutil
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from threading import Thread

import pytest
from drivers import wait_for
from filelock import FileLock
from harness import TOY_STUDY, run_here
from mlflow_helpers import NOLOAD, query, report, shown, tracked

from ablate.core.events import BatchPlanned, Started
from ablate.execution.child import Process
from ablate.records.folder import StudyFolder
from ablate.tracking import tracker as track
from ablate.tracking.database import DATABASE
from ablate.tracking.messages import Progress
from ablate.tracking.tracker import Tracker

pytestmark = [pytest.mark.filterwarnings(NOLOAD), pytest.mark.usefixtures("tracking")]

TRIALS = [(f"baseline · seed 0{seed}", "FINISHED") for seed in (0, 1)]
DONE = [*TRIALS, ("toy", "FINISHED")]


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The results of a study that was run without MLflow."""
    study = tmp_path_factory.mktemp("toy") / "study.yaml"
    study.write_text(TOY_STUDY.partition("factors")[0] + "seeds: 2\n")
    run_here(study)
    return study.parent / "results"


@pytest.fixture(autouse=True)
def _busy_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """How fast the machine is decides nothing."""
    for limit in ("FINAL_LIMIT", "INTERRUPTED_LIMIT"):
        monkeypatch.setattr(track, limit, 150.0)


@pytest.fixture
def folder(published: Path, tmp_path: Path) -> StudyFolder:
    """A study with a report, of which MLflow knows nothing."""
    return StudyFolder(Path(shutil.copytree(published, tmp_path / "results")), "toy")


@pytest.fixture
def bare(folder: StudyFolder) -> StudyFolder:
    """The same in a store without a database."""
    (folder.results / "store" / DATABASE).unlink()
    return folder


def finished(folder: StudyFolder, uri: str | None = None) -> list[str]:
    """Ends a study; the warnings."""
    warnings: list[str] = []
    with Tracker(folder, uri, warnings.append) as tracker:
        tracker(tracked("baseline", 0))
        tracker.start()
        assert tracker.finish() == (not warnings)
    return warnings


@pytest.mark.slow
def test_a_report_is_in_mlflow_when_the_driver_ends(folder):
    with FileLock(folder.results / "store" / ".mlflow.lock") as other:
        tracker = Tracker(folder, None, pytest.fail)
        tracker.start()
        other.release()
        assert tracker.finish()
    assert shown(folder.results) == DONE


@pytest.mark.slow
def test_once_a_minute_while_it_trains_as_killed_after_an_interruption_and_finished_at_the_end(
    folder, monkeypatch
):
    told, tell = [], Tracker.tell
    monkeypatch.setattr(
        Tracker, "tell", lambda self, status, *end: (told.append(status), tell(self, status, *end))
    )
    with Tracker(folder, None, pytest.fail) as tracker:
        tracker(tracked("baseline", 0))
        monkeypatch.setattr(track, "INTERVAL", 1000.0)
        tracker._due = time.monotonic()
        for event in (BatchPlanned(1), Started("x")):
            tracker(event)
        assert told == [None]
        first = tracker._child
        for _ in range(3):
            tracker(tracked("baseline", 0))
        assert told == [None, "RUNNING"]
        wait_for(lambda: shown(folder.results) == [*TRIALS, ("toy", "RUNNING")], track.FINAL_LIMIT)
        assert tracker._child is first
    assert shown(folder.results) == [*TRIALS, ("toy", "KILLED")]
    assert finished(folder) == []
    assert shown(folder.results) == DONE


@pytest.mark.slow
@pytest.mark.parametrize("killed", [False, True])
def test_one_process_makes_the_database_while_trials_train_and_ends_the_run(bare, killed):
    with Tracker(bare, None, pytest.fail) as tracker:
        first = tracker._child
        assert first is not None
        wait_for((bare.results / "store" / DATABASE).exists, track.FINAL_LIMIT)
        assert shown(bare.results) == []
        if killed:
            first.process.kill()
            first.process.wait()
        tracker.tell("RUNNING")
        assert (tracker._child is first) != killed
        assert tracker.finish()
    assert shown(bare.results) == DONE


@pytest.mark.slow
def test_a_database_that_another_file_replaces_is_written_as_it_is_then(folder):
    """By a process that has written to the one before."""
    database = folder.results / "store" / DATABASE
    with Tracker(folder, None, pytest.fail) as tracker:
        tracker.tell("RUNNING")
        wait_for(lambda: len(shown(folder.results)) == len(DONE), track.FINAL_LIMIT)
        database.unlink()
        time.sleep(1.1)
        assert tracker.finish()
    assert shown(folder.results) == DONE


@pytest.mark.slow
def test_a_database_that_is_damaged_is_made_again_while_trials_train_and_the_end_tells_of_it(folder):
    database, warnings = folder.results / "store" / DATABASE, []
    os.truncate(database, database.stat().st_size // 2)
    with Tracker(folder, None, warnings.append) as tracker:
        wait_for((database.parent / f"{DATABASE}.old-1").exists, track.FINAL_LIMIT)
        wait_for(database.exists, track.FINAL_LIMIT)
        assert tracker.finish()
    (warning,) = warnings
    assert f"it is set aside as {DATABASE}.old-1" in warning
    assert shown(folder.results) == DONE


def test_no_process_without_trials_nor_where_tracking_is_off(folder, monkeypatch):
    monkeypatch.setattr(track, "fresh", None)
    with Tracker(folder, "http://elsewhere", pytest.fail) as tracker:
        tracker(BatchPlanned(1))
    monkeypatch.setenv("ABLATE_TRACKING", "off")
    monkeypatch.setattr(track, "INTERVAL", 0.0)
    assert finished(folder) == []
    (folder.results / "store" / DATABASE).unlink()
    with Tracker(folder, None, pytest.fail) as tracker:
        tracker(tracked("baseline", 0))


@pytest.fixture
def silent() -> Iterator[str]:
    """The address of a server that accepts and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"http://127.0.0.1:{server.getsockname()[1]}"


@pytest.mark.slow
def test_a_tracker_that_never_answers_is_one_warning_at_the_limit(folder, monkeypatch, silent):
    monkeypatch.setattr(track, "FINAL_LIMIT", 0.5)
    began = time.monotonic()
    (warning,) = finished(folder, silent)
    assert time.monotonic() - began < 10
    assert warning.startswith(f"MLflow ({silent}) is not up to date: there was no time left. Nothing is lost")


SIZE = 40


@pytest.fixture
def large(results: Path) -> StudyFolder:
    """A study with a report over so many trials that an update takes a second."""
    return report(results, *[tracked("baseline", seed) for seed in range(SIZE)])


def whole_runs(folder: StudyFolder) -> set[str]:
    """The ids of the runs that are whole."""
    whole = "SELECT run_uuid FROM runs JOIN tags USING (run_uuid) WHERE key = 'ablate.complete'"
    return {run for (run,) in query(folder.results, whole)}


@pytest.mark.slow
def test_the_end_interrupts_an_update_of_many_and_what_it_does_not_reach_the_next_one_does(
    large, monkeypatch
):
    warnings: list[str] = []

    def killed_once_the_report_is_there(process: Process) -> None:
        wait_for(lambda: ("study", "FINISHED") in shown(large.results), track.FINAL_LIMIT)
        process.kill()

    monkeypatch.setattr(track, "MANY", 3)
    with Tracker(large, None, warnings.append) as tracker:
        for _ in range(3):
            assert whole_runs(large) == set()
            tracker(tracked("baseline", 0))
        wait_for(lambda: len(whole_runs(large)) > 3, track.FINAL_LIMIT)
        killer = Thread(target=killed_once_the_report_is_there, args=[tracker._child.process])
        killer.start()
        assert not tracker.finish()
        killer.join()
    kept = whole_runs(large)
    assert 3 < len(kept) < SIZE
    (warning,) = warnings
    said = re.search(r"has (\d+) of 40 trials: its process was killed by SIGKILL", warning)
    assert said is None or 3 < int(said[1]) <= len(kept)
    assert finished(large) == []
    assert kept < whole_runs(large)
    assert shown(large.results) == [
        *((f"baseline · seed {seed:02d}", "FINISHED") for seed in range(SIZE)),
        ("study", "FINISHED"),
    ]


@pytest.mark.slow
def test_when_the_time_is_over_no_trial_is_left_running(large):
    with Tracker(large, None, pytest.fail) as tracker:
        tracker.tell("RUNNING")
        wait_for(lambda: len(whole_runs(large)) > 0, track.FINAL_LIMIT)
        tracker.tell("FINISHED", time.monotonic())
        end = tracker._awaited(tracker._child, time.monotonic() + track.FINAL_LIMIT)
    assert end.fault == "there was no time left"
    assert tracker._progress == Progress(len(whole_runs(large)), SIZE)
    assert len(whole_runs(large)) < SIZE
    assert {status for _, status in shown(large.results)} == {"FINISHED"}
