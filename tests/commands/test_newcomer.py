"""Mistakes of a newcomer with a train.py: each is said before anything is trained, with what to do."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import ablate
from ablate.base.errors import AblateError
from ablate.cli import main
from ablate.records.folder import StudyFolder

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
SEEDLESS = "python train.py --lr {lr} --act {act}"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            study(DEAD, factors=LR),
            ["1 problem", "config.lr: changes nothing: workload.command has no {lr}", "Add {lr}"],
        ),
        (study("python train.py --lr {lr:.0f} {act} {seed}", factors=LR), ["{lr} writes both values alike"]),
        (
            study(DEAD, factors=None, variants={"slow": {"config.lr": 0.2}}),
            ["1 problem", "config.lr: changes nothing: workload.command has no {lr}"],
        ),
        (
            study(
                DEAD, search={"over": {"config.lr": {"choice": [0.2, 0.3]}}, "sampler": "grid", "seeds": 1}
            ),
            ["1 problem", "config.lr: changes nothing: workload.command has no {lr}"],
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


@pytest.mark.fast_cases(1)
@pytest.mark.parametrize(
    ("command", "more", "is_refused"),
    [
        (WHOLE, "", False),
        (SEEDLESS, "", True),
        (SEEDLESS, "# os.environ['ABLATE_SEED']", False),
        (SEEDLESS, "# os.environ['ABLATE_DIR']", True),
        (f"sh -c 'SEED=$ABLATE_SEED {SEEDLESS}'", "", False),
    ],
)
def test_a_command_without_a_seed_is_refused_unless_the_code_reads_it(folder, command, more, is_refused):
    (folder / "train.py").write_text(TRAIN + more)
    code, output = planned(study(command))
    assert code == (2 if is_refused else 0)
    assert ("workload.command: has no `{seed}`, and your code does not mention" in output) == is_refused


@pytest.mark.parametrize(
    ("beside", "code", "said"), [("CONFIG", 0, "never mentions `lr`"), ("DIR", 2, "no {lr}")]
)
def test_a_key_that_nothing_uses_is_refused_unless_some_code_may_read_it(folder, beside, code, said):
    (folder / "beside.py").write_text(f"# os.environ['ABLATE_{beside}']\n")
    (folder / "train.py").write_text(TRAIN.replace("lr", "rate"))
    found, output = planned(study(DEAD))
    assert (found, said in output) == (code, True), output


def test_a_seed_that_other_code_may_read_is_noted(folder):
    (folder / "beside.py").write_text("# os.environ['ABLATE_SEED']\n")
    code, output = planned(study(SEEDLESS))
    assert (code, "the command has no `{seed}`" in output) == (0, True), output


@pytest.mark.parametrize(
    ("command", "file", "is_said"),
    [(DEAD, "train.py", False), (DEAD, "beside.py", True), ("true --seed {seed}", "beside.py", True)],
)
def test_variants_that_the_environment_may_tell_apart_pass(folder, command, file, is_said):
    with (folder / file).open("a") as code:
        code.write("# os.environ['ABLATE_CONFIG']\n")
    code, output = planned(study(command, factors=LR))
    assert code == 0, output
    assert ("differ only if the program reads $ABLATE_CONFIG" in output) == is_said


@pytest.mark.parametrize(("options", "is_said"), [({}, True), ({"parallel": "on"}, False)])
def test_idle_cores_are_named_with_the_key_that_uses_them(folder, monkeypatch, options, is_said):
    monkeypatch.setattr("ablate.session.workers.default_jobs", lambda: 3)
    _, output = planned(study(workload={"command": WHOLE, "read": READ, **options}))
    assert ("1 worker (3 with `parallel: on` under `workload:`)" in output) == is_said


LOST = TRAIN.replace('print("val_loss:", ', 'print("val_loss:", "nan" if given.act == "tanh" else ')


def ran(folder: Path, text: dict[str, Any], *words: str) -> str:
    """Returns what a run of a study says, in one line, in this process."""
    Path("study.yaml").write_text(json.dumps(text))
    done = CliRunner().invoke(main, ["run", "study.yaml", "--jobs", "0", *words])
    assert done.exit_code == 0, done.output
    return " ".join(done.output.split())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "train", "reason", "said", "unsaid"),
    [
        (
            f"env SEED={{seed}} {SEEDLESS}",
            TRAIN,
            "seedless",
            ["the seed has no effect", "act tanh"],
            ["needed", "Smallest detectable", "seeds: {"],
        ),
        (
            WHOLE,
            LOST,
            "unstable diverged=3 counted=0 others=0",
            ["all runs diverged", "`floor`"],
            ["over 0", "Some runs diverged"],
        ),
    ],
)
def test_a_run_gives_no_advice_that_does_not_help(folder, command, train, reason, said, unsaid):
    (folder / "train.py").write_text(train)
    output = ran(folder, study(command, seeds=3, claims=["config.act=tanh beats baseline on loss"]))
    assert [words for words in said if words not in output] == [], output
    assert [words for words in unsaid if words in output] == [], output
    rows = [row for row in StudyFolder(folder / "results", "mine").comparisons() if row["verdict"]]
    assert {row["reason"] for row in rows} == {reason}
    caption = (folder / "results/mine/report.html").read_text()
    assert "neither <code>solved</code> nor <code>floor</code>" in caption


def test_a_reason_is_said_once_and_as_it_is_written(folder):
    Path("study.yaml").write_text(
        json.dumps(study(workload={"command": WHOLE, "read": {"loss": r"los: (\S+)"}}))
    )
    done = CliRunner().invoke(main, ["run", "study.yaml", "--jobs", "0"])
    assert done.exit_code == 2
    assert done.output.count(r"no line matches 'los: (\S+)'; it printed last: 'val_loss: 0.6") == 1
    assert "nothing else was started; correct the pattern under `read`" in done.output


def test_a_folder_that_is_not_there_is_named_with_its_neighbour(folder):
    (folder / "results/notebook").mkdir(parents=True)
    with pytest.raises(AblateError, match=r"results/notebok: does not exist.*Did you mean 'notebook'\?"):
        ablate.load("results/notebok")


RUNS = "variant,seed,acc\nbase,0,{0}\nbase,1,{1}\nwide,0,{2}\nwide,1,{3}\n"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("values", "words", "is_said"),
    [
        ((90, 91, 92, 91.5), ("0.01",), True),
        ((0.9, 0.91, 0.92, 0.9), ("0.01",), False),
        ((90, 91, 92, 90), ("1",), False),
    ],
)
def test_a_margin_in_another_unit_than_percent_is_named(folder, values, words, is_said):
    Path("runs.csv").write_text(RUNS.format(*values))
    words = ["--baseline", "base", "--metric", "acc", "--direction", "max", "--margin", *words]
    done = CliRunner().invoke(main, ["analyse", "runs.csv", *words])
    assert done.exit_code == 0
    assert ("looks like percent" in " ".join(done.output.split())) == is_said
    if is_said:
        exported = CliRunner().invoke(main, ["export", "runs", "--only", "results", "--percent"])
        assert exported.exit_code == 2
        assert "--floor 0 --ceiling 1" in exported.output
        assert CliRunner().invoke(main, ["export", "runs", "--only", "results"]).exit_code == 0
        assert "\\caption{Acc (more is better)" in Path("results/runs/paper/results.tex").read_text()
