"""Mistakes of a newcomer with a train.py: each is said before anything is trained, with what to do."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from ablate.cli import main

TRAIN = """\
import argparse, random
parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float, default=0.1)
parser.add_argument("--act", default="relu")
parser.add_argument("--seed", type=int, default=0)
given = parser.parse_args()
random.seed(given.seed)
shift = {"relu": 0.5, "tanh": 0.6}[given.act] + given.lr
print("val_loss:", shift + random.random() / 100)
"""
WHOLE = "python train.py --lr {lr} --act {act} --seed {seed}"
READ = {"loss": r"val_loss: (\S+)"}


def study(command: str = WHOLE, **changes: Any) -> dict[str, Any]:
    """A study of the script."""
    sections = {
        "name": "mine",
        "workload": {"command": command, "read": READ},
        "config": {"lr": 0.1, "act": "relu"},
        "metrics": {"loss": {"direction": "min", "margin": 0.002}},
        "factors": {"config.act": ["tanh"]},
    } | changes
    return {key: value for key, value in sections.items() if value is not None}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "train.py").write_text(TRAIN)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def planned(text: str | dict[str, Any], *words: str) -> tuple[int, str]:
    """Returns the exit code of `ablate plan`, and what it says, in one line."""
    Path("study.yaml").write_text(text if isinstance(text, str) else json.dumps(text))
    done = CliRunner().invoke(main, ["plan", *(words or ("study.yaml",))])
    return done.exit_code, " ".join(done.output.split())


LR = {"config.lr": [0.2]}
DEAD = "python train.py --act {act} --seed {seed}"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            study(DEAD, factors=LR),
            ["factors.config.lr[0]", "baseline", "workload.command has no {lr}", "Add {lr}"],
        ),
        (study("python train.py --lr {lr:.0f} {act} {seed}", factors=LR), ["{lr} writes both values alike"]),
        (
            study(DEAD, factors=None, variants={"slow": {"config.lr": 0.2}}),
            ["variants.slow", "workload.command has no {lr}"],
        ),
        (
            study("python -u trian.py --act {act} --seed {seed}"),
            ["has no trian.py", "Did you mean 'train.py'?"],
        ),
        (study(workload={"function": "trian.py:train"}), ["has no trian.py", "Did you mean 'train.py'?"]),
        (study(workload={"script": "trian.py"}), ["has no trian.py", "Did you mean 'train.py'?"]),
        (study(workload={"command": WHOLE, "read": {"acc": "(.)"}}), ["Add acc under `metrics:`"]),
        (study(workload={"command": WHOLE, "read": {"loss": r"(\S+) (\d)"}}), [r"given '(\S+) (\d)'"]),
        (study(metrics=None, metric={"loss": "min"}), ["1 problem", "with a workload, write `metrics:`"]),
        ('name: x\nworkload: {command: a, read: {loss: "(\\S+)"}}\n', ["single quotes"]),
        (
            study(claims=["tanh beats relu on loss"]),
            ["Did you mean 'baseline'?", "Did you mean 'config.act=tanh'?"],
        ),
    ],
)
def test_a_mistake_is_refused_with_what_to_do(folder, text, said):
    code, output = planned(text)
    assert code == 2
    assert [words for words in said if words not in output] == [], output
    assert not (folder / "results").exists()


def test_a_script_is_no_study(folder):
    code, output = planned("", "train.py")
    assert code == 2
    assert "ablate new NAME" in output


@pytest.mark.parametrize(
    ("command", "more", "is_said"),
    [
        (WHOLE, "", False),
        ("python train.py --act {act}", "", True),
        ("python train.py --act {act}", "# os.environ['ABLATE_SEED']", False),
        ("python train.py --act {act}", "# os.environ['ABLATE_DIR']", True),
    ],
)
def test_a_command_without_a_seed_is_noted_unless_the_code_reads_it_elsewhere(folder, command, more, is_said):
    (folder / "train.py").write_text(TRAIN + more)
    code, output = planned(study(command))
    assert code == 0
    assert ("the command has no `{seed}`" in output) == is_said


@pytest.mark.parametrize(
    ("command", "more"), [(DEAD, "# os.environ['ABLATE_CONFIG']"), ("elsewhere --seed {seed}", "")]
)
def test_variants_that_the_environment_may_tell_apart_pass(folder, command, more):
    (folder / "train.py").write_text(TRAIN + more)
    code, output = planned(study(command, factors=LR))
    assert code == 0
    assert ("differ only if the program reads $ABLATE_CONFIG" in output) == (not more)


@pytest.mark.parametrize(("options", "is_said"), [({}, True), ({"parallel": "on"}, False)])
def test_idle_cores_are_named_with_the_key_that_uses_them(folder, monkeypatch, options, is_said):
    monkeypatch.setattr("ablate.session.workers.default_jobs", lambda: 3)
    _, output = planned(study(workload={"command": WHOLE, "read": READ, **options}))
    assert ("1 worker (3 with `parallel: on` under `workload:`)" in output) == is_said
