"""The level of a stream of tries, against reference values."""

import pytest

from ablate.analysis.level_of_tries import Confirmed, LevelLeft, kept_of_wave, order_of_wave


def test_without_a_keep_the_levels_add_up_to_the_total():
    left = LevelLeft()
    assert left.next_level == pytest.approx(0.01749961, abs=5e-9)
    assert left.after(7).next_level == pytest.approx(0.01749961 * 8**-1.6, abs=5e-9)
    assert (left.budget, left.to_come) == (0.04, 0.04)
    assert left.after(10_000).to_come == pytest.approx(0.04 / 2.2857656 * 10_000**-0.6 / 0.6, rel=1e-3)


@pytest.mark.parametrize(
    ("place", "budget", "level"), [(3, 0.01672768, 0.00731819), (12, 0.00673484, 0.00294643)]
)
def test_what_returns_after_a_keep_is_that_of_the_reference(place, budget, level):
    left = LevelLeft().after(place).after_keep(place)
    assert (left.budget, left.next_level) == (pytest.approx(budget, abs=5e-9), pytest.approx(level, abs=5e-9))
    assert left.confirmations == 0


@pytest.mark.parametrize(
    ("num_confirmations", "place", "budget", "last_digit"),
    [(4, 4, 0.01371026559, 1e-11), (4, 2, 0.01757869650, 1e-11), (10, 7, 0.007890042785, 1e-12)],
)
def test_what_is_left_after_a_wave_is_that_of_the_reference(num_confirmations, place, budget, last_digit):
    left = LevelLeft().after(num_confirmations).after_keep(place)
    assert left.budget == pytest.approx(budget, abs=last_digit / 2)


def test_a_keep_at_the_first_confirmation_costs_nothing():
    assert LevelLeft().after().after_keep(1) == LevelLeft()


def test_of_a_wave_the_largest_gain_that_passes_is_kept():
    assert order_of_wave([0.2, 0.01, 0.2, 0.1]) == [1, 3, 0, 2]
    small = Confirmed(gain=1.0, p=0.001, level=0.01)
    large = Confirmed(gain=2.0, p=0.002, level=0.003)
    failed = Confirmed(gain=9.0, p=0.002, level=0.001)
    assert kept_of_wave([small, failed, large]) == 2
    assert kept_of_wave([failed]) is None
