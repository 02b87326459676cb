from __future__ import annotations

import math

import numpy as np
import pytest
from made_evidence import study
from scipy import stats

from ablate.analysis.pairing import COLUMNS, pairing, summary
from ablate.core.evidence import Evidence


def made(a: list[float] | np.ndarray, b: list[float] | np.ndarray) -> Evidence:
    return study({"baseline": np.asarray(b, float), "a": np.asarray(a, float)})


def test_the_correlation_and_its_interval_are_those_of_scipy() -> None:
    rng = np.random.default_rng(3)
    b = 0.8 + rng.normal(0, 0.05, 12)
    a = b + rng.normal(0, 0.03, 12)
    row = pairing(made(a, b)).iloc[0]
    expected = stats.pearsonr(a, b)
    interval = expected.confidence_interval()
    assert row["correlation"] == pytest.approx(expected.statistic)
    assert (row["correlation_low"], row["correlation_high"]) == pytest.approx((interval.low, interval.high))
    assert row["words"].startswith("as precise as about ")


def test_unpaired_seeds_give_the_standard_error_of_the_pairs() -> None:
    rng = np.random.default_rng(4)
    b = 0.8 + rng.normal(0, 0.05, 9)
    a = 0.7 * b + rng.normal(0, 0.02, 9)
    row = pairing(made(a, b)).iloc[0]
    standard_error = stats.sem(a - b)
    unpaired = math.sqrt((a.var(ddof=1) + b.var(ddof=1)) / row["unpaired_seeds"])
    assert unpaired == pytest.approx(standard_error)


def test_with_equal_variances_the_factor_is_one_over_one_minus_rho() -> None:
    b = np.array([0.5, 0.6, 0.7, 0.8])
    a = np.array([0.6, 0.5, 0.8, 0.7])
    row = pairing(made(a, b)).iloc[0]
    assert row["correlation"] == pytest.approx(0.6)
    assert row["unpaired_seeds"] == pytest.approx(4 / (1 - 0.6))


def test_a_negative_correlation_is_said_to_cost() -> None:
    row = pairing(made([0.9, 0.8, 0.7, 0.6, 0.5], [0.5, 0.61, 0.69, 0.8, 0.9])).iloc[0]
    assert row["correlation"] < -0.9
    assert row["unpaired_seeds"] < 5
    assert "negative, and pairing cost precision" in row["words"]
    assert "told from 0" not in row["words"]


def test_where_one_side_does_not_vary_there_is_no_correlation() -> None:
    table = pairing(made([1.0, 1.0, 1.0, 1.0], [0.9, 0.95, 0.92, 0.97]))
    row = table.iloc[0]
    assert math.isnan(row["correlation"])
    assert row["unpaired_seeds"] == pytest.approx(4)
    assert row["words"] == "no correlation, one side does not vary: pairing neither saved nor cost seeds"
    assert "narrowed 0 of 1 intervals." in summary(table)


def test_differences_below_the_resolution_tell_nothing() -> None:
    table = pairing(made([0.6, 0.7, 0.8], [0.5, 0.6, 0.7]))
    assert math.isnan(table.iloc[0]["unpaired_seeds"])
    assert "less than the metric resolves" in table.iloc[0]["words"]
    assert "is unknown" in summary(table)


def test_few_pairs() -> None:
    two = pairing(made([0.6, 0.9], [0.5, 0.6])).iloc[0]
    assert math.isnan(two["correlation"])
    assert "two pairs are too few to show a correlation" in two["words"]
    one = pairing(made([0.6, math.nan], [0.5, 0.6])).iloc[0]
    assert (one["n"], one["words"]) == (1, "1 pair: nothing to compare")
    none = pairing(study({"baseline": [0.5]}))
    assert list(none.columns) == list(COLUMNS)
    assert none.empty


def test_the_order_of_the_seeds_does_not_matter() -> None:
    rng = np.random.default_rng(5)
    b = rng.uniform(0.5, 0.9, 7)
    a = rng.uniform(0.5, 0.9, 7)
    order = rng.permutation(7)
    first, second = pairing(made(a, b)), pairing(made(a[order], b[order]))
    assert first.equals(second)
