import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ablate.analysis.budgets import expected_best

VALUES = st.lists(st.integers(-20, 20).map(float), min_size=1, max_size=6)


@given(VALUES)
def test_it_is_the_mean_over_all_subsets(values):
    for n in range(1, len(values) + 1):
        best = [max(subset) for subset in itertools.combinations(values, n)]
        assert expected_best(values, n) == pytest.approx(np.mean(best))
        assert expected_best(values[::-1], n) == expected_best(values, n)


def test_many_settings_are_no_problem():
    values = np.random.default_rng(1).normal(size=5000)
    assert expected_best(values, 5000) == pytest.approx(values.max())
    draws = np.random.default_rng(2).permuted(np.tile(values, (400, 1)), axis=1)[:, :20].max(axis=1)
    assert expected_best(values, 20) == pytest.approx(draws.mean(), abs=4 * draws.std() / np.sqrt(len(draws)))
