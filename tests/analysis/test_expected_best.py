from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ablate.analysis.expected_best import best_so_far, expected_best, with_failures

VALUES = st.lists(st.integers(-20, 20).map(float), min_size=1, max_size=6)


@given(VALUES)
def test_without_replacement_it_is_the_mean_over_all_subsets(values: list[float]) -> None:
    found = expected_best(values)
    for n in range(1, len(values) + 1):
        best = [max(subset) for subset in itertools.combinations(values, n)]
        assert found.mean[n - 1] == pytest.approx(np.mean(best))


@given(VALUES.filter(lambda values: len(values) <= 5))
def test_with_replacement_it_is_the_mean_over_all_draws(values: list[float]) -> None:
    found = expected_best(values, replacement=True)
    for n in range(1, len(values) + 1):
        best = [max(draws) for draws in itertools.product(values, repeat=n)]
        assert found.mean[n - 1] == pytest.approx(np.mean(best))
        assert found.sd[n - 1] == pytest.approx(np.std(best), abs=1e-9)
        assert expected_best(values).sd[n - 1] == pytest.approx(np.std(best), abs=1e-9)


@pytest.mark.parametrize(("replacement", "biased"), [(False, False), (True, True)])
def test_only_the_default_is_right_on_average(replacement: bool, biased: bool) -> None:
    """Ten settings whose values are uniform: the best of n is n / (n + 1)."""
    rng = np.random.default_rng(0)
    means = np.array([expected_best(rng.random(10), replacement=replacement).mean for _ in range(4000)])
    n = np.arange(1, 11)
    error = means.mean(axis=0) - n / (n + 1)
    noise = means.std(axis=0) / np.sqrt(len(means))
    if biased:
        assert error[-1] < -20 * noise[-1]
        assert (error[1:] < 0).all()
    else:
        assert (np.abs(error) < 4 * noise).all()


@given(VALUES)
def test_more_settings_are_never_expected_to_find_less(values: list[float]) -> None:
    found = expected_best(values)
    assert found.mean[0] == pytest.approx(np.mean(values))
    assert found.mean[-1] == pytest.approx(max(values))
    assert (np.diff(found.mean) >= -1e-9).all()
    assert (expected_best(values, replacement=True).mean <= found.mean + 1e-9).all()


def test_many_settings_are_no_problem() -> None:
    values = np.random.default_rng(1).normal(size=500)
    found = expected_best(values)
    assert np.isfinite(found.mean).all()
    assert found.mean[-1] == pytest.approx(values.max())
    draws = np.random.default_rng(2).permuted(np.tile(values, (4000, 1)), axis=1)[:, :20].max(axis=1)
    assert found.mean[19] == pytest.approx(draws.mean(), abs=4 * draws.std() / np.sqrt(len(draws)))


def test_the_order_counts_only_for_what_was_found() -> None:
    assert best_so_far([0.2, 0.1, 0.5, 0.4]).tolist() == [0.2, 0.2, 0.5, 0.5]
    np.testing.assert_array_equal(expected_best([0.1, 0.5]).mean, expected_best([0.5, 0.1]).mean)


def test_a_failure_is_a_draw_that_found_nothing_better() -> None:
    values = with_failures([0.9, np.nan, 0.8], 0.1)
    assert values.tolist() == [0.9, 0.1, 0.8]
    assert (expected_best(values).mean[:2] < expected_best([0.9, 0.8]).mean).all()
    assert best_so_far(with_failures([np.nan, 0.5, np.nan], 0.1)).tolist() == [0.1, 0.5, 0.5]
