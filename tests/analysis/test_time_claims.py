"""Claims about time and memory."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from ablate.analysis.settled import unsettled
from made_evidence import claim, study
from made_speed import speed_frame, timed
from scipy import stats
from statsmodels.stats.weightstats import ttost_paired

from ablate.analysis.claims import judge_claims
from ablate.core.evidence import Evidence

rng = np.random.default_rng(71)
AA = np.array([0.001, -0.002, 0.0015, -0.0005, 0.001, -0.001, 0.0005, -0.0005])
NOISE = 0.004 * rng.normal(size=(3, 8))


def judged(evidence: Evidence) -> pd.Series:
    return judge_claims(evidence).iloc[0]


def about(
    logs: Mapping[str, float], *of: Any, aa: np.ndarray = AA, metric: str = "step_seconds", **more: Any
) -> Evidence:
    """A claim about variants whose log ratios scatter around `logs`."""
    scattered = {name: log + noise for (name, log), noise in zip(logs.items(), NOISE, strict=False)}
    memory = {name: 1e6 * math.exp(log) for name, log in logs.items()}
    frame = speed_frame({"baseline": aa, **scattered}, memory=memory)
    return timed(frame, claims=[claim(*of, metric=metric)], **more)


def test_the_difference_is_that_of_the_logs_of_processes() -> None:
    row = judged(about({"a": -0.3, "b": 0.1}, "beats", "a", "b"))
    logs = (0.1 + NOISE[1]) - (-0.3 + NOISE[0])
    expected = stats.ttest_1samp(logs, 0.0)
    assert (row["verdict"], row["n"], row["p"]) == ("supported", 8, pytest.approx(expected.pvalue))
    bounds = np.expm1([logs.mean(), *expected.confidence_interval()])
    assert row[["diff", "ci_low", "ci_high"]].to_numpy(float) == pytest.approx(bounds)
    assert row["reason"] == (
        "b takes 1.4909 [1.4879, 1.4939] times the time of a in a training step (8 processes); "
        "the interval lies above 1"
    )


def test_the_baseline_takes_its_own_time() -> None:
    """The log ratio of its second copy is noise of the machine, and no part of a claim."""
    row = judged(about({"a": 0.2}, "beats", "baseline", "a", aa=AA + 0.015))
    assert row["diff"] == pytest.approx(math.expm1((0.2 + NOISE[0]).mean()))
    assert row["verdict"] == "supported"


def test_a_side_of_several_variants_is_the_mean_of_their_logs() -> None:
    row = judged(about({"a": -0.3, "b": -0.1}, "beats", ["a", "b"], "baseline"))
    assert row["diff"] == pytest.approx(math.expm1(0.2 - NOISE[:2].mean()))
    assert row["reason"].startswith(
        "baseline takes 1.2216 [1.2193, 1.2238] times the time of the mean of a and b"
    )


@pytest.mark.parametrize(
    ("log", "kind", "by", "aa", "verdict", "words"),
    [
        (-0.15, "beats", 0.1, AA, "supported", "lies above 1.1"),
        (-0.05, "beats", 0.1, AA, "refuted", "lies below 1.1"),
        (0.1, "beats", 0.0, AA, "refuted", "lies below 1"),
        (-0.015, "beats", 0.0, AA, "inconclusive", "the difference is below 2 %"),
        (-0.05, "beats", 0.0, 50 * AA, "inconclusive", "the difference is below the noise floor of 5.1 %, which"),
        (-0.11, "beats", 0.1, AA, "inconclusive", "beyond that by less than 2 %"),
        (0.0, "beats", 0.0, AA, "inconclusive", "includes 1"),
        (0.0, "matches", 0.02, AA, "supported", "the 90 % interval [.9981, 1.0016] lies inside .98 to 1.02"),
        (0.0, "matches", 0.01, AA, "inconclusive", "a margin of 1 % is below 2 %"),
        (0.0, "matches", 0.05, 50 * AA, "inconclusive", "a margin of 5 % is below the noise floor of 5.1 %"),
        (0.02, "matches", 0.02, AA, "inconclusive", "reaches beyond .98 to 1.02"),
        (0.1, "matches", 0.05, AA, "refuted", "(8 processes); the interval lies outside .952 to 1.05"),
        (0.06, "matches", 0.05, AA, "inconclusive", "beyond that by less than 2 %"),
        (-0.3, "does_not_lose", 0.05, AA, "supported", "lies above .952"),
        (0.02, "does_not_lose", 0.05, AA, "supported", "lies above .952"),
        (0.3, "does_not_lose", 0.05, AA, "refuted", "lies below .952"),
    ],
)  # fmt: skip
def test_a_claim_of_time_beyond_noise(log, kind, by, aa, verdict, words) -> None:
    row = judged(about({"a": log}, kind, "a", "baseline", by, aa=aa))
    assert row["verdict"] == verdict, row["reason"]
    assert words in row["reason"]
    d = -(log + NOISE[0])
    if verdict == "supported":
        p = {
            "beats": stats.ttest_1samp(d, math.log(1 + by)).pvalue,
            "matches": ttost_paired(d, np.zeros(8), -math.log(1 + by), math.log(1 + by))[0],
            "does_not_lose": stats.ttest_1samp(d, -math.log(1 + by), alternative="greater").pvalue,
        }[kind]
        assert row["p_supported"] == pytest.approx(p)


def test_memory_is_claimed_without_noise() -> None:
    row = judged(about({"a": math.log(0.5)}, "beats", "a", "baseline", 0.9, metric="step_memory"))
    assert (row["verdict"], row["diff"]) == ("supported", pytest.approx(1.0))
    assert row["reason"].startswith(
        "baseline takes 2.000 times the memory of a in a training step (8 processes)"
    )
    row = judged(about({"a": 0.0}, "matches", "a", "baseline", 0.02, metric="step_memory"))
    assert row["verdict"] == "supported"


def test_what_was_not_measured_is_not_claimed() -> None:
    of = claim("beats", metric="step_seconds")
    row = judged(study({"baseline": [0.5, 0.6], "a": [0.5, 0.6]}, claims=[of]))
    assert (row["verdict"], row["n"]) == ("incomplete", 0)
    assert row["reason"] == "not measured yet: `ablate bench` does it"
    row = judged(about({"a": 0.1}, "beats", "a", "baseline", metric="generation_seconds"))
    assert (row["verdict"], row["reason"]) == (
        "inconclusive",
        "generation of a and baseline was not measured, which takes a causal model",
    )
    frame = speed_frame({"baseline": AA[:1], "a": AA[:1]})
    assert judged(timed(frame, claims=[of]))["reason"] == "incomplete: 1 process, and an interval takes 2"


def test_a_claim_of_time_is_of_the_size_that_is_trained() -> None:
    frames = [
        speed_frame({"baseline": AA, "a": AA + log}, size=size, own=size == 8)
        for size, log in ((8, 0.1), (16, -0.1))
    ]
    assert judged(timed(*frames, claims=[claim("beats", metric="step_seconds")]))["verdict"] == "refuted"


def test_looks_at_seeds_cost_a_claim_of_time_nothing() -> None:
    values = {name: rng.random(8) for name in ("baseline", "a")}
    for log, verdict in ((-0.1, "supported"), (0.0, "inconclusive")):
        evidence = about({"a": log}, "beats", "a", "baseline", values=values)
        looks = replace(evidence, facts=replace(evidence.facts, looks=[2, 4, 8]))
        pd.testing.assert_series_equal(judged(looks), judged(evidence))
        assert judged(looks)["verdict"] == verdict
    same = about({"a": 0.0}, "beats", "a", "baseline", values=dict.fromkeys(values, np.ones(8)))
    assert not unsettled(replace(same, facts=replace(same.facts, looks=[2, 4, 8], seeds=[0, 1])))


def test_claims_of_time_are_one_family_with_the_others() -> None:
    claims = [claim("beats", metric="step_seconds"), claim("beats", metric="accuracy")]
    logs = -0.05 + 0.05 * rng.normal(size=8)
    logs += -0.05 - logs.mean()
    evidence = timed(speed_frame({"baseline": AA, "a": logs}), claims=claims)
    found = judge_claims(evidence)
    assert found["p_holm"].iloc[0] == pytest.approx(2 * found["p"].iloc[0])
