"""Ways in which a careless user fools himself: each is refused, or named beside the verdict.

Those with checkpoints, data and installed code are in `tests/external/test_isolation.py`, those with tables of runs in
`tests/runs`, and unequal budgets and tuning in `tests/report`.
"""

import json
import re
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from harness import ablate_here

from ablate.core.rows import list_in
from ablate.core.unequal_run import UnequalRun

TRAIN = """
import argparse, random
parser = argparse.ArgumentParser()
parser.add_argument("--act")
parser.add_argument("--steps", type=int)
parser.add_argument("--seed", type=int)
given = parser.parse_args()
block = random.Random(f"{given.seed}").gauss(0, 0.02)
own = random.Random(f"{given.seed} {given.act} {given.steps}").gauss(0, 0.004)
act = {"relu": 0.0, "gelu": 0.03, "tanh": 0.001}[given.act]
for step in (1, 2, 3):
    print(f"step {step} val {0.7 + act + own - 0.1 * abs(step - 2):.6f}")
print(f"final {0.8 + block + own + act + 0.0001 * given.steps:.6f}")
"""
STUDY = {
    "name": "own",
    "workload": {
        "command": "python train.py --act {act} --steps {steps} --seed {seed}",
        "read": {"acc": r"final (\S+)", "val": r"val (\S+)"},
    },
    "config": {"act": "relu", "steps": 100},
    "metrics": {"acc": {"direction": "max", "margin": 0.02}, "val": {"direction": "max"}},
    "factors": {"config.act": ["gelu", "tanh"]},
    "seeds": 4,
}
GELU, TANH = "config.act=gelu", "config.act=tanh"


class Project:
    """A script and its study in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.study: dict[str, Any] = json.loads(json.dumps(STUDY))
        (folder / "train.py").write_text(TRAIN)

    def run(self, *options: object, **changes: Any) -> "Outcome":
        """Runs the study with changes, which stay."""
        self.write(**changes)
        done = ablate_here("run", "study.yaml", "--jobs", 1, "--json", *options, cwd=self.folder)
        found = json.loads(done.stdout) if done.stdout.count("verdicts") else {"answer": [], "verdicts": []}
        return Outcome(done.returncode, " ".join([*found["answer"], done.stderr]), found["verdicts"])

    def write(self, **changes: Any) -> None:
        """Changes the study."""
        self.study |= changes
        (self.folder / "study.yaml").write_text(json.dumps(self.study))

    def edit(self, old: str, new: str) -> None:
        """Changes the script."""
        text = (self.folder / "train.py").read_text()
        assert old in text
        (self.folder / "train.py").write_text(text.replace(old, new))


class Outcome:
    """What a run has said."""

    def __init__(self, code: int, said: str, rows: list[dict[str, Any]]) -> None:
        self.code = code
        self.said = " ".join(said.split())
        self.marks = {row["variant"]: row["plan"] for row in rows if not row["exploratory"]}
        self.treatments = {row["variant"]: row["treatment"] for row in rows if not row["exploratory"]}
        self.unequal = {
            row["variant"]: list_in(row["unequal_runs"] or "", UnequalRun)
            for row in rows
            if not row["exploratory"]
        }
        self.verdicts = {row["variant"]: row["verdict"] for row in rows if not row["exploratory"]}


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


def with_margin(margin: float) -> Mapping[str, Any]:
    return {"metrics": {"acc": {"direction": "max", "margin": margin}, "val": {"direction": "max"}}}


def widen(project: Project) -> Outcome:
    return project.run(**with_margin(0.06))


def widen_by_option(project: Project) -> Outcome:
    return project.run("--set", "metrics.acc.margin=0.06")


def widen_in_a_new_name(project: Project) -> Outcome:
    return project.run(name="other", **with_margin(0.06))


def widen_without_the_report(project: Project) -> Outcome:
    shutil.rmtree(project.folder / "results/own")
    return project.run(**with_margin(0.06))


def train_anew_without_the_report(project: Project) -> Outcome:
    shutil.rmtree(project.folder / "results/own")
    return project.run("--fresh", **with_margin(0.06))


def widen_without_the_plan(project: Project) -> Outcome:
    (project.folder / "results/own/plan.json").unlink()
    return project.run(**with_margin(0.06))


def another_metric(project: Project) -> Outcome:
    return project.run(metric={"name": "val"})


def more_seeds(project: Project) -> Outcome:
    return project.run(seeds=8)


def other_seeds(project: Project) -> Outcome:
    project.run("--seeds", "10,11,12,13")
    return project.run("--seeds", "20,21,22,23")


def chosen_seeds(project: Project) -> Outcome:
    return project.run("--seeds", "0,1,3")


def longer(project: Project) -> Outcome:
    return project.run(config={"act": "relu", "steps": 120})


def without_a_variant(project: Project) -> Outcome:
    return project.run(factors={"config.act": ["gelu"]})


@pytest.mark.fast_cases(1)
@pytest.mark.parametrize(
    ("change", "mark", "words"),
    [
        (widen, "changed", "metric.margin 0.02 → 0.06"),
        pytest.param(widen_by_option, "changed", "metric.margin 0.02 → 0.06", marks=pytest.mark.slow),
        pytest.param(
            widen_in_a_new_name,
            "known",
            "Other reports use runs of this one, as those of its baseline: own.",
            marks=pytest.mark.slow,
        ),
        (widen_without_the_report, "known", "predate the first plan"),
        pytest.param(
            train_anew_without_the_report,
            "known",
            "predate the first plan",
            marks=pytest.mark.slow,
        ),
        pytest.param(widen_without_the_plan, "known", "predate the first plan", marks=pytest.mark.slow),
        pytest.param(another_metric, "changed", "metric.name acc → val", marks=pytest.mark.slow),
        pytest.param(
            more_seeds, "changed", "false `better` or `worse` has probability 0.087", marks=pytest.mark.slow
        ),
        pytest.param(other_seeds, "changed", "probability 0.14", marks=pytest.mark.slow),
        pytest.param(chosen_seeds, "changed", "were chosen from seeds 0–3", marks=pytest.mark.slow),
        pytest.param(longer, "changed", "config.steps 100 → 120", marks=pytest.mark.slow),
        pytest.param(without_a_variant, "changed", "dropped after results", marks=pytest.mark.slow),
    ],
)
def test_a_plan_that_follows_results(
    change: Callable[[Project], Outcome], mark: str, words: str, project: Project
):
    first = project.run()
    assert (first.code, {*first.marks.values()}) == (0, {None})
    assert "after results" not in first.said
    if change is widen:
        project.write(**with_margin(0.06))
        plan = ablate_here("plan", "study.yaml", "--json", cwd=project.folder)
        assert words in json.loads(plan.stdout)["changes"]
    outcome = change(project)
    assert outcome.code == 0, outcome.said
    assert {*outcome.marks.values()} == {mark}
    assert words in outcome.said


@pytest.mark.slow
def test_a_seed_that_does_nothing(project):
    project.edit('f"{given.seed}"', '"0"')
    project.edit('f"{given.seed} {given.act}', 'f"{given.act}')
    outcome = project.run()
    assert "the same numbers under different seeds" in outcome.said


@pytest.mark.slow
def test_a_seed_that_is_taken_by_halves(project):
    project.edit("given = parser.parse_args()", "given = parser.parse_args()\ngiven.seed %= 2")
    assert "the same numbers under different seeds" in project.run().said


@pytest.mark.slow
def test_a_change_that_does_nothing(project):
    project.edit("{given.act} ", "")
    project.edit("[given.act]", '["relu"]')
    outcome = project.run()
    assert outcome.code == 2
    assert "check the flag of config.act" in outcome.said
    outcome = project.run("--keep-going")
    assert "have the same numbers on every seed" in outcome.said
    assert {*outcome.verdicts.values()} == {"inconclusive"}


@pytest.mark.slow
def test_numbers_that_are_equal_by_their_coarseness_are_none(project):
    project.edit('print(f"final {', 'print(f"final {round(')
    project.edit("given.steps:.6f}", "given.steps, 1)}")
    project.edit(":.6f}", ":.1f}")
    assert "same numbers" not in project.run().said


def test_the_best_epoch_by_the_judged_metric_itself(project):
    best = {"acc": {"direction": "max", "at": "best", "by": "acc"}, "val": "max"}
    outcome = project.run(metrics=best)
    assert outcome.code == 2
    assert "metrics.acc.by" in outcome.said


@pytest.mark.slow
def test_a_direction_that_is_likely_a_slip(project):
    read = {"loss": r"final (\S+)"}
    project.study["workload"]["read"] = read
    assert "the wrong way round" in project.run(metrics={"loss": {"direction": "max"}}).said
    assert "the wrong way round" not in project.run(metrics={"loss": {"direction": "min"}}).said


@pytest.mark.slow
def test_a_seed_that_crashes_and_is_left_out(project):
    project.edit("block =", 'if (given.seed, given.act) == (2, "gelu"): raise SystemExit(3)\nblock =')
    outcome = project.run()
    assert (outcome.code, outcome.verdicts[GELU]) == (1, "inconclusive")
    outcome = project.run("--seeds", "0,1,3")
    assert outcome.marks[GELU] == "changed"
    assert "were chosen from seeds 0–3" in outcome.said


@pytest.mark.slow
def test_code_that_changes_between_seeds(project):
    assert project.run().code == 0
    project.edit('"gelu": 0.03', '"gelu": 0.01')
    assert project.run(seeds=6).code == 2
    outcome = project.run("--keep-finished")
    assert "12 of 18 trials ran with older code" in outcome.said


CURVE = """
import random, sys
act, seed = sys.argv[1:]
draw = random.Random(f"{act} {seed}")
values = [0.8 + draw.gauss(0, 0.01) for _ in range(20)]
for epoch, value in enumerate(values):
    print(f"epoch {epoch} acc {value:.6f}")
print(f"final acc {max(values):.6f}")
"""


@pytest.mark.fast_cases(1)
@pytest.mark.parametrize("step", [{}, {"step": r"epoch (\d+)"}])
def test_the_best_of_a_curve_that_is_printed_last(project, step):
    (project.folder / "train.py").write_text(CURVE)
    read = {"acc": r"acc (\S+)"} | step
    workload = {"command": "python train.py {act} {seed}", "read": read}
    outcome = project.run(workload=workload, metrics={"acc": {"direction": "max"}}, config={"act": "relu"})
    assert outcome.code == 0
    report = (project.folder / "results/own/report.md").read_text()
    assert "every run ends with the best acc of its curve" in report


@pytest.mark.slow
def test_kept_runs_are_counted_and_are_no_other_runs(project):
    few = {"seeds": 2, "factors": {"config.act": ["gelu"]}}
    assert project.run(**few).code == 0
    for comment in ("one", "two"):
        project.edit("import argparse", f"# {comment}\nimport argparse")
        outcome = project.run("--keep-finished")
        assert "4 of 4 trials ran with older code" in outcome.said
        assert "trained before with other code" not in outcome.said
        assert "comparisons in this store" not in outcome.said
    # Another report of the very same trainings is no other run, whatever the ids of their trials.
    project.write(name="other")
    outcome = project.run()
    assert "not counted" not in outcome.said


@pytest.mark.slow
def test_code_that_is_changed_until_the_result_is_right(project):
    project.run(seeds=2, factors={"config.act": ["gelu"]})
    project.edit('"gelu": 0.03', '"gelu": 0.05')
    outcome = project.run("--retrain")
    assert outcome.code == 0, outcome.said
    assert "Seeds 0–1 were trained before with other code" in outcome.said


@pytest.mark.slow
def test_a_claim_that_is_made_of_results(project):
    project.run()
    outcome = project.run(claims=[f"{GELU} beats baseline on acc"])
    assert "exploratory" in (project.folder / "results/own/report.md").read_text()
    assert outcome.code == 0


@pytest.mark.slow
def test_one_seed_that_was_tried_first_is_no_plan(project):
    project.run("--seed", 0)
    assert {*project.run().marks.values()} == {None}


@pytest.mark.slow
def test_a_variable_of_the_environment_that_is_not_the_same_for_all(project, monkeypatch):
    project.edit("given = parser.parse_args()", "given = parser.parse_args()\nimport os")
    project.edit("0.0001 * given.steps", "float(os.environ.get('BONUS', 0))")
    assert "BONUS" not in project.run("--only", GELU).said
    monkeypatch.setenv("BONUS", "0.1")
    assert "trials found different values of BONUS in the environment" in project.run().said


@pytest.mark.slow
def test_a_variable_of_the_environment_that_finished_trials_had_otherwise(project, monkeypatch):
    project.edit(
        "given = parser.parse_args()", "given = parser.parse_args()\nimport os\nos.environ['OWN'] = '1'"
    )
    project.edit("0.0001 * given.steps", "float(os.environ['OWN']) * float(os.environ.get('BONUS', 0))")
    assert "environment" not in project.run().said
    monkeypatch.setenv("BONUS", "0.1")
    said = project.run().said
    assert "trials read BONUS from the environment, where it has another value now" in said
    assert "OWN" not in said


@pytest.mark.slow
def test_a_script_that_trains_one_variant_for_longer(project):
    project.edit("(1, 2, 3)", '(range(1, 10) if given.act == "gelu" else (1, 2, 3))')
    project.study["workload"]["read"]["step"] = r"step (\d+)"
    treatments = project.run().treatments
    assert treatments[GELU] == "steps step=9|3"
    assert not treatments[TANH]


@pytest.mark.slow
def test_a_script_that_ends_early_without_an_error(project):
    project.edit("(1, 2, 3)", '((1, 2) if (given.act, given.seed) == ("gelu", 2) else (1, 2, 3))')
    project.study["workload"]["read"]["step"] = r"step (\d+)"
    done = project.run()
    assert done.unequal == {GELU: [UnequalRun(GELU, 2, "step", 2.0, 3.0)], TANH: []}
    assert not done.treatments[GELU]


@pytest.mark.slow
def test_a_file_elsewhere_that_trials_hand_on(project, tmp_path_factory):
    state = tmp_path_factory.mktemp("elsewhere") / "state.txt"
    state.write_text("0")
    lines = f"import pathlib\nstate = pathlib.Path({str(state)!r})\nbonus = 0.01 * int(state.read_text())\n"
    project.edit("block =", f"{lines}state.write_text(str(int(state.read_text()) + 1))\nblock = bonus +")
    assert re.search(r"rials read and then write \S*state\.txt outside their copies", project.run().said)
