from collections.abc import Callable
from pathlib import Path

import pytest
from harness import TOY

from ablate.base.errors import Invalid
from ablate.study.claims import parse_claim
from ablate.study.designs import Design
from ablate.study.experiment import prepare

HEAD = f"name: x\nworkload: toy\nplugins: [{TOY}]\ntask: {{name: coin}}\n"
METRICS = ("accuracy", "loss")


@pytest.fixture
def design(write: Callable[..., Path]) -> Design:
    return prepare(
        write(
            HEAD + "factors: {model.effect: [1], model.noise: [0.2]}\nvariants: {my-own: {model.width: 7}}\n"
        )
    ).design


@pytest.fixture
def factorial(write: Callable[..., Path]) -> Design:
    return prepare(
        write(HEAD + "design: factorial\nfactors: {model.effect: [1], model.noise: [0.2]}\n")
    ).design


@pytest.mark.parametrize(
    ("text", "kind", "a", "b", "by"),
    [
        ("model.effect=1.0 beats baseline on loss", "beats", "model.effect=1.0", "baseline", 0.0),
        ("model.effect=1 beats model.effect=0 on loss by 0.5", "beats", "model.effect=1.0", "baseline", 0.5),
        ("my-own  matches baseline on loss\n within 2e-2", "matches", "my-own", "baseline", 0.02),
        ("my-own does not lose to baseline on loss within 1", "does_not_lose", "my-own", "baseline", 1.0),
        ("model.width=7 beats baseline on loss", "beats", "my-own", "baseline", 0.0),
    ],
)
def test_the_grammar(design: Design, text: str, kind: str, a: str, b: str, by: float) -> None:
    claim = parse_claim(text, design, METRICS)
    assert (claim.kind, claim.metric, claim.a, claim.b, claim.by) == (kind, "loss", [a], [b], by)


def test_in_a_factorial_a_level_is_the_mean_over_the_other_factors(factorial: Design) -> None:
    claim = parse_claim("model.effect=1.0 beats model.effect=0.0 on accuracy", factorial, METRICS)
    assert claim.a == ["model.effect=1.0", "model.effect=1.0,model.noise=0.2"]
    assert claim.b == ["baseline", "model.noise=0.2"]


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("model.effect=1 is better than baseline", "is not a claim"),
        ("model.effect=1 matches baseline on accuracy", "is not a claim"),
        ("model.effect=1 beats baseline on acc", "unknown metric 'acc'"),
        ("model.efect=1 beats baseline on loss", "unknown factor 'model.efect'"),
        ("model.effect=7 beats baseline on loss", "model.effect has no level '7'"),
        ("myown beats baseline on loss", "unknown variant 'myown'"),
        ("baseline beats model.effect=0 on loss", "compares a variant with itself"),
        ("my-own matches baseline on loss within 0", "no positive number: '0'"),
        ("my-own beats baseline on loss by nan", "no number: 'nan'"),
        ("my-own beats baseline on loss by lots", "no number: 'lots'"),
    ],
)
def test_what_is_no_claim(design: Design, text: str, rule: str) -> None:
    with pytest.raises(Invalid) as caught:
        parse_claim(text, design, METRICS)
    assert rule in str(caught.value)
