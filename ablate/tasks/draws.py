"""What several tasks draw, and what can be guessed of it."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ablate.tasks.generated import below


def distinct(uniform: NDArray[np.float64], limit: int) -> NDArray[np.int64]:
    """Distinct integers 0 … limit − 1 in each row, every ordered choice equally likely, from (N, n) draws."""
    count, width = uniform.shape
    chosen = np.empty((count, width), dtype=np.int64)
    for i in range(width):
        # The r-th of the numbers not yet chosen: those chosen before it, in ascending order, move it up.
        rank = below(uniform[:, i], limit - i)
        for taken in np.sort(chosen[:, :i], axis=1).T:
            rank += rank >= taken
        chosen[:, i] = rank
    return chosen


def likeliest(draws: int, values: int) -> float:
    """Expected share of the most frequent of `values` equally likely values among `draws` draws."""
    rate = draws / values
    # Counts are independent Poisson variables given their sum. Without a limit, the sum is Poisson itself.
    whole = math.exp(draws * math.log(draws) - draws - math.lgamma(draws + 1))
    # The matrix that adds one count up to a limit to a sum of them, and its power that adds all.
    adds, total = np.zeros((draws + 1, draws + 1)), 0.0
    for limit in range(draws):
        chance = math.exp(limit * math.log(rate) - rate - math.lgamma(limit + 1))
        adds += chance * np.eye(draws + 1, k=-limit)
        total += 1 - float(np.linalg.matrix_power(adds, values)[draws, 0]) / whole
    return total / draws
