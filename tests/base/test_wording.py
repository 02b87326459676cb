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
    assert "-" not in "".join(shown)
    digits = value if abs(value) < 10**wording.MAX_DIGITS else 0.0
    if digits:
        assert read(shown[0]) == pytest.approx(value, abs=0.51 * 10.0**-places)


def read(text):
    """Returns the number that a reader takes a text for."""
    for sign, ascii_sign in ((wording.MINUS, "-"), (",", ""), ("×", ""), (" ", ""), ("+", "")):
        text = text.replace(sign, ascii_sign)
    return float(text)


ORDERS = [10.0**power for power in range(-9, 16)]
MANTISSAS = (1.0, 1.04, 1.2345, 2.5, 9.4, 9.951, 9.996, 9.99996)
SUFFIXES = {"k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}


@pytest.mark.parametrize("order", ORDERS)
def test_every_number_of_a_sentence_is_read_as_it_is_over_all_orders_of_magnitude(order):
    for mantissa in MANTISSAS:
        value = mantissa * order
        for text, precision in (
            (wording.exact(value), 1e-5),
            (wording.brief(value), 6e-3),
            (wording.significant(value), 6e-2),
            (wording.times(value), 6e-2),
            (wording.number(value, wording.decimals(value / 10)), 6e-3),
            (wording.plus(-value, wording.decimals(value / 10)), 6e-3),
        ):
            assert abs(read(text)) == pytest.approx(value, rel=precision), text
            assert not re.search("e[+−]?0|e[+]", text), text
            assert len(text) <= 16, text
        for digits in (2, 3, 6):
            text = wording.compact(value, digits)
            unit = SUFFIXES.get(text[-1], 1.0)
            assert read(text.rstrip("kMGT")) * unit == pytest.approx(value, rel=6e-2), text
            assert "e" not in text or order < 1e-4 or order >= 1e15, text
        text = wording.duration(value)
        assert re.fullmatch(r"[\d.,e−]+ s|\d+ min|[\d,]+ h \d\d? min", text), text


def test_sizes_of_models():
    assert [wording.compact(size, 2) for size in (104_000, 26_090, 999_960, 1_234_567, 87)] == [
        "104k", "26k", "1M", "1.2M", "87"
    ]  # fmt: skip


def test_a_choice_has_all_its_digits():
    assert [wording.exact(value) for value in (0.02, -0.5, 0.0, 3.0)] == ["0.02", "−0.5", "0", "3"]
    assert wording.number(-0.0004, 3) == "0.000"


def test_lists():
    assert wording.joined(["a"]) == "a"
    assert wording.joined(["a", "b", "c"]) == "a, b and c"
    assert (wording.counted(1, "seed"), wording.counted(2, "seed")) == ("1 seed", "2 seeds")
    assert wording.number(math.inf, 2) == "∞"


@pytest.mark.parametrize(
    ("seeds", "text"),
    [([0, 1, 2], "0–2"), ([2, 0, 1], "0–2"), ([0, 7, 2], "0, 2, 7"), ({5}, "5"), ([4, 5], "4–5"), ([], "")],
)
def test_seeds_that_follow_one_another_are_a_range(seeds, text):
    assert wording.seeds_in_words(seeds) == text
