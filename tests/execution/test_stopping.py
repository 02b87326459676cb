"""Prunable trials wait for the driver's word, so that they end at the same step whatever the timing."""

import os
import signal
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from test_pool import TOY_REF, Runner, alive, children

from ablate.base.registry import CATALOGUE
from ablate.core.events import Event, Finished, Progress, Saved, Started
from ablate.core.plan import FixedPlan
from ablate.core.record import Record
from ablate.core.trial import Trial
from ablate.execution.driver import drive
from ablate.execution.pool import Engine, InProcess, LocalPool
from ablate.execution.trial import WorkloadRef
from ablate.records.store import Store
from ablate.training.trial import train_trial
from ablate.training.workload import SequenceWorkload

JOBS = (0, 1, 2)
Decide = Callable[[Progress], bool]


@pytest.fixture
def trials(tmp_path: Path) -> list[Trial]:
    """Nine of six steps; they may be ended."""
    return [replace(trial, prunable=True) for trial in Runner(tmp_path).trials("training.steps=6")]


def toy(jobs: int) -> Engine:
    return LocalPool(TOY_REF, jobs) if jobs else InProcess(CATALOGUE.get("workload", "toy")())


def run(
    trials: list[Trial], decide: Decide, engine: Engine, heard: list[Event] | None = None
) -> list[Record]:
    """The records, in order of the trials."""
    records = {}
    try:
        for event in engine.run(trials, decide):
            if heard is not None:
                heard.append(event)
            if isinstance(event, Finished):
                records[event.record.id] = event.record
    finally:
        engine.close()
    assert not children(), "a worker was left behind"
    return [records[trial.id] for trial in trials]


def below(threshold: float) -> Decide:
    """Stops a trial at its first report below the threshold."""
    return lambda report: report.metrics["accuracy"] < threshold


def content(record: Record) -> tuple[object, ...]:
    """All that must repeat."""
    metrics = {key: value for key, value in record.metrics.items() if not key.endswith("_seconds")}
    curves = {name: (curve.steps.tolist(), curve.values.tobytes()) for name, curve in record.curves.items()}
    arrays = {name: array.tobytes() for name, array in record.arrays.items()}
    return record.status, record.reason, metrics, curves, arrays, record.data


def steps(record: Record) -> int:
    return int(record.curves["train_loss"].steps[-1])


def test_trials_end_at_the_same_step_whatever_the_number_of_jobs(trials: list[Trial]) -> None:
    one, two, three = (run(trials, below(-0.5), toy(jobs)) for jobs in JOBS)
    assert [content(record) for record in one] == [content(record) for record in two]
    assert [content(record) for record in two] == [content(record) for record in three]
    assert {record.status for record in one} == {"completed", "pruned"}
    assert len({steps(record) for record in one}) > 2


@pytest.mark.parametrize("jobs", JOBS)
def test_a_trial_that_is_stopped_at_a_step_has_come_to_no_other(trials: list[Trial], jobs: int) -> None:
    records = run(trials[:2], lambda report: report.step == 4, toy(jobs))
    assert [record.status for record in records] == ["pruned"] * 2
    assert [steps(record) for record in records] == [4] * 2


@pytest.mark.parametrize("jobs", JOBS)
def test_every_report_of_a_prunable_trial_is_decided_on_once_and_of_no_other(
    trials: list[Trial], jobs: int
) -> None:
    asked: list[tuple[str, int]] = []

    def decide(report: Progress) -> bool:
        asked.append((report.trial_id, report.step))
        return trials[0].id == report.trial_id and report.step == 2

    records = run([trials[0], replace(trials[1], prunable=False), trials[2]], decide, toy(jobs))
    assert [record.status for record in records] == ["pruned", "completed", "completed"]
    for trial, expected in ((trials[0], [1, 2]), (trials[1], []), (trials[2], [1, 2, 3, 4, 5, 6])):
        assert [step for trial_id, step in asked if trial_id == trial.id] == expected


def test_a_worker_that_is_killed_while_it_waits_changes_nothing(trials: list[Trial]) -> None:
    asked: list[tuple[str, int]] = []
    killed: list[int] = []

    def decide(report: Progress) -> bool:
        asked.append((report.trial_id, report.step))
        stop = report.metrics["accuracy"] < -0.5
        # Once while the trial is to go on, once when it is to end.
        if (not killed) or (stop and len(killed) == 1):
            killed.append(children()[0])
            os.kill(killed[-1], signal.SIGKILL)
        return stop

    disturbed = run(trials, decide, toy(1))
    calm = run(trials, below(-0.5), toy(0))
    assert [content(record) for record in disturbed] == [content(record) for record in calm]
    assert sorted(record.attempts for record in disturbed) == [1] * 7 + [2] * 2
    assert len(asked) == len(set(asked)), "a report was decided on twice"


def test_a_time_limit_holds_while_a_trial_waits(trials: list[Trial]) -> None:
    def decide(report: Progress) -> bool:
        if report.trial_id == trials[0].id:
            time.sleep(0.6)
        return False

    records = run([replace(trials[0], time_limit=0.5), trials[1]], decide, toy(1))
    assert [record.status for record in records] == ["failed", "completed"]
    assert records[0].reason == "time limit of 0.5 s exceeded"


@pytest.mark.parametrize("jobs", [0, 1])
def test_an_error_of_the_decision_is_not_one_of_the_trial(trials: list[Trial], jobs: int) -> None:
    def decide(report: Progress) -> bool:
        raise ConnectionError("the storage does not answer")

    heard: list[Event] = []
    with pytest.raises(ConnectionError, match="does not answer"):
        run(trials[:1], decide, toy(jobs), heard)
    assert not [event for event in heard if isinstance(event, Finished)]


def test_a_worker_that_waits_ends_with_its_driver(trials: list[Trial]) -> None:
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        pool = LocalPool(TOY_REF, 1)

        def decide(report: Progress) -> bool:
            os.write(write, str(pool._workers[0].process.pid).encode())
            time.sleep(60)
            return False

        list(pool.run(trials[:1], decide))
        os._exit(1)
    worker = int(os.read(read, 100))
    assert alive(worker)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    deadline = time.monotonic() + 10
    while alive(worker) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not alive(worker)


def test_a_pruned_trial_is_trained_by_a_run_that_asks_for_it(trials: list[Trial], tmp_path: Path) -> None:
    store, records = Store(tmp_path / "store"), {}
    drive(FixedPlan(trials[:1]), records, lambda: toy(0), store, {}, decide=lambda report: True)
    pruned = store.load(trials[0].id)
    assert pruned is not None
    assert pruned.status == "pruned"
    assert not store.is_finished(pruned)
    assert not store.is_finished(pruned, "final")
    assert store.is_finished(pruned, pruned=True)
    assert store.is_finished(pruned, "final", pruned=True)
    records.clear()
    drive(FixedPlan([replace(trials[0], prunable=False)]), records, lambda: toy(0), store, {})
    whole = run([replace(trials[0], prunable=False)], lambda report: False, toy(0))[0]
    assert content(records[trials[0].id]) == content(whole)
    stored = store.load(trials[0].id)
    assert stored is not None
    assert stored.status == "completed"


CONFIG = {
    "task": {"name": "recall", "num_eval": 32},
    "model": {"d_model": 16, "num_layers": 1, "mixer": {"num_heads": 2}, "dropout": {"residual": 0.1}},
    "training": {"steps": 24, "batch_size": 8, "eval_every": 4},
}
SEQUENCE = Trial("x", CONFIG, 10_000, prunable=True, save_every=6)


def sequence(jobs: int, save: Callable[[str, bytes], None] = lambda trial_id, state: None) -> Engine:
    if jobs:
        return LocalPool(WorkloadRef("sequence"), jobs)
    workload = SequenceWorkload()
    workload.load_parts()
    return InProcess(workload, save)


def at(step: int) -> Decide:
    return lambda report: report.step == step


@pytest.mark.slow  # Two workers import torch.
def test_a_model_that_is_stopped_is_the_same_with_and_without_a_loss_of_its_worker() -> None:
    calm = run([SEQUENCE], at(16), sequence(0))[0]
    assert (calm.status, calm.reason) == ("pruned", "stopped after step 16 of 24")
    assert len(calm.arrays["train_loss"]) == 16
    killed: list[int] = []
    heard: list[Event] = []

    def decide(report: Progress) -> bool:
        # The last state is that of step 12, from which the next worker comes to 16 again.
        if report.step == 16 and not killed:
            killed.append(children()[0])
            os.kill(killed[0], signal.SIGKILL)
        return report.step == 16

    disturbed = run([SEQUENCE], decide, sequence(1), heard)[0]
    assert content(disturbed) == content(calm)
    assert disturbed.attempts == 2
    saved = [event.step for event in heard if isinstance(event, Saved)]
    reported = [event.step for event in heard if isinstance(event, Progress)]
    assert saved == [6, 12]
    assert reported == [4, 8, 12, 16, 16]
    assert len([event for event in heard if isinstance(event, Started)]) == 2


def test_a_pruned_model_that_is_trained_to_its_end_goes_on_from_its_state(tmp_path: Path) -> None:
    store, records, reports = Store(tmp_path), {}, []
    drive(FixedPlan([SEQUENCE]), records, lambda: sequence(0, store.save_state), store, {}, decide=at(16))
    assert store.load_state("x") is not None
    plain = replace(SEQUENCE, prunable=False, checkpoint="best")

    def emit(step: int, metrics: object, state: bytes | None = None) -> bool:
        reports.append(step)
        return False

    resumed = train_trial(replace(plain, state=store.load_state("x")), emit)
    assert min(reports) > 12
    whole = train_trial(plain, lambda step, metrics, state=None: False)
    assert content(resumed) == content(whole)
    assert resumed.weights == whole.weights
    records.clear()
    drive(FixedPlan([plain]), records, lambda: sequence(0, store.save_state), store, {})
    assert content(records["x"]) == content(whole)
    assert store.load_state("x") is None


def test_a_prunable_model_never_goes_on_from_a_state_that_was_left_behind(tmp_path: Path) -> None:
    """A run that was not to be pruned may have come further than the step at which a search ends it."""
    store, records = Store(tmp_path), {}
    plain = replace(SEQUENCE, prunable=False)
    states: list[bytes] = []

    def emit(step: int, metrics: object, state: bytes | None = None) -> bool:
        states.extend([state] if state is not None else [])
        return False

    train_trial(plain, emit)
    store.save_state("x", states[-1])
    drive(FixedPlan([SEQUENCE]), records, lambda: sequence(0, store.save_state), store, {}, decide=at(8))
    assert content(records["x"]) == content(run([SEQUENCE], at(8), sequence(0))[0])
    np.testing.assert_array_equal(records["x"].curves["train_loss"].steps, [4, 8])
