"""A metric that chooses the step is not the judged one, whatever it is called and in whatever units."""

import numpy as np
import pytest

from ablate.analysis.guides import chooses_same_steps

RNG = np.random.default_rng(0)
TEST = 0.8 + 0.02 * RNG.normal(size=30)
VALIDATION = TEST + 0.001 * RNG.normal(size=30)


@pytest.mark.parametrize(
    ("guide", "is_same"),
    [
        (TEST, True),
        (100 * TEST, True),
        (1 - TEST, True),
        (np.float64(np.float32(TEST)), True),
        (np.round(TEST, 3), True),
        (np.exp(-TEST), True),
        (VALIDATION, False),
        (np.where(np.arange(30) == 7, TEST + 0.01, TEST), False),
    ],
)
def test_equal_values_and_values_in_other_units_are_one_number(guide, is_same):
    assert chooses_same_steps(guide, TEST) is is_same


def test_values_that_do_not_change_and_two_points_of_a_line_tell_nothing():
    assert not chooses_same_steps(np.ones(9), np.ones(9))
    assert not chooses_same_steps(np.array([]), np.array([]))
    assert not chooses_same_steps(np.array([0.1, 0.2, 0.1]), np.array([0.5, 0.9, 0.5]))
    assert chooses_same_steps(np.array([0.5, 0.9, 0.5]), np.array([0.5, 0.9, 0.5]))


def test_curves_that_only_rise_have_one_order_by_themselves():
    steps = np.arange(1.0, 60.0)
    assert not chooses_same_steps(np.log(steps), steps / (steps + 3))
    several = np.concatenate([np.log(steps), np.log(steps) + 0.01])
    assert not chooses_same_steps(several, np.tile(steps / (steps + 3), 2))
