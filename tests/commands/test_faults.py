"""What a careless machine does to a run, really caused, through the command line."""

import os
import resource
import signal
import socket
import time

import pytest
from drivers import SLOW_TRIALS, assert_tracked_once, records, start, wait_for, workers_of
from harness import TOY_STUDY, ablate

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("tracking")]


def test_two_studies_at_once_on_a_folder_that_does_not_exist(write):
    first = write(TOY_STUDY)
    second = write(TOY_STUDY.replace("name: toy\n", "name: other\n", 1), "other.yaml")
    drivers = [start(first), start(second)]
    outputs = [driver.communicate(timeout=120) for driver in drivers]
    assert [driver.returncode for driver in drivers] == [0, 0], outputs
    assert all("warning" not in out for out, _ in outputs)
    assert len(records(first.parent)) == 9
    assert_tracked_once(first.parent)


def test_a_tracker_that_is_down_costs_a_warning_and_is_brought_up_to_date(toy_study):
    folder = toy_study.parent
    with socket.socket() as taken:
        # Bound and not listening: whoever connects is refused.
        taken.bind(("127.0.0.1", 0))
        uri = f"http://127.0.0.1:{taken.getsockname()[1]}"
        done = ablate("run", toy_study, "--jobs", "1", "--tracking-uri", uri, cwd=folder)
    assert done.returncode == 0
    assert "warning: MLflow" in done.stdout
    assert "Traceback" not in done.stdout + done.stderr
    assert len(records(folder)) == 9
    done = ablate("run", toy_study, cwd=folder)
    assert "all 9 trials are in the store" in done.stdout
    assert_tracked_once(folder)


def test_a_full_disk_is_one_clear_error_and_finished_trials_stay(toy_study):
    """A limit on the size of files lets the small records through and stops what is larger."""
    folder = toy_study.parent

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (40_000, 40_000))

    done = ablate("run", toy_study, "--jobs", "1", cwd=folder, preexec_fn=limit)
    assert done.returncode == 1
    assert "cannot be written: File too large; free space or choose --results" in done.stderr
    assert "Traceback" not in done.stderr
    kept = records(folder)
    assert len(kept) == 9
    done = ablate("run", toy_study, cwd=folder)
    assert done.returncode == 0
    assert "all 9 trials are in the store" in done.stdout
    assert records(folder) == kept
    assert_tracked_once(folder)


def test_workers_that_are_killed_again_and_again(write):
    study = write(SLOW_TRIALS)
    driver = start(study)
    for _ in range(12):
        wait_for(lambda: workers_of(study.parent) or driver.poll() is not None)
        for pid in workers_of(study.parent)[:1]:
            os.kill(pid, signal.SIGKILL)
        time.sleep(0.3)
    stdout, stderr = driver.communicate(timeout=120)
    assert driver.returncode in (0, 1), stderr
    assert len(records(study.parent)) == 12
    assert ("was killed by SIGKILL, 2 times" in stdout) == (driver.returncode == 1)
    assert ablate("run", study, cwd=study.parent).returncode == 0
    assert_tracked_once(study.parent)


@pytest.mark.parametrize("name", ["mlflow.db", "claims.csv", "trials.parquet"])
def test_a_file_that_was_cut_is_a_message_not_a_traceback(toy_study, name):
    folder = toy_study.parent
    assert ablate("run", toy_study, "--jobs", "1", cwd=folder).returncode == 0
    path = folder / "results" / ("store" if name == "mlflow.db" else "toy") / name
    path.write_bytes(path.read_bytes()[:100])
    done = ablate("run", toy_study, "--seeds", "2", cwd=folder)
    assert "Traceback" not in done.stdout + done.stderr
    if name == "trials.parquet":
        assert done.returncode == 0
    elif name == "claims.csv":
        assert done.returncode in (0, 2)
    else:
        assert (done.returncode, "set aside as mlflow.db.corrupt-1" in done.stdout) == (0, True)
    assert len(records(folder)) == 9
