"""Kept weights and saved states, in the store."""

import numpy as np
import pytest

from ablate.core.record import Curve, Record
from ablate.records.store import Store

WEIGHTS = b"weights of a model"


def record(**changes):
    curve = Curve(np.array([1]), np.array([0.5]))
    fields = {"id": "a1", "config": {}, "seed": 0, "status": "completed", "curves": {"loss": curve}}
    return Record(**(fields | {"kept": ["final"], "weights": WEIGHTS} | changes))


def files(folder):
    return sorted(path.name for path in (folder / "trials").iterdir())


@pytest.fixture
def warned():
    return []


@pytest.fixture
def store(tmp_path, warned):
    return Store(tmp_path, warned.append)


def saved(store, **changes):
    store.save(record(**changes))
    loaded = store.load("a1")
    assert loaded is not None
    return loaded


def test_weights_stand_beside_the_record_and_not_in_it(store, tmp_path):
    loaded = saved(store)
    assert files(tmp_path) == ["a1.json", "a1.npz", "a1.safetensors"]
    assert (tmp_path / "trials/a1.safetensors").read_bytes() == WEIGHTS
    assert "weights of a model" not in (tmp_path / "trials/a1.json").read_text()
    assert (loaded.kept, loaded.weights) == (["final"], None)
    assert store.weights(loaded) == WEIGHTS


def test_a_record_without_the_weights_that_are_asked_for_is_not_finished(store, tmp_path):
    loaded = saved(store)
    assert store.is_finished(loaded)
    assert store.is_finished(loaded, "final")
    assert not store.is_finished(loaded, "best")
    (tmp_path / "trials/a1.safetensors").unlink()
    assert store.is_finished(loaded)
    assert not store.is_finished(loaded, "final")


@pytest.mark.parametrize(("status", "finished"), [("diverged", True), ("failed", False)])
def test_only_a_completed_trial_has_weights_to_keep(store, status, finished):
    loaded = saved(store, status=status, kept=[], weights=None)
    assert store.is_finished(loaded, "final") == finished


def test_a_record_never_stands_beside_the_weights_of_another_training(store, tmp_path):
    store.save(record())
    assert saved(store, weights=None).kept == []
    assert files(tmp_path) == ["a1.json", "a1.npz"]


def test_corrupt_weights_are_set_aside_and_the_record_stays(store, tmp_path, warned):
    loaded = saved(store)
    (tmp_path / "trials/a1.safetensors").write_bytes(WEIGHTS[:5])
    assert not store.is_finished(loaded, "final")
    assert files(tmp_path) == ["a1.corrupt-1.safetensors", "a1.json", "a1.npz"]
    assert len(warned) == 1
    assert "a1.safetensors is corrupt" in warned[0]
    assert "a1.corrupt-1.safetensors" in warned[0]
    assert not store.is_finished(loaded, "final")


def test_corrupt_weights_are_only_passed_over_where_the_store_is_looked_at(tmp_path):
    Store(tmp_path).save(record())
    (tmp_path / "trials/a1.safetensors").write_bytes(b"")
    looking = Store(tmp_path, read_only=True)
    loaded = looking.load("a1")
    assert looking.weights(loaded) is None
    assert "a1.safetensors" in files(tmp_path)


def test_a_corrupt_record_takes_its_weights_along(store, tmp_path):
    store.save(record())
    (tmp_path / "trials/a1.json").write_text("{")
    assert store.load("a1") is None
    assert files(tmp_path) == ["a1.corrupt-1", "a1.corrupt-1.npz", "a1.corrupt-1.safetensors"]


def test_a_state_is_kept_until_the_trial_has_an_outcome(store, tmp_path):
    store.save_state("a1", b"at step 5")
    store.save_state("a1", b"at step 10")
    assert store.load_state("a1") == b"at step 10"
    store.save(record(status="failed", kept=[], weights=None))
    assert store.load_state("a1") == b"at step 10"
    store.save(record())
    assert store.load_state("a1") is None
    assert "a1.state" not in files(tmp_path)


def test_a_corrupt_state_is_no_state(store, tmp_path, warned):
    store.save_state("a1", b"at step 5")
    path = tmp_path / "trials/a1.state"
    path.write_bytes(path.read_bytes()[:-1])
    assert store.load_state("a1") is None
    assert "starts again from its first step" in warned[0]


def test_a_state_is_bound_to_its_trial(store, tmp_path, warned):
    store.save_state("a1", b"at step 5")
    (tmp_path / "trials/a1.state").rename(tmp_path / "trials/b2.state")
    assert store.load_state("b2") is None
    assert "not what was saved for this trial" in warned[0]
    assert files(tmp_path) == ["b2.corrupt-1.state"]


def test_a_report_is_out_of_date_when_weights_go(store, tmp_path):
    store.save(record())
    before = store.stamp(["a1"])
    (tmp_path / "trials/a1.safetensors").unlink()
    assert before
    assert store.stamp(["a1"]) != before
