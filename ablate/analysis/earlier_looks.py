"""The level of a verdict whose runs were looked at before, on fewer seeds, on more, or on others.

Every look judges at its own nominal α as if it were the only one, and the first that finds something is believed: the
level is the probability, where two variants are the same, that any look finds a difference. It is simulated for
normal differences. Seeds that are in the same looks are drawn as one block of b, by its sum √b·z and its sum of squares
about its own mean, χ² with b − 1 degrees of freedom: the time does not depend on the number of seeds.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student

from ablate.analysis.chances import NOMINAL
from ablate.analysis.looks import weights

LEAST_CHOSEN = 3
"""The fewest seeds that someone chooses from those whose results are known."""
_DRAWS = 400_000  # So that a level of 0.1 has a standard error of 0.0005.
_DRAWS_OF_CHOICES = 40_000
_GENERATOR_SEED = 20_261_127


@dataclass(frozen=True)
class EarlierLook:
    """A look at the paired differences on some seeds."""

    seeds: frozenset[int]
    alpha: float = NOMINAL
    """The nominal two-sided level at which it judges."""


def looks_of(seeds: Sequence[int], numbers: Sequence[int] = ()) -> list[EarlierLook]:
    """Returns the looks of one plan: one at all seeds, or those of a sequential design with its shares of the level.

    numbers: the numbers of seeds at which a sequential design looks.
    """
    if not numbers:
        return [EarlierLook(frozenset(seeds))]
    looks: list[EarlierLook] = []
    for number, weight in zip(numbers, weights(len(numbers)), strict=True):
        looks.append(EarlierLook(frozenset(seeds[:number]), NOMINAL * weight))
    return looks


def level_of_looks(looks: Sequence[EarlierLook]) -> float:
    """Returns the probability that any of these looks finds a difference between two variants that are the same.

    Fixed plans of 8 and then 16 seeds have 0.086, of 3, 6, 12 and 24 seeds 0.153, of other seeds the second time 0.098.
    """
    distinct = [look for look in dict.fromkeys(looks) if len(look.seeds) > 1]
    blocks = _blocks(distinct)
    generator = np.random.default_rng(_GENERATOR_SEED)
    sums: dict[frozenset[int], NDArray[np.float64]] = {}
    squares: dict[frozenset[int], NDArray[np.float64]] = {}
    for members, size in blocks.items():
        sums[members] = math.sqrt(size) * generator.standard_normal(_DRAWS)
        squares[members] = sums[members] ** 2 / size
        if size > 1:
            squares[members] = squares[members] + generator.chisquare(size - 1, _DRAWS)

    has_found = np.zeros(_DRAWS, dtype=bool)
    for index, look in enumerate(distinct):
        total = np.zeros(_DRAWS)
        total_squares = np.zeros(_DRAWS)
        for members in blocks:
            if index in members:
                total += sums[members]
                total_squares += squares[members]
        has_found |= _finds(total, total_squares, len(look.seeds), look.alpha)
    return float(has_found.mean())


def level_of_choice(known: int) -> float:
    """Returns the probability that some of the known seeds, at least three, show a variant that is the same as better.

    Six seeds have 0.28. Of all subsets of one size, the largest t is that of seeds whose differences follow one
    another in order: t grows with S²/Q of the sum S and the sum of squares Q, which is convex, so that its maximum is
    where some linear function of S and Q has its own, at the seeds whose differences are nearest to one value.
    """
    generator = np.random.default_rng(_GENERATOR_SEED)
    draws = max(2_000, min(_DRAWS_OF_CHOICES, 20_000_000 // known**2))
    ordered = np.sort(generator.standard_normal((draws, known)), axis=1)
    start = np.zeros((draws, 1))
    sums = np.hstack([start, np.cumsum(ordered, axis=1)])
    squares = np.hstack([start, np.cumsum(ordered**2, axis=1)])
    has_found = np.zeros(draws, dtype=bool)
    for size in range(LEAST_CHOSEN, known + 1):
        sums_of_seeds = sums[:, size:] - sums[:, :-size]
        squares_of_seeds = squares[:, size:] - squares[:, :-size]
        found = _finds(sums_of_seeds, squares_of_seeds, size, NOMINAL)
        has_found |= (found & (sums_of_seeds > 0)).any(axis=1)
    return float(has_found.mean())


def _blocks(looks: Sequence[EarlierLook]) -> Counter[frozenset[int]]:
    """Returns the places of the looks that seeds have in common → how many seeds."""
    seeds = frozenset[int]().union(*(look.seeds for look in looks))
    return Counter(
        frozenset(index for index, look in enumerate(looks) if seed in look.seeds) for seed in seeds
    )


def _finds(
    sums: NDArray[np.float64], squares: NDArray[np.float64], n: int, alpha: float
) -> NDArray[np.bool_]:
    """Returns where the paired t test of n differences finds something, by their sums and sums of squares."""
    variance = (squares - sums**2 / n) / (n - 1)
    bound = student.ppf(1 - alpha / 2, n - 1)
    found: NDArray[np.bool_] = sums**2 / n > bound**2 * variance
    return found
