"""From what a workload returns to a record that can be kept."""

import io
import os
import time

import pytest
from rich.console import Console

from ablate.core.events import BatchPlanned, CacheHit, Capacity, Started, TrialStored
from ablate.core.overhead import Overhead
from ablate.core.record import Record
from ablate.core.trial import Cell, Trial
from ablate.core.workload import Workload
from ablate.execution.opened_files import OpenedFiles
from ablate.execution.progress import MAX_LINES, Display
from ablate.execution.run_trial import run_trial


class Careless(Workload):
    """Changes its config, and returns what a test wants."""

    def __init__(self, **fields):
        self.fields = fields

    def schema(self):
        return {}

    def train(self, trial, emit):
        trial.config["model"].pop("width")
        return Record.of(trial, **self.fields)


def trained(**fields):
    trial = Trial("a1", {"model": {"width": 4}}, 3, "placebo")
    return run_trial(Careless(**fields), trial, lambda event: False)


def test_a_record_is_of_what_was_asked_for_whatever_the_workload_does_to_its_config():
    record = trained(metrics={"accuracy": 1})
    assert record.status == "completed"
    assert (record.id, record.seed, record.stream) == ("a1", 3, "placebo")
    assert record.config == {"model": {"width": 4}}


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"data": {"train": 12}}, "data.train: Input should be a valid string"),
        ({"environment": {"x": object()}}, "Object of type object is not JSON serializable"),
        ({"status": "done"}, "status: "),
    ],
)
def test_a_record_that_cannot_be_kept_is_a_failed_trial(fields, said):
    record = trained(**fields)
    assert record.status == "failed"
    assert record.reason.startswith(f"TypeError: `train` returned a record that cannot be kept: {said}")


@pytest.mark.parametrize("reason", ["", " "])
def test_a_failure_without_a_reason_says_so(reason):
    assert trained(status="failed", reason=reason).reason == "its workload gave no reason"
    assert trained(status="failed", reason="no space left").reason == "no space left"
    assert trained(status="completed").reason == ""


def test_files_that_are_read_beside_a_study_are_heard_of(tmp_path):
    """Not those that are written, declared now or before, hidden, or code; a link counts as what it leads to."""
    for name in ("read.csv", "declared.csv", "own.py", ".hidden", "target.csv"):
        (tmp_path / name).write_text("1")
    (tmp_path / "link.csv").symlink_to(tmp_path / "target.csv")
    opened = OpenedFiles([tmp_path / "study.yaml"])
    for name in ("read.csv", "declared.csv", "own.py", ".hidden", "link.csv"):
        (tmp_path / name).read_text()
    (tmp_path / "written.csv").write_text("1")
    os.close(os.open(tmp_path / "made.csv", os.O_WRONLY | os.O_CREAT))
    found = opened.undeclared([str(tmp_path / "declared.csv")])
    assert found == [str(tmp_path / "read.csv"), str(tmp_path / "target.csv")]
    assert opened.undeclared([str(tmp_path / "link.csv")]) == [str(tmp_path / "read.csv")]


def lines(total, failing=None):
    """Of a run of `total` trials without a terminal."""
    console = Console(file=io.StringIO(), width=200)
    with Display(console, "toy", "accuracy", lambda: Capacity(2)) as display:
        display(BatchPlanned(total))
        for seed in range(total):
            trial = Trial(f"{seed:016x}", {}, seed)
            record = Record.of(trial, "failed" if seed == failing else "completed", metrics={"accuracy": 0.5})
            display(TrialStored(Cell("baseline", "", seed, trial, f"baseline seed {seed}", {}), record))
    return console.file.getvalue().splitlines()


def test_the_first_line_says_what_a_training_computes_and_how_long_those_in_the_store_took():
    console = Console(file=io.StringIO(), width=200)
    trial = Trial("0" * 16, {}, 0)
    record = Record.of(
        trial, "completed", started_at="2026-01-01T00:00:00Z", finished_at="2026-01-01T00:01:00Z"
    )
    with Display(console, "toy", "accuracy", lambda: Capacity(2), compute=9_876_000_000) as display:
        display(CacheHit(Cell("baseline", "", 0, trial, "baseline seed 0", {}), record))
        display(BatchPlanned(4))
    assert console.file.getvalue() == (
        "toy: 4 trials to train on 2 workers, 1 already in the store, 9.88G FLOPs each, about 2 min left.\n"
    )


def test_the_time_that_is_left_counts_start_and_report_and_after_the_start_the_report_alone():
    console = Console(file=io.StringIO(), width=200)
    trials = [Trial(f"{seed:016x}", {}, seed) for seed in range(3)]
    cells = [Cell("baseline", "", seed, trial, f"seed {seed}", {}) for seed, trial in enumerate(trials)]
    minute = {"started_at": "2026-01-01T00:00:00Z", "finished_at": "2026-01-01T00:01:00Z"}
    beside = Overhead(start=20.0, report=15.0)
    began = time.monotonic() - 10  # Half of the start is over.
    with Display(console, "toy", "accuracy", lambda: Capacity(1), overhead=beside, began=began) as display:
        display(CacheHit(cells[0], Record.of(trials[0], **minute)))
        display(BatchPlanned(1))
        assert display.overhead_left() == pytest.approx(25, abs=1)
        display(Started(trials[1].id))
        assert display.overhead_left() == 15
        display(TrialStored(cells[1], Record.of(trials[1], metrics={"accuracy": 0.5})))
    announced, last = console.file.getvalue().splitlines()
    assert announced.endswith(", about 85 s left, of which 25 s is starting and reporting.")
    assert last == "[1/1] seed 1: accuracy 0.5 (0.0 s), about 15 s left"


def test_a_large_run_has_few_lines_and_names_every_failure():
    _, *found = lines(1000, failing=503)
    assert len(found) <= MAX_LINES + 2
    assert found[0].startswith("[1/1000] baseline seed 0: accuracy 0.5")
    assert found[-1].startswith("[1000/1000] ")
    assert [line.partition(" (")[0] for line in found if "failed" in line] == [
        "[504/1000] baseline seed 503: failed: "
    ]
