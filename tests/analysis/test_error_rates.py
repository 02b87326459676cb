"""The verdicts' own error rates, by simulation with fixed seeds, beside those of the rules that they replaced."""

from __future__ import annotations

import math

import numpy as np
import pytest
from calibration.judging import BOUNDED, verdicts
from calibration.simulations import (
    Diverging,
    Mixture,
    falsely_rejected,
    family,
    p_alike,
    p_rates,
    p_two_sided,
    size_of_rates,
    upper_edge,
)
from made_evidence import ACCURACY, study
from scipy import stats

from ablate.analysis.compare import compare
from ablate.analysis.estimates import rate_p, rate_p_beyond
from ablate.core.metric import Metric

PLAIN = {"accuracy": Metric("max", 0.001)}
WIDE = {"accuracy": Metric("max", 0.001, floor=0.1)}
NAMES = ["baseline", *(f"v{i}" for i in range(10))]


def test_simulated_families_are_judged_as_comparisons_are():
    shifts = [0.0] * 5 + [1.0, -1.0] * 2 + [1.0]
    d = family(np.random.default_rng(0), 8, shifts, 20, 0.5)
    seen = set()
    for values in d:
        frame = compare(
            study(dict(zip(NAMES, [np.zeros(20), *values], strict=True)), metrics=PLAIN, margin=1.0)
        )
        apart, alike = p_two_sided(values), p_alike(values, 1.0)
        assert frame["p"].to_numpy() == pytest.approx(apart)
        expected = np.where(alike <= 0.005, "equivalent", np.where(apart <= 0.005, "differs", "inconclusive"))
        said = frame["verdict"].replace({"better": "differs", "worse": "differs"})
        assert said.tolist() == expected.tolist()
        seen.update(expected)
    assert seen == {"equivalent", "differs", "inconclusive"}


@pytest.mark.parametrize("n", [5, 20])
@pytest.mark.parametrize("nulls", [0, 3, 7, 10])
@pytest.mark.parametrize("margin", [1.0, 4.0])
def test_joint_family_wise_error_of_both_kinds_of_null(n, nulls, margin):
    # In standard deviations of a difference; one variant in two is better, one worse.
    shifts = [0.0] * nulls + [margin * (-1) ** i for i in range(10 - nulls)]
    d = family(np.random.default_rng(2), 10_000, shifts, n, shared=0.0)
    assert falsely_rejected(d, shifts, margin).mean() <= upper_edge(10_000)


def mixtures(made, margin):
    """The verdict of each study on an all-or-nothing task."""
    return verdicts(made.a, made.b, margin=margin, metric=BOUNDED, outcome="all_or_nothing")


@pytest.mark.parametrize(("n", "before"), [(5, 0.575), (8, 0.424), (10, 0.352), (20, 0.135)])
def test_a_variant_that_fails_one_time_in_ten_is_not_called_equivalent(n, before):
    # The true difference is −.044, more than twice the margin.
    made = Mixture.of(np.random.default_rng(7), 1000, n, failing=0.1)
    assert (made.a - made.b).mean() == pytest.approx(-0.044, abs=0.004)
    assert (mixtures(made, 0.02) == "equivalent").mean() <= 0.05
    # The equivalence of the means alone, which sees no failure in most samples.
    assert (p_alike(made.a - made.b, 0.02) <= 0.05).mean() == pytest.approx(before, abs=0.05)


@pytest.mark.parametrize("shift", [0.0, 0.07])
def test_nor_one_at_the_margin(shift):
    # Failures and a shift of the runs that succeed make a true difference of exactly the margin.
    margin, n = 0.15, 80
    made = Mixture.of(np.random.default_rng(8), 600, n, (margin - shift) / (0.44 - shift), shift)
    assert (made.a - made.b).mean() == pytest.approx(-margin, abs=0.005)
    assert (mixtures(made, margin) == "equivalent").mean() <= 0.05


def test_simulated_divergence_and_mixtures_are_judged_as_comparisons_are():
    seen = set()
    for margin, failing, n in ((0.02, 0.1, 10), (0.3, 0.05, 40), (0.3, 0.3, 20)):
        made = Mixture.of(np.random.default_rng(10), 12, n, failing)
        for a, b, said, p in zip(made.a, made.b, mixtures(made, margin), p_rates(*made.solved), strict=True):
            row = compare(study({"baseline": b, "a": a}, margin=margin, outcome="all_or_nothing")).iloc[0]
            assert (row["verdict"], row["p"]) == (said, pytest.approx(p))
            seen.add(said)
    assert seen == {"equivalent", "worse", "inconclusive"}


@pytest.mark.parametrize("n", [3, 5, 8, 10, 20])
@pytest.mark.parametrize("shared", [0.0, 0.5])
def test_a_side_that_loses_its_worst_fifth_is_not_called_better(n, shared):
    made = Diverging.worst(np.random.default_rng(11), 40_000, n, shared)
    assert (made.rejected & (made.scored.mean(axis=1) > 0)).mean() <= 0.025
    # On the pairs that converged alone it would be.
    assert (made.rejected_where_converged() > 0).mean() > 0.027


@pytest.mark.parametrize("n", [5, 10, 20])
@pytest.mark.parametrize("rate", [0.1, 0.2, 0.3])
def test_identical_variants_that_diverge_seldom_get_any_verdict(n, rate):
    made = Diverging.alike(np.random.default_rng(12), 20_000, n, rate, spread=0.05)
    assert made.rejected.mean() <= upper_edge(20_000, 0.051)


def test_simulated_divergence_is_judged_as_comparisons_are():
    seen = set()
    for n in (8, 20):
        made = Diverging.worst(np.random.default_rng(13), 12, n, share=0.4)
        for i, (a, b) in enumerate(zip(made.a, made.b, strict=True)):
            lost = {("a", int(seed)): "diverged" for seed in np.flatnonzero(made.lost[0][i])}
            row = compare(study({"baseline": b, "a": a}, metrics=WIDE, statuses=lost)).iloc[0]
            assert row["diff"] == pytest.approx(made.scored[i].mean())
            worse = made.rejected[i] and made.scored[i].mean() < 0
            assert (row["verdict"], row["reason"].partition(" ")[0]) == (
                ("worse", "") if worse else ("inconclusive", "unstable")
            )
            seen.add(row["verdict"])
    assert seen == {"worse", "inconclusive"}


@pytest.mark.parametrize("n", [5, 10, 20])
@pytest.mark.parametrize("x", [0.1, 0.3])
def test_size_of_a_rate_that_is_more_than_a_margin(n, x):
    """At a true difference of x in the share of solved seeds, whatever share both fail alone."""
    worst = 0.0
    for theta in np.linspace(0, min(0.25, (1 - x) / 2), 26):
        wrong = [
            stats.multinomial.pmf([b, c, n - b - c], n, [theta + x, theta, max(0.0, 1 - 2 * theta - x)])
            for b in range(n + 1)
            for c in range(n + 1 - b)
            if rate_p_beyond(b, c, n, x) <= 0.025
        ]
        worst = max(worst, float(np.sum(wrong)))
    assert worst <= 0.0251


@pytest.mark.parametrize("shape", ["normal", "t3", "exponential"])
def test_size_of_the_test_of_spreads(shape):
    draw = np.random.default_rng(15)
    draws = {
        "normal": draw.normal,
        "t3": lambda size: draw.standard_t(3, size),
        "exponential": draw.exponential,
    }
    for n in (6, 10, 20):
        x = draws[shape](size=(2, 4000, n))
        away = np.abs(x - np.median(x, axis=2, keepdims=True))
        assert (p_two_sided(away[0] - away[1]) <= 0.05).mean() <= 0.06


@pytest.mark.parametrize("n", range(3, 21))
def test_size_of_the_rate_test_whatever_the_failure_rate(n):
    assert size_of_rates(n, lambda b, c: rate_p(b, c, n)) <= 0.05


def test_tests_that_the_rate_test_replaces():
    def t(b: int, c: int) -> float:
        return float(p_two_sided(0.9 * np.repeat([1.0, -1.0, 0.0], [b, c, 8 - b - c])))

    def mcnemar(b: int, c: int) -> float:
        return stats.binomtest(b, b + c).pvalue if b + c else 1.0

    # The t test of all-or-nothing runs errs too often; McNemar's cannot act below six seeds.
    assert size_of_rates(8, t) > 0.055
    assert size_of_rates(5, mcnemar) == 0.0
    assert size_of_rates(5, lambda b, c: rate_p(b, c, 5)) > 0.02


@pytest.mark.parametrize("spread", [0.0, 0.5, 5.0])
def test_size_where_failures_share_their_seeds(spread):
    # A seed's chance of success varies between seeds: by a beta distribution whose mean is .8.
    rng, n = np.random.default_rng(14), 10
    chance = rng.beta(0.8 / spread, 0.2 / spread, (40_000, n)) if spread else np.full((40_000, n), 0.8)
    sides = rng.random((2, *chance.shape)) < chance
    assert (p_rates(*sides) <= 0.05).mean() <= upper_edge(40_000)


def test_the_accuracy_that_is_simulated_is_that_of_made_studies():
    assert (ACCURACY.floor, ACCURACY.resolution, ACCURACY.solved) == (0.1, 0.001, 0.9)
    assert math.isclose(upper_edge(10_000), 0.0557, abs_tol=1e-4)
