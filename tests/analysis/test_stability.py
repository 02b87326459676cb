from __future__ import annotations

import math

import pytest
from made_evidence import study

from ablate.analysis.compare import compare
from ablate.analysis.stability import clopper_pearson, rate


@pytest.mark.parametrize(
    ("count", "total", "bounds"), [(0, 5, (0, 0.52)), (0, 20, (0, 0.17)), (5, 5, (0.48, 1))]
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
    assert (row["diverged"], row["baseline_diverged"]) == (1, 0)
    rates = (
        "1 of 3 runs (rate .33, 95 % interval [.01, .91]) of a, 0 of 5 runs (rate 0, 95 % interval [0, .52])"
    )
    assert rates in row["note"]


def test_wording():
    assert rate(0, 5) == "0 of 5 runs (rate 0, 95 % interval [0, .52])"
    assert rate(2, 5) == "2 of 5 runs (rate .4, 95 % interval [.05, .85])"
    assert rate(0, 0) == "no runs"
