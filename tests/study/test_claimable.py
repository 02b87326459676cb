from __future__ import annotations

from types import SimpleNamespace

import pytest

from ablate.core.metric import Description, Metric
from ablate.study.claimable import Claimable, claimable
from ablate.study.sections.speed import SpeedSection

SPEED = ("forward_seconds", "step_seconds", "generation_seconds", "step_memory")
SOLVED = {"accuracy": Metric("max", solved=0.9)}


def of(claim: str, metrics: dict, stability: dict, others: list, **sections: object) -> Claimable:
    study = SimpleNamespace(**{"claims": [claim], "stress": {}, "speed": None, "target": {}, **sections})
    workload = SimpleNamespace(rate_path="training.lr")
    document = SimpleNamespace(is_faulty=lambda path: False)
    return claimable(workload, study, [Description(metrics, stability=stability)], others, document)  # type: ignore[arg-type]


def test_what_a_study_gives_decides_what_can_be_claimed() -> None:
    found = of("a beats b on loss", {"loss": Metric("min")}, {}, [])
    assert {*found.lacking} == {"solved_rate", "lr_sensitivity", *SPEED, "steps_to_target"}
    assert "counts as solved" in found.lacking["solved_rate"]
    found = of("a beats b on accuracy", SOLVED, {}, [], stress={"training.lr": [0.1, 1.0]})
    assert {*found.lacking} == {*SPEED, "steps_to_target"}
    assert found.ranges == {"solved_rate": 1.0, "divergence_rate": 1.0}


def test_what_is_timed_and_what_counts_as_learned_can_be_claimed() -> None:
    nothing = of("", SOLVED, {}, []).lacking
    assert nothing["step_memory"] == "Time the variants: speed: on"
    assert nothing["steps_to_target"] == "Say which value counts as learned: target: {accuracy: 0.9}"
    found = of("", SOLVED, {}, [], speed=SpeedSection(), target={"accuracy": 0.8})
    assert {*found.lacking} == {"lr_sensitivity"}
    assert {*SPEED, "steps_to_target"} <= {*found.metrics}
    found = of("", SOLVED, {}, [], speed=SpeedSection(calls=["generation", "forward"]), target={"loss": 1.0})
    assert {*found.lacking} == {"lr_sensitivity", "step_seconds", "step_memory", "steps_to_target"}
    assert found.lacking["step_memory"] == "Time this call too: speed: {calls: [forward, step, generation]}"


def test_variants_are_described_only_for_a_number_that_the_baseline_lacks() -> None:
    mine, other = {"grad_norm_max": Metric("min")}, {"attention_logit_max": Metric("min")}

    def described():
        yield Description(SOLVED, stability=other)
        pytest.fail("described for nothing")

    assert "grad_norm_max" in of("a beats b on grad_norm_max", SOLVED, mine, described()).metrics
    found = of("a beats b on attention_logit_max", SOLVED, mine, described())
    assert {*mine, *other} <= {*found.metrics}
