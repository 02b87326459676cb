"""Kept measurements are what was written, or are set aside."""

import json

import pytest

from ablate.records.environment import here
from ablate.records.store import Store
from ablate.stages.speed import timing as kept

PROCESSES = [{"busy": 0.1, "configs": {"a": {"memory": None, "calls": {"step": {"seconds": 1 / 3}}}}}]
KEY, OTHER = "0123456789abcdef", "fedcba9876543210"


def test_what_is_kept_is_read_again_under_its_key_alone(tmp_path):
    store = Store(tmp_path)
    for processes in (PROCESSES, PROCESSES * 2):
        kept.save(store, KEY, processes)
        assert kept.load(store, KEY) == processes
    assert [path.name for path in (tmp_path / "speed").iterdir()] == [f"{KEY}.json"]
    assert kept.load(store, OTHER) == []
    copy = kept.file_of(store, OTHER)
    copy.write_text(kept.file_of(store, KEY).read_text())
    assert kept.load(store, OTHER) == []
    assert not copy.exists()


def test_another_gpu_is_another_machine(tmp_path, monkeypatch):
    for visible in ("0", "1"):
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
        assert here(tmp_path)["gpus"] == [visible]
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES")
    assert here(tmp_path)["gpus"] == []
    (tmp_path / "0000:01:00.0").mkdir()
    (tmp_path / "0000:01:00.0" / "information").write_text("Model: \t\t NVIDIA H200\nIRQ:   \t\t 16\n")
    assert here(tmp_path)["gpus"] == ["NVIDIA H200"]


def _edited(data):
    data["processes"][0]["configs"]["a"]["calls"]["step"]["seconds"] = 0.1
    return json.dumps(data)


@pytest.mark.parametrize(
    "spoil",
    [_edited, lambda data: json.dumps(data)[:-9], lambda data: "[]", lambda data: "", lambda data: "{}"],
    ids=["edited", "cut", "list", "empty", "bare"],
)
def test_a_spoilt_file_is_set_aside(tmp_path, spoil):
    said = []
    store = Store(tmp_path, said.append)
    path = kept.file_of(store, KEY)
    for number in (1, 2):
        kept.save(store, KEY, PROCESSES)
        path.write_text(spoiled := spoil(json.loads(path.read_text())))
        assert kept.load(store, KEY) == []
        assert not path.exists()
        assert path.with_name(f"{KEY}.corrupt-{number}").read_text() == spoiled
        assert str(path) in said[-1]
        assert f"{KEY}.corrupt-{number}" in said[-1]
