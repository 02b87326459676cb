"""Numbers that users give: what an option takes, and which spellings are the same number."""

import numpy as np
import pytest

from ablate.base.errors import Invalid
from ablate.base.numerals import COUNT, FINITE, NOT_NEGATIVE, POSITIVE, Domain, in_one_form, whole_in


@pytest.mark.parametrize("text", ["nan", "inf", "-inf", "1e400", "1_0", "٣", "0x10", "", "1,5", "9" * 5000])
def test_what_is_no_finite_number_is_read_by_no_domain(text):
    assert [domain.read(text) for domain in (FINITE, POSITIVE, NOT_NEGATIVE, COUNT)] == [None] * 4


def test_the_bounds_of_a_domain():
    assert [POSITIVE.read(text) for text in ("0", "-1", "1e-400", " 0.5 ", "1e3")] == [None] * 3 + [0.5, 1000]
    assert [NOT_NEGATIVE.read(text) for text in ("0", "-1")] == [0, None]
    assert [COUNT.read(text) for text in ("0", "-1", "1e3", "3.0", "9223372036854775808")] == [0, *[None] * 4]
    assert [Domain(least=2.5, most=12).read(text) for text in ("2.5", "12", "12.1")] == [2.5, 12, None]
    assert np.int64(3) in COUNT
    assert np.float32(0.1) in POSITIVE
    assert all(value not in COUNT for value in (True, 1.0, "1", None, 10**30))
    with pytest.raises(Invalid, match="margin: must be a finite number; given nan; allowed: above 0"):
        POSITIVE.check("margin", float("nan"))


def test_whole_numbers_are_exact():
    assert whole_in("9007199254740993") == 2**53 + 1
    assert [whole_in(text) for text in ("3", "3.0", "-1", "1e3", "007")] == [3, 3, -1, 1000, 7]
    # A float that has lost its last digits, and what no file of runs can hold.
    assert [whole_in(text) for text in ("9007199254740993.0", "1e16", str(2**63), "1.5", "", "x")] == [
        None
    ] * 6


def test_spellings_of_one_number_have_one_form():
    assert in_one_form("0.10") == in_one_form(".1") == in_one_form("1e-1") == "0.1"
    assert in_one_form("007") == in_one_form("7.0") == "7.0"
    assert in_one_form("9007199254740993") != in_one_form("9007199254740992")
    # Short hashes that look like numbers beyond all floats.
    assert in_one_form("12e45678") != in_one_form("34e99999")
