"""What the README and the pages of `ablate guide` show works as it stands."""

import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from harness import ablate, prepare
from setup.install import TORCH_INDEX

from ablate.commands._results import load
from ablate.commands.guide import PAGES
from ablate.core.short_names import short_name
from ablate.stages.match.matcher import Matcher

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()
GUIDE = "".join(path.read_text() for path in sorted(PAGES.glob("*.md")))
TEXT = README + GUIDE
# A script that is called as the README calls `train.py`: GELU lowers its loss by 0.1.
SCRIPT = """
import argparse
import random

parser = argparse.ArgumentParser()
parser.add_argument("--act")
parser.add_argument("--seed", type=int)
given = parser.parse_args()
random.seed(given.seed)
print(f"loss={random.gauss(3, 0.01) - 0.1 * (given.act == 'gelu')}")
"""


def blocks(language: str, text: str = TEXT) -> list[str]:
    return [b.replace("\\\n", " ") for b in re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)]


def commands(program: str) -> list[list[str]]:
    """The README's, as lists of words."""
    lines = [shlex.split(line, comments=True) for b in blocks("sh", README) for line in b.splitlines()]
    return [line for line in lines if line[:1] == [program]]


def studies(folder: Path) -> dict[str, Path]:
    """Writes the README's studies into a folder, with a script for the one that trains it; name → file."""
    (folder / "train.py").write_text(SCRIPT)
    files = {}
    for text in blocks("yaml", README):
        (name,) = re.findall(r"^name: (\w+)$", text, re.MULTILINE)
        files[name] = folder / f"{name}.yaml"
        files[name].write_text(text)
    return files


def test_every_command_is_known():
    """How those of ablate are called is checked by tests/commands/test_help.py."""
    lines = "".join(blocks("sh")).replace("\\\n", " ").splitlines()
    programs = {shlex.split(line)[0] for line in lines if line.strip()}
    assert programs == {"export", "make", "ablate", "pip", "ray", "kubectl", "sh"}


def test_a_first_try_sets_no_variable():
    assert not commands("export")
    (torch, *_) = commands("pip")
    assert torch[-2:] == ["--index-url", TORCH_INDEX]


def test_nothing_is_installed_by_a_name_that_is_not_ours():
    assert "Do not install `ablate` from PyPI" in " ".join(README.split())
    calls = [line for line in TEXT.splitlines() if re.match(r"\s*pip install", line)]
    assert calls
    assert not [line for line in calls if re.search(r"install.* [\"']?ablate\b", line)]


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_its_commands_run_in_their_order(tmp_path):
    studies(tmp_path)
    programs = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    for line in commands("ablate"):
        done = ablate(*line[1:], cwd=tmp_path, timeout=1200, env=os.environ | {"PATH": programs})
        assert done.returncode == 0, (line, done.stderr)
    assert (tmp_path / "results/mine/report.html").is_file()
    (row,) = load(tmp_path / "results/gelu").comparisons.itertuples()
    assert (row.variant, row.verdict) == ("config.act=gelu", "better")


def test_its_first_study_is_one_of_five_lines_on_a_script(tmp_path):
    first, *_ = blocks("yaml", README)
    assert len(first.splitlines()) == 5
    study = prepare(studies(tmp_path)["gelu"])
    assert [variant.name for variant in study.variants] == ["baseline", "config.act=gelu"]
    assert README.index(first) < README.index("ablate run gelu.yaml") < README.index("name: quickstart")


def test_its_targets_exist_and_leave_what_is_published():
    makefile = (ROOT / "Makefile").read_text()
    named = {line[1] for line in commands("make")} | set(re.findall(r"`make ([a-z-]+)`", TEXT))
    assert named <= set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))
    recipes = dict(re.findall(r"^([a-z-]+):.*\n((?:\t.*\n)*)", makefile, re.MULTILINE))
    (folder,) = re.findall(r"^LOCAL := (\S+)$", makefile, re.MULTILINE)
    assert f"{folder}/" in (ROOT / ".gitignore").read_text().splitlines()
    for target in ("run", "ui"):
        assert re.search(r"/ablate .*--results \$\(LOCAL\)\n$", recipes[target])
    assert f"the report goes to {folder}/" in README


@pytest.mark.slow
def test_its_study_is_the_quickstart_and_its_verdicts_are_those_that_it_published(tmp_path):
    shown = prepare(studies(tmp_path)["quickstart"])
    published = prepare(ROOT / "studies/quickstart.yaml")
    assert {cell.id for cell in shown.cells()} == {cell.id for cell in published.cells()}
    assert shown.config.tune == published.config.tune
    (printed,) = blocks("text", README.partition("## Install")[0])
    rows = load(ROOT / "results/quickstart").comparisons
    for row in rows[rows["verdict"].notna()].itertuples():
        name = re.escape(short_name(row.variant, {}))
        assert re.search(rf"^{name} +{row.verdict} ", printed, re.MULTILINE), row.variant


@pytest.mark.slow
def test_its_answer_is_what_the_terminal_prints_of_the_published_study(tmp_path):
    (printed,) = blocks("text", README.partition("## Install")[0])
    shutil.copytree(ROOT / "results/quickstart", tmp_path / "results/quickstart")
    done = ablate("report", "quickstart", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert " ".join(printed.split()) in " ".join(done.stdout.split())


@pytest.mark.fast_cases(2)
@pytest.mark.parametrize("key", ["claims", "tune", "speed"])
def test_its_studies_and_sections_are_valid(tmp_path, key):
    # A study of a file needs the file, which another test of the guide writes.
    text, *_ = [block for block in blocks("yaml", GUIDE) if f"{key}:" in block and "file:" not in block]
    if key != "claims":
        text = f"name: s\ntask: recall\nmodel: {{position: sincos}}\nfactors: {{model.norm: [batch]}}\n{text}"
    (tmp_path / "study.yaml").write_text(text)
    experiment = prepare(tmp_path / "study.yaml")
    if key == "claims":
        assert (len(experiment.variants), len(experiment.claims)) == (5, 2)
    elif key == "tune":
        assert experiment.config.tune is not None
        assert experiment.config.search is not None
        assert isinstance(experiment.adjust, Matcher)
    else:
        assert experiment.config.speed.over == {"task.seq_len": [64, 128, 256, 512]}


@pytest.mark.slow
def test_its_part_is_one_file_and_trains(tmp_path):
    """Nothing but the two files as they are shown, with fewer steps."""
    (plugin,) = [block for block in blocks("python") if "@register" in block]
    (study,) = [block for block in blocks("yaml") if "plugins:" in block]
    assert len(plugin.splitlines()) < 30
    (tmp_path / "squared_relu.py").write_text(plugin)
    (tmp_path / "primer.yaml").write_text(study)
    options = ("--set", "training.steps=3", "--set", "training.eval_every=3")
    done = ablate("run", "primer.yaml", "--jobs", "1", "--seeds", "2", *options, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    (folder,) = (tmp_path / "results").glob("primer@*")
    names = {f"model.feedforward.activation=squared_relu(scale={scale})" for scale in ("1.0", "0.5")}
    assert names < set(load(folder).trials.variant)
    shown = ablate("list", "activation", "squared_relu", "--plugin", "squared_relu.py", cwd=tmp_path)
    assert "scale · max(0, x)²" in shown.stdout


@pytest.mark.slow
def test_its_python_runs():
    (snippet,) = [block for block in blocks("python") if "ablate.load(" in block]
    code = f"{snippet}\nassert len(results.comparisons) and len(results.trials)\n"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_version_of_torch_is_the_one_that_was_tested():
    (version,) = re.findall(r"^torch==(\S+)$", (ROOT / "constraints.txt").read_text(), re.MULTILINE)
    assert f"torch {version} " in README


def test_what_lies_beside_the_code_is_shipped():
    """The wheel holds what pyproject.toml names; `.ci/run` builds one and uses it."""
    shipped = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["package-data"]
    found = {path for pattern in shipped["ablate"] for path in (ROOT / "ablate").glob(pattern)}
    beside = {p for p in (ROOT / "ablate").rglob("*") if p.is_file() and p.suffix != ".py"}
    assert {path for path in beside if path.parent.name != "__pycache__"} <= found


def test_its_tables_name_every_part():
    from ablate.base.registry import CATALOGUE

    CATALOGUE.load_builtin()
    parts = [
        (slot, name) for slot in CATALOGUE.slots() for name in CATALOGUE.names(slot) if slot != "workload"
    ]
    built_in = [pair for pair in parts if CATALOGUE.get(*pair).__module__.startswith("ablate.")]
    assert not [pair for pair in built_in if f"`{pair[1]}`" not in TEXT]


def test_its_links_and_pictures_exist():
    for target in re.findall(r"\]\(([^)#]+)\)", TEXT):
        if not target.startswith("https://"):
            assert (ROOT / target).exists() or (PAGES / target).exists(), target
