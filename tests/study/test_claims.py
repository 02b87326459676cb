from collections.abc import Callable
from pathlib import Path

import pytest
from harness import TOY

from ablate.base.errors import Invalid
from ablate.core.metric import Metric
from ablate.study.claims import Claimable, parse_claim
from ablate.study.designs import Design
from ablate.study.prepare import prepare

HEAD = f"name: x\nworkload: toy\nplugins: [{TOY}]\ntask: {{name: coin}}\n"
METRICS = Claimable(dict.fromkeys(("accuracy", "loss"), Metric("max")))


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
    with pytest.raises(Invalid, match=r"compares model.effect=1.0,model.noise=0.2 with itself"):
        parse_claim("model.effect=1,model.noise=0.2 beats model.effect=1 on accuracy", factorial, METRICS)
    assert claim.a == ["model.effect=1.0", "model.effect=1.0,model.noise=0.2"]
    assert claim.b == ["baseline", "model.noise=0.2"]


THREE = "factors: {model.effect: [1, 2], model.noise: [0.2], model.width: [5]}\n"
CROSSED = "{a} beats {b} on loss by more at {more} than at {less}"


@pytest.fixture
def three(write: Callable[..., Path]) -> Design:
    return prepare(write(HEAD + "design: factorial\n" + THREE)).design


@pytest.mark.parametrize(
    "side",
    [
        "model.effect=1,model.width=5",
        "model.width=5,model.effect=1.0",
        "model.width=5,model.effect=1,model.noise=0.1",
    ],
)
def test_several_levels_name_one_cell_in_any_order(three: Design, side: str) -> None:
    claim = parse_claim(f"{side} beats model.effect=0,model.width=4 on loss", three, METRICS)
    assert (claim.a, claim.b) == (["model.effect=1.0,model.width=5"], ["baseline"])
    assert len(parse_claim("model.width=5 beats model.width=4 on loss", three, METRICS).a) == 6


def test_an_interaction_has_four_sides(three: Design) -> None:
    text = "model.effect=1 beats model.effect=0 on loss by more at model.noise=0.2 than at model.noise=1e-1"
    claim = parse_claim(text, three, METRICS)
    assert (claim.kind, claim.by) == ("interaction", 0.0)
    assert claim.sides == [
        ["model.effect=1.0,model.noise=0.2", "model.effect=1.0,model.noise=0.2,model.width=5"],
        ["model.noise=0.2", "model.noise=0.2,model.width=5"],
        ["model.effect=1.0", "model.effect=1.0,model.width=5"],
        ["baseline", "model.width=5"],
    ]
    one = parse_claim(
        text.replace("=1 ", "=1,model.width=5 ").replace("=0 ", "=0,model.width=5 "), three, METRICS
    )
    assert one.sides == [side[1:] for side in claim.sides]


def test_an_interaction_of_variants_named_by_hand(write: Callable[..., Path]) -> None:
    own = "variants: {wide: {model.width: 7}, both: {model.width: 7, model.noise: 0.2}}\n"
    design = prepare(write(HEAD + "placebo: on\nfactors: {model.noise: [0.2]}\n" + own)).design
    levels = {"more": "model.noise=0.2", "less": "model.noise=0.1"}
    for a in ("wide", "model.width=7"):
        claim = parse_claim(CROSSED.format(a=a, b="baseline", **levels), design, METRICS)
        assert claim.sides == [["both"], ["model.noise=0.2"], ["wide"], ["baseline"]]
    with pytest.raises(Invalid, match=r"no variant has placebo at model.noise=0.2 and nothing else"):
        parse_claim(CROSSED.format(a="placebo", b="wide", **levels), design, METRICS)


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        ({"more": "model.nois=0.2"}, "unknown factor 'model.nois'; given"),
        ({"less": "model.noise=7"}, "model.noise has no level '7'"),
        (
            {"less": "model.noise=0.2"},
            "takes two levels of one factor, not model.noise=0.2 and model.noise=0.2",
        ),
        ({"less": "model.width=4"}, "takes two levels of one factor, not model.noise=0.2 and model.width=4"),
        ({"a": "model.noise=0.2"}, "model.noise=0.2 itself sets model.noise, the factor after `at`"),
        ({"b": "model.effect=1.0"}, "compares model.effect=1.0,model.noise=0.2 and"),
        ({"more": "wide"}, "unknown factor 'wide'"),
        ({"more": "model.noise=0.2,model.width=5"}, "takes one PATH=level after `at`, not 'model.noise=0.2,"),
        ({"a": "model.effect=1,model.effect=2"}, "names model.effect twice"),
        ({"a": "model.effect=1,model.with=5"}, "unknown factor 'model.with'"),
    ],
)
def test_what_is_no_interaction(three: Design, changes: dict[str, str], rule: str) -> None:
    given = {
        "a": "model.effect=1",
        "b": "model.effect=0",
        "more": "model.noise=0.2",
        "less": "model.noise=0.1",
    }
    with pytest.raises(Invalid) as caught:
        parse_claim(CROSSED.format(**(given | changes)), three, METRICS)
    assert rule in str(caught.value)


@pytest.mark.parametrize("metric", ["solved_rate", "seed_spread", "step_seconds"])
def test_an_interaction_of_what_no_single_run_has_is_refused(three: Design, metric: str) -> None:
    text = (
        f"model.effect=1 beats model.effect=0 on {metric} by more at model.noise=0.2 than at model.noise=0.1"
    )
    with pytest.raises(Invalid, match=f"takes a metric that each run has, and {metric} is none"):
        parse_claim(text, three, Claimable({**METRICS.metrics, metric: Metric("max")}))


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("model.effect=1 is better than baseline", "is not a claim"),
        ("model.effect=1 matches baseline on accuracy", "is not a claim"),
        ("model.effect=1 beets baseline on accuracy", "Did you mean 'beats'"),
        ("model.effect=1 matchs baseline on accuracy within 0.1", "Did you mean 'matches'"),
        ("model.effect=1 beats baseline on acc", "unknown metric 'acc'"),
        ("model.efect=1 beats baseline on loss", "unknown factor 'model.efect'"),
        ("model.effect=7 beats baseline on loss", "model.effect has no level '7'"),
        ("myown beats baseline on loss", "unknown variant 'myown'"),
        ("baseline beats model.effect=0 on loss", "compares baseline with itself"),
        ("my-own matches baseline on loss within 0", "no positive number: '0'"),
        ("my-own beats baseline on loss by nan", "no finite number: 'nan'"),
        ("my-own beats baseline on loss by lots", "allowed: for instance `by 0.02`"),
    ],
)
def test_what_is_no_claim(design: Design, text: str, rule: str) -> None:
    with pytest.raises(Invalid) as caught:
        parse_claim(text, design, METRICS)
    assert rule in str(caught.value)


def test_everything_that_is_wrong_with_a_claim_is_named(design: Design) -> None:
    with pytest.raises(Invalid) as caught:
        parse_claim("myown matches model.effect=7 on acc within none", design, METRICS)
    rules = [problem.rule for problem in caught.value.problems]
    assert rules == [
        "unknown metric 'acc'",
        "has a margin that is no positive number: 'none'",
        "unknown variant 'myown'",
        "model.effect has no level '7'",
    ]


def test_claims_may_be_about_derived_metrics(write: Callable[..., Path]) -> None:
    on = ("solved_rate", "divergence_rate", "seed_spread")
    claims = [f"model.effect=1 beats baseline on {metric}" for metric in on]
    study = write(HEAD + f"factors: {{model.effect: [1]}}\nclaims: [{', '.join(claims)}]\n")
    assert [claim.metric for claim in prepare(study).claims] == list(on)
