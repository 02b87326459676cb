"""The solver against every number there is."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ablate.stages.match.solver import Solver


@st.composite
def staircases(draw):
    """A quantity over 1 … n that rises or falls or stays, with numbers that have none; a start; a target."""
    rises = draw(st.lists(st.integers(0, 5), min_size=2, max_size=40))
    values, total = [], draw(st.integers(0, 20))
    for rise in rises:
        total += rise
        values.append(total)
    if draw(st.booleans()):
        values.reverse()
    holes = draw(st.sets(st.integers(1, len(values)), max_size=len(values) - 1))
    table = {n: None if n in holes else value for n, value in enumerate(values, 1)}
    start = draw(st.sampled_from([n for n, value in table.items() if value is not None]))
    return table, start, draw(st.integers(-5, total + 5))


@pytest.mark.slow
@given(staircases())
def test_whole_numbers_against_brute_force(case):
    table, start, target = case
    found = Solver(table.get, start, whole=True).closest(target)
    taken = {n: value for n, value in table.items() if value is not None}
    if len(set(taken.values())) == 1:
        assert found == ((start, target) if taken[start] == target else None)
        assert not Solver(table.get, start, whole=True).has_effect()
        return
    assert found is not None
    value, achieved = found
    assert taken[int(value)] == achieved
    assert abs(achieved - target) == min(abs(value - target) for value in taken.values())
    assert Solver(table.get, start, whole=True).has_effect()


@pytest.mark.slow
@given(
    width=st.integers(1, 300),
    slope=st.integers(-40, 40).filter(bool),
    start=st.integers(1, 800).map(lambda n: n / 100),
    target=st.integers(0, 40_000),
)
def test_floats_find_the_best_stair(width, slope, start, target):
    def quantity(x):
        return 20_000 + slope * max(1, round(x * width)) if x > 0 else None

    found = Solver(quantity, start, whole=False).closest(target)
    assert found is not None
    value, achieved = found
    assert quantity(value) == achieved
    best = min(abs(20_000 + slope * k - target) for k in range(1, 40_001))
    assert abs(achieved - target) == best


@pytest.mark.parametrize("stair", [1, 2, 13, 14, 31, 33, 375, 1_001])
def test_the_float_of_a_stair_has_the_fewest_digits(stair):
    def quantity(x):
        return 32 * math.floor(x / 0.32) if x > 0 else None

    found = Solver(quantity, 4.01, whole=False).closest(32 * stair)
    assert found is not None
    assert found[1] == 32 * stair
    decimals = next(
        d
        for d in range(9)
        if any(math.floor(k / 10**d / 0.32) == stair for k in range(int(0.32 * (stair + 1) * 10**d) + 1))
    )
    assert found[0] == round(found[0], decimals)


def test_what_fits_as_it_is_stays_where_nothing_is_nearer():
    assert Solver(lambda x: 10 * round(x), 3.7, whole=False).closest(42) == (3.7, 40)


def test_numbers_that_have_no_quantity_are_stepped_over():
    # Heads of 48: no number between two multiples has a quantity.
    def quantity(n):
        return n * n if n > 0 and n % 48 == 0 else None

    assert Solver(quantity, 96, whole=True).closest(200_000) == (432, 432 * 432)
    assert Solver(quantity, 96, whole=True).closest(1) == (48, 48 * 48)


def test_a_wall_above_is_reached():
    tried = []

    def quantity(n):
        tried.append(n)
        return 7 * n if 1 <= n <= 5_000 else None

    assert Solver(quantity, 3, whole=True).closest(1_000_000) == (5_000, 35_000)
    assert len(tried) < 1_000


@pytest.mark.parametrize("start", [0, 1, 1_000])
@pytest.mark.parametrize("whole", [True, False])
def test_no_effect(start, whole):
    tried = []

    def quantity(x):
        tried.append(x)
        return 5 if x >= 0 else None

    assert Solver(quantity, start, whole=whole).closest(6) is None
    assert not Solver(quantity, start, whole=whole).has_effect()
    assert len(tried) < 2_000


def test_few_evaluations():
    for whole in (True, False):
        tried = []

        def quantity(x, tried=tried):
            tried.append(x)
            return 1000 + 65 * round(x * (1 if x > 100 else 32)) if x > 0 else None

        Solver(quantity, 128 if whole else 4.0, whole=whole).closest(25_000)
        assert len(tried) < 60
