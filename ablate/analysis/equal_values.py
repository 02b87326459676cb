"""The probability that two runs have the same number by chance, on a grid of steps.

Runs that are normal with one standard deviation s, and whose means differ by d, share a value on a grid of step g with
probability

    g/(2 s √π) · exp(−d²/(4 s²)),

the density of their difference at 0, times g.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ablate.analysis.paired import Floats

Codes = NDArray[np.intp]
"""The number of the group of each value, from 0."""


def pooled_sd(values: Floats, groups: Codes) -> float:
    """Returns the standard deviation of values about the means of their groups; 0 where no group has two.

    groups: every number from 0 to the largest, shape (num_values,), as `pd.factorize` gives them.
    """
    _, firsts = np.unique(groups, return_index=True)
    if len(values) == len(firsts):
        return 0.0
    # The mean of equal values may miss them by a rounding error, and that of zeros does not.
    shifted = values - values[firsts][groups]
    means = np.bincount(groups, shifted) / np.bincount(groups)
    squares = float(((shifted - means[groups]) ** 2).sum())
    return math.sqrt(squares / (len(values) - len(firsts)))


def chance_of_equal(step: float, sd: float, apart: Floats | float = 0.0) -> Floats:
    """Returns the probability that two runs have the same number, of the shape of `apart`; above 1 on a coarse grid.

    apart: the distances of their means. sd: above 0.
    """
    return step / (2 * sd * math.sqrt(math.pi)) * np.exp(-((np.asarray(apart) / (2 * sd)) ** 2))
