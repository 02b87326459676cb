import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ablate.features.search.budgets import expected_best

VALUES = st.lists(st.integers(-20, 20).map(float), min_size=1, max_size=6)


@given(VALUES)
def test_without_replacement_it_is_the_mean_over_all_subsets(values):
    mean, _ = expected_best(values)
    for n in range(1, len(values) + 1):
        best = [max(subset) for subset in itertools.combinations(values, n)]
        assert mean[n - 1] == pytest.approx(np.mean(best))


@given(VALUES.filter(lambda values: len(values) <= 5))
def test_the_spread_is_that_over_all_draws_with_replacement(values):
    _, sd = expected_best(values)
    for n in range(1, len(values) + 1):
        best = [max(draws) for draws in itertools.product(values, repeat=n)]
        assert sd[n - 1] == pytest.approx(np.std(best), abs=1e-9)


@given(VALUES)
def test_more_settings_are_never_expected_to_find_less(values):
    mean, _ = expected_best(values)
    assert mean[0] == pytest.approx(np.mean(values))
    assert mean[-1] == pytest.approx(max(values))
    assert (np.diff(mean) >= -1e-9).all()
    np.testing.assert_array_equal(mean, expected_best(values[::-1])[0])


def test_many_settings_are_no_problem():
    values = np.random.default_rng(1).normal(size=500)
    mean, _ = expected_best(values)
    assert np.isfinite(mean).all()
    assert mean[-1] == pytest.approx(values.max())
    draws = np.random.default_rng(2).permuted(np.tile(values, (4000, 1)), axis=1)[:, :20].max(axis=1)
    assert mean[19] == pytest.approx(draws.mean(), abs=4 * draws.std() / np.sqrt(len(draws)))
