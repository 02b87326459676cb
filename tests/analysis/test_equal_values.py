"""How often two runs have the same number by chance, and the standard deviation within groups."""

import numpy as np
import pytest

from ablate.analysis.equal_values import chance_of_equal, pooled_sd


def test_the_standard_deviation_is_that_about_the_means_of_groups():
    values = np.array([1.0, 3.0, 10.0, 14.0, 5.0])
    assert pooled_sd(values, np.array([0, 0, 1, 1, 2])) == pytest.approx(np.sqrt((2 + 8) / 2))


def test_equal_values_and_single_ones_have_none():
    groups = np.repeat([0, 1, 2], 5)
    assert pooled_sd(np.repeat([0.81, 0.1, 0.7], 5), groups) == 0
    assert pooled_sd(np.array([0.3, 0.4]), np.array([0, 1])) == 0


@pytest.mark.parametrize("apart", [0.0, 1.5])
def test_rounded_normal_values_are_equal_as_often_as_is_said(apart):
    rng = np.random.default_rng(0)
    step = 0.1
    first = np.rint(rng.normal(0, 1, 200_000) / step)
    second = np.rint(rng.normal(apart, 1, 200_000) / step)
    assert np.mean(first == second) == pytest.approx(float(chance_of_equal(step, 1.0, apart)), rel=0.05)
