"""What machines do to a sweep, really caused: kills at any moment, interruptions, a second driver."""

import random
import re
import subprocess
import time
from pathlib import Path

import drivers
import pandas as pd
import pytest
from drivers import records, wait_for, workers_of
from searching import GRID, SWEEP, frame_at

SLOWER = "training: {seconds: 0.15}\n"
ADAPTIVE = SWEEP.replace("trials: 8", "trials: 12\n  sampler: {name: tpe, n_startup_trials: 4}\n  batch: 3")
PRUNED = ADAPTIVE.replace("batch: 3", "batch: 3\n  pruner: {name: median, n_startup_trials: 2}")


def start(study: Path, *options: object, jobs: int = 1) -> subprocess.Popen[str]:
    return drivers.start(study, *options, command="sweep", jobs=jobs)


def finish(driver: subprocess.Popen[str], code: int = 0) -> str:
    stdout, stderr = driver.communicate(timeout=120)
    assert driver.returncode == code, stdout + stderr
    assert "Traceback" not in stdout + stderr
    return stdout


def kill(driver: subprocess.Popen[str], folder: Path) -> None:
    driver.kill()
    driver.communicate()
    wait_for(lambda: not workers_of(folder), 20)


def at_once(study: Path) -> Path:
    """The study, whose trainings take no time from now on."""
    study.write_text(re.sub(r"(?<=seconds: )[0-9.]+", "0", study.read_text()))
    return study


def whole(study: Path) -> pd.DataFrame:
    """The table of a sweep that nothing interrupts."""
    text = study.read_text()
    finish(start(at_once(study), "--results", "whole", jobs=2))
    study.write_text(text)
    return frame_at(study.parent / "whole/peaks")


@pytest.mark.slow
@pytest.mark.parametrize(("text", "seed"), [(GRID, 1), (ADAPTIVE, 2), (PRUNED, 3)])
def test_a_sweep_that_is_killed_again_and_again_at_any_moment(write, text, seed):
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
    finish(start(at_once(study), jobs=2))
    assert kept.items() <= records(study.parent).items()
    pd.testing.assert_frame_equal(frame_at(study.parent / "results/peaks"), expected)
