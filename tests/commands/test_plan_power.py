"""`ablate plan` says what seeds can detect; `--detect`: what a difference takes; `--pilot` trains to know."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result
from harness import TOY_STUDY
from made_evidence import ACCURACY, study
from rich.console import Console

from ablate.base.wording import duration, significant
from ablate.cli import main
from ablate.commands.clean import clean
from ablate.commands.plan import print_plan
from ablate.core.record import Record
from ablate.execution.local_pool import default_jobs
from ablate.records.folder import StudyFolder
from ablate.records.store import Store
from ablate.report.words import because, say
from ablate.stages.claims import date_claims
from ablate.stages.options import Options
from ablate.study.prepare import prepare

TOY = TOY_STUDY + "metric: {name: accuracy, margin: 0.05}\n"
EFFECT, NOISE = "model.effect=0.2", "model.noise=0.3"
KNOWN = {"baseline": [0.5, 0.5, 0.5], EFFECT: [0.5, 0.6, 0.7], NOISE: [0.5, 0.7, 0.9]}
"""Spreads of .1 and .2."""
RECALL = "name: r\ntask: recall\nmodel: {d_model: 8, num_layers: 1, mixer: {num_heads: 2}}\n"
RECALL += "factors: {model.mixer.score: [additive]}\nseeds: 8\n"
Plan = Callable[..., str]


@pytest.fixture
def plan(write: Callable[..., Path], tmp_path: Path) -> Plan:
    """What the plan of a study says of its power, at 80 columns."""

    def plan(text: str = TOY, detect: float | None = None, *sets: str) -> str:
        console = Console(file=io.StringIO(), width=80)
        options = Options(results=tmp_path / "results", sets=sets)
        print_plan(write(text), options, console, detect)
        printed = str(console.file.getvalue())  # type: ignore[attr-defined]
        found = printed.partition("\nWhat its seeds can detect\n")[2].partition("\nWhat limits")[0]
        assert max(map(len, found.splitlines()), default=0) <= 80
        assert "nan" not in found
        return " ".join(found.split())

    return plan


@pytest.fixture
def stored(write: Callable[..., Path], tmp_path: Path) -> Callable[..., None]:
    """Puts trials of the toy study into the store."""

    def stored(values: Mapping[str, Sequence[float]], start: int = 0, status: str = "completed") -> None:
        store = Store(tmp_path / "results/store")
        cells = prepare(write(TOY)).cells(range(start, start + 3))
        StudyFolder(tmp_path / "results", "toy").roster.add(cells)
        for cell in cells:
            if cell.variant in values:
                known = {"accuracy": values[cell.variant][cell.seed - start], "train_seconds": 60.0}
                metrics = known if status == "completed" else {}
                store.save(Record.of(cell.trial, status, metrics=metrics))  # type: ignore[arg-type]

    return stored


def test_before_any_trial_it_speaks_in_standard_deviations(plan: Plan, tmp_path: Path) -> None:
    said = plan()
    assert say("plan.level", 2, 1, 0.025) in said
    assert (
        "- 3 seeds detect a difference of 4.6 standard deviations of the paired differences in accuracy"
        in said
    )
    assert "study.yaml --pilot 3` trains three seeds that are never judged." in said
    assert not (tmp_path / "results").exists()


def test_the_trials_in_the_store_tell_the_spread(plan: Plan, stored: Callable[..., None]) -> None:
    stored(KNOWN)
    said = plan(TOY, 0.2)
    # Of a spread of 1, see tests/analysis/test_prospects.py.
    detected = [4.6248 * spread for spread in (0.1, 0.2)]
    for name, spread, size in zip((EFFECT, NOISE), (".10", ".20"), detected, strict=True):
        assert re.search(rf"{re.escape(name)} 3 {spread} {re.escape(significant(size))} ", said)
    middle, worst = (significant(size) for size in (sum(detected) / 2, detected[1]))
    assert say("plan.detects", "3 seeds", "accuracy", middle, worst, NOISE) in said
    assert "by trials in the store" in said
    takes = [int(row) for row in re.findall(r" (\d+) (?=model\.noise=0\.3 3|- 13 seeds are)", said)]
    assert takes == [6, 13]
    left = duration(30 * 60 / min(default_jobs(), 30))
    assert say("plan.asked", ".2", "accuracy", "10 seeds", "13 seeds") in said
    assert f"- 13 seeds are 39 trials, 30 of them to train: about {left} on {default_jobs()} worker" in said


def test_seeds_that_a_study_no_longer_plans_count_too(plan: Plan, stored: Callable[..., None]) -> None:
    stored(KNOWN)
    assert f"{EFFECT} 3 .10" in plan(TOY, None, "seeds=2")
    assert f"{EFFECT} 3 .10" in plan(TOY, None, "seeds={from: 50, count: 4}")
    stored(KNOWN, start=50)
    assert f"{EFFECT} 6 .089" in plan()
    stored({name: [9.0, 0.0, 5.0] for name in KNOWN}, start=10_000)  # those that tune tell nothing
    assert f"{EFFECT} 6 .089" in plan()


def test_a_report_tells_it_where_the_store_does_not(plan: Plan, tmp_path: Path) -> None:
    found = study(KNOWN, tasks={"coin": {"accuracy": ACCURACY}})
    StudyFolder(tmp_path / "results", "toy").save_evidence(found)
    said = plan(TOY + "variants: {new: {model.width: 5}}\n")
    # The path of the folder may be long enough for a line of its own.
    assert re.search(r"bythelastreport,\S*results/toy", "".join(said.split()))
    assert f"{EFFECT} 3 .10" in said
    assert f"new 0 – – – – {because('pairs')}" in said
    assert "--pilot" in plan(TOY.replace("name: accuracy", "name: loss"))  # a report on another metric


@pytest.mark.parametrize(
    ("values", "status", "words"),
    [
        ({"baseline": [0.5] * 3, EFFECT: [0.5] * 3}, "completed", because("degenerate n=3")),
        ({"baseline": [0.5] * 3, EFFECT: [0.7] * 3}, "failed", "--pilot 3"),
        ({"baseline": [0.5] * 3}, "completed", "--pilot 3"),
    ],
)
def test_what_tells_no_spread_is_said(
    plan: Plan, stored: Callable[..., None], values: Mapping[str, Sequence[float]], status: str, words: str
) -> None:
    stored(values, status=status)
    said = plan(TOY, 0.1)
    assert words in said
    assert "seeds are" not in said  # no cost without a number


def test_one_seed_and_no_variant(plan: Plan, stored: Callable[..., None]) -> None:
    stored(KNOWN)
    said = plan(TOY, 0.2, "seeds=1")
    assert say("plan.one_seed", "accuracy") in said
    assert "13 seeds" in said
    alone = "\n".join(line for line in TOY.splitlines() if "model." not in line and "factors" not in line)
    assert plan(alone) == ""
    assert "--pilot" not in plan(TOY, None, "seeds=1", "name=untried")
    assert plan(alone, 0.2) == f"- {say('plan.nothing')}"


def test_seeds_until_settled_are_planned_for_the_last_look(plan: Plan) -> None:
    said = plan(TOY, None, "seeds={min: 5, max: 20}")
    assert "- 20 seeds at most detect a difference of .84 standard deviations" in said
    assert say("plan.level", 2, 4, 0.01) in said


def test_the_steps_of_a_path_are_compared_before_they_are_chosen(
    plan: Plan, write: Callable[..., Path]
) -> None:
    head = "".join(
        line for line in TOY.splitlines(keepends=True) if "model." not in line and "factors" not in line
    )
    path = head + "variants: {both: {model.effect: 0.2, model.noise: 0.3}}\ndesign: {name: path, to: both}\n"
    assert say("plan.level", 2, 1, 0.025) in plan(path, None, "seeds=5")
    console = Console(file=io.StringIO(), width=80)
    print_plan(write(path), Options(results=Path("none"), sets=["seeds=5"]), console)
    # Two changes on three tuning seeds; then the baseline, a step and the target on five.
    assert "At most 21 trials to train" in console.file.getvalue()  # type: ignore[attr-defined]


def test_the_cost_has_the_runs_of_a_stress_grid(plan: Plan) -> None:
    stress = RECALL.replace("seeds: 8", "stress: {training.lr: [1e-4, 1e-2, 1]}\nseeds: 8")
    # Two variants at their own rate and at three others, for each of 12 seeds.
    assert say("plan.cost", 12, 96, 96, None, 1, False) in plan(stress, 0.46875)


def test_an_all_or_nothing_task_is_planned_by_rates(plan: Plan) -> None:
    said = plan(RECALL, 0.46875)
    assert say("plan.rate", "accuracy", 0.7, "8 seeds") in said
    assert say("plan.asked", ".46875", "accuracy", "", "12 seeds") in said
    assert say("plan.cost", 12, 24, 24, None, 1, False) in said
    assert say("plan.rate_equivalent", 6) in plan(RECALL + "metric: {name: accuracy, margin: 0.9}\n")


@pytest.mark.parametrize("wrong", ["0", "-0.1", "nan", "inf", "much", "2"])
def test_a_difference_that_cannot_be_is_refused_by_name(write: Callable[..., Path], wrong: str) -> None:
    done = CliRunner().invoke(main, ["plan", str(write(RECALL)), f"--detect={wrong}"])
    assert done.exit_code == 2
    assert "--detect" in done.stderr
    allowed = "more than accuracy can differ by; given 2.0; allowed: above 0, up to .9375"
    assert (
        allowed if wrong == "2" else f"'{wrong}' is not a difference: it must be a number above 0"
    ) in done.stderr


@pytest.fixture
def call(
    write: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Result]:
    """`ablate plan` on the toy study, in this process."""
    monkeypatch.chdir(tmp_path)
    write(TOY + "placebo: on\nclaims: [model.effect=0.2 beats baseline on accuracy]\n")
    return lambda *words: CliRunner().invoke(main, ["plan", "study.yaml", "--jobs", "0", *words])


def test_a_pilot_trains_seeds_that_are_never_judged(call: Callable[..., Result], tmp_path: Path) -> None:
    done = call("--pilot", "3", "--json")
    assert done.exit_code == 0
    found = json.loads(done.stdout)
    assert "toy, pilot: 9 trials to train in this process." in done.stderr
    assert "accuracy 0." not in done.stderr  # nobody looks at what a variant reaches
    assert found["power"]["source"] == "a pilot of 3 seeds"
    experiment, store = prepare(tmp_path / "study.yaml"), Store(tmp_path / "results/store")
    pilot = {cell.id for cell in experiment.cells(range(20_000, 20_003)) if cell.variant != "placebo"}
    trials = {path.stem for path in store.trials.glob("*.json")}
    assert trials == pilot
    accuracy: dict[str, list[float]] = {cell.variant: [] for cell in experiment.cells()}
    for cell in experiment.cells(range(20_000, 20_003)):
        if cell.variant != "placebo":
            record = store.load(cell.trial)
            assert record is not None
            accuracy[cell.variant].append(record.metrics["accuracy"] or 0)
    spread = np.std(np.subtract(accuracy[NOISE], accuracy["baseline"]), ddof=1)
    (task,) = found["power"]["tasks"]
    assert {one["variant"]: one["spread"] for one in task["prospects"]}[NOISE] == pytest.approx(spread)
    assert found["to_train"] == 12  # none of the study's own
    # No claim is late by a pilot, and nothing of it is rubbish.
    folder = StudyFolder(tmp_path / "results", "toy")
    (dated,) = date_claims(folder, experiment.claims, experiment.cells(), store, begun=False)
    assert not dated.exploratory
    said: list[str] = []
    clean(tmp_path / "results", lambda: True, said.append, said.append)
    assert any("nothing to remove" in line for line in said)
    # Again, it trains nothing; one more seed trains that alone.
    assert "toy, pilot: all 9 trials are in the store." in call("--pilot", "3").stdout
    more = call("--pilot", "4")
    assert "3 trials to train in this process, 9 already in the store." in more.stdout
    assert "by a pilot of 4 seeds" in " ".join(call().stdout.split())


def test_a_pilot_that_fails_says_so(call: Callable[..., Result]) -> None:
    done = call("--pilot", "2", "--set", "training.fault=raise", "--set", "training.fault_seed=20001")
    assert done.exit_code == 1
    assert "failed: baseline pilot seed 20001: RuntimeError: the toy broke" in done.stdout
    assert "once two seeds have run" in " ".join(done.stdout.split())
