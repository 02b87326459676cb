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
from harness import ablate, ablate_here, plan_here, prepare, problems, run_here, stored
from own import OPTIONS, OWN, own_study

from ablate import load
from ablate.core.trial import Trial
from ablate.core.undeclared import undeclared_of
from ablate.external.cautions import seeded
from ablate.records.store import Store


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


@pytest.mark.fast_cases(1)
@pytest.mark.parametrize("kind", OPTIONS)
def test_it_is_judged_like_any_other(folder, kind):
    study = written(folder, kind)
    planned = plan_here(study)
    outcome, _ = run_here(study)
    assert not outcome.failed
    (row,) = load(folder / "results" / "own").comparisons.itertuples()
    assert (row.n, row.verdict) == (3, "better")
    shown = {
        "function": """runner.py train.py:train '{"rate": 1.0, "steps": 4}' 0""",
        "command": "python walk.py --rate 0.5 --act gelu --dead 0 --steps 6 --seed 0",
        "script": """script.py walk.py '{"RATE": 1.0, "STEPS": 6, "SEED": 0}'""",
    }
    assert shown[kind] in planned
    assert len(load(folder / "results" / "own").curves) > 6
    assert "is up to date" in run_here(study)[1]


def ids(study: Path) -> set[str]:
    return {cell.id for cell in prepare(study).cells()}


@pytest.mark.slow
def test_an_edit_of_anything_that_is_copied_trains_anew(folder):
    """Helpers of whatever kind, as no reading of the code would find all; texts for people and studies count not."""
    for name in ("extra/c=1:d.json", ".hidden.sh", "src/helper.py", "README.md", "uv.lock"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text("")
    study = written(folder)
    (folder / "other.yaml").write_text("name: x\nworkload: {command: x}\nmetrics: {a: min}\n")
    changes = {}
    for changed in (*SOURCES, "README.md", "study.yaml", "other.yaml"):
        before = ids(study)
        with (folder / changed).open("a") as file:
            file.write("\n# changed\n")
        changes[changed] = len(ids(study) - before)
    assert changes == {**dict.fromkeys(SOURCES, 6), "README.md": 0, "study.yaml": 0, "other.yaml": 0}
    before = ids(study)
    written(folder, factors={"config.rate": [1.0, 2.0]})
    assert (len(ids(study)), before - ids(study)) == (9, set())


SOURCES = ("ends.py", "extra/c=1:d.json", ".hidden.sh", "src/helper.py", "uv.lock")


def test_versions_of_imported_packages_count(folder):
    experiment = prepare(written(folder))
    assert "torch" in experiment.workload.identity(experiment.variants[0].first_config)


PACKAGE = {"__init__": "", "a": "from lib.b import f\ndef main(c, s): ...\n", "b": "import ends\n"}


@pytest.mark.parametrize(
    "options",
    [{"function": "lib.a:main"}, {"function": "lib/a.py:main"}, {"command": "python -m lib.a {seed} {rate}"}],
)
def test_a_module_of_a_package_is_followed_from_where_it_runs(folder, options):
    (folder / "lib").mkdir()
    for name, text in PACKAGE.items():
        (folder / "lib" / f"{name}.py").write_text(text)
    kind = next(iter(options))
    config = {"rate": 0.5}
    factors = {"config.rate": [1.0]}
    experiment = prepare(written(folder, kind, workload=options, config=config, factors=factors))
    found = {*experiment.workload.program(experiment.variants[0].first_config).values()}
    assert {str(folder / name) for name in ("lib/a.py", "lib/b.py", "ends.py")} <= found


@pytest.mark.slow
def test_undeclared_numbers_are_in_the_record_and_in_no_table(folder):
    run_here(written(folder, workload={"function": "train.py:reports_more"}, seeds=1), jobs=1)
    for record in records(folder):
        points = {
            name: [*zip(curve.steps.tolist(), curve.values.tolist(), strict=True)]
            for name, curve in undeclared_of(record).items()
        }
        assert points == {"grad_norm": [(10, 1.0), (20, 2.0)], "calibration": [(20, 0.25)]}
        assert record.metrics.keys().isdisjoint(points)
    results = load(folder / "results" / "own")
    assert results.trials.columns.intersection(["grad_norm", "calibration"]).empty
    assert {*results.curves["metric"]} == {"accuracy"}


@pytest.mark.slow
def test_what_fails_is_named_with_its_output_at_hand(folder):
    outcome, printed = run_here(
        written(folder, workload={"function": "train.py:raises"}, seeds=1), jobs=1, keep_going=True
    )
    assert len(outcome.failed) == 2
    assert "last read: accuracy 0.25; RuntimeError: out of luck" in printed
    assert all("Traceback" in record.output for record in records(folder))


@pytest.mark.parametrize(
    ("kind", "changes", "said"),
    [
        (
            "function",
            {"workload": {"function": "train.py:trian"}},
            "is not a function in train.py",
        ),
        (
            "function",
            {"workload": {"function": "gone.py:train"}},
            "workload.function: your folder has no gone.py",
        ),
        ("function", {"workload": {"funktion": "train.py:train"}}, "workload: unknown workload"),
        ("function", {"workload": {"function": "train.py:train", "raed": {}}}, "workload.raed: unknown key"),
        ("function", {"workload": "function"}, "workload: must be a mapping"),
        ("function", {"metrics": {}}, "metrics: must not be empty"),
        ("function", {"metrics": {"seed": "max"}}, "is already the name of a column"),
        ("function", {"config": {"rate": 0.5, "seed": 1}}, "config.seed: is given by the study"),
        (
            "function",
            {"workload": {"function": "train.py:train", "sources": ["src"]}},
            "workload: has the key `sources`, which no longer exists",
        ),
        (
            "function",
            {"workload": {"function": "train.py:train", "data": ["gone"]}},
            "workload.data[0]: does not exist",
        ),
        (
            "function",
            {"workload": {"function": "train.py:train", "data": ["../beside"]}},
            "workload.data[0]: does not exist",
        ),
        (
            "command",
            {"workload": {"command": "python walk.py --rate {rtae}"}},
            "workload.command: {rtae} has no value",
        ),
        (
            "command",
            {"workload": {"command": "python walk.py {rate} {act} {dead} {seed}"}},
            "config.steps: changes nothing: workload.command has no {steps}",
        ),
        (
            "command",
            {"workload": {"command": "python walk.py {rate} {act} {dead} {steps}"}},
            "workload.command: has no `{seed}`",
        ),
        (
            "command",
            {"workload": {"command": "walk {dead}", "dialect": "getopt"}},
            "workload.dialect: is not an allowed value",
        ),
        (
            "function",
            {"workload": {"function": "train.py:train", "data": ["pipe.py"]}},
            "workload.data[0]: is a pipe",
        ),
        (
            "function",
            {"workload": {"function": "train.py:train", "data": ["/dev/zero"]}},
            "workload.data[0]: is a pipe, a socket or a device",
        ),
        (
            "function",
            {"workload": {"function": "train.py:train", "data": ["x" * 300]}},
            "workload.data[0]: cannot be read",
        ),
        ("function", {"workload": {"function": "pipe.py:train"}}, "is not a function in pipe.py"),
        ("script", {"workload": {"script": "pipe.py"}}, "workload.script: is a pipe"),
        ("command", {"workload": {"command": "walk '"}}, "workload.command: cannot be filled in"),
        ("command", {"workload": {"command": "walk {rate:999999999}"}}, "at most 3 digits"),
        (
            "command",
            {"workload": {"command": "walk", "read": {"val_loss": "(a{99999999999})"}}},
            "is no regular expression",
        ),
        (
            "command",
            {"workload": {"command": "walk", "read": {"val_loss": "loss"}}},
            "workload.read.val_loss: has 0 groups",
        ),
        ("command", {"workload": {"command": "walk", "read": {"loss": "(.)"}}}, "is not among `metrics`"),
        ("script", {"config": {"RATE": 0.5, "step": 1}}, "config.step: is not assigned once"),
        ("script", {"workload": {"script": "walk.py", "seed": "SEDE"}}, "workload.seed: is not assigned"),
        ("script", {"workload": {"script": "gone.py"}}, "workload.script: your folder has no gone.py"),
    ],
)
def test_what_cannot_run_is_refused_with_its_place(folder, kind, changes, said):
    os.mkfifo(folder / "pipe.py")
    found = problems(written(folder, kind, **changes))
    assert any(said in text for text in found), found


def tried(folder: Path, **options: object):
    experiment = prepare(written(folder, next(iter(options))))
    config = experiment.resolve(experiment.variants[0].first_config | {"workload": options})
    return experiment.workload.train(Trial("id", config, 1), lambda *_: False)


@pytest.mark.fast_cases(2)
@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("nothing", "must return numbers by name"),
        ("text", "accuracy: 'high' is not a number"),
        ("wrong", "missing 1 required positional argument: 'width'"),
        ("exits", "accuracy was not read"),
        ("raises", "last read: accuracy 0.25; RuntimeError: out of luck"),
        ("hangs", "time limit of 1 s exceeded"),
        ("killed", "SIGKILL"),
    ],
)
def test_a_faulty_function_fails_its_trials_with_its_output_at_hand(folder, name, said):
    record = tried(folder, function=f"train.py:{name}", resources={"time": 1 if name == "hangs" else None})
    assert (record.status, record.metrics) == ("failed", {})
    assert said in record.reason
    assert said in record.error


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("no-such-program", "no-such-program: cannot be started"),
        (
            "sh -c 'echo val loss 2; exit 3'",
            "sh ended with exit code 3; last read: val_loss 2; last printed: val loss 2",
        ),
        ("echo nothing", "val_loss was not read: no line matches"),
        (
            "sh -c 'echo val loss 2; python -c \"raise OSError\"; true'",
            "ended with exit code 0, and its last lines are those of a run that failed",
        ),
        (
            "sh -c 'echo val loss 2; python -c \"raise MemoryError\"; true'",
            "ended with exit code 0, and its last lines are those of a run that ran out of memory",
        ),
        (
            "sh -c 'echo val loss 1; cp two.json $ABLATE_DIR'",
            "val_loss was reported twice: 1, and 2 in two.json",
        ),
        ("echo val loss x", "'x' is not a number"),
        ("sh -c 'mkfifo $ABLATE_DIR/metrics.jsonl'", "metrics.jsonl is a pipe"),
        ("""echo 'ablate metrics: {{"step": 1e999, "val_loss": 1}}'""", "step: inf is not a step"),
    ],
)
def test_a_command_that_does_not_count_says_why(folder, command, said):
    (folder / "two.json").write_text('{"val_loss": 2}')
    record = tried(folder, command=command, read={"val_loss": r"val loss (\S+)"})
    assert record.status == "failed"
    assert said in record.reason


def test_an_error_that_a_command_survives_is_none_of_its_end(folder):
    command = "sh -c 'python -c \"raise OSError\"; echo val loss 2; echo done'"
    record = tried(folder, command=command, read={"val_loss": r"val loss (\S+)"})
    assert record.status == "completed"
    assert record.metrics["val_loss"] == 2


@pytest.mark.parametrize("name", ["loud", "forks"])
def test_one_that_prints_megabytes_or_forks_is_kept(folder, name):
    assert tried(folder, function=f"train.py:{name}").metrics == {"accuracy": 1.5}


def test_what_is_not_finite_has_diverged(folder):
    record = tried(folder, function="train.py:diverges")
    assert (record.status, record.reason) == ("diverged", "accuracy nan")
    assert record.metrics == {"accuracy": None}


def test_memory_and_json_in_its_own_folder(folder):
    code = "import json, os; c = json.loads(os.environ['ABLATE_CONFIG']); "
    code += "open(os.environ['ABLATE_DIR'] + '/m.jsonl', 'w').write(json.dumps({{'step': 1, 'val_loss': c['rate']}}))"
    record = tried(folder, command=[sys.executable, "-c", code])
    assert (record.status, record.metrics) == ("completed", {"val_loss": 0.5})
    hungry = [sys.executable, "-c", "x = bytearray(4 << 30); print('val_loss 1')"]
    record = tried(folder, command=hungry, resources={"memory": 0.5})
    assert record.status == "failed"
    assert "MemoryError" in record.reason


def test_the_line_of_a_fixed_seed_is_named(folder):
    assert [*seeded([folder / "gpt.py"])] == ["gpt.py:20: torch.manual_seed(1337)"]
    assert [*seeded([folder / "walk.py"])] == []
    (folder / "s.py").write_text("import random\nSEED = 1\nrandom.seed(SEED)\n")
    assert [*seeded([folder / "s.py"])] == ["s.py:3: random.seed(SEED)"]
    assert [*seeded([folder / "s.py"], "SEED")] == []


@pytest.mark.parametrize(
    "source",
    [
        "seed = 1\ndef main(seed):\n    random.seed(seed)\n",
        "seed = 1\ndef main(seed=seed):\n    random.seed(seed)\n",
        "seed = 1\nrun = lambda seed: random.seed(seed)\n",
        "seed = 1\ndef main():\n    seed = int(sys.argv[1])\n    random.seed(seed)\n",
        "seed = 1\ndef main():\n    global seed\n    seed = 2\nrandom.seed(seed)\n",
        "seed = 1\nglobals().update(vars(parser.parse_args()))\nrandom.seed(seed)\n",
        "seed = 1\nglobals()['seed'] = 2\nrandom.seed(seed)\n",
        "seed = 1\nexec(open('configurator.py').read())\nrandom.seed(seed)\n",
        "seed = 1\nsetattr(sys.modules[__name__], 'seed', 2)\nrandom.seed(seed)\n",
        "seed = 1\nfrom flags import *\nrandom.seed(seed)\n",
        "seed = int(os.environ['ABLATE_SEED'])\nrandom.seed(seed)\n",
        "random.seed(None)\n",
    ],
)
def test_a_seed_that_the_source_may_change_is_not_called_fixed(tmp_path, source):
    (tmp_path / "train.py").write_text(f"import os, random, sys\n{source}")
    assert [*seeded([tmp_path / "train.py"])] == []


def test_a_seed_that_another_file_sets_is_not_called_fixed(tmp_path):
    (tmp_path / "train.py").write_text("import random\nseed = 1\ndef main():\n    random.seed(seed)\n")
    (tmp_path / "main.py").write_text("import train\ntrain.main()\n")
    files = [tmp_path / "train.py", tmp_path / "main.py"]
    assert [*seeded(files)] == ["train.py:4: random.seed(seed)"]
    (tmp_path / "main.py").write_text("import sys, train\ntrain.seed = int(sys.argv[1])\ntrain.main()\n")
    assert [*seeded(files)] == []


@pytest.mark.fast_cases(1)
@pytest.mark.parametrize(
    ("kind", "config", "lost"),
    [
        ("function", {"rate": 0.5, "steps": 4, "heads": 4, "depth": 2}, "`heads`, `depth`"),
        ("script", {"RATE": 0.5, "STEPS": 6, "UNUSED": 2}, "`UNUSED`"),
    ],
)
def test_settings_that_the_code_does_not_read_are_named(folder, kind, config, lost):
    assert f"your code never mentions {lost}" in " ".join(
        plan_here(written(folder, kind, config=config)).split()
    )
    assert "your code never mentions" not in plan_here(written(folder, kind))


@pytest.mark.slow
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
            ["pgrep", "-f", str(OWN.parents[2] / "ablate/external/runner.py")],
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


SHORT = {"command": "iters", "script": "eval_interval"}
GPT = {
    "command": {
        "workload": {
            "command": "env SEED={seed} python gpt.py --learning_rate {lr} --dropout {dropout} {compile:--compile} "
            "--max_iters {iters}"
        },
        "config": {"lr": 0.01, "dropout": 0.0, "compile": False, "iters": 20},
        "factors": {"config.lr": [0.03], "config.dropout": [0.5]},
    },
    "script": {
        "workload": {"script": "gpt.py"},
        "config": {"batch_size": 16, "eval_interval": 10},
        "factors": {"config.batch_size": [4]},
    },
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", GPT)
def test_a_script_in_the_manner_of_nanogpt_is_judged_in_two_commands(folder, kind):
    options = GPT[kind]["workload"] | {"read": OPTIONS["command"]["read"]}
    study = written(folder, kind, **GPT[kind] | {"workload": options, "seeds": 2})
    planned = ablate("plan", "study.yaml", cwd=folder)
    assert "gpt.py:20: torch.manual_seed(1337)" in " ".join(planned.stdout.split())
    done = ablate("run", "study.yaml", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "every trial gets the same seed at gpt.py:20" in done.stdout + done.stderr
    rows = load(folder / "results" / "own").comparisons
    assert (len(rows), {*rows.n}) == (len(GPT[kind]["factors"]), {2})
    study.write_text(json.dumps(json.loads(study.read_text()) | {"probe": {f"config.{SHORT[kind]}": 5}}))
    done = ablate("run", "study.yaml", cwd=folder)
    assert done.returncode == 2
    for said in ("another seed changes nothing", "gpt.py:20: torch.manual_seed(1337)"):
        assert said in done.stderr
    assert ("config.dropout=0.5 changes nothing" in done.stderr) == (kind == "command")
    assert "config.lr=0.03 changes" not in done.stderr
    assert "config.batch_size=4 changes" not in done.stderr
