import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ablate.base import wording

FINITE = st.floats(allow_nan=False, allow_infinity=False, width=32)


@pytest.mark.parametrize(
    ("value", "half", "text"),
    [
        *((0.0213, 0.01, "+0.021"), (-0.0213, 0.03, "−0.021"), (-0.00001, 0.03, "0.000"), (0.00001, 0.006, "0.0000")),
        *((9.87654, 4.3, "+9.9"), (-120.4, 232.0, "−120"), (0.0, 0.0, "0.000"), (math.nan, math.nan, "unknown")),
    ],
)  # fmt: skip
def test_a_difference_has_two_digits_of_half_its_interval_and_a_sign(value, half, text):
    assert wording.plus(value, wording.decimals(half)) == text


@pytest.mark.parametrize(
    ("p", "text"),
    [(0.0004, "<0.001"), (0.0312, "0.031"), (0.04996, "0.04996"), (0.05004, "0.05004"), (1.0, "1.000")],
)
def test_p_tells_its_side_of_the_level(p, text):
    assert wording.p_value(p) == text


@given(FINITE, st.integers(0, wording.MAX_DECIMALS))
def test_a_number_keeps_the_zero_before_its_point_and_its_value(value, places):
    shown = [wording.number(value, places), wording.plus(value, places), wording.exact(value)]
    shown += [wording.significant(value), wording.brief(value), wording.p_value(min(1.0, abs(value)))]
    for text in shown:
        assert not re.search(r"(^|\D)\.\d", text)
    assert "-" not in "".join(shown).replace("e-", "")
    assert float(shown[0].replace(wording.MINUS, "-")) == pytest.approx(value, abs=0.51 * 10.0**-places)


def test_a_choice_has_all_its_digits():
    assert [wording.exact(value) for value in (0.02, -0.5, 0.0, 3.0)] == ["0.02", "−0.5", "0", "3"]
    assert wording.number(-0.0004, 3) == "0.000"


def test_lists():
    assert wording.joined(["a"]) == "a"
    assert wording.joined(["a", "b", "c"]) == "a, b and c"
    assert (wording.counted(1, "seed"), wording.counted(2, "seed")) == ("1 seed", "2 seeds")
    assert wording.number(math.inf, 2) == "∞"
