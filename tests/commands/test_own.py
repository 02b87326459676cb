"""`ablate new --part` and `--task`: files that pass the contracts of built-in parts and tasks, and train."""

import inspect
import runpy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from click.testing import CliRunner
from harness import ablate_here, with_database

from ablate.base.errors import AblateError
from ablate.base.registry import CATALOGUE
from ablate.cli import main
from ablate.commands._results import run
from ablate.commands.templates import PARTS
from ablate.commands.templates.fill import create_part, create_task
from ablate.study.prepare import prepare

TESTS = Path(__file__).parents[1]
FEW = ["training.steps=3", "training.warmup_steps=0"]
SLOW = pytest.mark.slow
REVIEWS = "\n".join(f"{i % 3};{'very ' * (i % 5)}good film {i};{i}" for i in range(60))
PROSE = " ".join(f"{i} and {i * i % 97};" for i in range(1000))


CATALOGUE.load_builtin()


def contract(file: str) -> Iterator[tuple[str, Any, list[Any]]]:
    """The tests of a contract, collected anew over all that is registered now: name, function, arguments."""
    for name, function in runpy.run_path(str(TESTS / file)).items():
        if name.startswith("test_"):
            marks = [mark.args for mark in getattr(function, "pytestmark", ()) if mark.name == "parametrize"]
            yield name, function, list(marks[0][1]) if marks else []


@pytest.mark.parametrize("slot", PARTS)
def test_a_part_passes_the_contract_of_parts(slot, tmp_path):
    part, study = create_part(slot, tmp_path / "my_part")
    done = ablate_here("check", part, cwd=tmp_path)
    assert done.returncode == 0, done.stdout
    assert len(done.stdout.splitlines()) == 7
    assert len(prepare(study).variants) == 2


def task_of(folder: Path, data: Path | None, **settings: Any) -> Any:
    study = create_task(folder / "mine", data)[-1]
    config = prepare(study).variants[0].configs[0]["task"]
    return CATALOGUE.get("task", "mine").Config(**config | settings).build()  # type: ignore[attr-defined]


def check_task(task: Any, *unlike: str) -> None:
    """All tests of the contract but `unlike`."""
    for name, function, topologies in contract("tasks/test_tasks_contract.py"):
        if "task" not in inspect.signature(function).parameters:
            continue
        for case in [[t] for t in topologies if t in task.topologies] if topologies else [[]]:
            if name not in unlike and name != "test_what_the_model_says_at_padding_does_not_count":
                function(task, *case)


def test_the_sample_of_a_task_passes_the_contract_of_tasks(tmp_path):
    task = task_of(tmp_path, None, solved=0.9)
    assert (task.signature.seq_len, task.signature.padded) == (8, False)
    assert 0.5 <= task.metrics["accuracy"].floor < 0.6
    check_task(task)
    assert ablate_here("check", "mine.py", cwd=tmp_path).returncode == 0


def test_a_task_from_a_table_of_ones_own(tmp_path):
    """Of sentences of several lengths, with the columns wherever they are."""
    (tmp_path / "reviews.csv").write_text(f"Class;Review;Id\n0;;7\n{REVIEWS}\n1;good film 5;61\n")
    task = task_of(tmp_path, tmp_path / "reviews.csv", solved=0.9)
    assert (task.config.text, task.config.label) == ("Review", "Class")
    assert (task.signature.seq_len, task.signature.num_outputs, task.signature.padded) == (7, 3, True)
    assert task.support == 60
    check_task(task)


def test_a_task_from_a_text_of_ones_own(tmp_path):
    (tmp_path / "prose.txt").write_text(PROSE)
    task = task_of(tmp_path, tmp_path / "prose.txt")
    # It knows no accuracy that solves it, a window holds 32 answers, and training may repeat what a test window says.
    check_task(
        task,
        "test_metrics_know_their_range",
        "test_coverage_is_the_share_of_test_examples_that_were_trained_on",
    )
    batch = task.split(0, "test", "cpu")
    assert torch.equal(batch.inputs[:, 1:], batch.targets[:, :-1])
    assert torch.equal(batch.inputs[1:, 0], batch.targets[:-1, -1])


@pytest.mark.parametrize(
    ("call", "variant", "shorter"),
    [
        (["--workload", "mine"], "settings.momentum=0.9", ["settings.steps=3"]),
        pytest.param(["--task", "mine"], "model.mixer=lstm", FEW, marks=SLOW),
        pytest.param(["--part", "norm", "mine"], "model.norm=mine", FEW, marks=SLOW),
    ],
)
def test_what_it_writes_is_compared_by_one_more_command(call, variant, shorter, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with_database(tmp_path / "results/store")
    done = CliRunner().invoke(main, ["new", *call])
    assert done.output.endswith("which work as they are.\nNext: ablate run mine.yaml\n")
    results = run("mine.yaml", seeds=2, sets=shorter, jobs=0)
    assert variant in set(results.comparisons.variant)
    assert "failed" not in set(results.trials.status)


@pytest.mark.parametrize(
    ("slot", "name", "message"),
    [
        ("scor", "x", "--part: has no template of a part; given 'scor'; allowed: .* Did you mean 'score'?"),
        ("norm", "layer", "NAME: is already registered as norm; given 'layer'"),
        ("norm", "my-norm", "NAME: cannot be the name of a Python file; given 'my-norm'; allowed: letters"),
        ("norm", "class", "NAME: cannot be the name of a Python file"),
        ("norm", "random", "NAME: is a Python module, which a file of this name could hide; given 'random'"),
        ("norm", "no/x", "x.py: cannot be written: No such"),
        ("task", "recall", "For a study of it: ablate new NAME --task recall"),
    ],
)
def test_what_cannot_be_written_is_refused(slot, name, message, tmp_path):
    with pytest.raises(AblateError, match=message):
        _ = create_task(tmp_path / name, None) if slot == "task" else create_part(slot, tmp_path / name)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("taken", ["mine.csv", "mine.py", "mine.yaml"])
def test_no_file_is_replaced_and_none_is_written_beside_one(taken, tmp_path):
    (tmp_path / taken).write_text("kept")
    with pytest.raises(AblateError, match=f"already exists; given .*{taken}"):
        create_task(tmp_path / "mine", None)
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [(taken, "kept")]


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("data.csv", None, "--from: does not exist; given .*data.csv"),
        ("data.csv", b"\xff", "--from: must be UTF-8 text; byte 1 is none"),
        (
            "data.csv",
            b"text,label\n",
            "--from: must have a header with a column of texts and one of labels, none named twice, and a row",
        ),
        ("data.csv", b"text\na\n", "--from: must have a header with a column of texts and one of labels"),
        ("data.csv", b"text,label,text\na,x,b\n", "--from: must have a header with .*, none named twice"),
        ("few.csv", b"text,label\na,x\nb,y\n", "task.data: must have 50 different texts or more; given 2"),
        ("one.csv", b"text,label\na,x\nb,x\n", "task.label: must have two different values or more; given"),
        ("short.txt", b"a b", "task.data: is too short for its windows; given 3; allowed: at least 100"),
    ],
)
def test_data_that_are_no_table_or_too_few_are_refused(name, data, message, tmp_path):
    if data is not None:
        (tmp_path / name).write_bytes(data)
    with pytest.raises(AblateError, match=message):
        prepare(create_task(tmp_path / "mine", tmp_path / name)[-1])
    assert bool(list(tmp_path.glob("mine*"))) == message.startswith("task")


def test_an_exception_where_no_stage_expects_it_names_the_file_and_its_line(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    task = create_task(Path("mine"), None)[1]
    source = task.read_text()
    task.write_text(source.replace("        return 0.0\n", "        return 1 / 0\n"))
    line = 1 + task.read_text().splitlines().index("        return 1 / 0")
    done = CliRunner().invoke(main, ["plan", "mine.yaml"])
    assert done.exit_code == 2
    assert done.output.endswith(f"ZeroDivisionError: division by zero (mine.py:{line}). Correct the plugin\n")
