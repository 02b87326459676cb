"""The value by which a grid of numbers goes on, on either side."""

import pytest

from ablate.analysis.next_values import keeps_sign, next_value


@pytest.mark.parametrize(
    ("numbers", "below", "above"),
    [
        ((1, 2, 3), 0, 4),
        ((0.1, 0.2, 0.3), 0, 0.4),
        ((0, 0.1, 0.2), -0.1, 0.3),
        ((4, 5, 6), 3, 7),
        ((1, 2, 4), 0.5, 8),
        ((4096, 8192, 16384), 2048, 32768),
        ((0.001, 0.01, 0.1), 0.0001, 1),
        ((0.003, 0.01, 0.03), 0.001, 0.1),
        ((0.001, 0.003, 0.01, 0.03), 0.0003, 0.1),
        ((0.01, 0.02, 0.05), 0.005, 0.1),
        ((1, 2, 5, 10), 0.5, 20),
        ((0.00316, 0.01, 0.0316), 0.001, 0.1),
        ((0.5, 0.7071, 1), 0.3536, 1.414),
        ((0.1, 0.2, 1), 0.02, 2),
        ((1, 10, 50), 0.1, None),
        ((2, 9, 100), None, 1000),
        ((-4, -2, -1), None, None),
    ],
)
def test_a_grid_goes_on_by_its_step_its_decades_or_its_ratio(numbers, below, above):
    assert next_value(numbers, "lower") == below
    assert next_value(numbers, "upper") == above


@pytest.mark.parametrize(
    ("numbers", "below", "above"),
    [
        ((0.003, 0.01, 0.03), [0.0001, 0.0003, 0.001], [0.1, 0.3, 1]),
        ((1, 2, 5, 10), [0.1, 0.2, 0.5], [20, 50, 100]),
        ((8, 16, 32), [1, 2, 4], [64, 128, 256]),
    ],
)
def test_a_grid_with_its_next_value_goes_on_by_the_same_rule(numbers, below, above):
    grid = [*numbers]
    for _ in range(3):
        grid = [next_value(grid, "lower"), *grid, next_value(grid, "upper")]
    assert grid == [*below, *numbers, *above]


@pytest.mark.parametrize(
    ("numbers", "value", "keeps"),
    [((1, 2), 0, False), ((1, 2), 0.5, True), ((0, 1), -1, False), ((0, 1), 2, True), ((-1, 1), -3, True)],
)
def test_a_value_past_zero_is_none_that_a_grid_of_positive_numbers_may_have(numbers, value, keeps):
    assert keeps_sign(numbers, value) == keeps
