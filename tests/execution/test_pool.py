"""Faults of trials and workers, really caused, on the workload without torch."""

import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from harness import TOY, TOY_STUDY

from ablate.base.plugins import load_plugin
from ablate.base.registry import CATALOGUE
from ablate.core.events import Event, Finished, Progress, Started
from ablate.core.plan import FixedPlan
from ablate.core.record import Record
from ablate.core.trial import Trial
from ablate.execution.driver import drive
from ablate.execution.pool import Engine, InProcess, LocalPool
from ablate.execution.trial import WorkloadRef
from ablate.records.store import Store
from ablate.study.experiment import prepare

TOY_REF = WorkloadRef("toy", (load_plugin(TOY),))
Listen = Callable[[Event], None]


@pytest.fixture(params=[0, 1, 2])
def jobs(request: pytest.FixtureRequest) -> int:
    return int(request.param)


class Runner:
    """Drives the toy study with settings of a test."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.path = folder / "study.yaml"
        self.path.write_text(TOY_STUDY)

    def trials(self, *sets: str) -> list[Trial]:
        return [cell.trial for cell in prepare(self.path, sets).cells()]

    def __call__(
        self, *sets: str, jobs: int = 2, listen: Listen = lambda event: None, **options: bool
    ) -> dict[str, Record]:
        records: dict[str, Record] = {}

        def engine() -> Engine:
            return LocalPool(TOY_REF, jobs) if jobs else InProcess(CATALOGUE.get("workload", "toy")())

        plan = FixedPlan(self.trials(*sets))
        drive(plan, records, engine, Store(self.folder), {"commit": "c"}, listen=listen, **options)
        return records


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Runner]:
    yield Runner(tmp_path)
    assert not children(), "a worker was left behind"


def children() -> list[int]:
    listed = Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text().split()
    return [
        int(pid) for pid in listed if b"ablate.execution.worker" in Path(f"/proc/{pid}/cmdline").read_bytes()
    ]


def statuses(records: dict[str, Record]) -> list[str]:
    return sorted(record.status for record in records.values())


def test_the_number_of_jobs_changes_no_number(run: Runner, jobs: int) -> None:
    records = run(jobs=jobs)
    reference = InProcess(CATALOGUE.get("workload", "toy")())
    for event in reference.run(run.trials()):
        if isinstance(event, Finished):
            found = records[event.record.id]
            assert {k: v for k, v in found.metrics.items() if not k.endswith("_seconds")} == {
                k: v for k, v in event.record.metrics.items() if not k.endswith("_seconds")
            }


def test_every_record_is_stored_before_anyone_hears_of_it(run: Runner, jobs: int) -> None:
    store = Store(run.folder)

    def listen(event: Event) -> None:
        if isinstance(event, Finished):
            stored = store.load(event.record.id)
            assert stored is not None
            assert stored.environment["commit"] == "c"

    assert len(run(jobs=jobs, listen=listen)) == 9


def test_an_exception_fails_one_trial_and_leaves_the_others(run: Runner, jobs: int) -> None:
    records = run("training.fault=raise", jobs=jobs)
    assert statuses(records) == ["completed"] * 6 + ["failed"] * 3
    failed = next(r for r in records.values() if r.status == "failed")
    assert failed.reason == "RuntimeError: the toy broke"
    assert 'raise RuntimeError("the toy broke")' in failed.error
    assert failed.attempts == 1


def test_what_a_trial_prints_goes_into_its_record(run: Runner) -> None:
    records = run(jobs=1)
    assert {record.output for record in records.values()} == {
        f"training under seed {s}\ndone\n" for s in range(3)
    }


@pytest.mark.parametrize(
    ("fault", "fate"), [("kill", "was killed by SIGKILL"), ("exit", "ended with exit code 3")]
)
def test_a_worker_that_dies_has_its_trial_tried_once_more(run: Runner, fault: str, fate: str) -> None:
    records = run(f"training.fault={fault}")
    assert statuses(records) == ["completed"] * 6 + ["failed"] * 3
    for record in records.values():
        if record.status == "failed":
            assert record.reason == f"the worker process {fate}, 2 times"
            assert record.attempts == 2
            assert "training under seed 0" in record.output


def test_a_worker_that_dies_once_costs_nothing_but_time(run: Runner) -> None:
    flag = run.folder / "flag"
    records = run("training.fault=kill_once", f"training.note={flag}", jobs=1)
    assert statuses(records) == ["completed"] * 9
    assert sorted(record.attempts for record in records.values()) == [1] * 8 + [2]


def test_a_worker_killed_from_outside_is_replaced(run: Runner) -> None:
    killed: list[int] = []

    def listen(event: Event) -> None:
        if isinstance(event, Progress) and not killed:
            killed.append(children()[0])
            os.kill(killed[0], signal.SIGKILL)

    records = run("training.seconds=0.2", listen=listen)
    assert killed
    assert statuses(records) == ["completed"] * 9


def test_an_idle_worker_that_dies_is_replaced(tmp_path: Path) -> None:
    trials = Runner(tmp_path).trials()
    pool = LocalPool(TOY_REF, 1)
    try:
        list(pool.run(trials[:1]))
        os.kill(children()[0], signal.SIGKILL)
        time.sleep(0.1)
        (finished,) = [event for event in pool.run(trials[1:2]) if isinstance(event, Finished)]
        assert finished.record.status == "completed"
    finally:
        pool.close()


def test_a_time_limit_fails_the_trial_and_the_others_go_on(run: Runner) -> None:
    records = run("training.fault=hang", "time_limit=0.5")
    assert statuses(records) == ["completed"] * 6 + ["failed"] * 3
    assert {r.reason for r in records.values() if r.status == "failed"} == {"time limit of 0.5 s exceeded"}


def test_a_diverged_trial_is_an_outcome(run: Runner, jobs: int) -> None:
    records = run("training.fault=diverge", jobs=jobs)
    assert statuses(records) == ["completed"] * 6 + ["diverged"] * 3


def test_fail_fast_ends_the_run_at_the_first_failure(run: Runner, jobs: int) -> None:
    records = run("training.fault=raise", jobs=jobs, fail_fast=True)
    assert "failed" in statuses(records)
    assert len(records) < 9


def test_a_plugin_that_changes_while_the_study_runs_fails_the_trials_of_new_workers(tmp_path: Path) -> None:
    plugin = tmp_path / "changing.py"
    plugin.write_text(TOY.read_text().replace('"toy"', '"changing"'))
    reference = WorkloadRef("changing", (load_plugin(plugin),))
    trials = Runner(tmp_path).trials()
    plugin.write_text(plugin.read_text() + "\nMORE = 1\n")
    pool = LocalPool(reference, 1)
    try:
        (finished,) = [event for event in pool.run(trials[:1]) if isinstance(event, Finished)]
        assert finished.record.status == "failed"
        assert "changed while the study ran" in finished.record.error
    finally:
        pool.close()


def test_workers_end_when_their_driver_is_killed(tmp_path: Path) -> None:
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        pool = LocalPool(TOY_REF, 2)
        trials = Runner(tmp_path).trials("training.seconds=60")
        started = 0
        for event in pool.run(trials):
            started += isinstance(event, Started)
            if started == 2:
                os.write(write, " ".join(str(worker.process.pid) for worker in pool._workers).encode())
                time.sleep(60)
    workers = [int(pid) for pid in os.read(read, 100).split()]
    assert all(Path(f"/proc/{pid}").exists() for pid in workers)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    deadline = time.monotonic() + 10
    while any(alive(pid) for pid in workers) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not any(alive(pid) for pid in workers)


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
