"""`ablate new --part` and `--task`: files that pass the contracts of built-in parts and tasks, and train."""

import runpy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ablate.base import plugins
from ablate.base.registry import CATALOGUE
from ablate.commands.own import PARTS, create_part, create_task
from ablate.study.experiment import prepare

TESTS = Path(__file__).parents[1]
TEXT = "".join(f"{i} and {i * i % 97}; " for i in range(1500))


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    """What a test registers is known to that test alone."""
    CATALOGUE.load_builtin()
    yield
    for name in list(plugins._loaded):
        plugins._forget(name, set())


def contract(file: str) -> dict[str, Any]:
    """The tests of a contract, collected anew over all that is registered now."""
    return runpy.run_path(str(TESTS / file))


@pytest.mark.parametrize("slot", PARTS)
@pytest.mark.filterwarnings("ignore:There is a performance drop:UserWarning")
def test_a_part_passes_the_contract_of_parts(slot: str, tmp_path: Path) -> None:
    part, study = create_part(slot, tmp_path / "my_part")
    plugins.load_plugins([part])
    ran = []
    for name, function in contract("models/test_parts_contract.py").items():
        marks = getattr(function, "pytestmark", ()) if name.startswith("test_") else ()
        for arguments, values in (mark.args for mark in marks if mark.name == "parametrize"):
            for value in values:
                if arguments == "case" and (value.slot, value.name) == (slot, "my_part"):
                    function(value)
                    ran.append(name)
                elif arguments == "slot" and value == slot:
                    function(slot)
    assert len(set(ran)) > 12
    assert len(prepare(study).variants) == 2


def task_of(folder: Path, data: Path | None, **settings: Any) -> Any:
    task, study = create_task(folder / "mine", data)[-2:]
    config = prepare(study).variants[0].configs[0]["task"]
    assert config["name"] == "mine"
    return CATALOGUE.get("task", "mine").Config(**config | settings).build()  # type: ignore[attr-defined]


def check_task(task: Any) -> None:
    CATALOGUE.load_builtin()
    for name, function in contract("tasks/test_tasks_contract.py").items():
        if name.startswith("test_"):
            given = getattr(function, "pytestmark", ())
            for topology in CATALOGUE.names("topology") if given else [None]:
                if topology is None:
                    function(task)
                elif topology in task.topologies:
                    function(task, topology)


@pytest.mark.parametrize("header", ["text,label", "Stars;Review;id"])
def test_a_task_passes_the_contract_of_tasks(header: str, tmp_path: Path) -> None:
    """The sample, of equal lengths; and a table of one's own, of words, whose columns are found by what they hold."""
    if header == "text,label":
        task = task_of(tmp_path, None, solved=0.9)
        assert not task.signature.padded
        assert task.signature.seq_len == 8
    else:
        pass
    check_task(task)
