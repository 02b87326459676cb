import math

import pytest

from ablate.base import wording


@pytest.mark.parametrize(
    ("value", "half", "text"),
    [
        *((0.0213, 0.01, "+.021"), (-0.0213, 0.03, "−.021"), (-0.00001, 0.03, ".000"), (0.00001, 0.006, ".0000")),
        *((9.87654, 4.3, "+9.9"), (-120.4, 232.0, "−120"), (0.0, 0.0, ".000"), (math.nan, math.nan, "unknown")),
    ],
)  # fmt: skip
def test_a_difference_has_two_digits_of_half_its_interval_and_a_sign(value, half, text):
    assert wording.plus(value, wording.decimals(half)) == text


@pytest.mark.parametrize(
    ("p", "text"),
    [(0.0004, "<.001"), (0.0312, ".031"), (0.04996, ".04996"), (0.05004, ".05004"), (1.0, "1.000")],
)
def test_p_tells_its_side_of_the_level(p, text):
    assert wording.p_value(p) == text


def test_lists():
    assert wording.joined(["a"]) == "a"
    assert wording.joined(["a", "b", "c"]) == "a, b and c"
    assert (wording.counted(1, "seed"), wording.counted(2, "seed")) == ("1 seed", "2 seeds")
    assert wording.number(math.inf, 2) == "∞"
