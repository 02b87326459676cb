from __future__ import annotations

import math

import pytest

from ablate.base import wording


@pytest.mark.parametrize(
    ("bounds", "text"),
    [
        ((-0.0041, 0.0209), "[−.004, .021]"),
        ((-0.52349, -0.49351), "[−.523, −.494]"),
        ((1.2345, 9.8765), "[1.2, 9.9]"),
        ((-120.0, 345.6), "[−120, 346]"),
        ((0.0, 0.0), "[.000, .000]"),
        ((-0.00604, 0.000004), "[−.0060, .0000]"),
        ((math.nan, math.nan), "[unknown, unknown]"),
    ],
)
def test_an_interval_has_two_digits_of_its_half_width(bounds, text):
    assert wording.interval(bounds) == text


def test_an_interval_is_told_from_its_threshold():
    assert wording.interval((0.0004, 0.025), 0.0) == "[.0004, .0250]"
    assert wording.interval((-0.0096, 0.0212), 0.01, -0.01) == "[−.0096, .0212]"
    assert wording.interval((0.0, 0.025), 0.0) == "[.000, .025]"


def test_signs():
    assert wording.signed(0.0213, (0.01, 0.03)) == "+.021"
    assert wording.signed(-0.0213, (-0.03, -0.01)) == "−.021"
    assert wording.signed(-0.00001, (-0.03, 0.03)) == ".000"
    assert wording.signed(0.00001, (-0.0060, 0.0061)) == ".0000"


@pytest.mark.parametrize(
    ("value", "text"), [(0.02, ".02"), (-0.015, "−.015"), (0.0, "0"), (1.5, "1.5"), (-2.0, "−2"), (0.9, ".9")]
)
def test_a_chosen_number_is_shown_as_it_was_chosen(value, text):
    assert wording.exact(value) == text


@pytest.mark.parametrize(
    ("p", "text"),
    [(0.0004, "< .001"), (0.0312, "= .031"), (0.04996, "= .04996"), (0.05004, "= .05004"), (1.0, "= 1.000")],
)
def test_p_tells_its_side_of_the_level(p, text):
    assert wording.p_value(p) == f"p {text}"


def test_lists():
    assert wording.joined(["a"]) == "a"
    assert wording.joined(["a", "b", "c"]) == "a, b and c"
    assert (wording.counted(1, "seed"), wording.counted(2, "seed")) == ("1 seed", "2 seeds")
    assert wording.number(math.inf, 2) == "∞"
