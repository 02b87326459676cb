"""The command line as a user meets it: exit codes, kills, interruptions."""

import os
import signal
import time
from collections.abc import Callable

import pytest
from drivers import SLOW_TRIALS, assert_tracked_once, records, start, wait_for, workers_of
from harness import ablate

pytestmark = pytest.mark.usefixtures("tracking")


@pytest.mark.slow
def test_a_driver_that_is_killed_at_any_moment_goes_on_where_it_was(write):
    study = write(SLOW_TRIALS)
    folder = study.parent
    store = folder / "results" / "store"

    def ends() -> bool:
        return len(records(folder)) == 12 and (store / "mlflow.db").exists()

    kept: dict[str, int] = {}
    moments: list[Callable[[], object]] = [store.is_dir, lambda: len(records(folder)) >= 5, ends]
    for moment, most in zip(moments, (5, 11, 12), strict=True):
        driver = start(study)
        wait_for(moment)
        driver.kill()
        driver.communicate()
        wait_for(lambda: not workers_of(folder), 10)
        now = records(folder)
        assert kept.items() <= now.items(), "a finished trial was trained again"
        assert len(now) <= most
        kept = now
    assert len(kept) == 12
    done = ablate("run", study, cwd=folder)
    assert done.returncode == 0, done.stderr
    assert records(folder) == kept
    assert_tracked_once(folder)
    # What a kill leaves half written has a name that nothing reads, and goes after an hour.
    assert all(".ablate-" in path.name for path in (store / "trials").glob(".*"))


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interruption_ends_in_seconds_and_says_what_is_kept(write, number):
    study = write(SLOW_TRIALS.replace("seconds: 0.5", "seconds: 2"))
    driver = start(study)
    wait_for(lambda: len(records(study.parent)) >= 1)
    began = time.monotonic()
    os.killpg(driver.pid, number)
    _, stderr = driver.communicate(timeout=30)
    assert driver.returncode == 130
    assert time.monotonic() - began < 20
    kept = len(records(study.parent))
    assert f"Interrupted; {kept} of 12 trials in results/store are kept; run the same command" in stderr
    assert "Traceback" not in stderr
    wait_for(lambda: not workers_of(study.parent), 5)


@pytest.mark.slow
def test_two_drivers_of_one_study_train_each_trial_once(write):
    study = write(SLOW_TRIALS.replace("seconds: 0.5", "seconds: 0.2"))
    drivers = [start(study), start(study)]
    outputs = [driver.communicate(timeout=120)[0] for driver in drivers]
    assert [driver.returncode for driver in drivers] == [0, 0]
    assert sum("toy is already running; waiting for it to finish" in output for output in outputs) == 1
    assert sum("12 trials to train" in output for output in outputs) == 1
    assert_tracked_once(study.parent)
