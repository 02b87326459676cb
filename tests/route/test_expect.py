"""How long a run will take, before it trains."""

from pathlib import Path

import pytest

from ablate.core.record import Record
from ablate.records.store import Store
from ablate.route.expect import seconds_each, seconds_known
from ablate.study.experiment import Experiment
from ablate.study.prepare import prepare

BASELINE, OTHER = ("baseline", "coin"), ("model.effect=0.2", "coin")


@pytest.fixture
def experiment(toy_study: Path) -> Experiment:
    return prepare(toy_study)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store", pytest.fail)


def each(experiment: Experiment, store: Store, *places: tuple[str, str]) -> float | None:
    return seconds_each(experiment.cells(), places, store)


def test_it_is_told_by_the_trials_that_have_run(experiment: Experiment, store: Store) -> None:
    for cell, seconds in zip(experiment.cells()[:5], (2.0, 6.0, 1.0, 4.0, 8.0), strict=True):
        store.save(Record.of(cell.trial, metrics={"train_seconds": seconds}))
    assert each(experiment, store, ("no", "coin")) is None
    known = seconds_known(experiment.cells(), store)
    assert known == {BASELINE: 3.0, OTHER: 7.0, ("model.noise=0.3", "coin"): 1.0}
    assert each(experiment, store, BASELINE, OTHER, OTHER) == pytest.approx((3 + 7 + 7) / 3)
    assert each(experiment, store, OTHER) == 7.0
