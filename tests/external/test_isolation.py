"""Trials of one's own code do not touch one another, through the command line."""

import sys
from pathlib import Path

import pytest
from harness import ablate_here, stored
from isolated import committed, run, runs, said, script, study, verdict

from ablate import load

GOES_ON = """
    import argparse, json, os, random
    parser = argparse.ArgumentParser()
    parser.add_argument("--rate", type=float)
    parser.add_argument("--seed", type=int)
    args = parser.parse_args()
    state = {"step": 0, "loss": 10.0 + random.Random(args.seed).random()}
    if os.path.exists(CHECKPOINT):
        with open(CHECKPOINT) as file:
            state = json.load(file)
    while state["step"] < 10:
        state["step"] += 1
        state["loss"] -= args.rate
    with open(CHECKPOINT, "w") as file:
        json.dump(state, file)
    print("loss", state["loss"])
"""
"""A script that goes on where an earlier run has stopped, and has nothing left to do where that one had finished."""


@pytest.mark.slow
def test_a_script_that_goes_on_from_a_checkpoint_no_longer_gives_a_false_verdict(tmp_path):
    folder = script(tmp_path, GOES_ON, CHECKPOINT="last.ckpt")
    study(folder, isolate="off")
    assert run(folder).returncode == 0
    # Each trial after the first has nothing left to do.
    assert load(folder / "results/own").trials.loss.nunique() == 1
    study(folder)
    done = run(folder)
    assert done.returncode == 0, done.stdout
    assert verdict(folder) == "better"
    assert load(folder / "results/own").trials.loss.nunique() == 6


@pytest.mark.fast_cases(1)
@pytest.mark.parametrize("state", ["ignored", "untracked", "tracked"])
def test_a_checkpoint_of_a_run_by_hand_is_not_gone_on_from(state, tmp_path):
    folder = script(tmp_path, GOES_ON, CHECKPOINT="last.ckpt")
    (folder / "last.ckpt").write_text('{"step": 10, "loss": 1.0}')
    files = ["train.py", *(["last.ckpt"] if state == "tracked" else [])]
    committed(folder, *files, ignored="results/\n" + ("*.ckpt" if state == "ignored" else ""))
    study(folder)
    done = run(folder)
    if state == "tracked":
        assert done.returncode == 2
        assert "read and then changed last.ckpt" in said(done)
        assert len(stored(folder / "results")) == 1
        study(folder, exclude=["last.ckpt"])
        done = run(folder)
    assert done.returncode == 0, done.stderr
    assert verdict(folder) == "better"


READS = """
    import argparse, os
    parser = argparse.ArgumentParser()
    parser.add_argument("--rate", type=float)
    parser.add_argument("--seed", type=int)
    args = parser.parse_args()
    with open("data/x.bin") as file:
        start = float(file.read())
    exec(THEN)
    print("loss", start - args.rate + 0.001 * args.seed)
"""


def with_data(folder: Path, then: str = "", **workload: object) -> Path:
    script(folder, READS, THEN=then)
    (folder / "data").mkdir()
    (folder / "data/x.bin").write_text("3")
    (folder / "data/y.bin").write_text("4")
    study(folder, **workload)  # type: ignore[arg-type]
    return folder


@pytest.mark.slow
def test_a_path_that_the_copy_lacks_stops_the_run_and_says_what_to_add(tmp_path):
    folder = with_data(tmp_path)
    done = run(folder)
    assert (done.returncode, len(stored(folder / "results"))) == (2, 1)
    assert "add `data: [data]` under workload" in said(done)
    study(folder, data=["data"])
    assert run(folder).returncode == 0
    assert verdict(folder) == "better"


@pytest.mark.slow
def test_data_outside_of_the_code_by_a_relative_path_are_named(tmp_path):
    folder = script(tmp_path / "own", READS.replace("data/x.bin", "../data/x.bin"), THEN="")
    (tmp_path / "data").mkdir()
    (tmp_path / "data/x.bin").write_text("3")
    study(folder)
    done = run(folder)
    assert (done.returncode, len(stored(folder / "results"))) == (2, 1)
    assert "cannot reach ../data/x.bin" in said(done)


@pytest.mark.slow
def test_a_module_that_the_copy_lacks_is_named(tmp_path):
    folder = script(tmp_path, PLAIN)
    script(folder, "GAIN = 0.1", name="helper.py")
    committed(folder, "train.py", ignored="results/\nhelper.py\n")
    study(folder, seeds=1)
    done = run(folder)
    assert (done.returncode, "add `data: [helper.py]` under workload" in said(done)) == (2, True)
    study(folder, seeds=1, data=["helper.py"])
    assert run(folder).returncode == 0


@pytest.mark.slow
def test_data_count_by_their_content(tmp_path):
    folder = with_data(tmp_path, data=["data"])
    assert run(folder).returncode == 0
    assert "is up to date" in run(folder).stdout
    (folder / "data/x.bin").write_text("5")
    assert "6 trials to train" in run(folder).stdout


@pytest.mark.slow
def test_a_trial_that_removes_its_data_through_the_link_loses_links(tmp_path):
    then = "import shutil; shutil.rmtree('data/'); os.system('mkdir data && rm -rf data/')"
    folder = with_data(tmp_path, then, data=["data"])
    assert run(folder).returncode == 0
    assert {path.name for path in (folder / "data").iterdir()} == {"x.bin", "y.bin"}


@pytest.mark.slow
@pytest.mark.parametrize(
    "then", ["open('data/y.bin', 'w').write('5')", "os.remove(os.path.realpath('data/y.bin'))"]
)
def test_changed_data_stop_the_run_and_are_named(then, tmp_path):
    folder = with_data(tmp_path, then, data=["data"])
    done = run(folder)
    assert (done.returncode, len(stored(folder / "results"))) == (2, 1)
    assert "data/y.bin" in said(done)


PROCESSES = """
os.makedirs('data/processed', exist_ok=True)
assert not os.path.exists('data/processed/x.txt')
open('data/processed/x.txt', 'w').write('x')
"""


@pytest.mark.slow
def test_a_library_that_writes_beside_its_data_does_so_in_each_copy(tmp_path):
    folder = with_data(tmp_path, PROCESSES, data=["data"], parallel="on")
    done = ablate_here("run", "study.yaml", "--jobs", "2", cwd=folder)
    assert done.returncode == 0, done.stdout
    assert not (folder / "data/processed").exists()
    assert [(path / "data/processed/x.txt").read_text() for path in runs(folder)] == ["x"] * 6


@pytest.mark.slow
def test_what_is_added_to_the_original_data_is_named(tmp_path):
    then = "open(os.path.join(os.path.dirname(os.path.realpath('data/x.bin')), 'z.bin'), 'w')"
    done = run(with_data(tmp_path, then, data=["data"]))
    assert done.returncode == 0
    assert "data/z.bin to `data:`" in said(done)


WRITES = """
    import argparse, os, pathlib
    parser = argparse.ArgumentParser()
    parser.add_argument("--rate", type=float)
    parser.add_argument("--seed", type=int)
    args = parser.parse_args()
    sizes = {"wandb/run.log": 9, "mlruns/0/meta.yaml": 9, "out/ckpt.pt": 11 << 20, "out/best.pt": 11 << 20}
    for name, size in sizes.items():
        pathlib.Path(name).parent.mkdir(parents=True, exist_ok=True)
        with open(name, "wb") as file:
            file.truncate(size)
    with open("train.log", "a") as file:
        file.write("a line")
    print("loss", 3 - args.rate)
"""


@pytest.mark.slow
def test_what_a_trial_has_written_is_found_afterwards_but_for_large_files(tmp_path):
    folder = script(tmp_path, WRITES)
    (folder / "train.log").write_text("appended to, and not read")
    committed(folder, "train.py", "train.log")
    study(folder, seeds=1, keep=["out/best.*"])
    assert run(folder).returncode == 0
    for place in runs(folder):
        found = {path.relative_to(place).as_posix() for path in place.rglob("*") if path.is_file()}
        assert found == {"wandb/run.log", "mlruns/0/meta.yaml", "out/best.pt", "train.log"}
        shown = ablate_here("show", place.name, cwd=folder)
        assert str(Path("results/store/runs") / place.name) in shown.stdout
    first = runs(folder)
    with (folder / "train.py").open("a") as file:
        file.write("# edited")
    assert run(folder, "--retrain").returncode == 0
    assert "4 folders" not in ablate_here("clean", "--yes", cwd=folder).stdout
    assert len(runs(folder)) == 2
    assert not {*first} & {*runs(folder)}
    assert len([*(folder / "results/store/code").iterdir()]) == 1


PLAIN = """
    import argparse
    import helper
    parser = argparse.ArgumentParser()
    parser.add_argument("--rate", type=float)
    parser.add_argument("--seed", type=int)
    args = parser.parse_args()
    print("loss", 3 - args.rate - helper.GAIN + 0.001 * args.seed)
"""


def with_helper(folder: Path, **workload: object) -> Path:
    script(folder, PLAIN)
    (folder / "helper.py").write_text("GAIN = 0.1\n")
    study(folder, **workload)  # type: ignore[arg-type]
    return folder


@pytest.mark.slow
def test_an_edit_of_code_alone_shows_what_it_costs_and_asks(tmp_path):
    folder = with_helper(tmp_path)
    assert run(folder).returncode == 0
    (folder / "helper.py").write_text("GAIN = 0.2\n")
    planned = ablate_here("plan", "study.yaml", cwd=folder)
    done = run(folder)
    assert done.returncode == 2
    for text in (planned.stdout, done.stdout + done.stderr):
        assert "6 finished trials" in text
        assert "-GAIN = 0.1\n+GAIN = 0.2\n" in text
    kept = run(folder, "--keep-finished")
    assert (kept.returncode, kept.stdout.count("6 trials to train")) == (0, 0)
    assert "6 of 6 trials ran with older code" in (folder / "results/own/report.md").read_text()
    assert "is up to date" in run(folder).stdout
    assert run(folder, "--retrain", "--keep-finished").returncode == 2
    assert "6 trials to train" in run(folder, "--retrain").stdout  # What was kept, too.
    (folder / "helper.py").write_text("GAIN = 0.3\n")
    before = load(folder / "results/own").trials.loss.mean()
    assert "6 trials to train" in run(folder, "--retrain").stdout
    assert load(folder / "results/own").trials.loss.mean() == pytest.approx(before - 0.1)
    assert "ran with older code" not in (folder / "results/own/report.md").read_text()


@pytest.mark.slow
def test_in_place_the_report_says_so(tmp_path):
    folder = with_helper(tmp_path, isolate="off")
    assert run(folder).returncode == 0
    assert "what earlier runs left there" in (folder / "results/own/report.html").read_text()
    assert not (folder / "results/store/code").exists()


@pytest.mark.slow
def test_a_study_in_a_folder_of_its_repository_runs_a_module_in_the_copy(tmp_path):
    root = script(tmp_path, "GAIN = 0.1", name="helper.py")
    script(root / "pkg", "from pkg.inner import main", name="train.py")
    script(root / "pkg", PLAIN.replace("import helper", "from . import helper"), name="inner.py", main="")
    (root / "pkg/helper.py").write_text("from helper import GAIN\n")
    (root / "pkg/__init__.py").write_text("")
    (root / "studies").mkdir()
    committed(root, "helper.py", "pkg")
    command = f"env PYTHONPATH=.. {sys.executable} -m pkg.train --rate {{rate}} --seed {{seed}}"
    study(root / "studies", command=command)
    done = run(root / "studies")
    assert done.returncode == 0, said(done)
    assert verdict(root / "studies") == "better"
    (root / "helper.py").write_text("GAIN = 0.2\n")
    assert "helper.py" in said(run(root / "studies"))


EDITS = """
    import argparse, os
    import lib
    parser = argparse.ArgumentParser()
    parser.add_argument("--rate", type=float)
    parser.add_argument("--seed", type=int)
    args = parser.parse_args()
    print("loss", 3 - args.rate + lib.OFFSET + 0.001 * args.seed)
    os.system(f"echo OFFSET = 100.0 > {ORIGINAL}")
"""


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["path", "finder", "variable"])
def test_an_editable_install_that_is_edited_midway_gives_the_frozen_code(kind, tmp_path, monkeypatch):
    """As pip installs one: a path in a `.pth` file, or a finder with a mapping; or a path in $PYTHONPATH."""
    root = tmp_path / "repo"
    script(root, EDITS, ORIGINAL=str(root / "src/lib.py"))
    script(root / "src", "OFFSET = 0.0", name="lib.py")
    committed(root, "train.py", "src")
    # What Python reads before `sitecustomize`, of a Python outside of an environment.
    version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    site = tmp_path / "base/lib" / version / "site-packages"
    site.mkdir(parents=True)
    monkeypatch.setenv("PYTHONUSERBASE", str(tmp_path / "base"))
    if kind == "path":
        (site / "__editable__.lib.pth").write_text(f"{root / 'src'}\n")
    elif kind == "finder":
        (site / "__editable__.lib.pth").write_text("import __editable___lib_finder\n")
        (site / "__editable___lib_finder.py").write_text(FINDER.format(str(root / "src/lib.py")))
    else:
        monkeypatch.setenv("PYTHONPATH", f"{ROOT}:{root / 'src'}")
    base = getattr(sys, "_base_executable", sys.executable)
    study(root, command=f"{base} train.py --rate {{rate}} --seed {{seed}}")
    done = run(root)
    assert done.returncode == 0, said(done)
    assert load(root / "results/own").trials.loss.max() < 4
    assert "100.0" in (root / "src/lib.py").read_text()


ROOT = Path(__file__).parents[2]
FINDER = """
import sys
from importlib.util import spec_from_file_location
MAPPING = {{"lib": {!r}}}
NAMESPACES = {{}}
class Finder:
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        if name in MAPPING:
            return spec_from_file_location(name, MAPPING[name])
sys.meta_path.append(Finder)
"""


@pytest.mark.slow
def test_code_of_the_original_by_its_absolute_path_stops_the_study(tmp_path):
    folder = script(
        tmp_path,
        PLAIN.replace("import helper", "import sys; sys.path.insert(0, SRC); import helper"),
        SRC=str(tmp_path / "src"),
    )
    script(folder / "src", "GAIN = 0.1", name="helper.py")
    study(folder, seeds=1)
    done = run(folder)
    assert done.returncode == 2
    assert "src/helper.py of" in said(done)


@pytest.mark.slow
def test_a_module_elsewhere_that_is_edited_trains_anew(tmp_path):
    beside = tmp_path / "beside"
    script(beside, "GAIN = 0.1", name="helper.py")
    text = PLAIN.replace("import helper", "import sys; sys.path.insert(0, SRC); import helper")
    folder = script(tmp_path / "own", text, SRC=str(beside))
    study(folder, seeds=1)
    assert run(folder).returncode == 0
    assert "is up to date" in run(folder).stdout
    (beside / "helper.py").write_text("GAIN = 0.25\n")
    assert "2 trials to train" in run(folder).stdout


DOWNLOADS = """
    import argparse, os
    parser = argparse.ArgumentParser()
    parser.add_argument("--rate", type=float)
    parser.add_argument("--seed", type=int)
    args = parser.parse_args()
    assert not os.path.exists("data")
    os.makedirs("data")
    with open("data/x.txt", "w") as file:
        file.write("3")
    print("loss", float(open("data/x.txt").read()) - args.rate)
"""


@pytest.mark.slow
def test_data_that_a_script_downloads_are_those_of_its_copy(tmp_path):
    folder = script(tmp_path, DOWNLOADS)
    study(folder, seeds=2)
    assert run(folder).returncode == 0
    assert not (folder / "data").exists()


DIES = """
    import argparse, json, os, signal, sys
    parser = argparse.ArgumentParser()
    parser.add_argument("--rate", type=float)
    parser.add_argument("--seed", type=int)
    args = parser.parse_args()
    before = os.path.exists("state.pt")
    open("state.pt", "w").close()
    if not os.path.exists(OUTSIDE):
        open(OUTSIDE, "w").close()
        sys.exit(1)
    print("loss", 3 - args.rate - before)
"""


@pytest.mark.slow
@pytest.mark.parametrize("resume", [True, False])
def test_a_trial_that_is_tried_again_finds_its_own_folder_where_the_study_says_so(resume, tmp_path):
    folder = script(tmp_path / "own", DIES, OUTSIDE=str(tmp_path / "died"))
    study(folder, seeds=1, **({"resume": "on"} if resume else {}))
    assert run(folder, "--keep-going").returncode == 1
    assert len(runs(folder)) == 2
    assert run(folder).returncode == 0
    trials = load(folder / "results/own").trials
    assert trials[trials.variant == "baseline"].loss.item() == pytest.approx(1.9 if resume else 2.9)
    # What has ended well is begun anew.
    assert run(folder, "--fresh").returncode == 0
    trials = load(folder / "results/own").trials
    assert trials[trials.variant == "baseline"].loss.item() == pytest.approx(2.9)
