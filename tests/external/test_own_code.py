"""One's own function, command and script, from a study to verdicts, and what goes wrong with them."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from ablate.external.constants import seeded
from harness import ablate, ablate_here, plan_here, problems, run_here, stored
from own import OPTIONS, OWN, own_study

from ablate import load
from ablate.core.trial import Trial
from ablate.external.workload import External
from ablate.records.store import Store
from ablate.study.prepare import prepare


@pytest.fixture
def folder(tmp_path):
    return Path(shutil.copytree(OWN, tmp_path / "own", ignore=shutil.ignore_patterns("__pycache__")))


def written(folder: Path, kind: str = "function", **changes: object) -> Path:
    path = folder / "study.yaml"
    path.write_text(json.dumps(own_study(kind, **changes)))
    return path


def records(folder: Path):
    store = Store(folder / "results" / "store", print)
    return [store.load(name) for name in sorted(stored(folder / "results"))]


@pytest.mark.parametrize("kind", OPTIONS)
def test_it_is_judged_like_any_other(folder, kind):
    study = written(folder, kind)
    planned = plan_here(study)
    outcome, _ = run_here(study)
    assert not outcome.failed
    (row,) = load(folder / "results" / "own").comparisons.itertuples()
    assert (row.n, row.verdict) == (3, "better")
    shown = {
        "function": "train.py:train({'rate': 1.0, 'steps': 4}, 0)",
        "command": "python walk.py --rate 0.5 --act gelu --dead 0 --steps 6 --seed 0",
        "script": "python walk.py with RATE=1.0, STEPS=6, SEED=0",
    }
    assert shown[kind] in planned
    assert len(load(folder / "results" / "own").curves) > 6
    assert "is up to date" in run_here(study)[1]


@pytest.mark.parametrize(
    ("changed", "trained"),
    [("ends.py", 6), ("uv.lock", 6), ("extra/data.txt", 6), ("other.py", 0), ("study.yaml", 0)],
)
def test_an_edit_trains_what_it_concerns(folder, changed, trained):
    (folder / "extra").mkdir()
    for name in ("extra/data.txt", "other.py", "uv.lock"):
        (folder / name).write_text("")
    study = written(folder, workload=OPTIONS["function"] | {"sources": ["extra"]})
    run_here(study)
    before = stored(folder / "results")
    with (folder / changed).open("a") as file:
        file.write("\n# changed\n" if changed.endswith("py") else "\n")
    run_here(study)
    assert len(stored(folder / "results") - before) == trained


def test_versions_of_imported_packages_and_local_modules_count(folder):
    files = prepare(written(folder)).workload.files({"config": {}})
    assert {"module train", "module ends"} <= {*files}
    experiment = prepare(
        written(folder, "command", workload={"command": "python gpt.py {seed}", "read": {"val_loss": "(.)"}})
    )
    assert "package torch" in experiment.workload.files({"config": {}})
    assert files["module ends"] == str(folder / "ends.py")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("nothing", "must return numbers by name"),
        ("text", "accuracy must be a number, not 'high'"),
        ("exits", "accuracy was not read"),
        ("raises", "last read: accuracy 0.25; last printed: RuntimeError: out of luck"),
        ("hangs", "time limit of 1 s exceeded"),
        ("killed", "was killed by SIGKILL"),
    ],
)
def test_a_faulty_function_fails_its_trials_with_its_output_at_hand(folder, name, said):
    resources = {"time": 1} if name == "hangs" else {}
    options = {"function": f"train.py:{name}", "resources": resources}
    outcome, printed = run_here(written(folder, workload=options, seeds=1), jobs=1)
    assert outcome.failed
    assert said in printed
    record = records(folder)[0]
    assert (record.status, record.metrics) == ("failed", {})
    assert record.error


def test_one_that_prints_megabytes_or_forks_is_kept(folder):
    for name in ("loud", "forks"):
        options = {"function": f"train.py:{name}"}
        outcome, printed = run_here(written(folder, name=name, workload=options, seeds=2), jobs=1)
        assert not outcome.failed
        assert "config.rate=1.0 seed 1: accuracy 1.5" in printed
        # Their config is never read.
        assert "never read" in printed
    assert max(len(record.output) for record in records(folder)) < 100_000


def test_what_is_not_finite_has_diverged(folder):
    run_here(written(folder, workload={"function": "train.py:diverges"}, seeds=1))
    assert [(record.status, record.reason) for record in records(folder)] == [
        ("diverged", "accuracy nan")
    ] * 2


@pytest.mark.parametrize(
    ("kind", "changes", "said"),
    [
        (
            "function",
            {"workload": {"function": "train.py:trian"}},
            "workload.function: is not defined in train.py",
        ),
        ("function", {"workload": {"function": "gone.py:train"}}, "is no function in a file"),
        ("function", {"workload": {"function": "train.py:wrong"}}, "must take config and seed"),
        ("function", {"workload": {"function": "train.py:alone"}}, "must take config and seed"),
        ("function", {"workload": {"funktion": "train.py:train"}}, "workload: unknown workload"),
        ("function", {"workload": {"function": "train.py:train", "raed": {}}}, "workload.raed: unknown key"),
        ("function", {"workload": "function"}, "workload.function: is required"),
        ("function", {"metrics": {}}, "metrics: must not be empty"),
        ("function", {"metrics": {"seed": "max"}}, "is a name that tables have already"),
        ("function", {"config": {"rate": 0.5, "seed": 1}}, "has a seed"),
        (
            "function",
            {"workload": {"function": "train.py:train", "sources": ["src"]}},
            "workload.sources.0: does not exist",
        ),
        (
            "command",
            {"workload": {"command": "python walk.py --rate {rtae}"}},
            "workload.command: {rtae} has no value",
        ),
        ("command", {"workload": {"command": "walk '"}}, "workload.command: cannot be split"),
        (
            "command",
            {"workload": {"command": "walk", "read": {"val_loss": "loss"}}},
            "workload.read.val_loss: has 0 groups",
        ),
        ("script", {"config": {"RATE": 0.5, "step": 1}}, "config.step: is not a constant"),
        ("script", {"config": {"RATE": 0.5, "UNUSED": 2}}, "config.UNUSED: is never read"),
        ("script", {"workload": {"script": "walk.py", "seed": "SEDE"}}, "workload.seed: is not a constant"),
        ("script", {"workload": {"script": "gone.py"}}, "workload.script: is no Python file"),
    ],
)
def test_what_cannot_run_is_refused_with_its_place(folder, kind, changes, said):
    found = problems(written(folder, kind, **changes))
    assert any(said in text for text in found), found


def tried(folder: Path, kind: str, options: dict[str, object], config: dict[str, object] | None = None):
    workload: External = prepare(written(folder, kind)).workload.of({"name": kind, **options}, folder)
    whole = own_study(kind)
    trial = Trial("id", {"config": whole["config"] | (config or {}), "metrics": {"val_loss": {}}}, 1)
    return workload.train(trial, lambda *_: False)


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("no-such-program", "no-such-program: cannot be started"),
        (
            "sh -c 'echo val loss 2; exit 3'",
            "ended with exit code 3; last read: val_loss 2; last printed: val loss 2",
        ),
        ("echo nothing", "val_loss was not read: no line matches"),
        (
            "sh -c 'echo val loss 1; cp two.json $ABLATE_DIR'",
            "val_loss was reported twice: 1, and 2 in two.json",
        ),
        ("echo val loss x", "'x' is not a number"),
    ],
)
def test_a_command_that_does_not_count_says_why(folder, command, said):
    (folder / "two.json").write_text('{"val_loss": 2}')
    record = tried(folder, "command", {"command": command, "read": {"val_loss": r"val loss (\S+)"}})
    assert record.status == "failed"
    assert said in record.reason


def test_memory_and_json_in_its_own_folder(folder):
    code = "import json, os; c = json.loads(os.environ['ABLATE_CONFIG']); "
    code += "open(os.environ['ABLATE_DIR'] + '/m.jsonl', 'w').write(json.dumps({{'step': 1, 'val_loss': c['rate']}}))"
    record = tried(folder, "command", {"command": [sys.executable, "-c", code]})
    assert (record.status, record.metrics) == ("completed", {"val_loss": 0.5})
    hungry = [sys.executable, "-c", "x = bytearray(4 << 30); print('val_loss 1')"]
    record = tried(folder, "command", {"command": hungry, "resources": {"memory": 0.5}})
    assert record.status == "failed"
    assert "MemoryError" in record.reason


def test_the_line_of_a_fixed_seed_is_named(folder):
    assert seeded(folder / "gpt.py") == ["gpt.py:20: torch.manual_seed(1337)"]
    assert seeded(folder / "walk.py") == []
    (folder / "s.py").write_text("import random\nSEED = 1\nrandom.seed(SEED)\n")
    assert seeded(folder / "s.py") == ["s.py:3: random.seed(SEED)"]
    assert seeded(folder / "s.py", "SEED") == []


def test_tuning_and_a_sweep_search_its_config(folder):
    over = {"config.rate": {"float": [0.1, 2.0]}}
    tune = {"over": over, "trials": 3, "seeds": 3}
    outcome, _ = run_here(written(folder, tune=tune, factors={"config.steps": [5]}, seeds=2))
    assert not outcome.failed
    results = load(folder / "results" / "own")
    assert len(results.trials) == 4
    search = {"over": over, "trials": 4, "seeds": 3}
    (folder / "sweep.yaml").write_text(
        json.dumps(own_study("function", name="sweep", search=search, factors={}, seeds=2))
    )
    done = ablate_here("sweep", "sweep.yaml", cwd=folder)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_a_killed_driver_leaves_no_process_and_a_second_one_goes_on(folder):
    written(folder, workload={"function": "train.py:hangs"}, seeds=2)
    command = [sys.executable, "-m", "ablate", "run", "study.yaml"]
    first = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    children: list[str] = []
    for _ in range(300):
        found = subprocess.run(
            ["pgrep", "-f", str(OWN.parents[2] / "ablate/external/calling.py")],
            capture_output=True,
            text=True,
            check=False,
        )
        if children := found.stdout.split():
            break
        time.sleep(0.1)
    os.kill(first.pid, signal.SIGKILL)
    first.wait()
    for _ in range(100):
        if not any(
            Path(f"/proc/{pid}/cmdline").exists() and Path(f"/proc/{pid}/cmdline").read_bytes()
            for pid in children
        ):
            break
        time.sleep(0.1)
    else:
        raise AssertionError(children)
    written(folder)
    drivers = [subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    printed = [driver.communicate(timeout=120)[0] for driver in drivers]
    assert [driver.returncode for driver in drivers] == [0, 0]
    assert sum("to train" in text for text in printed) == 1
    assert len(stored(folder / "results")) == 6


@pytest.mark.slow
def test_a_script_in_the_manner_of_nanogpt_is_judged_in_two_commands(folder):
    read = OPTIONS["command"]["read"]
    command = "python gpt.py --learning_rate {lr} --dropout {dropout} {compile:--compile} --max_iters {iters}"
    changes = {
        "workload": {"command": command, "read": read},
        "config": {"lr": 0.01, "dropout": 0.0, "compile": False, "iters": 60},
        "factors": {"config.lr": [0.03], "config.dropout": [0.5], "config.compile": [True]},
        "probe": {"config.iters": 5},
    }
    written(folder, "command", **changes)
    assert "gpt.py:20: torch.manual_seed(1337)" in " ".join(
        ablate("plan", "study.yaml", cwd=folder).stdout.split()
    )
    done = ablate("run", "study.yaml", cwd=folder)
    assert done.returncode == 2
    for said in ("another seed changes nothing", "config.dropout=0.5 changes nothing", "gpt.py:20"):
        assert said in done.stderr
    assert "config.lr=0.03 changes" not in done.stderr
