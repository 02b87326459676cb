from __future__ import annotations

from types import SimpleNamespace

import pytest

from ablate.core.metric import Description, Metric
from ablate.study.claimable import Claimable, claimable

SOLVED = {"accuracy": Metric("max", solved=0.9)}


def of(claim: str, metrics: dict, stability: dict, others: list, stress: dict | None = None) -> Claimable:
    study = SimpleNamespace(claims=[claim], stress=stress or {})
    workload = SimpleNamespace(rate_path="training.lr")
    document = SimpleNamespace(is_faulty=lambda path: False)
    return claimable(workload, study, [Description(metrics, stability=stability)], others, document)  # type: ignore[arg-type]


def test_what_a_study_gives_decides_what_can_be_claimed() -> None:
    found = of("a beats b on loss", {"loss": Metric("min")}, {}, [])
    assert {*found.lacking} == {"solved_rate", "lr_sensitivity"}
    assert "counts as solved" in found.lacking["solved_rate"]
    found = of("a beats b on accuracy", SOLVED, {}, [], {"training.lr": [0.1, 1.0]})
    assert not found.lacking
    assert found.ranges == {"solved_rate": 1.0, "divergence_rate": 1.0}


def test_variants_are_described_only_for_a_number_that_the_baseline_lacks() -> None:
    mine, other = {"grad_norm_max": Metric("min")}, {"attention_logit_max": Metric("min")}

    def described():
        yield Description(SOLVED, stability=other)
        pytest.fail("described for nothing")

    assert "grad_norm_max" in of("a beats b on grad_norm_max", SOLVED, mine, described()).metrics
    found = of("a beats b on attention_logit_max", SOLVED, mine, described())
    assert {*mine, *other} <= {*found.metrics}
