"""How long a run will take, before it trains."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from ablate.core.events import Hear
from ablate.core.record import Record
from ablate.core.trial import Trial
from ablate.execution.in_process import InProcess
from ablate.execution.trial import WorkloadRef
from ablate.records.store import Store
from ablate.stages import expect
from ablate.stages.expect import seconds_each, seconds_known
from ablate.study.experiment import Experiment
from ablate.study.prepare import prepare

BASELINE, OTHER = ("baseline", "coin"), ("model.effect=0.2", "coin")


@pytest.fixture
def experiment(toy_study: Path) -> Experiment:
    return prepare(toy_study)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store", pytest.fail)


def each(experiment: Experiment, store: Store, *places: tuple[str, str], total: int = 1000) -> float | None:
    engine = InProcess(WorkloadRef("toy"), experiment.workload)
    return seconds_each(experiment, places, total, engine, 1, store)


def test_it_is_told_by_the_trials_that_have_run(experiment: Experiment, store: Store) -> None:
    for cell, seconds in zip(experiment.cells()[:5], (2.0, 6.0, 1.0, 4.0, 8.0), strict=True):
        store.save(Record.of(cell.trial, metrics={"train_seconds": seconds}))
    known = seconds_known(experiment.cells(), store)
    assert known == {BASELINE: 3.0, OTHER: 7.0, ("model.noise=0.3", "coin"): 1.0}
    assert each(experiment, store, BASELINE, OTHER, OTHER) == pytest.approx((3 + 7 + 7) / 3)
    assert each(experiment, store, OTHER) == 7.0


def test_a_workload_without_steps_is_not_timed(experiment: Experiment, store: Store) -> None:
    assert each(experiment, store, BASELINE) is None


SMALL = """
name: small
seeds: 1
task: {name: recall, num_pairs: 2, vocab_size: 8, validation_size: 8, test_size: 8}
training: {steps: 100000, eval_every: 100000, batch_size: 2}
model: {d_model: 8, num_layers: 1, mixer: {name: attention, num_heads: 1}}
factors: {model.norm: [none]}
"""


class Counting(InProcess):
    """Keeps the steps of each training that it is given."""

    def run(self, trials: Sequence[Trial], hear: Hear) -> None:
        self.steps = [*getattr(self, "steps", []), *(t.config["training"]["steps"] for t in trials)]
        super().run(trials, hear)


def timed(write: Callable[[str], Path], store: Store) -> tuple[float | None, list[int]]:
    experiment = prepare(write(SMALL))
    engine = Counting(WorkloadRef("transformer"), experiment.workload)
    places = [(variant.name, experiment.tasks[0]) for variant in experiment.variants]
    return seconds_each(experiment, places, 2, engine, 1, store), engine.steps


def test_a_few_steps_tell_it_and_leave_no_record(write: Callable[[str], Path], store: Store) -> None:
    seconds, steps = timed(write, store)
    assert seconds
    assert steps[:3] == [1, 1, expect.SHORT]
    assert max(steps) <= 1 + expect.MOST_STEPS
    assert not [*store.root.rglob("*.json")]


def test_where_a_single_step_takes_long_no_more_are_timed(
    write: Callable[[str], Path], store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(expect, "BUDGET", 0.0)
    assert timed(write, store) == (None, [1, 1])
    monkeypatch.setattr(expect, "SLOWEST", 0.0)
    assert timed(write, store) == (None, [1])
