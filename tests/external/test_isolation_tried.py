"""What strangers do with their own code, tried through the command line: none of it gives a number of another run."""

import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from harness import ablate_here, stored
from isolated import committed, run, said, script, study, verdict

from ablate import load
from ablate.external.frozen import freeze, make_copy
from ablate.external.tree import read_tree

READS_ALL = """
    import argparse, json, os, sys
    sys.path.insert(0, "lib")
    import of_path, of_insert, helper
    parser = argparse.ArgumentParser()
    parser.add_argument("--config")
    parser.add_argument("--rate", type=float)
    parser.add_argument("--seed", type=int)
    args = parser.parse_args()
    loss = 3 - args.rate + 0.001 * args.seed
    loss += of_path.GAIN + of_insert.GAIN + helper.GAIN + float(os.environ["GAIN"])
    for name in (args.config, ".settings", "sub/more.json"):
        with open(name) as file:
            loss += json.load(file)["gain"]
    print("loss", loss)
"""
RUNS = """
    . ./env.sh
    exec env PYTHONPATH=src$PYTHONPATH {python} train.py "$@"
"""
EDITS = {
    "helper.py": "GAIN = {}",
    "src/of_path.py": "GAIN = {}",
    "lib/of_insert.py": "GAIN = {}",
    "env.sh": "export GAIN={} PYTHONPATH=${{PYTHONPATH:+:$PYTHONPATH}}",
    "a=1:b/c.json": '{{"gain": {}}}',
    ".settings": '{{"gain": {}}}',
    "sub/more.json": '{{"gain": {}}}',
}


@pytest.mark.slow
@pytest.mark.parametrize("isolate", ["on", pytest.param("off", marks=pytest.mark.slow)])
def test_an_edit_of_any_helper_or_config_trains_anew(isolate, tmp_path):
    """Those of `bash run.sh`, $PYTHONPATH, `sys.path.insert`, what a script opens; hidden, or with odd names."""
    folder = script(tmp_path, READS_ALL)
    script(folder, RUNS.format(python=sys.executable), name="run.sh")
    for name, text in EDITS.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text.format(0.0))
    command = "bash run.sh --config a=1:b/c.json --rate {rate} --seed {seed}"
    study(folder, command=command, seeds=1, isolate=isolate)
    assert run(folder).returncode == 0
    before = load(folder / "results/own").trials.loss
    for name, text in EDITS.items():
        (folder / name).write_text(text.format(1.0))
        planned = ablate_here("plan", "study.yaml", cwd=folder).stdout
        assert "2 finished trials" in planned, name
        assert name in planned if isolate == "on" else True
        (folder / name).write_text(text.format(0.0))
    assert "is up to date" in run(folder).stdout
    for name, text in EDITS.items():
        (folder / name).write_text(text.format(1.0))
    assert run(folder, "--retrain").returncode == 0
    assert (load(folder / "results/own").trials.loss - before).tolist() == pytest.approx([7.0, 7.0])


KILLED = """
    import argparse, os, signal, time
    parser = argparse.ArgumentParser()
    parser.add_argument("--rate", type=float)
    parser.add_argument("--seed", type=int)
    args = parser.parse_args()
    gain = 50 if os.path.exists("half.pt") else 0
    open("half.pt", "w").close()
    if args.seed == 1 and not os.path.exists(OUTSIDE):
        open(OUTSIDE, "w").close()
        os.kill(DRIVER, signal.SIGKILL)
        time.sleep(60)
    print("loss", 3 - args.rate + 0.001 * args.seed + gain)
"""


@pytest.mark.slow
def test_after_a_kill_the_same_command_finds_nothing_of_what_was_cut_short(tmp_path):
    text = KILLED.replace("DRIVER", f"int(open({str(tmp_path / 'driver')!r}).read())")
    folder = script(tmp_path / "own", text, OUTSIDE=str(tmp_path / "killed"))
    study(folder)
    starts = f"echo $$ > {tmp_path}/driver; exec {sys.executable} -m ablate run study.yaml --jobs 1"
    done = subprocess.run(["bash", "-c", starts], cwd=folder, capture_output=True, check=False)
    assert done.returncode == -signal.SIGKILL
    assert 0 < len(stored(folder / "results")) < 6
    assert run(folder).returncode == 0
    losses = load(folder / "results/own").trials.loss
    assert (len(losses), losses.max() < 4) == (6, True)
    assert verdict(folder) == "better"
    assert not [*(folder / "results/store/runs").glob("*.part")]


@pytest.mark.slow
def test_twenty_thousand_files_are_copied_in_about_a_second(tmp_path):
    root = tmp_path / "repo"
    for number in range(19_990):
        if number % 200 == 0:
            (root / f"d{number // 200}").mkdir(parents=True)
        (root / f"d{number // 200}" / f"{number}.py").write_text(f"x = {number}\n")
    committed(root, ".")
    frozen = freeze(read_tree(root), tmp_path / "code")
    began = time.monotonic()
    make_copy(frozen, tmp_path / "copy")
    took = time.monotonic() - began
    assert took < 10  # On a machine that does other things, too.
    assert (tmp_path / "copy/d99/19989.py").read_text() == "x = 19989\n"


DISTRIBUTED = """
    import argparse, json, os
    import torch, torch.distributed
    parser = argparse.ArgumentParser()
    parser.add_argument("--rate", type=float)
    parser.add_argument("--seed", type=int)
    args = parser.parse_args()
    torch.distributed.init_process_group("gloo")
    rank = torch.distributed.get_rank()
    assert not os.path.exists(f"rank{rank}.pt")
    value = torch.tensor([float(rank + 1)])
    torch.distributed.all_reduce(value)
    torch.distributed.barrier()
    open(f"rank{rank}.pt", "w").close()
    if rank == 0:
        print("loss", 3 - args.rate + 0.001 * args.seed + value.item())
    torch.distributed.destroy_process_group()
"""


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("torchrun", path=Path(sys.executable).parent) is None, reason="no torchrun")
def test_two_trials_of_two_processes_each_at_the_same_time(tmp_path):
    folder = script(tmp_path, DISTRIBUTED)
    torchrun = Path(sys.executable).parent / "torchrun"
    command = f"{torchrun} --standalone --nproc_per_node 2 train.py --rate {{rate}} --seed {{seed}}"
    study(folder, command=command, seeds=2, parallel="on")
    done = ablate_here("run", "study.yaml", "--jobs", "2", cwd=folder)
    assert done.returncode == 0, done.stdout + done.stderr
    assert sorted(load(folder / "results/own").trials.loss) == pytest.approx([5.5, 5.501, 5.9, 5.901])


SHARES = """
    import argparse, os, json, sqlite3
    parser = argparse.ArgumentParser()
    parser.add_argument("--rate", type=float)
    parser.add_argument("--seed", type=int)
    args = parser.parse_args()
    gain = 50 if os.path.exists(SHARED) else 0
    if SHARED.endswith("db"):
        sqlite3.connect(SHARED).execute("create table if not exists a (b)")
    else:
        open(SHARED, "a").close()
    with open("settings.json") as file:
        gain += json.load(file)
    print("loss", 3 - args.rate + 0.001 * args.seed + gain)
"""


@pytest.mark.slow
@pytest.mark.parametrize("is_tracked", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_links_out_of_the_code_are_data(is_tracked, tmp_path):
    """To a folder into which a run writes its checkpoint, and to a file of settings; and one to nowhere."""
    folder = script(tmp_path / "own", SHARES, SHARED="out/last.ckpt")
    (tmp_path / "scratch").mkdir()
    (tmp_path / "scratch/up").symlink_to(tmp_path / "scratch")
    (tmp_path / "shared.json").write_text("0")
    (folder / "out").symlink_to(tmp_path / "scratch")
    (folder / "settings.json").symlink_to("../shared.json")
    (folder / "nowhere").symlink_to(tmp_path / "not/there")
    committed(folder, "train.py", *(["out", "settings.json", "nowhere"] if is_tracked else []))
    study(folder, seeds=2)
    done = run(folder)
    assert done.returncode == 0, said(done)
    assert load(folder / "results/own").trials.loss.max() < 4
    assert [path.name for path in (tmp_path / "scratch").iterdir()] == ["up"]
    (tmp_path / "shared.json").write_text("1")
    assert "4 trials to train" in ablate_here("plan", "study.yaml", cwd=folder).stdout


@pytest.mark.parametrize(
    "name",
    [
        "out/last.ckpt",
        pytest.param("wandb/run.db", marks=pytest.mark.slow),
        pytest.param("results/mine/last.ckpt", marks=pytest.mark.slow),
    ],
)
def test_a_file_of_the_original_by_its_absolute_path_stops_the_study(name, tmp_path):
    folder = script(tmp_path, SHARES, SHARED=str(tmp_path / name))
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / "settings.json").write_text("0")
    committed(folder, "train.py", "settings.json")
    study(folder)
    done = run(folder)
    assert (done.returncode, len(stored(folder / "results"))) == (2, 1)
    assert f"a trial opened {name} of {folder}" in said(done)


@pytest.mark.slow
@pytest.mark.parametrize("results", ["results", pytest.param("../elsewhere", marks=pytest.mark.slow)])
def test_a_relative_path_out_of_the_code_stops_the_study(results, tmp_path):
    folder = script(tmp_path / "own", SHARES, SHARED="../last.ckpt")
    (folder / "settings.json").write_text("0")
    study(folder)
    done = run(folder, "--results", results)
    assert (done.returncode, len(stored(folder / results))) == (2, 1)
    assert "a trial opened ../last.ckpt" in said(done)
    assert ablate_here("clean", "--results", results, "--yes", cwd=folder).returncode == 0


@pytest.mark.slow
def test_caches_that_a_variable_names_may_be_shared(tmp_path, monkeypatch):
    folder = script(
        tmp_path, SHARES.replace("gain = 50 if", "gain = 0 if"), SHARED=str(tmp_path / "hub/model.bin")
    )
    (folder / "hub").mkdir()
    (folder / "settings.json").write_text("0")
    monkeypatch.setenv("HF_HOME", str(folder / "hub"))
    study(folder, seeds=1)
    assert run(folder).returncode == 0


LEFT = """
    import argparse, json, os
    parser = argparse.ArgumentParser()
    parser.add_argument("--rate", type=float)
    parser.add_argument("--seed", type=int)
    args = parser.parse_args()
    loss = 3 - args.rate + 0.001 * args.seed
    if HOW == "appended":
        with open("losses.jsonl", "a") as file:
            file.write(f"{loss}\\n")
        with open("losses.jsonl") as file:
            loss = min(float(line) for line in file)
    elif HOW == "read" and os.path.exists("final.json"):
        with open("final.json") as file:
            loss -= json.load(file)
    elif HOW == "there" and os.path.exists("step_100"):
        loss = 0.0
    open("step_100", "w").close()
    print("loss", loss)
"""


@pytest.mark.fast_cases(1)
@pytest.mark.parametrize("how", ["appended", "read", pytest.param("there", marks=pytest.mark.slow)])
def test_what_a_run_by_hand_has_left_stops_the_study_or_is_named_or_is_not_there(how, tmp_path):
    """A log of losses that a script goes on with, a result that it reads, and a checkpoint on a disk without modes."""
    folder = script(tmp_path, LEFT, HOW=how)
    (folder / "losses.jsonl").write_text("0.5\n")
    (folder / "final.json").write_text("0.5\n")
    (folder / "step_100").write_text("weights")
    (folder / "step_100").chmod(0o755)
    study(folder, seeds=2)
    done = run(folder)
    if how == "appended":
        assert (done.returncode, "read and then changed losses.jsonl" in said(done)) == (2, True)
        return
    assert done.returncode == 0
    assert verdict(folder) == "better"
    assert load(folder / "results/own").trials.loss.min() == pytest.approx(2.0 if how == "read" else 2.5)
    report = (folder / "results/own/report.html").read_text()
    assert ("Trials read final.json, which is in no commit" in report) == (how == "read")
