"""A training step is timed by the slope between two trainings, on a clock that the workload moves itself."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ablate.base.errors import AblateError, Invalid
from ablate.base.registry import CATALOGUE
from ablate.core.record import Record
from ablate.records.folder import StudyFolder
from ablate.speed import rates
from ablate.speed.rates import time_steps
from ablate.stages.match import match
from ablate.study.patch import value_at
from ablate.study.prepare import prepare


class Clocked:
    """A training that takes `fixed` seconds and `step` seconds a step, of a clock of its own."""

    steps_path = "steps"

    def __init__(self) -> None:
        self.now = 0.0
        self.trained: list[tuple[str, int]] = []

    def timed(self, config: Any, steps: int) -> Any:
        return {**config, "steps": steps}

    def train(self, trial: Any, emit: Callable[..., bool]) -> Record:
        config = trial.config
        until = min(config["steps"], config.get("diverges", config["steps"]))
        if config.get("breaks"):
            raise RuntimeError("no")
        self.trained.append((config["name"], config["steps"]))
        # Some blocks are disturbed.
        self.now += config["fixed"] + config["step"] * until + (5 if len(self.trained) in (9, 14) else 0)
        emit(until, {})
        status: Any = "completed" if until == config["steps"] else "diverged"
        return Record("", config, 0, status, "", {}, {}, reason=f"diverged at step {until}")


@pytest.fixture
def workload(monkeypatch: pytest.MonkeyPatch) -> Clocked:
    clocked = Clocked()
    monkeypatch.setattr(rates.time, "perf_counter", lambda: clocked.now)
    return clocked


def test_what_is_fixed_drops_out(workload: Clocked) -> None:
    configs = {
        "baseline": {"name": "baseline", "fixed": 3.0, "step": 0.01},
        "slow": {"name": "slow", "fixed": 0.5, "step": 0.04},
    }
    timing = time_steps(workload, configs)  # type: ignore[arg-type]
    for blocks, config in zip(timing.seconds_per_step, configs.values(), strict=True):
        assert len(blocks) == rates.BLOCKS
        assert sorted(blocks)[rates.BLOCKS // 2] == pytest.approx(config["step"])
    assert "cores" in timing.machine


def test_variants_take_turns_in_an_order_of_chance(workload: Clocked) -> None:
    configs = {name: {"name": name, "fixed": 1.0, "step": 0.02} for name in "abcd"}
    time_steps(workload, configs)  # type: ignore[arg-type]
    blocks = [name for name, steps in workload.trained[12:] if steps == rates.SHORT]
    orders = [tuple(blocks[i : i + 4]) for i in range(0, len(blocks), 4)]
    assert len(orders) == rates.BLOCKS
    assert all(sorted(order) == list("abcd") for order in orders)
    assert len(set(orders)) > 1


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"breaks": True}, "bad: cannot be timed: RuntimeError: no"),
        ({"diverges": 5}, "bad: cannot be timed: diverged at step 5 within 13 steps"),
        ({"step": 0.0}, "bad: a training step is too short to be timed; match compute instead"),
    ],
)
def test_a_config_that_cannot_be_timed_is_named(
    workload: Clocked, settings: dict[str, Any], reason: str
) -> None:
    good = {"name": "good", "fixed": 1.0, "step": 0.02}
    with pytest.raises(AblateError) as caught:
        time_steps(workload, {"good": good, "bad": good | settings})  # type: ignore[arg-type]
    assert str(caught.value) == reason


STUDY = """\
name: timed
task: recall
model: {d_model: 8, num_layers: 1, mixer: {num_heads: 2}}
training: {steps: 200, warmup_steps: 20, eval_every: 5}
factors: {model.num_layers: [2]}
match: {seconds: baseline, by: training.steps, within: 0.05}
placebo: on
seeds: 1
"""


def test_a_study_matched_in_seconds(
    write: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # What others do on the machine takes no time of this process.
    monkeypatch.setattr(rates.time, "perf_counter", time.process_time)
    monkeypatch.setattr(rates, "BLOCKS", 3)
    monkeypatch.setattr(rates, "LONG_SECONDS", 0.02)
    path, said = write(STUDY), []
    folder = StudyFolder(tmp_path, "timed")
    before = match(prepare(path), folder)
    assert before.awaits_rates
    assert not (tmp_path / "timed").exists()
    steps = {v.name: value_at(v.configs[0], "training.steps") for v in before.variants}
    assert set(steps.values()) == {200}

    experiment = match(prepare(path), folder, said.append)
    assert said == ["Measuring how long a training step of 2 variants takes …"]
    assert (folder.path / "rates.json").is_file()
    assert not experiment.awaits_rates
    deeper = experiment.variants[1]
    (given,) = experiment.matched[deeper.name]
    assert given.value == value_at(deeper.configs[0], "training.steps")
    assert type(given.value) is int
    assert abs(given.residual) <= 0.05
    assert experiment.variants[0].configs == experiment.variants[-1].configs == before.variants[0].configs

    again = match(prepare(path), folder, said.append)
    assert len(said) == 1
    assert [c.trial.id for c in again.cells()] == [c.trial.id for c in experiment.cells()]
    other = again.variants[0].configs[0]
    other = {**other, "training": {**other["training"], "batch_size": 32}}
    assert again.matcher is not None
    with pytest.raises(Invalid, match="its rate was not measured"):
        again.matcher(other)


def test_a_timed_training_is_evaluated_once() -> None:
    CATALOGUE.load_builtin()
    from ablate.training.trial import parse
    from ablate.training.workload import SequenceWorkload

    workload = SequenceWorkload()
    config = parse(
        {"task": "recall", "model": {}, "training": {"steps": 100, "warmup_steps": 50, "eval_every": 2}}
    ).model_dump()
    timed = workload.timed(config, 7)
    workload.check(timed)
    assert workload.describe(timed).reports == (7,)
    assert timed["task"]["test_size"] == timed["task"]["validation_size"] == 1
    assert config["training"]["steps"] == 100
