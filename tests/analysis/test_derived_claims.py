"""Claims about rates over seeds, learning-rate sensitivity, the spread of seeds and the numbers of single runs."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pandas as pd
import pytest
from ablate.analysis.by_spread import pitman_morgan, spread_interval
from ablate.analysis.settled import unsettled
from made_evidence import RATES, claim, study
from scipy import stats

from ablate.analysis.claims import judge_claims
from ablate.analysis.paired import Differences
from ablate.analysis.rates import rate_p, rate_p_equivalent
from ablate.core.claim import INTERACTION, Claim
from ablate.core.derived import DERIVED
from ablate.core.metric import Metric

rng = np.random.default_rng(5)


def values(n: int, *variants: str, spread: float = 0.01) -> dict[str, np.ndarray]:
    return {variant: 0.8 + spread * rng.normal(size=n) for variant in ("baseline", *variants)}


def judged(evidence) -> pd.Series:
    return judge_claims(evidence).iloc[0]


@pytest.mark.parametrize(
    ("kind", "a", "b", "by", "verdict", "p"),
    [
        ("beats", "baseline", "a", 0.0, "supported", rate_p(6, 0, 8)),
        ("beats", "a", "baseline", 0.0, "refuted", rate_p(6, 0, 8)),
        ("beats", "b", "baseline", 0.0, "inconclusive", 1.0),
        ("beats", "baseline", "a", 0.1, "inconclusive", 1.0),
        ("matches", "b", "baseline", 0.4, "supported", rate_p_equivalent(0, 0, 8, 0.4)),
        ("matches", "a", "baseline", 0.4, "inconclusive", rate_p_equivalent(6, 0, 8, 0.4)),
        ("does_not_lose", "baseline", "a", 0.4, "supported", stats.binom.cdf(0, 8, 0.4)),
        ("does_not_lose", "a", "baseline", 0.4, "inconclusive", stats.binom.cdf(6, 8, 0.4)),
    ],
)
def test_a_rate_is_decided_by_the_seeds_of_one_side_alone(kind, a, b, by, verdict, p):
    lost = {("a", seed): "diverged" for seed in range(6)}
    about = claim(kind, a, b, by, metric="divergence_rate")
    row = judged(study(values(8, "a", "b"), statuses=lost, claims=[about]))
    assert (row["verdict"], row["n"], row["p"]) == (verdict, 8, pytest.approx(p))
    assert "95 % interval [.35, .97]) of a" in row["reason"] or "a" not in (a, b)
    assert math.isnan(row["ci_low"])
    if by == 0.1:
        assert "not its size" in row["reason"]


@pytest.mark.parametrize("outcome", ["graded", "all_or_nothing"])
def test_saturation_and_divergence_leave_a_solved_rate_alone(outcome):
    solved = {"baseline": np.ones(10), "a": np.where(np.arange(10) < 7, 0.1, 1.0)}
    lost = {("a", 0): "diverged"}
    row = judged(
        study(
            solved,
            statuses=lost,
            outcome=outcome,
            claims=[claim("beats", "baseline", "a", metric="solved_rate")],
        )
    )
    assert (row["verdict"], row["diff"]) == ("supported", pytest.approx(0.7))
    assert row["p"] == pytest.approx(rate_p(7, 0, 10))
    assert "solved the task: 10 of 10 runs (rate 1, 95 % interval [.69, 1]) of baseline" in row["reason"]


def test_a_rate_waits_for_every_run():
    lost = {("a", 1): "failed"}
    row = judged(study(values(5, "a"), statuses=lost, claims=[claim("beats", metric="divergence_rate")]))
    assert (row["verdict"], row["reason"]) == (
        "incomplete",
        "incomplete: 4 of 5 planned seeds with a usable pair",
    )


@pytest.mark.parametrize("metric", ["divergence_rate", "seed_spread"])
def test_rates_and_spreads_are_of_single_variants(metric):
    row = judged(study(values(20, "a", "b"), claims=[claim("beats", ["a", "b"], metric=metric)]))
    assert row["verdict"] == "inconclusive"
    assert row["reason"].endswith("state the claim on single variants")


def test_no_task_that_says_when_it_is_solved():
    plain = {"accuracy": Metric("max", floor=0.1, ceiling=1.0)}
    row = judged(study(values(5, "a"), metrics=plain, claims=[claim("beats", metric="solved_rate")]))
    assert row["reason"] == "no task of the study has the metric solved_rate"


def sensitivity(losses: np.ndarray, initial: float) -> list[float]:
    """By hand, one seed after another: the mean of min(ℓ, ℓ₀) − ℓ*."""
    found = []
    for seed in losses:
        capped = [min(loss, initial) for loss in seed]
        found.append(sum(loss - min(capped) for loss in capped) / len(capped))
    return found


def stressed(**changed: np.ndarray) -> dict[str, np.ndarray]:
    flat = np.array([[0.5, 0.4, 0.6], [0.6, 0.5, 0.55], [0.4, 0.4, 0.5], [0.5, 0.45, 0.7]])
    steep = np.array([[0.5, 0.4, 3.0], [0.6, 0.5, math.inf], [0.4, 0.3, math.inf], [0.9, 0.45, 1.4]])
    return {"baseline": flat, "a": steep, **changed}


def test_learning_rate_sensitivity_is_that_of_hand():
    # The judged runs of two seeds diverged, of which the grid knows nothing.
    lost = {("a", 0): "diverged", ("a", 2): "diverged"}
    runs = stressed()
    row = judged(
        study(
            values(4, "a"),
            stress=runs,
            statuses=lost,
            claims=[claim("beats", "baseline", "a", metric="lr_sensitivity")],
        )
    )
    a, base = (sensitivity(runs[name], 2.0) for name in ("a", "baseline"))
    assert a[0] == pytest.approx((0.1 + 0 + 1.6) / 3)
    assert a[1] == pytest.approx((0.1 + 0 + 1.5) / 3)
    expected = stats.ttest_rel(a, base)
    assert row["diff"] == pytest.approx(np.mean(a) - np.mean(base))
    assert (row["p"], row["n"]) == (pytest.approx(expected.pvalue), 4)
    assert (row["ci_low"], row["ci_high"]) == pytest.approx(tuple(expected.confidence_interval()))
    assert row["verdict"] == "supported"


def test_learning_rate_sensitivity_in_a_factorial_is_the_mean_by_seed():
    runs = stressed(b=stressed()["baseline"] * 1.1)
    row = judged(
        study(values(4, "a", "b"), stress=runs, claims=[claim("beats", ["a", "b"], metric="lr_sensitivity")])
    )
    a, b, base = (np.array(sensitivity(runs[name], 2.0)) for name in ("a", "b", "baseline"))
    assert row["diff"] == pytest.approx(np.mean(base - (a + b) / 2))


def test_an_interaction_may_be_of_learning_rate_sensitivity():
    names = ("baseline", "a", "p", "a,p")
    runs = {name: 0.5 + 0.1 * (1 + k) * rng.random(size=(6, 3)) for k, name in enumerate(names)}
    words = "a beats baseline on lr_sensitivity by more at p=1 than at p=0"
    about = Claim(
        words, INTERACTION, "lr_sensitivity", ["a,p"], ["p"], 0.0, "2025", False, ["a"], ["baseline"]
    )
    row = judged(study(values(6, *names[1:]), stress=runs, claims=[about]))
    base, a, p, both = (np.array(sensitivity(runs[name], 2.0)) for name in names)
    expected = stats.ttest_1samp((p - both) - (base - a), 0.0)
    assert (row["n"], row["p"]) == (6, pytest.approx(expected.pvalue))
    assert row["diff"] == pytest.approx(np.mean((p - both) - (base - a)))


@pytest.mark.parametrize(("metric", "n"), [("lr_sensitivity", 4), ("divergence_rate", 8)])
def test_derived_metrics_are_looked_at_as_others_are(metric, n):
    steep = np.where(np.arange(3) == 2, 1.5, 0.5) + 0.01 * rng.normal(size=(8, 3))
    made = study(
        values(8, "a"),
        stress={"baseline": 0.5 + 0.01 * rng.normal(size=(8, 3)), "a": steep},
        statuses={("a", seed): "diverged" for seed in range(1, 8)},
        claims=[claim("beats", "baseline", "a", metric=metric)],
    )
    made = dataclasses.replace(made, facts=dataclasses.replace(made.facts, looks=[4, 8, 12]))
    row = judged(made)
    # Three seeds of four tell no rate at the .05/6 that the first of three looks may spend.
    assert (row["verdict"], row["n"]) == ("supported", n)
    first = dataclasses.replace(made.facts, seeds=made.facts.seeds[:4])
    still = unsettled(dataclasses.replace(made, facts=first))
    assert {variant for variant, _ in still} >= ({"a", "baseline"} if n == 8 else set())


def test_a_grid_with_a_gap_has_no_sensitivity():
    runs = stressed()
    runs["a"][1, 0] = math.nan
    row = judged(study(values(4, "a"), stress=runs, claims=[claim("beats", metric="lr_sensitivity")]))
    assert (row["verdict"], row["n"]) == ("incomplete", 3)


def test_what_learns_at_no_rate_is_not_the_steadiest():
    runs = stressed(a=np.full((4, 3), math.inf))
    row = judged(study(values(4, "a"), stress=runs, claims=[claim("beats", metric="lr_sensitivity")]))
    assert row["verdict"] == "inconclusive"
    assert row["reason"] == "a: no learning rate of the grid trains it on 4 of 4 seeds"


def test_a_number_of_single_runs_is_a_mean_whatever_the_task_solves():
    n = 8
    numbers = {"grad_norm_max": {"baseline": 3 + rng.normal(size=n), "a": 9 + rng.normal(size=n)}}
    solved = {"baseline": np.ones(n), "a": np.zeros(n)}
    options = {"others": numbers, "stability": {"grad_norm_max": Metric("min")}, "outcome": "all_or_nothing"}
    about = claim("beats", "baseline", "a", metric="grad_norm_max")
    row = judged(study(solved, claims=[about], **options))
    expected = stats.ttest_rel(numbers["grad_norm_max"]["a"], numbers["grad_norm_max"]["baseline"])
    assert (row["verdict"], row["p"]) == ("supported", pytest.approx(expected.pvalue))
    row = judged(study(solved, claims=[about], statuses={("a", 0): "diverged"}, **options))
    assert (row["verdict"], row["reason"].partition(":")[0]) == ("inconclusive", "unstable")
    numbers["grad_norm_max"]["a"] = np.full(n, math.nan)
    assert judged(study(solved, claims=[about], **options))["reason"] == "a has no grad_norm_max"


def test_pitman_morgan_is_the_correlation_of_sum_and_difference():
    for n in (3, 20, 50):
        a, b = rng.normal(size=(2, n)) * [[1.0], [1.5]]
        a += b
        assert pitman_morgan(a, b) == pytest.approx(stats.pearsonr(a + b, a - b).pvalue)
    assert pitman_morgan(a, b) == pytest.approx(pitman_morgan(b, a))
    # Nobody can tell the spreads of sides that vary by less than the metric resolves.
    assert pitman_morgan(np.zeros(20), 1e-6 * rng.normal(size=20)) < 1e-6
    assert pitman_morgan(np.zeros(20), 1e-6 * rng.normal(size=20), 1e-3) == pytest.approx(1.0)
    assert math.isnan(pitman_morgan(np.zeros(20), np.zeros(20)))


def test_the_interval_of_a_spread_is_that_of_chi_square():
    low, high = spread_interval(1.0, 5)
    assert (low, high) == pytest.approx((0.599, 2.874), abs=1e-3)
    assert (low, high) == pytest.approx(tuple(1 / np.sqrt(stats.chi2.ppf([0.975, 0.025], 4) / 4)))


@pytest.mark.parametrize(
    ("n", "verdict", "words"),
    [
        (19, "inconclusive", "comparing spreads takes 20 seeds, and these are 19"),
        (20, "supported", "(Pitman–Morgan)"),
    ],
)
def test_spreads_are_compared_from_twenty_seeds_on(n, verdict, words):
    close, wide = values(n, spread=0.001)["baseline"], values(n, spread=0.05)["baseline"]
    row = judged(study({"baseline": wide, "a": close}, claims=[claim("beats", metric="seed_spread")]))
    assert (row["verdict"], row["n"]) == (verdict, n)
    assert words in row["reason"]
    assert row["diff"] == pytest.approx(wide.std(ddof=1) - close.std(ddof=1))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"statuses": {("a", 3): "diverged"}}, "unstable: runs diverged"),
        ({"statuses": {("a", 3): "failed"}}, "incomplete: 19 of 20 planned seeds"),
        ({"outcome": "all_or_nothing"}, "see solved_rate"),
        ({"by": 0.1}, "not by how much"),
        ({"kind": "matches", "by": 0.1}, "not by how much"),
    ],
)
def test_what_leaves_a_spread_open(changes, words):
    about = claim(changes.pop("kind", "beats"), by=changes.pop("by", 0.0), metric="seed_spread")
    row = judged(study(values(20, "a"), claims=[about], **changes))
    assert row["verdict"] == ("incomplete" if words.startswith("incomplete") else "inconclusive")
    assert words in row["reason"]


@pytest.mark.parametrize(("value", "words"), [(1.0, "saturated"), (0.5, "degenerate")])
def test_spreads_that_cannot_be_seen(value, words):
    same = {"baseline": np.full(20, value), "a": np.full(20, value)}
    same["a"][0] = 0.999 if value == 1.0 else value
    row = judged(study(same, claims=[claim("beats", metric="seed_spread")]))
    assert (row["verdict"], row["reason"].partition(":")[0]) == ("inconclusive", words)


class Seen:
    """The grid of a variant that never was, as `derived.Seen`."""

    def __init__(self, losses: np.ndarray) -> None:
        self.stressed = losses


def test_tests_of_steadiness_keep_their_level_where_nothing_differs():
    """False positives at .05 within the binomial 99 % band; of rates, whose test is exact, at most at its edge."""
    studies, n, draw = 1000, 20, np.random.default_rng(11)
    low, high = stats.binom.ppf([0.005, 0.995], studies, 0.05) / studies
    assert (low, high) == pytest.approx((0.033, 0.069), abs=1e-3)
    sensitivity = DERIVED["lr_sensitivity"].by_seed
    found = {"lr_sensitivity": 0, "seed_spread": 0, "rate": 0}
    for _ in range(studies):
        block = draw.normal(size=n)
        a, b = block + draw.normal(size=(2, n))
        found["seed_spread"] += pitman_morgan(a, b) <= 0.05
        grids = block[:, None] + draw.normal(size=(2, n, len(RATES)))
        found["lr_sensitivity"] += (
            Differences.between(*(sensitivity(Seen(grid)) for grid in grids)).p() <= 0.05
        )
        lost_a, lost_b = draw.random((2, n)) < 0.15
        found["rate"] += rate_p(int((lost_a & ~lost_b).sum()), int((lost_b & ~lost_a).sum()), n) <= 0.05
    shares = {metric: count / studies for metric, count in found.items()}
    assert low <= shares["seed_spread"] <= high, shares
    assert low <= shares["lr_sensitivity"] <= high, shares
    assert shares["rate"] <= high, shares
