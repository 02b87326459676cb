"""The times of runs without the pauses of their machine."""

from hypothesis import given
from hypothesis import strategies as st

from ablate.core.pauses import PAUSED, without_pauses

SECONDS = st.lists(st.floats(0, 1e4, allow_nan=False), max_size=9)


def test_a_run_that_was_paused_took_as_long_as_its_like():
    assert without_pauses([12.0, 1860.0, 11.0]) == [12.0, 12.0, 11.0]
    assert without_pauses([700.0, 20.0]) == [20.0, 20.0]
    assert without_pauses([20.0]) == [20.0]
    assert without_pauses([]) == []


@given(SECONDS)
def test_no_run_gets_longer_and_what_takes_alike_stays(seconds):
    counted = without_pauses(seconds)
    assert all(after <= before for after, before in zip(counted, seconds, strict=True))
    if seconds and max(seconds) <= PAUSED * min(seconds):
        assert counted == seconds
