"""Families of claims alone: what they count, and claims in their order."""

from dataclasses import replace

import numpy as np
import pytest
from made_conditions import SCORE, conditions
from made_evidence import ACCURACY, claim, study
from scipy import stats

from ablate.analysis.claim_families import (
    PlacedClaim,
    alpha_of_late_claim,
    estimate_of,
    outcomes_in_order,
    seeds_in_order,
    seeds_of_family,
    size_of_claims,
)
from ablate.analysis.claims import judge_claims
from ablate.analysis.compare import compare
from ablate.analysis.family import family_size
from ablate.analysis.further_runs import unsettled
from ablate.analysis.judge import Judged, judge
from ablate.analysis.power import ALPHA
from ablate.core.facts import Claim, Less
from ablate.core.over import Over
from ablate.core.reason import Block, Reason

BEATS = Claim("a beats b", "beats", "accuracy", ["a"], ["b"], by=0.0)
MORE = Claim("by more", "interaction", "accuracy", ["a1"], ["b1"], 0.0, less=Less(["a2"], ["b2"], "accuracy"))


def judged(p):
    return Judged(p, 1.0, ALPHA, Reason("open"))


def test_claims_in_order_are_judged_as_in_the_reference():
    found = outcomes_in_order([judged(p) for p in (0.03, 0.04, 0.06, 0.001)])
    assert found == ["supported", "supported", "inconclusive", "not_tested"]


def test_a_refuted_claim_is_decided_and_a_blocked_one_is_not():
    refuted = Judged(1.0, 0.01, ALPHA)
    (condition,) = conditions([[1.0], [1.1], [0.9]])
    blocks = [Block(Reason("incomplete", {"pairs": 3, "missing": 1}))]
    blocked = judge(replace(condition.difference, blocks=blocks), "beats")
    found = outcomes_in_order([refuted, judged(0.01), blocked, judged(0.01)])
    assert found == ["refuted", "supported", "inconclusive", "not_tested"]
    assert outcomes_in_order([]) == []


def test_claims_on_one_estimate_count_once():
    same = [
        BEATS,
        replace(BEATS, by=0.1),
        replace(BEATS, kind="matches", by=0.2),
        replace(BEATS, a=["b"], b=["a"]),
    ]
    assert size_of_claims(PlacedClaim(claim, "recall") for claim in same) == 1
    apart = [
        PlacedClaim(BEATS, "recall"),
        PlacedClaim(BEATS, "sort"),
        PlacedClaim(BEATS, "mean"),
        PlacedClaim(replace(BEATS, metric="loss"), "recall"),
        PlacedClaim(replace(BEATS, a=["c"]), "recall"),
    ]
    assert size_of_claims([*apart, *apart]) == 5
    assert size_of_claims([]) == 0


def test_differences_of_differences_are_one_estimate_in_whatever_order():
    def key(a, b, less_a, less_b, metric="accuracy"):
        claim = replace(MORE, a=a, b=b, less=Less(less_a, less_b, metric))
        return estimate_of(PlacedClaim(claim, "recall"))

    one = key(["a1"], ["b1"], ["a2"], ["b2"])
    assert key(["a2"], ["b2"], ["a1"], ["b1"]) == one, "the other direction"
    assert key(["b1"], ["a1"], ["b2"], ["a2"]) == one
    assert key(["a1"], ["a2"], ["b1"], ["b2"]) == one, "the same sum"
    assert key(["a1"], ["b1"], ["b2"], ["a2"]) != one
    assert key(["a1"], ["b1"], ["a2"], ["b2"], "loss") != one


def test_a_row_counts_once_a_task_or_once_over_conditions():
    tasks = {name: {"accuracy": ACCURACY} for name in ("recall", "sort")}
    values = {name: np.zeros(3) for name in ("baseline", "a", "b")}
    claims = [claim("beats"), claim("matches", "baseline", "a", 0.1), claim("beats", "a", "b")]
    facts = study(values, tasks=tasks, claims=claims).facts
    assert family_size(facts) == 4 + 3, "no claim over both tasks is about a row of one"
    at_one = replace(facts, claims=[replace(claims[0], condition="sort"), *claims[1:]])
    assert family_size(at_one) == 4 + 2
    for form in ("mean", "every", "sample"):
        over = replace(facts, over=Over(form))
        assert family_size(over) == 2 + 1, "the first two are about a row"
        assert family_size(replace(over, family="claims")) == 2
        assert family_size(replace(over, family="ordered")) == 1
        assert family_size(replace(over, claims=at_one.claims)) == 2 + 2, "one condition has no planned row"


def test_a_late_claim_is_in_no_family():
    values = {name: np.zeros(3) for name in ("baseline", "a", "b")}
    late = claim("beats", "a", "b", exploratory=True)
    facts = study(values, claims=[claim("beats"), late]).facts
    families = [replace(facts, family=family) for family in ("all", "claims", "ordered")]
    assert [family_size(one) for one in families] == [2, 1, 1]
    assert family_size(replace(facts, claims=[late], family="claims")) == 0


def test_a_late_claim_is_judged_among_all_rows_and_claims():
    assert alpha_of_late_claim(16, 4) == pytest.approx(0.0025)


def test_seeds_of_claims_are_those_of_the_reference():
    """In order, at most one more: the reference has 13 and 17, of claims that share their noise in part."""
    assert [seeds_of_family(num_claims, 1.0) for num_claims in (1, 3, 8)] == [10, 14, 17]
    assert [seeds_in_order(num_claims, 1.0) for num_claims in (1, 3, 8)] == [10, 14, 18]


def in_family(family, p_values, *, late=()):
    """Evidence of claims about variants whose differences from the baseline have these two-sided p, of 6 seeds."""
    z = np.array([-1.2, -0.7, -0.1, 0.3, 0.6, 1.1])
    z = (z - z.mean()) / z.std(ddof=1)
    base = 0.5 + np.random.default_rng(2).normal(0, 0.1, 6)
    values = {"baseline": base}
    claims = []
    for place, p in enumerate(p_values):
        name = "abcdefgh"[place]
        t = stats.t.ppf(1 - p / 2, 5)
        values[name] = base + 0.02 * (z + t / np.sqrt(6))
        claims.append(claim("beats", name, metric="score", exploratory=place in late))
    evidence = study(values, metric="score", metrics={"score": SCORE}, claims=claims)
    return replace(evidence, facts=replace(evidence.facts, family=family))


def test_claims_in_order_are_tested_until_one_is_open():
    evidence = in_family("ordered", (0.03, 0.04, 0.06, 0.001))
    rows = judge_claims(evidence)
    assert rows["verdict"].tolist() == ["supported", "supported", "inconclusive", "inconclusive"]
    assert rows["reason"].tolist()[:2] == ["", ""]
    assert rows["reason"][2].startswith("open")
    assert rows["reason"][3] == "not_tested"
    assert np.isfinite(rows["ci_low"]).all(), "it has an interval"
    table = compare(evidence)
    assert set(table["verdict"]) == {""}
    assert set(table["level"]) == {0.95}
    assert set(table["exploratory"]) == {False}
    assert unsettled(evidence) == {("baseline", "recall"), ("c", "recall")}, "d is settled once c is"


def test_after_a_claim_that_nothing_can_decide_none_needs_seeds():
    evidence = in_family("ordered", (0.3, 0.3))
    lost = evidence.trials[~((evidence.trials["variant"] == "a") & (evidence.trials["seed"] == 2))]
    assert unsettled(evidence) == {(name, "recall") for name in ("baseline", "a", "b")}
    assert unsettled(replace(evidence, trials=lost)) == set()


def test_a_family_of_claims_judges_no_row_and_its_late_claims_among_all():
    evidence = in_family("claims", (0.02, 0.024, 0.012, 0.3), late=(2,))
    rows = judge_claims(evidence)
    assert rows["verdict"].tolist()[2] == "inconclusive", "0.012 is above 0.05/(4 rows + 4 claims)"
    widths = (rows["ci_high"] - rows["ci_low"]).to_numpy()
    expected = [stats.t.ppf(1 - alpha / 2, 5) for alpha in (0.05 / 3, 0.05 / 3, 0.05 / 8, 0.05 / 3)]
    assert widths / widths[0] == pytest.approx(np.array(expected) / expected[0])
    assert set(compare(evidence)["verdict"]) == {""}
    places = unsettled(evidence)
    assert ("d", "recall") in places, "its claim is open"
    without = replace(evidence, facts=replace(evidence.facts, claims=[]))
    assert unsettled(without) == set(), "rows alone ask for no seeds"
