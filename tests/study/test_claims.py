import re
from typing import get_args

import pytest
from harness import TOY, prepare

from ablate.commands.guide import text_of
from ablate.core.facts import ClaimKind
from ablate.core.metric import Metric
from ablate.study.claim_grammar import GRAMMAR, read_statement
from ablate.study.claims import Claimable, parse_claim

HEAD = f"name: x\nworkload: toy\nplugins: [{TOY}]\ntask: {{name: coin}}\n"
METRICS = Claimable(dict.fromkeys(("accuracy", "loss"), Metric("max")))


@pytest.fixture
def design(write):
    return prepare(
        write(
            HEAD + "factors: {model.effect: [1], model.noise: [0.2]}\nvariants: {my-own: {model.width: 7}}\n"
        )
    ).design


@pytest.fixture
def factorial(write):
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
def test_the_grammar(design, text, kind, a, b, by):
    claim = parse_claim(text, design, METRICS)
    assert (claim.kind, claim.metric, claim.a, claim.b, claim.by) == (kind, "loss", [a], [b], by)


def test_a_claim_may_name_a_constant_and_two_slices(design):
    slices = ("loss@far", "loss@near")
    known = Claimable(
        {**METRICS.metrics, **dict.fromkeys(slices, Metric("max"))}, constants={"ngram": {"loss", *slices}}
    )
    claim = parse_claim("my-own beats ngram on loss by 0.1", design, known)
    assert (claim.b, claim.constant, claim.variants) == (["ngram"], "ngram", ["my-own"])
    both = parse_claim("my-own beats baseline by more on loss@far than on loss@near", design, known)
    assert (both.kind, both.metrics) == ("interaction", [*slices])
    assert both.sides == [["my-own"], ["baseline"]] * 2


def test_in_a_factorial_a_level_is_the_mean_over_the_other_factors(factorial):
    claim = parse_claim("model.effect=1.0 beats model.effect=0.0 on accuracy", factorial, METRICS)
    assert claim.a == ["model.effect=1.0", "model.effect=1.0,model.noise=0.2"]
    assert claim.b == ["baseline", "model.noise=0.2"]


THREE = "factors: {model.effect: [1, 2], model.noise: [0.2], model.width: [5]}\n"
CROSSED = "{a} beats {b} on loss by more at {more} than at {less}"


@pytest.fixture
def three(write):
    return prepare(write(HEAD + "design: factorial\n" + THREE)).design


@pytest.mark.parametrize(
    "side",
    [
        "model.effect=1,model.width=5",
        "model.width=5,model.effect=1.0",
        "model.width=5,model.effect=1,model.noise=0.1",
    ],
)
def test_several_levels_name_one_cell_in_any_order(three, side):
    claim = parse_claim(f"{side} beats model.effect=0,model.width=4 on loss", three, METRICS)
    assert (claim.a, claim.b) == (["model.effect=1.0,model.width=5"], ["baseline"])
    assert len(parse_claim("model.width=5 beats model.width=4 on loss", three, METRICS).a) == 6


def test_an_interaction_has_four_sides(three):
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


def test_an_interaction_of_variants_named_by_hand(write):
    own = "variants: {wide: {model.width: 7}, both: {model.width: 7, model.noise: 0.2}}\n"
    design = prepare(write(HEAD + "placebo: on\nfactors: {model.noise: [0.2]}\n" + own)).design
    levels = {"more": "model.noise=0.2", "less": "model.noise=0.1"}
    for a in ("wide", "model.width=7"):
        claim = parse_claim(CROSSED.format(a=a, b="baseline", **levels), design, METRICS)
        assert claim.sides == [["both"], ["model.noise=0.2"], ["wide"], ["baseline"]]


def test_claims_may_be_about_derived_metrics(write):
    on = ("solved_rate", "divergence_rate", "seed_spread")
    claims = [f"model.effect=1 beats baseline on {metric}" for metric in on]
    study = write(HEAD + f"factors: {{model.effect: [1]}}\nclaims: [{', '.join(claims)}]\n")
    assert [claim.metric for claim in prepare(study).claims] == list(on)


def test_refusals_and_guide_name_a_form_of_every_kind():
    forms = re.findall("`(A [^`]+)`", GRAMMAR)
    said = [form.replace("[", "").replace("]", "") for form in forms]
    assert {read_statement(form.replace("X", "0.1")).kind for form in said} == {*get_args(ClaimKind)}
    assert [form for form in said if f"`{form}`" not in text_of("verdicts")] == []
