"""Scripts in the styles of others, reduced: their own parsers, progress bars and settings, from a study to verdicts."""

import json
import shutil
from pathlib import Path

import pytest
from harness import ablate_here, plan_here, problems, stored, with_database

from ablate import load

CASES = Path(__file__).parent / "cases"
WORKLOADS = {
    "argparse_tqdm": {
        "command": "python train.py --lr {lr} --act {act} {amp:--amp|--no-amp} --seed {seed}",
        "read": {"val_acc": r"val_acc: ([\d.]+)%", "step": r"^\[\s*(\d+)/"},
    },
    "click": {
        "command": "python cli.py train --dropout {dropout} {augment:--augment|--no-augment} --random-state {seed}",
        "read": {"auc": r'"auc": ([\d.]+)', "step": r'"epoch": (\d+)'},
    },
    "omegaconf_keras": {
        "command": "python train.py model.act={act} optim.clip={clip} seed={seed}",
        "read": {"loss": r"val_loss: ([0-9.]+)"},
    },
    "make_env": {
        "command": "make train ACT={ACT} DROPOUT={DROPOUT} SEED={seed}",
        "read": {"test_acc": r"test acc: ([0-9.]+)"},
    },
}
CONFIGS = {
    "argparse_tqdm": {"lr": 0.01, "act": "relu", "amp": True},
    "click": {"dropout": 0.1, "augment": True},
    "omegaconf_keras": {"act": "relu", "clip": None},
    "make_env": {"ACT": "relu", "DROPOUT": 0.1},
}
FACTORS = {
    "argparse_tqdm": {"config.act": ["gelu"], "config.amp": [False]},
    "click": {"config.augment": [False]},
    "omegaconf_keras": {"config.act": ["gelu"], "config.clip": [1.0]},
    "make_env": {"config.ACT": ["gelu"], "config.DROPOUT": [0.5]},
}
RIGHT = {
    "argparse_tqdm": {"config.act=gelu": 0.8, "config.amp=off": -0.5},
    "click": {"config.augment=off": -0.02},
    "omegaconf_keras": {"config.act=gelu": -0.02, "config.clip=1.0": 0.05},
    "make_env": {"config.ACT=gelu": 1.0, "config.DROPOUT=0.5": -3.0},
}


@pytest.fixture
def written(tmp_path):
    """Copies a case, and returns the study of it."""

    def write(case: str, *, workload: dict[str, object] | None = None, **changes: object) -> Path:
        folder = shutil.copytree(CASES / case, tmp_path / case, ignore=shutil.ignore_patterns("__pycache__"))
        metric = next(iter(WORKLOADS[case]["read"]))
        study = {
            "name": "case",
            "workload": {**WORKLOADS[case], **(workload or {})},
            "config": CONFIGS[case],
            "metrics": {metric: {"direction": "min" if metric == "loss" else "max", "margin": 0.005}},
            "factors": FACTORS[case],
            "seeds": 3,
        }
        path = Path(folder) / "study.yaml"
        path.write_text(json.dumps(study | changes))
        with_database(path.parent / "results/store")
        return path

    return write


def run(study: Path, *options: object):
    return ablate_here("run", study.name, "--jobs", "1", *options, cwd=study.parent)


@pytest.mark.slow
@pytest.mark.parametrize("case", RIGHT)
def test_the_differences_are_right(written, case):
    if case == "omegaconf_keras":
        pytest.importorskip("omegaconf")
    study = written(case)
    done = run(study)
    assert done.returncode == 0, done.output
    rows = load(study.parent / "results/case").comparisons.set_index("variant")
    assert (rows["mean_variant"] - rows["mean_baseline"]).round(6).to_dict() == RIGHT[case]


@pytest.mark.slow
def test_a_plan_shows_the_commands_and_how_they_are_written(written):
    shown = plan_here(written("omegaconf_keras"))
    assert (
        "Dialect: hydra, since train.py:4 imports omegaconf: null is null; a switch true or false;" in shown
    )
    assert "baseline: python train.py model.act=relu optim.clip=null seed=0" in shown
    assert "config.clip=1.0: python train.py model.act=relu optim.clip=1.0 seed=0" in shown
    done = ablate_here("plan", "study.yaml", "--json", cwd=written("click").parent)
    plan = json.loads(done.stdout)
    assert plan["dialect"].startswith("click, since cli.py:4 imports click: ")
    commands = {row["variant"]: row["command"] for row in plan["variants"]}
    assert commands["config.augment=off"].endswith("train --dropout 0.1 --no-augment --random-state 0")


@pytest.mark.parametrize(
    ("case", "changes", "said"),
    [
        (
            "make_env",
            {"config": {"ACT": None, "DROPOUT": 0.1}},
            "config.ACT: is null, which programs write in different ways, and stands as {ACT} in workload.command. Add "
            "`dialect: NAME` under `workload:`",
        ),
        (
            "make_env",
            {"factors": {"config.ACT": ["gelu", ["a", "b"]]}},
            "factors.config.ACT[1]: is the list [a, b], which programs write in different ways",
        ),
        (
            "make_env",
            {"factors": {"config.ACT": [True]}},
            "write {ACT:--ACT|--no-ACT} or {ACT:--ACT} in the command, or give a text in place of it",
        ),
        (
            "argparse_tqdm",
            {"config": {"lr": None, "act": "relu", "amp": True}},
            "config.lr: is null, for which argparse has no notation",
        ),
    ],
)
def test_a_value_without_a_notation_is_refused_at_its_place(written, case, changes, said):
    found = problems(written(case, **changes))
    assert any(said in problem for problem in found), found


def test_a_dialect_of_the_study_counts(written):
    shown = plan_here(written("argparse_tqdm", workload={"dialect": "hydra"}, factors={"config.act": [None]}))
    assert "Dialect: hydra, since workload.dialect says so: " in shown
    assert "--act null" in shown


def test_an_option_to_which_false_is_true_is_named(written):
    command = "python train.py --lr {lr} --act {act} --amp {amp} --seed {seed}"
    study = written("argparse_tqdm", workload={"command": command})
    file = study.parent / "train.py"
    file.write_text(file.read_text().replace("action=argparse.BooleanOptionalAction", "type=bool"))
    assert "--amp has `type=bool` at train.py:8, to which the text False is true" in plan_here(study)


@pytest.mark.slow
def test_a_pattern_that_matches_nothing_ends_the_run_at_its_first_trial(written):
    read = {"val_acc": r"accuracy: ([\d.]+)%"}
    study = written("argparse_tqdm", workload={"read": read})
    done = run(study, "--keep-going")
    assert done.returncode == 2
    assert len(stored(study.parent / "results")) == 1
    said = " ".join(done.stderr.split())
    assert r"val_acc was not read: no line matches 'accuracy: ([\d.]+)%'; it printed last: '" in said
    assert "| val_acc: 88.78%'; nothing else was started; correct the pattern under `read`" in said


@pytest.mark.slow
def test_a_step_that_is_never_read_is_a_mistake_too(written):
    read = {"val_acc": r"val_acc: ([\d.]+)%", "step": r"^epoch (\d+)"}
    done = run(written("argparse_tqdm", workload={"read": read}))
    assert done.returncode == 2
    assert "step was not read: no line matches '^epoch" in done.stderr


@pytest.mark.slow
def test_a_flag_that_does_nothing_ends_the_training_of_its_variant(written):
    command = "python train.py --lr {lr} --act {act} {amp:--amp} --seed {seed}"
    study = written("argparse_tqdm", workload={"command": command}, seeds=5)
    done = run(study)
    assert done.returncode == 2
    assert (
        "3 of 15 trials are not needed: config.amp=off changed none of the baseline's numbers" in done.stdout
    )
    assert "check the flag of config.amp" in " ".join(done.stdout.split())
    rows = load(study.parent / "results/case").comparisons.set_index("variant")
    assert dict(rows["n"]) == {"config.act=gelu": 5, "config.amp=off": 2}
    again = run(study, "--json")
    assert (again.returncode, json.loads(again.stdout)["trained"]) == (2, 0)
    assert run(study, "--keep-going").returncode == 0
    assert len(stored(study.parent / "results")) == 15


@pytest.mark.slow
def test_a_study_of_nothing_but_dead_flags_trains_two_seeds(written):
    command = "python train.py --lr {lr} --act {act} {amp:--amp} --seed {seed}"
    study = written("argparse_tqdm", workload={"command": command}, factors={"config.amp": [False]}, seeds=5)
    assert run(study).returncode == 2
    assert len(stored(study.parent / "results")) == 4
