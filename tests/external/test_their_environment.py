"""The user's own environment and folder decide what runs, and what a trial's copy lacks is named."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from harness import plan_here, prepare, run_here
from isolated import committed, script, study

from ablate import load

OTHER_WAYS = {
    "a checkpoint": ("init.pt", "gain = 50 if os.path.exists('init.pt') else 0"),
    "a path": ("out/init.pt", "gain = 50 if pathlib.Path('out/init.pt').is_file() else 0"),
    "a module": ("local.py", "try:\n    from local import gain\nexcept ImportError:\n    gain = 0"),
    "a file that is opened": (
        "init.bin",
        "try:\n    gain = len(open('init.bin').read())\nexcept FileNotFoundError:\n    gain = 0",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("way", OTHER_WAYS)
def test_a_trial_that_goes_another_way_without_a_file_of_the_folder_is_named(way, tmp_path):
    name, code = OTHER_WAYS[way]
    head = f"import os, pathlib, sys\n{code}\n"
    folder = script(tmp_path / "own", head + "print('loss', 3 - float(sys.argv[1]) + gain)\n")
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_text("gain = 50\n")
    committed(folder, "train.py", ignored=f"results/\n{name}\n")
    path = study(folder, command="python train.py {rate} {seed}", seeds=1)
    outcome, printed = run_here(path, jobs=0)
    assert not outcome.failed, printed
    said = f"trials looked for {name}, which your folder has and their copies lack, and went on"
    assert said in " ".join(printed.split()), printed


def installed(environment: Path, version: str) -> None:
    """A package `click`, which ablate has, too, in another version."""
    (library,) = environment.glob("lib/*/site-packages")
    for place in library.glob("click*"):
        for file in place.iterdir():
            file.unlink()
        place.rmdir()
    (library / "click").mkdir()
    (library / "click/__init__.py").write_text(f"__version__ = {version!r}\n")
    about = library / f"click-{version}.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: click\nVersion: {version}\n")
    (about / "RECORD").write_text("click/__init__.py,,\n")


@pytest.fixture
def environment(tmp_path, monkeypatch):
    """An active environment, of which ablate's is none."""
    place = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", place], check=True)
    installed(place, "0.0.1")
    monkeypatch.setenv("VIRTUAL_ENV", str(place))
    monkeypatch.setenv("PATH", f"{place / 'bin'}{os.pathsep}{os.environ['PATH']}")
    return place


TRAIN = """
import sys
import click
def train(config, seed):
    return {"loss": 3 - config["rate"] + float(click.__version__[-1])}
if __name__ == "__main__":
    print("loss", train({"rate": float(sys.argv[1])}, 0)["loss"])
"""
COMMAND = "python train.py {rate} {seed}"


@pytest.mark.fast_cases(1)
@pytest.mark.parametrize("kind", ["command", "function"])
def test_the_version_of_the_active_environment_runs_is_shown_and_is_part_of_ids(kind, tmp_path, environment):
    folder = script(tmp_path / "own", TRAIN)
    path = study(folder, seeds=1, command=COMMAND)
    if kind == "function":
        content = json.loads(path.read_text())
        path.write_text(json.dumps(content | {"workload": {"function": "train.py:train"}}))
    planned = plan_here(path)
    assert f"{environment}/bin/python, CPython {sys.version_info[0]}.{sys.version_info[1]}" in planned
    run_here(path, jobs=0)
    assert sorted(load(folder / "results/own").trials.loss) == pytest.approx([3.5, 3.9])
    before = prepare(path)
    identity = before.workload.identity(before.variants[0].first_config)
    assert identity["click"] == "0.0.1"
    assert "Nothing to train" in run_here(path)[1]


@pytest.mark.slow
def test_another_version_of_a_package_changes_ids(tmp_path, environment):
    """In a process of its own, as an interpreter is asked once."""
    folder = script(tmp_path / "own", TRAIN)
    study(folder, seeds=1, command=COMMAND)
    words = [sys.executable, "-m", "ablate", "plan", "study.yaml", "--commands", "results/c.txt"]
    ids: list[str] = []
    for version in ("0.0.1", "0.0.2"):
        installed(environment, version)
        done = subprocess.run(words, cwd=folder, check=False, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        ids.append((folder / "results/c.txt").read_text())
        (folder / "results/c.txt").unlink()
    assert ids[0] != ids[1]
