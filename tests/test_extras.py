"""The light core: what it names, what it can do alone, and what it says where a package is missing."""

import tomllib
from pathlib import Path

import pytest
from harness import lacking

from ablate.base.extras import EXTRAS

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
DISTRIBUTIONS = {"sklearn": "scikit-learn"}
"""The name of an imported package → that of what is installed, where they differ."""
CASES = ROOT / "tests" / "runs" / "cases"
MLRUNS = ROOT / "tests" / "runs" / "recorded" / "mlflow" / "mlruns"


def names(requirements):
    return {requirement.partition(">=")[0] for requirement in requirements}


def test_the_core_names_nothing_of_an_extra():
    distributions = {DISTRIBUTIONS.get(package, package) for package in EXTRAS}
    assert not distributions & names(PROJECT["dependencies"])
    for package, extra in EXTRAS.items():
        assert DISTRIBUTIONS.get(package, package) in names(PROJECT["optional-dependencies"][extra])


@pytest.mark.slow
def test_the_core_alone_judges_runs_that_exist(tmp_path):
    analyse = ("analyse", CASES / "five_runs_each.csv", "--baseline", "baseline", "--metric", "final_loss")
    others = (
        ("report", "five_runs_each"),
        ("export", "five_runs_each"),
        ("list", "results"),
        ("guide", "verdicts"),
    )
    done = lacking(EXTRAS, analyse, *others, cwd=tmp_path)
    assert done.stderr.count("exit code 0") == 5, done.stderr
    assert (tmp_path / "results" / "five_runs_each" / "report.html").is_file()


STUDY = """
name: own
workload:
  command: python own.py {lr} {seed}
  read: {loss: 'loss: (.+)'}
config: {lr: 0.1}
metrics: {loss: {direction: min}}
factors: {config.lr: [0.2]}
seeds: 2
"""
SCRIPT = "import sys; print('loss:', float(sys.argv[1]) + int(sys.argv[2]) / 100)"


def write_study(folder, more=""):
    (folder / "own.yaml").write_text(STUDY + more)
    (folder / "own.py").write_text(SCRIPT)


@pytest.mark.slow
def test_the_core_alone_runs_a_study_of_commands(tmp_path):
    write_study(tmp_path)
    done = lacking(EXTRAS, ("plan", "own.yaml"), ("run", "own.yaml", "--jobs", "1"), cwd=tmp_path)
    assert done.stderr.count("exit code 0") == 2, done.stderr
    assert "warning" not in done.stderr
    assert not list(tmp_path.glob("results/store/mlflow*"))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("absent", "words"),
    [
        ({"torch"}, ("run", ROOT / "studies" / "quickstart.yaml")),
        ({"mlflow"}, ("analyse", MLRUNS, "--baseline", "adamw")),
        ({"mlflow"}, ("run", "own.yaml", "--tracking-uri", "sqlite:///other.db")),
        ({"optuna"}, ("sweep", "own.yaml")),
    ],
    ids=["torch", "mlflow", "tracking", "optuna"],
)
def test_what_is_missing_is_said_in_one_line(tmp_path, absent, words):
    search = "search: {over: {config.lr: {float: [0.1, 0.3]}}, trials: 4}\n"
    write_study(tmp_path, search)
    done = lacking(absent, words, cwd=tmp_path)
    (package,) = absent
    *_, line, code = done.stderr.strip().splitlines()
    assert f"needs {package}: pip install 'ablate[{EXTRAS[package]}]'" in line
    assert (code, "Traceback" in done.stderr) == ("exit code 2", False)
