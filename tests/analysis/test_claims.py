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
from ablate.analysis.compare import compare
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


def test_claims_without_result_count_in_the_family():
    values = {"baseline": BASE, "a": BASE + 0.003 + WOBBLE, "b": [math.nan] * 5, "c": BASE - 0.5}
    claims = [claim("beats", x) for x in "abc"]
    frame = judge_claims(study(values, claims=claims, statuses={("c", 0): "diverged"}))
    assert frame["p_holm"][0] == pytest.approx(3 * frame["p"][0])
    assert list(frame["p_holm"][1:]) == [1.0, 1.0]
    assert frame["reason"][1] == "0 of 5 planned seeds with a usable pair; an interval takes 2"


def test_exploratory_claims_stand_outside_the_family():
    values = {"baseline": BASE, "a": BASE + 0.003 + WOBBLE, "b": BASE + 0.003 + WOBBLE}
    frame = judge_claims(study(values, claims=[claim("beats"), claim("beats", "b", exploratory=True)]))
    assert list(frame["verdict"]) == ["supported", "supported"]
    assert frame["p_holm"][0] == frame["p"][0]
    assert math.isnan(frame["p_holm"][1])
    assert "exploratory" in frame["reason"][1]
    assert "exploratory" not in frame["reason"][0]


@pytest.mark.parametrize("kind", ["beats", "matches", "does_not_lose"])
def test_divergence_on_either_side_decides_nothing(kind):
    for side in ("a", "baseline"):
        row = judged(BASE - 0.3 + WOBBLE, kind, 0.01, statuses={(side, 1): "diverged", (side, 3): "diverged"})
        assert row["verdict"] == "inconclusive"
        assert row["reason"].startswith(f"unstable: 2 of 5 runs of {side} diverged")
        assert row["n"] == 3


@pytest.mark.parametrize("kind", ["beats", "matches", "does_not_lose"])
def test_a_degenerate_comparison_decides_nothing(kind):
    row = judged(np.ones(5), kind, 0.01, b=np.ones(5))
    assert (row["verdict"], row["reason"]) == (
        "inconclusive",
        "degenerate: both sides at the metric's ceiling on every seed",
    )
    row = judged(BASE, kind, 0.01)
    assert (row["verdict"], row["reason"]) == ("inconclusive", "degenerate: every difference is 0")
    row = judged([0.1, 0.05, 0.1], kind, 0.2, b=[0.1, 0.1, 0.1])
    assert "metric's floor" in row["reason"]


def test_one_pair_decides_nothing():
    row = judged(BASE + 0.3, "beats", statuses={("a", i): "failed" for i in range(4)})
    assert (row["verdict"], row["n"]) == ("inconclusive", 1)
    assert row["diff"] == pytest.approx(0.3)
    assert "1 of 5 planned seeds" in row["reason"]


def test_a_side_is_the_mean_of_its_variants_seed_by_seed():
    rng = np.random.default_rng(1)
    values = {name: rng.normal(0.5, 0.1, 6) for name in ("baseline", "a", "b", "c")}
    one = claim("beats", ["a", "b"], ["baseline", "c"])
    row = judge_claims(study(values, claims=[one], statuses={("b", 2): "failed"})).iloc[0]
    d = (values["a"] + values["b"] - values["baseline"] - values["c"]) / 2
    d = d[[0, 1, 3, 4, 5]]
    interval = stats.ttest_1samp(d, 0).confidence_interval(0.95)
    assert (row["n"], row["diff"]) == (5, pytest.approx(d.mean()))
    assert (row["ci_low"], row["ci_high"]) == pytest.approx((interval.low, interval.high))
    assert "5 of 6 planned seeds have a usable pair" in row["reason"]


def test_several_tasks_are_averaged_with_fixed_weights():
    metrics = {"accuracy": ACCURACY}
    tasks = {"recall": metrics, "sort": metrics, "other": {"loss": LOSS}}
    values = {
        "baseline": {"recall": BASE, "sort": BASE, "other": BASE},
        "a": {"recall": BASE + 0.03 + WOBBLE, "sort": BASE - 0.01 - WOBBLE / 2, "other": BASE},
    }
    row = judge_claims(study(values, tasks=tasks, claims=[claim("beats")])).iloc[0]
    assert row["verdict"] == "supported"
    assert row["diff"] == pytest.approx(0.01)
    assert "1 of 2 tasks alone show the same sign" in row["reason"]
    frame = judge_claims(study(values, tasks=tasks, claims=[claim("beats")], statuses={("a", 4): "diverged"}))
    assert "1 of 5 runs of a on recall and 1 of 5 runs of a on sort diverged" in frame["reason"][0]


def test_metrics_that_should_be_small_and_metrics_of_no_task():
    values = {"baseline": [2.0, 2.1, 1.9, 2.0], "a": [1.0, 1.2, 0.9, 1.1]}
    claims = [claim("beats", metric="loss"), claim("beats", metric="speed")]
    frame = judge_claims(study(values, metric="loss", metrics={"loss": LOSS}, claims=claims))
    assert list(frame["verdict"]) == ["supported", "inconclusive"]
    assert frame["diff"][0] == pytest.approx(0.95)
    assert frame["reason"][1] == "no task of the study has the metric speed"


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


def test_a_plain_claim_agrees_with_the_comparison():
    rng = np.random.default_rng(2)
    for shift in (-0.05, 0.0, 0.05):
        values = {"baseline": rng.normal(0.5, 0.02, 5), "a": rng.normal(0.5 + shift, 0.02, 5)}
        evidence = study(values, claims=[claim("beats")])
        row, compared = judge_claims(evidence).iloc[0], compare(evidence).iloc[0]
        for column in ("diff", "ci_low", "ci_high", "ci90_low", "ci90_high", "n", "p"):
            assert row[column] == pytest.approx(compared[column])
        expected = {"better": "supported", "worse": "refuted", "inconclusive": "inconclusive"}
        assert row["verdict"] == expected[compared["verdict"]]


def test_row_order_does_not_matter():
    evidence = study({"baseline": BASE, "a": BASE + WOBBLE}, claims=[claim("matches", by=0.01)])
    shuffled = dataclasses.replace(evidence, trials=evidence.trials.sample(frac=1, random_state=3))
    pd.testing.assert_frame_equal(judge_claims(shuffled), judge_claims(evidence))
