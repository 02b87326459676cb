"""The times of runs, without the pauses of their machine."""

from collections.abc import Sequence
from statistics import median_low

PAUSED = 20
"""A run that takes more than this many times the median of runs like it counts as paused."""


def without_pauses(seconds: Sequence[float]) -> list[float]:
    """Returns the seconds of runs that should take alike: one that was paused gets their median.

    That is the lower one of an even number, so that the longer of two may have been paused.
    """
    if not seconds:
        return []
    usual = median_low(seconds)
    return [usual if one > PAUSED * usual else one for one in seconds]
