"""Constants of a user's code, wherever they stand: in a class, as a default of argparse, in a package, in TOML."""

import ast
import json
import shutil
import tomllib
from datetime import date
from pathlib import Path

import pytest
from harness import ablate_here, plan_here, prepare, problems, with_database

from ablate import load
from ablate.external.constants_file import constants_file
from ablate.external.notebook import script_of
from ablate.external.script import Edit, NotReplaceable, applied, parsed_source
from ablate.external.toml import toml_text

CASES = Path(__file__).parent / "cases"
LAUNCHER = """#!/usr/bin/env python
import os, subprocess, sys
script = next(word for word in sys.argv if word.endswith(".py"))
for rank in "01":
    done = subprocess.run([sys.executable, script], env={**os.environ, "RANK": rank}, capture_output=True, text=True)
    if rank in os.environ["PET_LOCAL_RANKS_FILTER"]:
        print(done.stdout)
sys.exit(0 if os.environ["PET_STANDALONE"] == "1" else 1)
"""
CLASS = """
from dataclasses import dataclass, field
@dataclass
class Config:
    lr: float = 0.1  # é
    betas: tuple = (0.9, 0.95)
    layers: list = field(default_factory=list, repr=False)
    act: str = field(default="relu")
    none: int = field()
    twice: int = 1
    twice = 2
    given: int = 1
    names: list = None
class Model:
    width = 64; depth = 2
    def f(self):
        width = 3
Model.depth = 3
Config(given=2)
"""
PARSER = """
import argparse
p = argparse.ArgumentParser()
p.add_argument("-w", "--weight-decay", type=float, default=0.1)  # é
p.add_argument("--amp", action="store_true",)
p.add_argument("--rate", dest="lr", default = 1)
p.add_argument("data", default="x")
p.add_argument("--need", required=True)
p.add_argument("--twice", default=1)
q.add_argument("--twice", default=1)
p.add_argument("--set")
p.set_defaults(set=3)
p.add_argument("--more", **others)
"""


def edited(source, values, name="train.py"):
    return constants_file(name, source.encode()).edited(values).decode()


def fault(source, path, value=0, name="train.py"):
    return constants_file(name, source.encode()).fault(path, value)


def test_fields_of_classes_are_replaced_where_they_stand():
    values = {
        **{"Config.lr": 0.2, "Config.betas": [0.8], "Config.layers": [1, 2], "Config.act": "gelu"},
        **{"Model.width": 32},
    }
    copy = edited(CLASS, values)
    assert "    lr: float = 0.2  # é\n" in copy
    assert "    betas: tuple = (0.8,)\n" in copy
    assert "field(default_factory=lambda: [1, 2], repr=False)" in copy
    assert "act: str = field(default='gelu')\n" in copy
    assert "    width = 32; depth = 2\n" in copy


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        ("Config.none", 1, "has no default in train.py, line 9"),
        ("Config.twice", 1, "2 times, in lines 10, 11"),
        ("Config.given", 1, "gets another value in train.py, line 19"),
        ("Model.depth", 1, "gets another value in train.py, line 18"),
        ("Config.names", ["a"], "can be no list or section in train.py: write field(default_factory=…)"),
        ("Config.gone", 1, "it is not assigned there"),
        ("Gone.lr", 1, "not assigned once, alone, at the top level of train.py: it is not assigned there"),
    ],
)
def test_a_field_that_cannot_be_replaced_is_refused(path, value, said):
    assert said in fault(CLASS, path, value)


def test_defaults_of_argparse_are_replaced_or_added():
    copy = edited(PARSER, {"weight_decay": 0.3, "amp": True, "lr": 2})
    assert 'p.add_argument("-w", "--weight-decay", type=float, default=0.3)  # é\n' in copy
    assert "p.add_argument('--amp', action='store_true', default=True)\n" in copy
    assert 'p.add_argument("--rate", dest="lr", default = 2)\n' in copy


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("need", "may be a required option in train.py, line 8: give it in a command"),
        ("twice", "is the name of 2 options in train.py, lines 9, 10"),
        ("set", "gets its default in train.py by set_defaults, line 12"),
        ("more", "gets what is not seen in train.py, line 13"),
        ("data", "is not assigned there"),
    ],
)
def test_a_default_that_cannot_be_replaced_is_refused(path, said):
    assert said in fault(PARSER, path)


def test_a_name_of_the_top_level_counts_before_an_option():
    source = PARSER + "a = p.parse_args()\nlr = a.lr\n"
    assert edited(source, {"lr": 5}).endswith("lr = 5\n")


def test_a_copy_that_differs_in_more_than_the_values_is_refused():
    source = b"A = 1 + 2"
    tree = parsed_source(source)
    one = next(node for node in ast.walk(tree) if isinstance(node, ast.Constant))
    with pytest.raises(NotReplaceable):
        applied(source, tree, [Edit(one, "3, 4")])


def test_keys_of_toml_are_replaced():
    source = 'a = 1\nday = 2020-01-02\n[optim]\nlr = 0.1\nbetas = [0.9, 0.95]\n[[parts]]\nname = "é"\n'
    copy = tomllib.loads(edited(source, {"optim.lr": 0.2, "a": "x\x7f\n\"'é😀"}, "conf.toml"))
    assert copy == {
        "a": "x\x7f\n\"'é😀",
        "day": date(2020, 1, 2),
        "optim": {"lr": 0.2, "betas": [0.9, 0.95]},
        "parts": [{"name": "é"}],
    }
    assert fault(source, "optim.gone", name="conf.toml") == "is no key of conf.toml"
    assert "which conf.toml cannot hold" in fault(source, "a", [None], "conf.toml")


def test_what_toml_holds_is_written_as_it_was():
    content = {"a b": [float("inf"), -0.0, 1e300, 2**62, True], "é": {"x": {"y": [[], {}]}}}
    assert tomllib.loads(toml_text(content)) == content


def cell(source, *tags, kind="code"):
    return {"cell_type": kind, "metadata": {"tags": [*tags]}, "source": source}


def notebook(*cells):
    return json.dumps({"cells": [*cells], "nbformat": 4, "nbformat_minor": 5})


def test_a_notebook_is_a_script_of_its_code_cells():
    source = notebook(
        cell("# Title", kind="markdown"),
        cell(["lr = 0.1\n", "seed = 0"], "parameters"),
        cell("%matplotlib inline\n!pip install x\nif lr:\n    %load_ext y\ntext = '''\n%d\n'''"),
        cell("%%time\nmore = 1"),
    )
    file = constants_file("a/train.ipynb", source.encode())
    assert file.written_as == "a/train.ipynb.py"
    assert file.left_out == ("%matplotlib inline", "!pip install x", "%load_ext y", "%d", "%%time")
    assert file.paths() == ["lr", "seed"]
    copy = file.edited({"lr": 0.2}).decode()
    assert copy.startswith("# Cell 2\nlr = 0.2\nseed = 0\n# Cell 3\npass  # %matplotlib inline\n")
    ast.parse(copy)
    assert "is not assigned in the cell of train.ipynb that is tagged `parameters`" in file.fault("more", 1)


def test_a_text_of_a_plain_cell_stays_as_it_is():
    script = script_of(notebook(cell("text = '''\n%d\n'''")).encode())
    assert b"\n%d\n" in script.source
    assert not script.left_out


def test_a_cell_of_another_language_is_refused():
    source = notebook(cell("a = 1", "parameters"), cell("%%bash\nls")).encode()
    with pytest.raises(NotReplaceable, match=r"cell 2 begins with %%bash"):
        script_of(source)


def test_a_notebook_without_a_cell_of_parameters_is_refused():
    said = fault(notebook(cell("lr = 0.1")), "lr", name="train.ipynb")
    assert "tag the cell that assigns it `parameters`" in said


@pytest.fixture
def written(tmp_path):
    """Copies a case, and returns the study of it."""

    def write(case, workload, config, factors, *, files=None, metric="val_loss", **changes):
        folder = tmp_path / case
        if (CASES / case).is_dir():
            shutil.copytree(CASES / case, folder, ignore=shutil.ignore_patterns("__pycache__"))
        folder.mkdir(exist_ok=True)
        for name, text in (files or {}).items():
            (folder / name).write_text(text)
        study = {
            "name": "case",
            "workload": {"read": {metric: rf"{metric}[=:]\s*(\S+)"}, **workload},
            "config": config,
            "metrics": {metric: {"direction": "min", "margin": 0.005}},
            "factors": factors,
            "seeds": 3,
        }
        path = folder / "study.yaml"
        path.write_text(json.dumps(study | changes))
        with_database(folder / "results/store")
        return path

    return write


def differences(study):
    """Runs a study, and returns its differences by variant."""
    done = ablate_here("run", study.name, "--jobs", "1", cwd=study.parent)
    assert done.returncode == 0, done.stderr
    rows = load(study.parent / "results/case").comparisons.set_index("variant")
    return (rows["mean_variant"] - rows["mean_baseline"]).round(4).to_dict()


PACKAGE = {"command": "python -m tiny.train", "constants": "tiny/config.py", "seed": "SEED"}


@pytest.mark.slow
def test_a_config_of_a_package(written):
    config = {"LR": 0.1, "MOMENTUM": 0.0}
    study = written(
        "package_config", PACKAGE, config, {"config.MOMENTUM": [0.5]}, metric="test_loss", seeds=5
    )
    shown = plan_here(study)
    assert "  with tiny/config.py: LR = 0.1; MOMENTUM = 0.0; SEED = 0" in shown
    assert "never mentions" not in shown
    before = (study.parent / "tiny/config.py").read_text()
    assert differences(study) == {"config.MOMENTUM=0.5": pytest.approx(-0.067, abs=0.0005)}
    assert (study.parent / "tiny/config.py").read_text() == before


def test_a_script_says_which_of_its_modules_has_a_name(written):
    workload = {"script": "tiny/train.py", "seed": "SEED"}
    study = written("package_config", workload, {"MOMENTUM": 0.0}, {"config.MOMENTUM": [0.5]})
    found = problems(study)
    said = "tiny/config.py has it: add `constants: tiny/config.py` under `workload:`"
    assert any("config.MOMENTUM" in problem and said in problem for problem in found), found


@pytest.mark.slow
def test_the_parameters_of_a_notebook(written):
    workload = {"script": "train.ipynb", "seed": "seed"}
    study = written("notebook", workload, {"lr": 0.1, "width": 64}, {"config.lr": [0.2]})
    assert differences(study) == {"config.lr=0.2": -0.1}


@pytest.mark.slow
def test_an_edit_of_a_notebook_gives_its_trials_other_ids(written):
    workload = {"script": "train.ipynb", "seed": "seed"}
    study = written("notebook", workload, {"lr": 0.1}, {"config.lr": [0.2]})

    def rows():
        done = ablate_here("plan", "study.yaml", "--json", cwd=study.parent)
        return [row["cached"] for row in json.loads(done.stdout)["variants"]]

    differences(study)
    assert rows() == [3, 3]
    file = study.parent / "train.ipynb"
    file.write_text(file.read_text().replace('"outputs": []', '"outputs": ["x"]'))
    assert rows() == [3, 3]
    file.write_text(file.read_text().replace("1 - lr", "2 - lr"))
    assert rows() == [0, 0]


OPTIONS = """
import argparse, random
p = argparse.ArgumentParser()
p.add_argument("--lr", type=float, default=0.1)
p.add_argument("--amp", action="store_true")
p.add_argument("--seed", type=int, default=0)
p.add_argument("--dead", type=int, default=0)
a = p.parse_args()
print("val_loss:", round(1 - a.lr + (0.5 if a.amp else 0) + random.Random(a.seed).gauss(0, 0.01), 6))
"""


@pytest.mark.slow
def test_options_of_a_script(written):
    config = {"lr": 0.1, "amp": False, "dead": 0}
    study = written(
        "options",
        {"script": "train.py", "seed": "seed"},
        config,
        {"config.lr": [0.2], "config.amp": [True]},
        files={"train.py": OPTIONS},
    )
    assert "your code never mentions `dead`" in plan_here(study)
    assert differences(study) == {"config.lr=0.2": -0.1, "config.amp=on": 0.5}


@pytest.mark.slow
def test_keys_of_a_file_of_toml(written):
    code = (
        "import random, tomllib\nc = tomllib.load(open('conf.toml', 'rb'))\n"
        "print('val_loss:', round(1 - c['optim']['lr'] + random.Random(c['seed']).gauss(0, 0.01), 6))\n"
    )
    study = written(
        "toml",
        {"script": "train.py", "constants": "conf.toml", "seed": "seed"},
        {"optim": {"lr": 0.1, "dead": 1}},
        {"config.optim.lr": [0.2]},
        files={"train.py": code, "conf.toml": "seed = 0\n[optim]\nlr = 0.1\ndead = 1\n"},
    )
    assert "your code never mentions `optim.dead`" in plan_here(study)
    assert differences(study) == {"config.optim.lr=0.2": -0.1}


@pytest.mark.slow
def test_settings_of_a_command_and_constants_beside_each_other(written):
    code = OPTIONS.replace("- a.lr", "- a.lr - RATE").replace("import argparse", "RATE = 0\nimport argparse")
    study = written(
        "mixed",
        {"command": "python train.py --lr {lr} --seed {seed}", "constants": "train.py"},
        {"lr": 0.1, "RATE": 0.0},
        {"config.lr": [0.2], "config.RATE": [0.3]},
        files={"train.py": code},
    )
    assert differences(study) == {"config.RATE=0.3": -0.3, "config.lr=0.2": -0.1}


@pytest.mark.slow
def test_a_class_of_a_script(written):
    code = (
        "import random\nclass C:\n    lr = 0.1\n    seed = 0\n"
        "print('val_loss:', round(1 - C.lr + random.Random(C.seed).gauss(0, 0.01), 6))\n"
    )
    study = written(
        "class",
        {"script": "train.py", "seed": "C.seed"},
        {"C": {"lr": 0.1}},
        {"config.C.lr": [0.2]},
        files={"train.py": code},
    )
    assert differences(study) == {"config.C.lr=0.2": -0.1}


def test_braces_of_a_file_with_constants_are_its_own(written):
    study = written(
        "class",
        {"script": "train.py", "seed": "C.seed"},
        {"C": {"lr": 0.1}},
        {"config.C.lr": [0.2]},
        files={
            "train.py": "class C:\n    lr = 0.1\n    seed = 0\nrun = 1\nprint(f'{run} {dir}', C.lr, C.seed)\n"
        },
    )
    workload = prepare(study, []).workload
    config = prepare(study, []).variants[0].first_config
    given = workload.given(config, 3).at("a/b", "abcd")
    assert given.files["train.py"].endswith("print(f'{run} {dir}', C.lr, C.seed)\n")
    assert "seed = 3" in given.files["train.py"]


TORCHRUN = {
    "command": "torchrun --nproc_per_node=2 train_gpt.py",
    "constants": "train_gpt.py",
    "seed": "Hyperparameters.seed",
    "read": {"val_loss": r"val_loss:(\S+)", "step": r"^step:(\d+)/"},
}
HYPERPARAMETERS = {"Hyperparameters": {"num_iterations": 200, "muon": True}}
MUON = {"config.Hyperparameters.muon": [False]}


@pytest.mark.slow
def test_a_launcher_gets_a_port_of_its_own_and_is_heard_once(written, tmp_path, monkeypatch):
    launcher = tmp_path / "bin/torchrun"
    launcher.parent.mkdir()
    launcher.write_text(LAUNCHER)
    launcher.chmod(0o755)
    monkeypatch.setenv("PATH", f"{launcher.parent}:{Path(shutil.which('python')).parent}", prepend=":")
    study = written("dataclass_torchrun", TORCHRUN, HYPERPARAMETERS, MUON)
    file = study.parent / "train_gpt.py"
    lines = [line for line in file.read_text().splitlines() if "dist" not in line]
    file.write_text("\n".join(lines).replace("if rank == 0:", "if True:"))
    (difference,) = differences(study).values()
    assert difference == pytest.approx(0.02, abs=0.002)
    curves = load(study.parent / "results/case").curves
    assert max(curves.groupby(["id", "metric", "step"]).size()) == 1


@pytest.mark.slow
def test_torchrun_itself(written, monkeypatch):
    pytest.importorskip("torch")
    study = written("dataclass_torchrun", {**TORCHRUN, "parallel": True}, HYPERPARAMETERS, MUON)
    done = ablate_here("run", study.name, "--jobs", "2", cwd=study.parent)
    assert done.returncode == 0, done.stderr
    assert "read OMP_NUM_THREADS" not in done.stderr
    rows = load(study.parent / "results/case").comparisons
    assert (rows["mean_variant"] - rows["mean_baseline"]).iloc[0] == pytest.approx(0.02, abs=0.002)


@pytest.mark.slow
def test_several_machines_keep_their_own_port(written):
    command = TORCHRUN["command"].replace("--nproc", "--nnodes 2 --nproc")
    study = written("dataclass_torchrun", {**TORCHRUN, "command": command}, HYPERPARAMETERS, MUON)
    assert "PET_STANDALONE" not in plan_here(study)


@pytest.mark.parametrize(
    ("workload", "said"),
    [
        (
            {"command": "python train.py {seed}", "constants": "conf.yaml"},
            "has no constants that are known by name",
        ),
        ({"command": "python train.py {seed}", "constants": "gone.toml"}, "your folder has no gone.toml"),
        ({"command": "python train.py {seed}", "constants": "broken.toml"}, "cannot be read as TOML"),
        ({"command": "python train.py {seed}", "constants": "train.ipynb"}, "Write script: train.ipynb"),
        ({"command": "python train.py {lr} {seed}", "seed": "lr"}, "Add `constants: FILE` under `workload:`"),
        ({"script": "train.py", "constants": "conf.toml", "isolate": False}, "Remove `isolate: off`"),
        (
            {"script": "train.py", "constants": "conf.toml", "files": {"conf.toml": "train.py"}},
            "Name it once",
        ),
        ({"script": "train.py", "constants": "conf.toml", "seed": "lr"}, "config.lr: is given by the study"),
    ],
)
def test_what_cannot_be_given_is_refused(written, workload, said):
    files = {
        "train.py": "print(1)",
        "conf.yaml": "lr: 1",
        "conf.toml": "lr = 1",
        "broken.toml": "lr = ",
        "train.ipynb": notebook(cell("lr = 1", "parameters")),
    }
    found = problems(written("refused", workload, {"lr": 1}, {"config.lr": [2]}, files=files))
    assert any(said in problem for problem in found), found


def test_the_file_of_an_absolute_path_is_never_written(written):
    study = written(
        "absolute", {"script": "train.py"}, {"lr": 1}, {"config.lr": [2]}, files={"c.toml": "lr = 1"}
    )
    (study.parent / "train.py").write_text("print(1)")
    place = study.parent / "c.toml"
    study.write_text(study.read_text().replace('"script"', f'"constants": "{place}", "script"'))
    found = problems(study)
    assert any("is an absolute path, of which a trial has no copy" in problem for problem in found), found


@pytest.mark.slow
def test_variables_before_a_command(written):
    study = written(
        "environment",
        {"command": "env ITERATIONS={ITERATIONS} QK_NORM={QK_NORM} SEED={seed} bash train.sh"},
        {"ITERATIONS": 100, "QK_NORM": 1},
        {"config.QK_NORM": [0]},
        metric="val_bpb",
    )
    assert differences(study) == {"config.QK_NORM=0": 0.003}
