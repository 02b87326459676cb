"""The verdicts' own error rates, by simulation with fixed seeds, beside those of the rules that they replaced."""

from __future__ import annotations

import numpy as np
import pytest
from calibration.judging import BOUNDED, verdicts
from calibration.simulations import Diverging, Mixture, band, family, size_of_rates
from made_evidence import study
from scipy import stats

from ablate.analysis.compare import compare
from ablate.analysis.estimates import rate_p, rate_p_beyond
from ablate.analysis.paired import Differences
from ablate.core.metric import Metric

PLAIN = {"accuracy": Metric("max", 0.001)}
NAMES = ["baseline", "a", "b", "c"]


def test_simulated_studies_are_judged_as_comparisons_are():
    """Those of the calibration, which makes no frames: normal ones, mixtures, and some of whose runs diverged."""
    draw, seen = np.random.default_rng(0), set()
    d = family(draw, 6, [0.0, 1.0, -1.0], 20, 0.5)
    for values in d:
        frame = compare(
            study(dict(zip(NAMES, [np.zeros(20), *values], strict=True)), metrics=PLAIN, margin=1.0)
        )
        said = verdicts(values, np.zeros_like(values), m=3, margin=1.0)
        assert frame["verdict"].tolist() == said.tolist()
        seen.update(said)
    for margin, failing, n in ((0.02, 0.1, 10), (0.3, 0.05, 40), (0.3, 0.3, 20)):
        made = Mixture.of(draw, 12, n, failing)
        for a, b, said in zip(made.a, made.b, mixtures(made, margin), strict=True):
            row = compare(study({"baseline": b, "a": a}, margin=margin, outcome="all_or_nothing")).iloc[0]
            assert row["verdict"] == said
    made = Diverging.worst(draw, 12, 20, share=0.4)
    for i, said in enumerate(verdicts(made.a, made.b, metric=BOUNDED, lost=made.lost)):
        lost = {("a", int(seed)): "diverged" for seed in np.flatnonzero(made.lost[0][i])}
        assert compare(study({"baseline": made.b[i], "a": made.a[i]}, statuses=lost))["verdict"][0] == said
        seen.add(said)
    assert seen == {"equivalent", "better", "worse", "inconclusive"}


def mixtures(made, margin):
    """The verdict of each study on an all-or-nothing task."""
    return verdicts(made.a, made.b, margin=margin, metric=BOUNDED, outcome="all_or_nothing")


@pytest.mark.parametrize("n", [5, 20])
def test_a_variant_that_fails_one_time_in_ten_is_not_called_equivalent(n):
    # The true difference is −.044, more than twice the margin.
    made = Mixture.of(np.random.default_rng(7), 1000, n, failing=0.1)
    assert (made.a - made.b).mean() == pytest.approx(-0.044, abs=0.004)
    assert (mixtures(made, 0.02) == "equivalent").mean() <= 0.05


@pytest.mark.parametrize("shift", [0.0, 0.07])
def test_nor_one_at_the_margin(shift):
    # Failures and a shift of the runs that succeed make a true difference of exactly the margin.
    margin, n = 0.15, 80
    made = Mixture.of(np.random.default_rng(8), 600, n, (margin - shift) / (0.44 - shift), shift)
    assert (made.a - made.b).mean() == pytest.approx(-margin, abs=0.005)
    assert (mixtures(made, margin) == "equivalent").mean() <= 0.05


@pytest.mark.parametrize("n", [3, 8, 20])
def test_divergence_makes_nothing_better_and_seldom_anything_else(n):
    made = Diverging.worst(np.random.default_rng(11), 1500, n)
    assert (verdicts(made.a, made.b, metric=BOUNDED, lost=made.lost) == "better").mean() <= 0.04
    made = Diverging.alike(np.random.default_rng(12), 1500, n, 0.2, spread=0.05)
    decided = verdicts(made.a, made.b, metric=BOUNDED, lost=made.lost) != "inconclusive"
    assert decided.mean() <= band(1500, 0.051)[1]


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
        assert (stats.ttest_1samp(away[0] - away[1], 0, axis=1).pvalue <= 0.05).mean() <= 0.06


@pytest.mark.parametrize("n", range(3, 21))
def test_size_of_the_rate_test_whatever_the_failure_rate(n):
    assert size_of_rates(n, lambda b, c: rate_p(b, c, n)) <= 0.05


def test_tests_that_the_rate_test_replaces():
    def t(b: int, c: int) -> float:
        d = np.repeat([0.9, -0.9, 0.0], [b, c, 8 - b - c])
        one = Differences.between(d, np.zeros(8), 0.001)
        return 2 * min(one.above(0.0), one.below(0.0))

    def mcnemar(b: int, c: int) -> float:
        return stats.binomtest(b, b + c).pvalue if b + c else 1.0

    # The t test of all-or-nothing runs errs too often; McNemar's cannot act below six seeds.
    assert size_of_rates(8, t) > 0.055
    assert size_of_rates(5, mcnemar) == 0.0
    assert size_of_rates(5, lambda b, c: rate_p(b, c, 5)) > 0.02
