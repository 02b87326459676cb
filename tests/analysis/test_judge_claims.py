from __future__ import annotations

import dataclasses
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from made_evidence import ACCURACY, CLINIC_A, CLINIC_B, LOSS, claim, study
from scipy import stats

from ablate.analysis.claims import COLUMNS, judge_claims
from ablate.core.metric import Metric

BASE = np.array([0.950, 0.955, 0.948, 0.951, 0.953])
WOBBLE = np.array([0.001, -0.001, 0.002, 0.0, -0.002])
FINE = {"accuracy": Metric("max")}


def table(kind: str, by: float, ci95: tuple[float, float], ci90: tuple[float, float]) -> str:
    """The table of claims, in terms of its intervals."""
    (low, high), (low90, high90) = ci95, ci90
    supported, refuted = {
        "beats": (low > by, high < by),
        "matches": (-by < low90 and high90 < by, low > by or high < -by),
        "does_not_lose": (low90 > -by, high < -by),
    }[kind]
    return "supported" if supported else "refuted" if refuted else "inconclusive"


def judged(a, kind, by=0.0, b=BASE, **options) -> pd.Series:
    return judge_claims(study({"baseline": b, "a": a}, claims=[claim(kind, by=by)], **options)).iloc[0]


@pytest.mark.parametrize(
    ("kind", "by", "shift", "expected", "reason"),
    [
        ("beats", 0.0, 0.02, "supported", "lies above 0"),
        ("beats", 0.0, -0.02, "refuted", "lies below 0"),
        ("beats", 0.0, 0.0, "inconclusive", "reaches below 0 and above it"),
        ("beats", 0.01, 0.02, "supported", "lies above .01"),
        ("beats", 0.01, 0.002, "refuted", "lies below .01"),
        ("beats", 0.01, 0.01, "inconclusive", "reaches below .01"),
        ("matches", 0.01, 0.0, "supported", "90 % interval [−.0015, .0015] lies inside ±.01"),
        # Significantly better, yet within the margin: significance alone never refutes.
        ("matches", 0.01, 0.005, "supported", "lies inside ±.01"),
        ("matches", 0.01, 0.03, "refuted", "95 % interval [.0280, .0320] lies above .01"),
        ("matches", 0.01, -0.03, "refuted", "lies below −.01"),
        ("matches", 0.01, 0.0095, "inconclusive", "reaches beyond ±.01"),
        ("does_not_lose", 0.01, 0.05, "supported", "lies above −.01"),
        ("does_not_lose", 0.01, -0.005, "supported", "lies above −.01"),
        ("does_not_lose", 0.01, -0.05, "refuted", "lies below −.01"),
        ("does_not_lose", 0.01, -0.0095, "inconclusive", "reaches below −.01"),
        ("does_not_lose", 0.0, 0.0, "inconclusive", "reaches below 0"),
    ],
)
def test_every_outcome(kind, by, shift, expected, reason):
    row = judged(BASE + shift + WOBBLE, kind, by)
    assert row["verdict"] == expected
    assert reason in row["reason"]
    assert row["p_holm"] == row["p"]
    assert row["n"] == 5
    assert row["diff"] == pytest.approx(shift)


@given(
    st.sampled_from(["beats", "matches", "does_not_lose"]),
    st.sampled_from([0.0, 0.01, 0.3]),
    st.integers(2, 8).flatmap(lambda n: arrays(float, n, elements=st.floats(-1, 1, width=32))),
    st.floats(-0.5, 0.5),
)
@settings(deadline=None, max_examples=150)
def test_one_claim_alone_is_decided_by_the_intervals(kind, by, noise, shift):
    a = np.full(len(noise), 0.5) + shift + 0.1 * noise
    row = judged(a, kind, by, b=np.full(len(noise), 0.5), metrics=FINE)
    assume(not np.allclose(a, 0.5))
    intervals = (row["ci_low"], row["ci_high"]), (row["ci90_low"], row["ci90_high"])
    bounds = np.array(intervals).ravel()
    # An interval that ends on the threshold, to rounding, may fall either way.
    assume((np.abs(bounds[:, None] - [by, -by]) > 1e-9).all())
    assert row["verdict"] == table(kind, by, *intervals)
    assert (row["p"] < 0.05) == (row["verdict"] != "inconclusive")


@given(arrays(float, (2, 6), elements=st.floats(0, 1, width=16)), st.sampled_from([0.0, 0.05]))
@settings(deadline=None, max_examples=40)
def test_swapping_the_sides(ab, by):
    values = {"baseline": ab[0], "a": ab[1]}
    evidence = study(
        values,
        claims=[
            *(claim("beats"), claim("beats", "baseline", "a")),
            *(claim("matches", by=by), claim("matches", "baseline", "a", by)),
        ],
    )
    beats, beaten, matches, matched = judge_claims(evidence).to_dict("records")
    opposite = {"supported": "refuted", "refuted": "supported", "inconclusive": "inconclusive"}
    assert beaten["verdict"] == opposite[beats["verdict"]]
    assert matched["verdict"] == matches["verdict"]
    assert beaten["diff"] == pytest.approx(-beats["diff"], abs=1e-12)


@pytest.mark.parametrize(
    ("kind", "by", "outcomes"),
    [
        ("beats", 0.003, ("inconclusive", "inconclusive", "supported")),
        ("matches", 0.003, ("inconclusive", "inconclusive", "refuted")),
        ("does_not_lose", -0.003, ("inconclusive", "supported", "supported")),
    ],
)
def test_the_level_of_each_decision(kind, by, outcomes):
    # Distances below the half-width of the 90 % interval (.00151), between it and that of the 95 %, above both.
    found = [judged(BASE + 0.003 + x + WOBBLE, kind, by)["verdict"] for x in (0.00147, 0.00155, 0.002)]
    assert tuple(found) == outcomes
    if kind == "does_not_lose":
        found = [judged(BASE - 0.003 - x + WOBBLE, kind, 0.003)["verdict"] for x in (0.00147, 0.00155, 0.002)]
        assert found == ["inconclusive", "inconclusive", "refuted"]
    if kind == "matches":
        found = [judged(BASE + 0.003 - x + WOBBLE, kind, 0.003)["verdict"] for x in (0.00147, 0.00155, 0.002)]
        assert found == ["inconclusive", "supported", "supported"]


def test_spread_is_never_below_the_resolution():
    row = judged(BASE + 0.001, "beats")
    assert row["p"] == pytest.approx(2 * stats.t.sf(np.sqrt(5), 4))
    assert row["verdict"] == "inconclusive"


def test_clinic_is_equivalent_within_the_published_margin():
    row = judged(CLINIC_A, "matches", 0.6, b=CLINIC_B, metrics=FINE)
    assert row["verdict"] == "supported"
    assert row["p"] == pytest.approx(0.003166881, abs=5e-10)
    assert (row["ci90_low"], row["ci90_high"]) == pytest.approx((-0.0744337, 0.4037670), abs=5e-8)


def test_columns():
    frame = judge_claims(study({"baseline": BASE, "a": BASE}, claims=[claim("beats")]))
    assert tuple(frame.columns) == COLUMNS
    assert tuple(judge_claims(study({"baseline": BASE})).columns) == COLUMNS


def test_holm_over_the_claims():
    rng = np.random.default_rng(0)
    values = {"baseline": BASE} | {x: BASE + 0.0023 + 0.5 * WOBBLE + rng.normal(0, 2e-4, 5) for x in "abc"}
    values["c"] = BASE + 0.0016 + WOBBLE
    frame = judge_claims(study(values, claims=[claim("beats", x) for x in "abc"]))
    assert list(frame["verdict"]) == ["supported", "supported", "inconclusive"]
    assert frame["p_holm"].min() == pytest.approx(3 * frame["p"].min())
    assert "after Holm over 3 claims" in frame["reason"][0]
    nearly = {
        "baseline": BASE,
        "a": BASE + 0.003 + WOBBLE,
        "b": BASE + WOBBLE,
        "c": BASE - WOBBLE,
        "d": BASE + 2 * WOBBLE,
    }
    frame = judge_claims(study(nearly, claims=[claim("beats", x) for x in "abcd"]))
    row = frame.iloc[0]
    assert row["p"] < 0.05 < row["p_holm"]
    assert row["verdict"] == "inconclusive"
    assert "decided alone (p = " in row["reason"]
    assert "but not after Holm over 4 claims (p = " in row["reason"]


def test_exploratory_claims_stand_outside_the_family():
    values = {"baseline": BASE, "a": BASE + 0.003 + WOBBLE, "b": BASE + 0.003 + WOBBLE}
    frame = judge_claims(study(values, claims=[claim("beats"), claim("beats", "b", exploratory=True)]))
    assert list(frame["verdict"]) == ["supported", "supported"]
    assert frame["p_holm"][0] == frame["p"][0]
    assert math.isnan(frame["p_holm"][1])
    assert "exploratory" in frame["reason"][1]
    assert "exploratory" not in frame["reason"][0]


def test_the_primary_metric_is_read_from_the_declared_column_others_from_their_own():
    metrics = {"accuracy": ACCURACY, "loss": LOSS}
    evidence = study(
        {"baseline": BASE, "a": BASE + 0.02 + WOBBLE},
        metrics=metrics,
        column="accuracy_at_best_validation",
        others={"loss": {"baseline": BASE, "a": BASE + 0.5 + WOBBLE}},
        claims=[claim("beats"), claim("beats", metric="loss")],
    )
    evidence.trials["accuracy"] = 0.0
    assert list(judge_claims(evidence)["verdict"]) == ["supported", "refuted"]


def test_row_order_does_not_matter():
    evidence = study({"baseline": BASE, "a": BASE + WOBBLE}, claims=[claim("matches", by=0.01)])
    shuffled = dataclasses.replace(evidence, trials=evidence.trials.sample(frac=1, random_state=3))
    pd.testing.assert_frame_equal(judge_claims(shuffled), judge_claims(evidence))
