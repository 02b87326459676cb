from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from made_evidence import study
from scipy import stats

from ablate.analysis.compare import compare
from ablate.analysis.rates import (
    clopper_pearson,
    detectable_failure_rate,
    rate,
    rate_p,
    rate_p_equivalent,
)

THETAS = np.arange(1, 251) / 1000


def by_enumeration(b: int, c: int, n: int) -> float:
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


@pytest.mark.parametrize("n", [1, 2, 3, 5, 8])
def test_the_rate_test_is_its_definition(n):
    for b in range(n + 1):
        for c in range(n + 1 - b):
            assert rate_p(b, c, n) == pytest.approx(min(1.0, by_enumeration(b, c, n)), rel=1e-9)


def test_equal_counts_tell_nothing():
    assert rate_p(0, 0, 5) == rate_p(2, 2, 5) == rate_p(0, 0, 0) == 1.0


def test_equivalence_of_rates_is_two_exact_binomial_tests():
    for only_a, only_b, n, most in ((0, 0, 8, 0.2), (1, 3, 20, 0.3), (2, 0, 5, 0.1)):
        tails = [stats.binomtest(x, n, most, alternative="less").pvalue for x in (only_a, only_b)]
        assert rate_p_equivalent(only_a, only_b, n, most) == pytest.approx(max(tails))
    # The number of seeds that one comparison without a failure takes.
    needed = math.ceil(math.log(0.05) / math.log(1 - 0.1))
    assert rate_p_equivalent(0, 0, needed, 0.1) <= 0.05 < rate_p_equivalent(0, 0, needed - 1, 0.1)


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


@pytest.mark.parametrize(
    ("count", "total", "bounds"),
    [(0, 5, (0, 0.52)), (0, 8, (0, 0.37)), (0, 20, (0, 0.17)), (5, 5, (0.48, 1))],
)
def test_bounds_of_a_rate(count, total, bounds):
    assert clopper_pearson(count, total) == pytest.approx(bounds, abs=0.005)


def test_bounds_are_those_of_the_binomial_tails():
    low, high = clopper_pearson(2, 5)
    tail = [math.comb(5, k) for k in range(6)]
    assert sum(tail[k] * low**k * (1 - low) ** (5 - k) for k in range(2, 6)) == pytest.approx(0.025)
    assert sum(tail[k] * high**k * (1 - high) ** (5 - k) for k in range(3)) == pytest.approx(0.025)
    assert all(math.isnan(bound) for bound in clopper_pearson(0, 0))


def test_a_diverged_run_is_counted_and_a_failed_one_is_not():
    statuses = {("a", 0): "diverged", ("a", 1): "failed", ("a", 2): "pruned"}
    row = compare(study({"baseline": [0.9] * 5, "a": [0.9] * 5}, statuses=statuses)).iloc[0]
    assert (row["diverged"], row["baseline_diverged"], row["missing"]) == (1, 0, 2)


def test_wording():
    assert rate(0, 5) == "0 of 5 runs (rate 0, 95 % interval [0, .52])"
    assert rate(2, 5) == "2 of 5 runs (rate .4, 95 % interval [.05, .85])"
    assert rate(0, 0) == "no runs"
