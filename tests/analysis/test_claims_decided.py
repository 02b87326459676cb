"""What can, and cannot, decide a claim: missing and diverged runs, bounds, all-or-nothing tasks, several tasks."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from made_evidence import ACCURACY, LOSS, claim, study
from scipy import stats

from ablate.analysis.claims import judge_claims
from ablate.analysis.compare import compare
from ablate.analysis.paired import Differences
from ablate.analysis.rates import rate_p
from ablate.core.metric import Metric, Sampling

BASE = np.array([0.850, 0.855, 0.848, 0.851, 0.853])
WOBBLE = np.array([0.001, -0.001, 0.002, 0.0, -0.002])
FINE = {"accuracy": Metric("max")}


def judged(a, kind, by=0.0, b=BASE, **options) -> pd.Series:
    return judge_claims(study({"baseline": b, "a": a}, claims=[claim(kind, by=by)], **options)).iloc[0]


def test_claims_without_result_count_in_the_family():
    values = {"baseline": BASE, "a": BASE + 0.003 + WOBBLE, "b": [math.nan] * 5, "c": BASE}
    claims = [claim("beats", x) for x in "abc"]
    frame = judge_claims(study(values, claims=claims, statuses={("c", 0): "diverged"}))
    assert frame["p_holm"][0] == pytest.approx(3 * frame["p"][0])
    assert list(frame["p_holm"][1:]) == [1.0, 1.0]
    assert frame["reason"][1] == "incomplete: 0 of 5 planned seeds with a usable pair"


@pytest.mark.parametrize("kind", ["beats", "matches", "does_not_lose"])
def test_a_missing_run_decides_nothing(kind):
    for side in ("a", "baseline"):
        row = judged(BASE - 0.3 + WOBBLE, kind, 0.01, statuses={(side, 1): "failed"})
        assert (row["verdict"], row["p"], row["n"]) == ("incomplete", 1.0, 4)
        assert row["reason"] == "incomplete: 4 of 5 planned seeds with a usable pair"


def test_one_pair_decides_nothing():
    row = judged(BASE[:1] - 0.3, "beats", b=BASE[:1])
    assert (row["verdict"], row["n"], row["diff"]) == ("inconclusive", 1, pytest.approx(-0.3))
    assert row["reason"] == "1 of 1 planned seed with a usable pair; an interval takes 2"


@pytest.mark.parametrize(
    ("kind", "by"), [("beats", 0.0), ("beats", 0.9), ("matches", 0.9), ("does_not_lose", 0.9)]
)
@pytest.mark.parametrize("side", ["a", "baseline"])
def test_an_unstable_comparison_decides_nothing(kind, by, side):
    # `beats by .9` would be refuted and the other two supported, were it not for the divergence.
    row = judged(BASE - 0.3, kind, by, b=BASE - 0.3, statuses={(side, 1): "diverged"})
    assert (row["verdict"], row["p"], row["n"]) == ("inconclusive", 1.0, 5)
    assert row["reason"].startswith(
        f"unstable: 1 of 5 runs (rate .2, 95 % interval [.01, .72]) of {side} diverged"
    )


def test_nor_does_one_without_a_floor():
    row = judged(BASE + 1, "beats", statuses={("a", 1): "diverged"}, metrics=FINE)
    assert (row["verdict"], row["p"]) == ("inconclusive", 1.0)
    assert row["reason"].endswith("diverged; accuracy has no floor to score them with")


def test_divergence_can_refute_or_support_but_shows_no_likeness():
    lost = {("a", i): "diverged" for i in range(4)}
    for kind, by, expected in (
        ("beats", 0.0, "refuted"),
        ("beats", 0.01, "refuted"),
        ("matches", 0.01, "refuted"),
        ("does_not_lose", 0.01, "refuted"),
        # With the floor in place of the lost runs the difference is −.7: inside ±5, but nothing is alike.
        ("matches", 5.0, "inconclusive"),
        ("does_not_lose", 5.0, "inconclusive"),
    ):
        row = judged(BASE, kind, by, statuses=lost)
        assert row["verdict"] == expected, (kind, by)
        if expected == "inconclusive":
            assert row["reason"].startswith("unstable: a match cannot be supported where runs diverged")
    assert (
        judged(BASE, "beats", statuses={("baseline", i): "diverged" for i in range(4)})["verdict"]
        == "supported"
    )


@pytest.mark.parametrize("kind", ["beats", "matches", "does_not_lose"])
def test_a_degenerate_or_saturated_comparison_decides_nothing(kind):
    for a, b, reason in (
        (np.ones(5), np.ones(5), "saturated: every run solved the task, or is at the metric's ceiling"),
        (
            np.ones(5),
            np.full(5, 0.997),
            "saturated: every run solved the task, or is at the metric's ceiling",
        ),
        (BASE, BASE, "degenerate: every difference is 0"),
        ([0.1, 0.05, 0.12], [0.1, 0.1, 0.1], "saturated: no run is better than guessing"),
    ):
        row = judged(a, kind, 0.002, b=b)
        assert (row["verdict"], row["reason"], row["p"]) == ("inconclusive", reason, 1.0)


def test_of_two_at_the_floor_one_may_still_be_better():
    low = np.array([0.09, 0.11, 0.1, 0.12, 0.1])
    assert judged(low + 0.008, "beats", b=low)["verdict"] == "supported"
    assert judged(low + 0.008, "matches", 0.02, b=low)["verdict"] == "inconclusive"


def test_runs_that_fall_into_groups_support_no_match():
    # Of a variant that the claim does not name: it is the task that is not graded.
    values = {"baseline": BASE, "a": BASE + WOBBLE, "b": [0.3, 0.3, 0.3, 0.6, 0.6]}
    claims = [claim("matches", by=0.01), claim("does_not_lose", by=0.01)]
    frame = judge_claims(study(values, claims=claims))
    assert list(frame["verdict"]) == ["inconclusive", "supported"]
    assert "the runs of a variant fall into groups" in frame["reason"][0]


def test_a_side_is_the_mean_of_its_variants_seed_by_seed():
    rng = np.random.default_rng(1)
    values = {name: rng.normal(0.5, 0.1, 6) for name in ("baseline", "a", "b", "c")}
    examples = {name: v[:, None] + rng.normal(0, 0.3, 40) for name, v in values.items()}
    one = claim("beats", ["a", "b"], ["baseline", "c"])
    d = (values["a"] + values["b"] - values["baseline"] - values["c"]) / 2
    known = stats.ttest_1samp(d, 0).confidence_interval(0.95)
    row = judge_claims(study(values, claims=[one])).iloc[0]
    assert (row["n"], row["diff"]) == (6, pytest.approx(d.mean()))
    assert (row["ci_low"], row["ci_high"]) == pytest.approx((known.low, known.high))
    # Examples that all seeds share are a sample of their own, on claims too.
    held_out = study(values, claims=[one], sampling=Sampling("held_out", 40), examples=examples)
    both = judge_claims(held_out).iloc[0]
    by_example = (examples["a"] + examples["b"] - examples["baseline"] - examples["c"]) / 2
    low, high = Differences(d, 0.001, by_example).interval()
    assert (both["ci_low"], both["ci_high"]) == pytest.approx((low, high))
    assert low < known.low
    # A side with a diverged run is lower on that seed by its share.
    lost = judge_claims(study(values, claims=[one], statuses={("b", 2): "diverged"})).iloc[0]
    assert lost["diff"] == pytest.approx((d.sum() - (values["b"][2] - 0.1) / 2) / 6)


def solves(seeds: list[bool]) -> np.ndarray:
    return np.where(seeds, 0.99, 0.3)


def test_on_an_all_or_nothing_task_rates_decide_who_is_better():
    all_of, none_of = solves([True] * 5), solves([False] * 5)
    for a, b, expected in ((all_of, none_of, "supported"), (none_of, all_of, "refuted")):
        row = judged(a, "beats", b=b, outcome="all_or_nothing")
        assert (row["verdict"], row["p"]) == (expected, pytest.approx(0.00195, abs=5e-6))
    # Three of five are significant by t on no scale that counts.
    row = judged(
        solves([True] * 5), "beats", b=solves([True, True, False, False, False]), outcome="all_or_nothing"
    )
    assert (row["verdict"], row["p"]) == ("inconclusive", pytest.approx(rate_p(3, 0, 5)))
    assert row["reason"].startswith("3 and 0 of 5 seeds solved by one side alone")


@pytest.mark.parametrize(("kind", "by"), [("beats", 0.1), ("matches", 0.1)])
def test_on_an_all_or_nothing_task_no_size_of_a_difference_is_claimed(kind, by):
    for a, b in ((True, False), (False, True)):
        row = judged(solves([a] * 8), kind, by, b=solves([b] * 8), outcome="all_or_nothing")
        assert (row["verdict"], row["p"]) == ("inconclusive", 1.0)


@pytest.mark.parametrize("kind", ["beats", "matches", "does_not_lose"])
def test_nothing_is_claimed_of_a_task_that_nobody_solved(kind):
    row = judged(
        BASE - 0.5 + WOBBLE, kind, 0.0 if kind == "beats" else 0.5, b=BASE - 0.2, outcome="all_or_nothing"
    )
    assert (row["verdict"], row["p"]) == ("inconclusive", 1.0)
    assert "no run solved the task" in row["reason"]


def test_not_losing_on_an_all_or_nothing_task():
    rng = np.random.default_rng(2)
    n, by = 60, 0.2
    base, a = (solves([True] * n) + rng.normal(0, 0.001, n) for _ in range(2))
    # Only the seeds that the other side alone solved count against it, and their share is to lie below by / (2 · .9).
    base[:20] = 0.3
    a[20:22] = 0.3
    same = np.arange(22, n)
    inner = stats.ttest_1samp((a - base)[same], -by / 2, alternative="greater").pvalue
    expected = max(stats.binom.cdf(2, n, by / 1.8), inner)
    rows = [judged(a, kind, by, b=base, outcome="all_or_nothing") for kind in ("does_not_lose", "matches")]
    assert rows[0]["p"] == pytest.approx(expected)
    assert [row["verdict"] for row in rows] == ["supported", "inconclusive"]
    assert "a share below .1111 of seeds, half of what the claim allows" in rows[0]["reason"]
    assert judged(base, "does_not_lose", by, b=a, outcome="all_or_nothing")["verdict"] == "inconclusive"


def test_several_variants_a_side_have_no_solved_seeds_to_pair():
    values = {"baseline": solves([True] * 5), "a": solves([False] * 5), "b": solves([False] * 5)}
    row = judge_claims(
        study(values, claims=[claim("beats", "baseline", ["a", "b"])], outcome="all_or_nothing")
    ).iloc[0]
    assert (row["verdict"], row["p"]) == ("inconclusive", 1.0)
    assert "state the claim on single variants" in row["reason"]


def test_a_claim_holds_on_several_tasks_where_it_holds_on_each():
    metrics = {"accuracy": ACCURACY}
    tasks = {"recall": metrics, "sort": metrics, "other": {"loss": LOSS}}

    def found(recall: float, sort: float, **options) -> pd.Series:
        values = {
            "baseline": {"recall": BASE, "sort": BASE, "other": BASE},
            "a": {"recall": BASE + recall + WOBBLE, "sort": BASE + sort - 1.5 * WOBBLE, "other": BASE},
        }
        return judge_claims(study(values, tasks=tasks, claims=[claim("beats")], **options)).iloc[0]

    def p(shift: float, sign: float, scale: float) -> float:
        way = "greater" if sign > 0 else "less"
        return 2 * stats.ttest_1samp(shift + scale * WOBBLE, 0, alternative=way).pvalue

    both = found(0.03, 0.005)
    assert (both["verdict"], both["task"]) == ("supported", "sort")
    assert both["p_supported"] == pytest.approx(max(p(0.03, 1, 1), p(0.005, 1, -1.5)))
    assert both["diff"] == pytest.approx(0.005)
    # Far better on one task does not make up for worse on the other.
    one = found(0.03, -0.01)
    assert (one["verdict"], one["task"]) == ("refuted", "sort")
    assert one["p_refuted"] == pytest.approx(2 * p(-0.01, -1, -1.5))
    assert "alone refuted on 1 of 2 tasks" in one["reason"]
    half = found(0.03, 0.0)
    assert half["verdict"] == "inconclusive"
    assert half["p_refuted"] == 1.0
    lost = found(0.03, 0.0, statuses={("a", 4): "diverged"})
    assert (lost["verdict"], lost["p"]) == ("inconclusive", 1.0)
    assert "recall: unstable: 1 of 5 runs" in lost["reason"]
    assert "sort: unstable: 1 of 5 runs" in lost["reason"]


def test_metrics_that_should_be_small_and_metrics_of_no_task():
    values = {"baseline": [2.0, 2.1, 1.9, 2.0], "a": [1.0, 1.2, 0.9, 1.1]}
    claims = [claim("beats", metric="loss"), claim("beats", metric="speed")]
    frame = judge_claims(study(values, metric="loss", metrics={"loss": LOSS}, claims=claims))
    assert list(frame["verdict"]) == ["supported", "inconclusive"]
    assert frame["diff"][0] == pytest.approx(0.95)
    assert frame["reason"][1] == "no task of the study has the metric speed"


def test_a_plain_claim_agrees_with_the_comparison():
    rng = np.random.default_rng(2)
    for shift in (-0.05, 0.0, 0.05):
        values = {"baseline": rng.normal(0.5, 0.02, 5), "a": rng.normal(0.5 + shift, 0.02, 5)}
        evidence = study(values, claims=[claim("beats")])
        row, compared = judge_claims(evidence).iloc[0], compare(evidence).iloc[0]
        for column in ("diff", "ci_low", "ci_high", "n", "p"):
            assert row[column] == pytest.approx(compared[column])
        expected = {"better": "supported", "worse": "refuted", "inconclusive": "inconclusive"}
        assert row["verdict"] == expected[compared["verdict"]]
