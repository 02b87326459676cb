"""One's own code is timed by whole runs, beside one another, and by the step time that it reports."""

import json
import math
import shutil
from pathlib import Path

import pytest
from harness import TOY_STUDY, ablate_here, prepare, problems
from own import OPTIONS, OWN, own_study

from ablate import load
from ablate.base.errors import AblateError
from ablate.core.record import Record
from ablate.core.speed import TimedRun
from ablate.core.speed_facts import SpeedFacts
from ablate.core.workload import Workload
from ablate.records.folder import StudyFolder
from ablate.records.store import Store
from ablate.stages.speed.group import Group
from ablate.stages.speed.section import SpeedSection
from ablate.stages.speed.timing import Timing
from ablate.stages.speed.whole_runs import RunRequest, measure_runs

STEP = "train_step_seconds"
READ = {"val_loss": r"val loss (\S+)", STEP: r"took (\S+)"}
SLOW = """
import sys, time
time.sleep(float(sys.argv[1]))
print("val loss", 1.0 + 0.1 * int(sys.argv[2]))
print("took", 0.001 * float(sys.argv[1]))
"""


@pytest.fixture
def folder(tmp_path):
    return Path(shutil.copytree(OWN, tmp_path / "own", ignore=shutil.ignore_patterns("__pycache__")))


def written(folder: Path, kind: str = "function", **changes: object) -> Path:
    path = folder / "study.yaml"
    path.write_text(json.dumps(own_study(kind, **changes)))
    return path


def sleeping(folder: Path, **changes: object) -> Path:
    """A study of a command that sleeps twice as long in its variant, and reports a step of so many milliseconds."""
    (folder / "slow.py").write_text(SLOW)
    study = {
        "workload": {"command": "python slow.py {rate} {seed}", "read": READ},
        "config": {"rate": 0.4},
        "metrics": {"val_loss": "min", STEP: "min"},
        "factors": {"config.rate": [0.8]},
    }
    return written(folder, "command", **study | changes)


def section(**changes: object) -> SpeedSection:
    """Fewer blocks than a study may ask for."""
    return SpeedSection().model_copy(update={"processes": 2, **changes})


class Scripted(Workload):
    """A workload whose runs take what their config says, and one second less each time."""

    times_runs = True

    def __init__(self, status="completed", reported=0.5):
        self.runs = []
        self.status = status
        self.reported = reported

    def time_run(self, trial):
        self.runs.append((trial.config["name"], trial.seed))
        seconds = trial.config["seconds"] - len(self.runs)
        record = Record.of(trial, self.status, metrics={STEP: self.reported})
        return TimedRun(record, seconds, seconds / 2)


def measured(workload, block=1, metric=""):
    group = Group("key", {"a": {"name": "a", "seconds": 100.0}, "b": {"name": "b", "seconds": 200.0}})
    at = []
    found = measure_runs(workload, group, RunRequest(block, 7, metric, [group]), at.append)
    return found, at


@pytest.fixture
def scripted(monkeypatch):
    monkeypatch.setattr(Scripted, "__abstractmethods__", frozenset())
    return Scripted


def test_a_block_runs_each_once_and_then_in_reverse_so_that_a_drift_takes_from_all_alike(scripted):
    workload = scripted()
    found, at = measured(workload)
    names = [name for name, _ in workload.runs]
    assert names == at == names[::-1]
    assert sorted(names) == ["a"] * 4 + ["b"] * 2
    assert {seed for _, seed in workload.runs} == {7}
    # Six runs, each a second shorter than the one before: 3.5 s less on average, whatever the order.
    a, b = (found["configs"][key]["calls"] for key in "ab")
    assert (a["whole_run"]["seconds"], b["whole_run"]["seconds"]) == (96.5, 196.5)
    assert a["whole_run"]["log_ratio"] == 0
    assert b["whole_run"]["log_ratio"] == b["whole_run_cpu"]["log_ratio"] == math.log(196.5 / 96.5)
    assert (b["whole_run_cpu"]["seconds"], b["whole_run"]["blocks"], b["whole_run"]["calls"]) == (98.25, 1, 2)
    assert [*a] == ["whole_run", "whole_run_cpu"]


def test_before_the_first_block_each_runs_once_uncounted(scripted):
    workload = scripted()
    measured(workload, block=0)
    assert [name for name, _ in workload.runs[:2]] == ["a", "b"]
    assert len(workload.runs) == 2 + 6


@pytest.mark.parametrize(
    ("made", "said"),
    [
        ({"status": "diverged"}, "diverged: "),
        ({"reported": None}, "it reports nothing as train_step_seconds, which must be seconds above 0"),
        ({"reported": 0.0}, "it reports 0 as train_step_seconds"),
        ({"reported": math.nan}, "it reports nan as train_step_seconds"),
    ],
)
def test_a_run_that_does_not_complete_or_reports_no_time_cannot_be_timed(scripted, made, said):
    with pytest.raises(AblateError, match=said):
        measured(scripted(**made), metric=STEP)


@pytest.mark.slow
def test_what_takes_twice_as_long_takes_twice_as_long(folder, monkeypatch):
    monkeypatch.chdir(folder)  # The folder of results is no part of the code.
    study = prepare(sleeping(folder))
    store = Store(folder / "results" / "store", print)
    said = []
    timing = Timing(study, store, section(metric=STEP)).complete(said.append)
    assert said[0] == "Timing 2 variants, block 1 of 2 …"
    frame = timing.measurement.frame
    assert [*frame.columns] == [*SpeedFacts.columns]
    assert len(frame) == 2 * 2 * 3
    assert frame[["memory", "examples", "tokens", "flops"]].isna().all(axis=None)
    slower = frame[frame.variant == "config.rate=0.8"]
    assert (
        (slower[slower.call == "whole_run"].seconds > 0.8) & (slower[slower.call == "whole_run"].seconds < 8)
    ).all()
    assert (slower[slower.call == "whole_run"].log_ratio > 0).all()
    # A sleep takes no processor, and what is reported is exact.
    assert (slower[slower.call == "whole_run_cpu"].seconds < 0.8).all()
    assert slower[slower.call == "reported_step"].log_ratio.tolist() == pytest.approx([math.log(2)] * 2)
    # No trial was trained, and nothing is left of what was timed.
    assert not [*(folder / "results" / "store" / "runs").glob("[!.]*")]

    Timing(prepare(sleeping(folder)), store, section(metric=STEP)).complete(said.append)
    assert len(said) == 2
    path = sleeping(folder)
    (folder / "slow.py").write_text(SLOW + "print('edited')\n")
    assert not Timing(prepare(path), store, section(metric=STEP)).num_complete


@pytest.mark.slow
@pytest.mark.fast_cases(1)
@pytest.mark.parametrize("kind", OPTIONS)
def test_bench_times_a_function_a_command_and_a_script(folder, kind):
    claim = "baseline matches {} on whole_run_seconds within 0.9"
    variant = {"function": "config.rate=1", "command": "config.act=gelu", "script": "config.RATE=1"}[kind]
    written(folder, kind, speed={"processes": 5}, claims=[claim.format(variant)])
    done = ablate_here("bench", "study.yaml", "--json", cwd=folder)
    assert done.returncode == 0, done.stdout + done.stderr
    told = json.loads(done.stdout)
    assert {row["metric"] for row in told["speed"]} == {"whole_run_seconds", "whole_run_cpu_seconds"}
    assert told["trained"] == 0
    assert told["claims"][0]["verdict"] in ("supported", "refuted", "inconclusive")
    report = (folder / "results" / "own" / "report.md").read_text()
    assert "Speed: a whole run against the baseline’s, in 5 blocks" in report
    assert "FLOPs" not in report
    facts = StudyFolder(folder / "results", "own").evidence().facts.of(SpeedFacts)
    assert facts is not None
    assert (facts.calls, facts.metric) == (["whole_run", "whole_run_cpu"], "")
    assert SpeedSection.of(facts) == SpeedSection(processes=5)
    # A run trains, and keeps what was timed.
    done = ablate_here("run", "study.yaml", cwd=folder)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Timing" not in done.stdout + done.stderr
    assert len(load(folder / "results" / "own").speed) == 4


@pytest.mark.slow
def test_a_variant_whose_run_fails_is_named(folder):
    path = sleeping(folder, factors={"config.rate": ["-1"]})
    with pytest.raises(AblateError) as caught:
        Timing(prepare(path), Store(folder / "results" / "store", print), section()).complete(print)
    assert "config.rate=-1: cannot be timed: failed: python ended with exit code 1" in str(caught.value)


def test_a_plan_says_how_many_runs_are_timed(folder):
    done = ablate_here("plan", sleeping(folder, speed="on"), cwd=folder)
    assert "speed: after training, every variant is timed in 8 blocks of 6 runs, one after the other." in (
        " ".join(done.stdout.split())
    )


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"speed": {"calls": ["step"]}}, "speed.calls: are parts of a model that ablate builds"),
        ({"speed": {"metric": "step_tiem"}}, "speed.metric: is not among `metrics`"),
        (
            {"speed": {"metric": STEP}, "metrics": {"val_loss": "min", STEP: "max"}},
            "speed.metric: is a time, of which less is better",
        ),
        (
            {"speed": "on", "claims": ["baseline beats config.rate=0.8 on step_seconds"]},
            "is about step_seconds, which this study does not measure",
        ),
        (
            {"speed": "on", "claims": ["baseline beats config.rate=0.8 on reported_step_seconds"]},
            "is about reported_step_seconds, which this study does not measure",
        ),
    ],
)
def test_what_cannot_be_timed_is_refused(folder, changes, said):
    assert any(said in problem for problem in problems(sleeping(folder, **changes)))


def test_a_model_is_timed_by_calls_alone(write):
    path = write(TOY_STUDY + "speed: {metric: accuracy}\n")
    assert any("speed.metric: applies to your own code" in problem for problem in problems(path))
    path = write(TOY_STUDY + "speed: on\nclaims: [baseline beats model.effect=0.2 on whole_run_seconds]\n")
    assert any("is about whole_run_seconds, which this" in problem for problem in problems(path))
