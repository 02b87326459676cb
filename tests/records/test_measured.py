"""Kept measurements are what was written, or are set aside."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ablate.base.errors import StoreError
from ablate.features.speed.kept import Measurements, gpus, here

STANDS_FOR = {"configs": ["a", "b"], "machine": "one"}
PROCESSES = [{"busy": 0.1, "configs": {"a": {"memory": None, "calls": {"step": {"seconds": 1 / 3}}}}}]


@pytest.fixture
def kept(tmp_path: Path) -> Measurements:
    found = Measurements(tmp_path)
    found.save(STANDS_FOR, PROCESSES)
    return found


def test_what_is_kept_is_read_again_under_its_key_alone(kept: Measurements) -> None:
    key, other = Measurements.key(STANDS_FOR), Measurements.key({**STANDS_FOR, "machine": "two"})
    assert kept.load(key) == PROCESSES
    kept.save(STANDS_FOR, PROCESSES * 2)
    assert kept.load(key) == PROCESSES * 2
    assert [path.name for path in kept.folder.iterdir()] == [f"{key}.json"]
    assert other != key
    assert kept.load(other) == []
    copy = kept.folder / f"{other}.json"
    copy.write_text((kept.folder / f"{key}.json").read_text())
    assert kept.load(other) == []
    assert not copy.exists()


def test_another_gpu_is_another_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    first = Measurements.key(here())
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1")
    assert Measurements.key(here()) != first
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES")
    assert gpus(tmp_path) == []
    (tmp_path / "0000:01:00.0").mkdir()
    (tmp_path / "0000:01:00.0" / "information").write_text("Model: \t\t NVIDIA H200\nIRQ:   \t\t 16\n")
    assert gpus(tmp_path) == ["NVIDIA H200"]


def _edited(data: dict[str, Any]) -> str:
    data["processes"][0]["configs"]["a"]["calls"]["step"]["seconds"] = 0.1
    return json.dumps(data)


@pytest.mark.parametrize(
    "spoil",
    [_edited, lambda data: json.dumps(data)[:-9], lambda data: "[]", lambda data: "", lambda data: "{}"],
    ids=["edited", "cut", "list", "empty", "bare"],
)
def test_a_spoilt_file_is_set_aside(tmp_path: Path, spoil: Callable[[dict[str, Any]], str]) -> None:
    said: list[str] = []
    kept = Measurements(tmp_path, said.append)
    key = Measurements.key(STANDS_FOR)
    for number in (1, 2):
        kept.save(STANDS_FOR, PROCESSES)
        path = kept.folder / f"{key}.json"
        path.write_text(spoiled := spoil(json.loads(path.read_text())))
        assert kept.load(key) == []
        assert not path.exists()
        assert (kept.folder / f"{key}.corrupt-{number}").read_text() == spoiled
        assert f"{path} is corrupt" in said[-1]
        assert f"set aside as {key}.corrupt-{number}, it will be measured again" in said[-1]


def test_a_folder_in_its_place_is_no_file(tmp_path: Path) -> None:
    (tmp_path / "speed" / "0123456789abcdef.json").mkdir(parents=True)
    with pytest.raises(StoreError, match="cannot be read: Is a directory; choose another --results"):
        Measurements(tmp_path).load("0123456789abcdef")
