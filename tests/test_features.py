"""Features hang on the route, and nothing rests on them: each folder is taken out of a copy of the package."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from harness import TOY_STUDY, with_database
from test_imports import ROOT, graph

FEATURES = ROOT / "features"
NAMES = sorted(path.parent.name for path in FEATURES.glob("*/__init__.py"))
PLUGIN = Path(__file__).parent / "rated.py"
STUDY = TOY_STUDY.replace("seeds: 3", "seeds: 2")
USES = {
    "speed": f"{STUDY}speed: {{calls: [step], processes: 5}}\n",
    "stress": f"name: toy\nworkload: rated\nplugins: [{PLUGIN}]\nfactors: {{model.limit: [0.05]}}\nseeds: 2\n"
    "stress: {training.lr: [1e-1, 1e-3, 1e-2]}\n",
    "search": f"{STUDY}tune: {{over: {{model.width: {{int: [30, 40]}}}}, trials: 2, seeds: 1}}\n",
    "path": f"{STUDY.partition('factors')[0]}design: {{name: path, to: both}}\nseeds: 2\n"
    "variants: {both: {model.effect: 0.2, model.noise: 0.3}}\n",
}
"""Feature → a study that uses its keys; the others have a command alone."""


def call(package: Path, *arguments: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    """The command line of the package in a folder."""
    return subprocess.run(
        [sys.executable, "-m", "ablate", *map(str, arguments)],
        cwd=cwd,
        env=os.environ | {"PYTHONPATH": str(package), "PYTHONSAFEPATH": "1"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.mark.parametrize("name", NAMES)
def test_without_its_folder_the_rest_works(name: str, tmp_path: Path) -> None:
    study, copy = tmp_path / "study.yaml", tmp_path / "copy"
    shutil.copytree(ROOT, copy / "ablate", ignore=shutil.ignore_patterns("__pycache__"))
    with_database(tmp_path / "results/store")
    study.write_text(USES.get(name, STUDY))
    done = call(copy, "run", study, "--jobs", 0, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "results/toy/report.html").is_file()

    shutil.rmtree(copy / "ablate/features" / name)
    commands = {path.stem for path in (FEATURES / name).glob("commands/[!_]*.py")}
    helped = call(copy, "--help", cwd=tmp_path)
    assert helped.returncode == 0, helped.stderr
    assert not commands & set(helped.stdout.split())
    refused = call(copy, "run", study, cwd=tmp_path)
    assert refused.returncode == (2 if name in USES else 0), refused.stderr
    (tmp_path / "results/toy/report.html").unlink()
    rebuilt = call(copy, "report", "toy", cwd=tmp_path)
    assert rebuilt.returncode == 0, rebuilt.stderr
    assert (tmp_path / "results/toy/report.html").is_file()
    study.write_text(STUDY.replace("name: toy", "name: plain"))
    done = call(copy, "run", study, "--jobs", 0, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "results/plain/report.html").is_file()


def test_no_room_imports_a_feature_and_no_feature_another() -> None:
    for module, others in graph().items():
        own = ".".join(module.split(".")[:3]) if module.startswith("ablate.features.") else None
        for other in others:
            if other.startswith("ablate.features."):
                assert own is not None, f"{module} imports {other}"
                assert f"{other}.".startswith(f"{own}."), f"{module} imports {other}"


def test_the_package_of_features_is_named_once() -> None:
    """As a string, by which an import could be hidden."""
    named = [
        path.relative_to(ROOT).as_posix()
        for path in ROOT.rglob("*.py")
        if FEATURES not in path.parents
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant) and node.value == "ablate.features"
    ]
    assert named == ["core/feature.py"]
