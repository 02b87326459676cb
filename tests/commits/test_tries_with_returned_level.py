"""Confirmations on a base that is given, against reference values."""

from statistics import fmean

import pytest

from ablate.commits.stream import Spread, p_of_gain, standard_errors

CONFIRMED = [0.71, 0.70, 0.72, 0.69, 0.71]


@pytest.mark.parametrize(
    ("tried", "p", "df", "last_digit"),
    [
        ([0.74, 0.75, 0.73, 0.76, 0.72], 0.002735107579, 7.274559194, 1e-12),
        ([0.74, 0.80, 0.68, 0.78, 0.72], 0.07558509791, 4.454662244, 1e-11),
    ],
)
def test_on_a_given_base_a_confirmation_stands_alone_as_in_the_reference(tried, p, df, last_digit):
    base = Spread.of(CONFIRMED)
    own = Spread.of(tried)
    pooled = base.pooled_with(own)
    gain = fmean(tried) - fmean(CONFIRMED)
    _, (_, welch_df) = standard_errors(pooled, base, own)
    assert welch_df == pytest.approx(df, abs=5e-10)
    assert p_of_gain(gain, pooled, base, own) == pytest.approx(p, abs=last_digit / 2)
