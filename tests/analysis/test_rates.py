import math
from itertools import product

import numpy as np
import pytest
from scipy import stats

from ablate.analysis.estimates import (
    Rate,
    detectable_failure_rate,
    least_count,
    rate_p,
    rate_p_beyond,
    seeds_without_failure,
)
from ablate.analysis.paired import Differences

THETAS = np.arange(1, 251) / 1000


def by_enumeration(b, c, n):
    """The p of two rates, with every outcome looked at in turn."""
    z = abs(b - c) / math.sqrt(b + c) if b + c else 0.0
    total = np.zeros(len(THETAS))
    for x, y in product(range(n + 1), repeat=2):
        if x + y <= n and (abs(x - y) / math.sqrt(x + y) if x + y else 0.0) >= z - 1e-9:
            ways = math.comb(n, x) * math.comb(n - x, y)
            total += ways * THETAS ** (x + y) * (1 - 2 * THETAS) ** (n - x - y)
    return float(total.max())


@pytest.mark.parametrize(
    ("n", "only", "p"),
    [
        *((5, 5, 0.00195), (5, 4, 0.0215), (8, 4, 0.0520), (8, 5, 0.0176)),
        *((10, 5, 0.0244), (10, 6, 0.0086), (20, 6, 0.0127)),
    ],
)
def test_reference_values_of_the_rate_test(n, only, p):
    assert rate_p(only, 0, n) == rate_p(0, only, n) == pytest.approx(p, abs=0.6 * 10.0 ** -len(f"{p}"[2:]))


@pytest.mark.parametrize("n", [0, 1, 2, 3, 5, 8])
def test_the_rate_test_is_its_definition(n):
    for b in range(n + 1):
        for c in range(n + 1 - b):
            assert rate_p(b, c, n) == pytest.approx(min(1.0, by_enumeration(b, c, n)), rel=1e-9)


def beyond_by_enumeration(b, c, n, most):
    """The one-sided p, with every outcome looked at in turn."""

    def z(x, y):
        return (x - y) / math.sqrt(x + y) if x + y else 0.0

    theta = np.append(0.0, THETAS)
    theta = theta[2 * theta + most <= 1 + 1e-12]
    total = np.zeros(len(theta))
    for x, y in product(range(n + 1), repeat=2):
        if x + y <= n and z(x, y) >= z(b, c) - 1e-9:
            ways = math.comb(n, x) * math.comb(n - x, y)
            total += (
                ways * (theta + most) ** x * theta**y * np.maximum(1 - 2 * theta - most, 0) ** (n - x - y)
            )
    return float(total.max())


@pytest.mark.parametrize("most", [0.05, 0.2, 0.7, 1.0])
@pytest.mark.parametrize("n", [2, 5, 8])
def test_more_than_a_share_is_its_definition(n, most):
    for b in range(n + 1):
        for c in range(n + 1 - b):
            expected = min(1.0, beyond_by_enumeration(b, c, n, most))
            assert rate_p_beyond(b, c, n, most) == pytest.approx(expected, rel=1e-9)


def sides(b, c, n, d=(), same=()):
    """A rate over n seeds, of a metric with a range of 0.9."""
    made = (Differences.between(of, np.zeros(len(of)), 0.001) for of in (np.array(d), np.array(same)))
    return Rate((b, c), n, 0.9, *made)


def test_the_tests_of_a_rate_are_those_of_the_seeds_and_of_the_mean():
    same = np.array([0.01, -0.01, 0.02, 0.0, 0.01])
    d = np.append(same, [0.7, 0.7, 0.7])
    one = sides(3, 0, 8, d, same)
    assert one.above(0.0) == pytest.approx(rate_p(3, 0, 8) / 2)
    assert one.below(0.0) == 1.0
    t = stats.ttest_1samp(same, -0.2 / 2, alternative="greater").pvalue
    fails = stats.binom.cdf(0, 8, 0.2 / 1.8)
    assert one.above(-0.2) == pytest.approx(min(one.above(0.0), max(fails, t)))
    mean = stats.ttest_1samp(d, 0.2, alternative="greater").pvalue
    assert one.above(0.2) == pytest.approx(max(rate_p_beyond(3, 0, 8, 0.2 / 0.9), mean))
    mirrored = sides(0, 3, 8, -d, -same)
    for x in (-0.2, 0.0, 0.2):
        assert mirrored.below(-x) == pytest.approx(one.above(x))
        assert mirrored.above(-x) == pytest.approx(one.below(x))
    assert sides(0, 0, 8, d, same[:1]).above(-0.5) == 1.0, "one seed that both solved compares nothing"


@pytest.mark.parametrize(("margin", "alpha"), [(0.02, 0.05), (0.1, 0.005), (0.5, 0.05)])
def test_no_failure_in_so_many_seeds_is_a_match_and_in_one_less_is_not(margin, alpha):
    n = seeds_without_failure(margin, 0.9, alpha)
    one, fewer = (sides(0, 0, k, np.zeros(k), np.zeros(k)) for k in (n, n - 1))
    assert 2 * one.above(-margin) <= alpha < 2 * fewer.above(-margin)
    assert seeds_without_failure(2.0, 1.0, 0.05) == 2


@pytest.mark.parametrize(("n", "most", "less"), [(3, 1, 2), (4, 6, 7), (5, 25, 26)])
def test_no_outcome_decides_in_a_family_of_so_many(n, most, less):
    assert math.isfinite(least_count(n, 0.05 / most))
    assert math.isinf(least_count(n, 0.05 / less))


@pytest.mark.parametrize(("n", "alpha"), [(5, 0.05), (8, 0.05), (20, 0.005)])
def test_the_failure_rate_that_is_detected_has_80_percent_power(n, alpha):
    found = detectable_failure_rate(n, alpha)
    fails = np.arange(n + 1)
    rejected = np.array([rate_p(0, int(k), n) <= alpha for k in fails])
    assert (stats.binom.pmf(fails, n, found) * rejected).sum() == pytest.approx(0.8)


def test_few_seeds_tell_no_failure_rate():
    assert rate_p(0, 3, 3) == pytest.approx(0.03125)
    assert detectable_failure_rate(3) == pytest.approx(0.8 ** (1 / 3))
    assert math.isnan(detectable_failure_rate(2))
