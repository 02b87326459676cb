"""Features hang on the route, and nothing rests on them: each folder is taken out of a copy of the package."""

import ast
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from harness import TOY_STUDY, run_here
from test_imports import ROOT, graph

import ablate.features.speed.stage
from ablate.core.feature import grammar

FEATURES = ROOT / "features"
NAMES = sorted(path.parent.name for path in FEATURES.glob("*/__init__.py"))
PLUGIN = Path(__file__).parent / "rated.py"
STUDY = TOY_STUDY.replace("seeds: 3", "seeds: 2")
DECIDED = TOY_STUDY.replace("[0.1, 0.3]", "[0.1001]") + "metric: {name: accuracy, margin: 0.05}\n"
USES = {
    "speed": f"{STUDY}speed: {{calls: [step], processes: 5}}\n",
    "stress": f"name: toy\nworkload: rated\nplugins: [{PLUGIN}]\nfactors: {{model.limit: [0.05]}}\nseeds: 2\n"
    "stress: {training.lr: [1e-1, 1e-3, 1e-2]}\n",
    "search": f"{STUDY}tune: {{over: {{model.width: {{int: [30, 40]}}}}, trials: 2, seeds: 3}}\n",
    "match": f"{STUDY}match: {{parameters: baseline, by: model.width}}\n",
    "path": f"{STUDY.partition('factors')[0]}design: {{name: path, to: both}}\nseeds: 2\n"
    "variants: {both: {model.effect: 0.2, model.noise: 0.3}}\n",
}
"""Feature → a study that uses its keys; the others have a command or an option alone."""


CALLS = """
import json, sys
from click.testing import CliRunner
from ablate.cli import main
for words in json.loads(sys.argv[1]):
    done = CliRunner().invoke(main, words, prog_name="ablate")
    print(json.dumps([done.exit_code, done.output]))
"""


@pytest.mark.parametrize("name", NAMES)
def test_without_its_folder_the_rest_works(name, tmp_path, monkeypatch):
    study, plain, page = (tmp_path / each for each in ("study.yaml", "plain.yaml", "results/toy/report.html"))
    study.write_text(USES.get(name, DECIDED))
    plain.write_text(STUDY.replace("name: toy", "name: plain"))
    monkeypatch.setattr(ablate.features.speed.stage, "BUDGET", 0.005)
    run_here(study)
    if name == "confirm":
        run_here(study, confirm=True)
        page = tmp_path / "results/toy@confirm/report.html"
    page.unlink()

    copy = tmp_path / "copy"
    shutil.copytree(ROOT, copy / "ablate", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.rmtree(copy / "ablate/features" / name)
    calls = (
        ["--help"],
        ["run", "study.yaml"],
        ["report", page.parent.name],
        ["run", "plain.yaml", "--jobs", "0"],
    )
    command = [sys.executable, "-c", CALLS, json.dumps(calls)]
    env = os.environ | {"PYTHONPATH": str(copy), "PYTHONSAFEPATH": "1"}
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    answers = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("[")]
    assert [code for code, _ in answers] == [0, 2 if name in USES else 0, 0, 0], answers
    commands = {path.stem for path in (FEATURES / name).glob("commands/[!_]*.py")}
    assert not commands & set(re.findall(r"^  (\S+)", answers[0][1], re.MULTILINE))
    assert page.is_file()
    assert (tmp_path / "results/plain/report.html").is_file()


def test_no_room_imports_a_feature_and_no_feature_another():
    for module, others in graph().items():
        own = ".".join(module.split(".")[:3]) if module.startswith("ablate.features.") else None
        for other in others:
            if other.startswith("ablate.features."):
                assert own is not None, f"{module} imports {other}"
                assert f"{other}.".startswith(f"{own}."), f"{module} imports {other}"


def test_the_package_of_features_is_named_once():
    """As a string, by which an import could be hidden."""
    named = [
        path.relative_to(ROOT).as_posix()
        for path in ROOT.rglob("*.py")
        if FEATURES not in path.parents
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant) and node.value == "ablate.features"
    ]
    assert named == ["core/feature.py"]


KNOWN = {
    ("base/registry.py", "search"): "the package `ablate.search`",
    ("commands/_results.py", "search"): "the frame that `Results.searched` shows",
}


def test_no_room_names_the_key_of_a_feature() -> None:
    """As a string, or as what a study has."""
    found = {
        (path.relative_to(ROOT).as_posix(), name)
        for path in ROOT.rglob("*.py")
        if FEATURES not in path.parents
        for node in ast.walk(ast.parse(path.read_text()))
        if (name := _named(node)) in grammar()
    }
    assert found == KNOWN.keys()


def _named(node: ast.AST) -> object:
    if isinstance(node, ast.Attribute) and ast.unparse(node.value).rpartition(".")[2] == "study":
        return node.attr
    return node.value if isinstance(node, ast.Constant) else None
