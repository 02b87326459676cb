"""The best epoch of a user's own code: where another metric was best, a metric counts."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from harness import ablate_here, problems, run_here

from ablate import load
from ablate.base.errors import AblateError
from ablate.external.best import best_values

CASE = Path(__file__).parent / "best_epoch"
READ = {"test": r"Test: (\S+)", "val": r"Val: ([\d.]+)", "step": r"Epoch: (\d+)"}
AT_BEST = {"direction": "max", "margin": 0.005, "at": "best", "by": "val"}


@pytest.fixture
def folder(tmp_path):
    return Path(shutil.copytree(CASE, tmp_path / "case"))


def written(folder: Path, test: dict[str, object], **changes: object) -> Path:
    study = {
        "name": "best",
        "workload": {"command": "python train.py --wd {wd} --seed {seed}", "read": READ},
        "config": {"wd": 0.0},
        "metrics": {"test": test, "val": "max"},
        "factors": {"config.wd": [0.1]},
        "seeds": 2,
    }
    path = folder / "study.yaml"
    path.write_text(json.dumps(study | changes))
    return path


def epochs(folder: Path, wd: float, seed: int) -> list[tuple[float, float]]:
    """Validation and test of each epoch, as the script itself prints them."""
    words = [sys.executable, "train.py", "--wd", str(wd), "--seed", str(seed)]
    printed = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=True).stdout
    return [(float(val), float(test)) for val, test in re.findall(r"Val: ([\d.]+), Test: (\S+)", printed)]


@pytest.mark.slow
def test_the_value_at_the_best_epoch_is_judged(folder):
    written(folder, AT_BEST)
    done = ablate_here("run", "study.yaml", "--jobs", "1", cwd=folder)
    assert done.returncode == 0, done.stderr
    trials = load(folder / "results" / "best").trials
    assert len(trials) == 4
    for row in trials.itertuples():
        of_epochs = epochs(folder, 0.0 if row.variant == "baseline" else 0.1, row.seed)
        best = max(range(len(of_epochs)), key=lambda epoch: of_epochs[epoch][0])
        assert best < len(of_epochs) - 1
        assert row.test == of_epochs[best][1]
    (row, _) = load(folder / "results" / "best").comparisons.itertuples()
    assert abs(row.diff) < 0.02  # At the last epoch it is 0.11.


@pytest.mark.slow
def test_a_guide_that_is_the_judged_number_at_every_step_ends_the_run_without_a_verdict(folder):
    workload = {"command": "python train.py --wd {wd} --seed {seed}", "read": READ | {"val": READ["test"]}}
    study = written(folder, AT_BEST, workload=workload)
    with pytest.raises(AblateError, match=r"metrics\.test\.by: is the metric itself at every step"):
        run_here(study)
    assert not (folder / "results/best/comparisons.csv").exists()
    assert not (folder / "results/best/answer.txt").exists()

    # Another rule is another number: what the last epoch gives is trained, and judged, anew.
    written(folder, {"direction": "max", "margin": 0.005})
    done = ablate_here("run", "study.yaml", "--jobs", "1", cwd=folder)
    assert "4 trials to train" in done.stdout
    (row, _) = load(folder / "results" / "best").comparisons.itertuples()
    assert round(row.diff, 1) == 0.1


@pytest.mark.parametrize(
    ("test", "changes", "place"),
    [
        ({"direction": "max", "at": "best"}, {}, "metrics.test.at"),
        ({"direction": "max", "at": "best", "by": "vall"}, {}, "metrics.test.by"),
        ({"direction": "max", "at": "best", "by": "test"}, {}, "metrics.test.by"),
        ({"direction": "max", "by": "val"}, {}, "metrics.test.by"),
        ({"direction": "max"}, {"metric": {"at": "best_validation"}}, "metric.at"),
    ],
)
def test_what_names_no_step_is_refused(folder, test, changes, place):
    (found,) = problems(written(folder, test, **changes))
    assert f"{place}: " in found
    assert ("test: {direction: max, at: best, by: val}" in found) == (place == "metric.at")


METRICS = {
    "test": {"direction": "max", "at": "best", "by": "val"},
    "val": {"direction": "min", "at": "last", "by": None},
}


@pytest.mark.parametrize(
    ("test", "val", "best"),
    [
        ([(1, 0.5), (2, 0.6), (3, 0.7)], [(1, 3.0), (2, 1.0), (3, 2.0)], 0.6),
        # The first on ties, and never one where validation is no number.
        ([(1, 0.5), (2, 0.6), (3, 0.7)], [(1, float("nan")), (2, 1.0), (3, 1.0)], 0.6),
        # Of the steps that both have: validation was best at 25, of which test is not known.
        ([(10, 0.5), (20, 0.6)], [(5, 4.0), (10, 2.0), (20, 3.0), (25, 1.0)], 0.5),
        # A function that also returns its last values.
        ([(1, 0.5), (2, 0.6), (2, 0.6)], [(1, 1.0), (2, 2.0), (2, 2.0)], 0.5),
    ],
)
def test_the_first_best_of_the_common_steps_counts(test, val, best):
    assert best_values(METRICS, {"test": test, "val": val}) == {"test": best}


@pytest.mark.parametrize(
    ("test", "val"),
    [
        ([(30, 0.7)], [(step, 1.0 / step) for step in range(1, 31)]),
        ([(1, 0.7)], [(1, 0.2)]),
        ([(1, 0.5), (2, 0.6)], [(10, 3.0), (20, 2.0)]),
        # Counted, as no step was read: the second test may be that of any epoch.
        ([(1, 0.5), (2, 0.6)], [(1, 3.0), (2, 2.0), (3, 1.0)]),
    ],
)
def test_without_common_steps_there_is_no_best(test, val):
    with pytest.raises(AblateError, match="test at the best val: "):
        best_values(METRICS, {"test": test, "val": val})


@pytest.mark.slow
def test_a_trial_without_common_steps_fails_and_says_why(folder):
    silent = READ | {"test": r"Epoch: 030.*Test: (\S+)"}
    command = {"command": "python train.py --wd {wd} --seed {seed}", "read": silent}
    written(folder, AT_BEST, workload=command, seeds=1)
    done = ablate_here("run", "study.yaml", "--jobs", "1", "--keep-going", cwd=folder)
    assert done.returncode == 1
    trials = load(folder / "results" / "best").trials
    assert set(trials.status) == {"failed"}
    assert trials.reason.str.contains("test has 1 values? and val has 30").all()
