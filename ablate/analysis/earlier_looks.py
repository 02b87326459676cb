"""The error rate of a verdict whose runs were looked at before, on fewer seeds, on more, or on others.

Every look judges at its own nominal α as if it were the only one, and the first that finds something is believed: the
error rate is the probability, for two variants that are the same, that any look finds a difference. It is simulated for
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
from scipy import special

from ablate.analysis.chances import NOMINAL, weights

LEAST_CHOSEN = 3
"""The fewest seeds of a choice of any size among seeds with results."""
_DRAWS = 400_000  # So that a rate of 0.1 has a standard error of 0.0005.
_DRAWS_OF_SUBSETS = 40_000
_LEAST_DRAWS_OF_SUBSETS = 2_000
_MAX_SUBSETS = 20_000_000
"""About the most adjacent subsets of seeds, over all draws, that are tested; it bounds the time for many seeds."""
_GENERATOR_SEED = 20_261_127


@dataclass(frozen=True)
class EarlierLook:
    """A look at the paired differences on some seeds."""

    seeds: frozenset[int]
    alpha: float = NOMINAL
    """The nominal two-sided level at which it judges."""


def looks_of(seeds: Sequence[int], look_sizes: Sequence[int] = ()) -> list[EarlierLook]:
    """Returns the looks of one plan: one at all seeds, or each of a sequential design.

    look_sizes: the numbers of seeds at which a sequential design looks; each look has its share of the nominal α.
    """
    if not look_sizes:
        return [EarlierLook(frozenset(seeds))]
    looks: list[EarlierLook] = []
    for size, weight in zip(look_sizes, weights(len(look_sizes)), strict=True):
        looks.append(EarlierLook(frozenset(seeds[:size]), NOMINAL * weight))
    return looks


def error_rate_of_looks(looks: Sequence[EarlierLook]) -> float:
    """Returns the probability that any look finds a difference between two variants that are the same.

    Either direction is a false verdict, so that each test is two-sided. Fixed plans of 8 and then 16 seeds have 0.086,
    of 3, 6, 12 and 24 seeds 0.153, of other seeds the second time 0.098.
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

    is_rejected = np.zeros(_DRAWS, dtype=bool)
    for index, look in enumerate(distinct):
        total = np.zeros(_DRAWS)
        total_squares = np.zeros(_DRAWS)
        for members in blocks:
            if index in members:
                total += sums[members]
                total_squares += squares[members]
        is_rejected |= rejects(total, total_squares, len(look.seeds), look.alpha)
    return float(is_rejected.mean())


def error_rate_of_best_subset(num_seen: int, num_chosen: int = 0, num_fresh: int = 0) -> float:
    """Returns the probability that the best choice of seen seeds shows a false `better`, up to 0.005 too high.

    Whoever picks seeds wants one direction, so that only the upper side counts; six seeds have 0.28. For each size, the
    largest t is reached by seeds adjacent in sorted order, since t grows with S²/Q of their sum S and their sum of
    squares Q, which is convex in (S, Q); fresh seeds add constants to both.

    num_chosen: the size of the choice; 0 for any of three or more. num_fresh: the seeds without results that are judged
    with it. Which choice is best with them is not known before they ran, which is why the rate is a bound.
    """
    generator = np.random.default_rng(_GENERATOR_SEED)
    draws = max(_LEAST_DRAWS_OF_SUBSETS, min(_DRAWS_OF_SUBSETS, _MAX_SUBSETS // num_seen**2))
    ordered = np.sort(generator.standard_normal((draws, num_seen)), axis=1)
    fresh = generator.standard_normal((draws, num_fresh))
    fresh_sums = fresh.sum(axis=1, keepdims=True)
    fresh_squares = (fresh**2).sum(axis=1, keepdims=True)
    start = np.zeros((draws, 1))
    sums = np.hstack([start, np.cumsum(ordered, axis=1)])
    squares = np.hstack([start, np.cumsum(ordered**2, axis=1)])
    sizes = [num_chosen] if num_chosen else range(LEAST_CHOSEN, num_seen + 1)
    is_better = np.zeros(draws, dtype=bool)
    for size in sizes:
        subset_sums = sums[:, size:] - sums[:, :-size] + fresh_sums
        subset_squares = squares[:, size:] - squares[:, :-size] + fresh_squares
        is_rejected = rejects(subset_sums, subset_squares, size + num_fresh, NOMINAL)
        is_better |= (is_rejected & (subset_sums > 0)).any(axis=1)
    return float(is_better.mean())


def _blocks(looks: Sequence[EarlierLook]) -> Counter[frozenset[int]]:
    """Returns set of look indices → number of seeds that are in exactly those looks."""
    seeds: set[int] = set()
    for look in looks:
        seeds |= look.seeds
    blocks: Counter[frozenset[int]] = Counter()
    for seed in sorted(seeds):
        members = frozenset(index for index, look in enumerate(looks) if seed in look.seeds)
        blocks[members] += 1
    return blocks


def rejects(
    sums: NDArray[np.float64], squares: NDArray[np.float64], n: int, alpha: float
) -> NDArray[np.bool_]:
    """Returns where the two-sided paired t test of n differences rejects, by their sums and sums of squares."""
    variance = (squares - sums**2 / n) / (n - 1)
    bound = special.stdtrit(n - 1, 1 - alpha / 2)
    is_rejected: NDArray[np.bool_] = sums**2 / n > bound**2 * variance
    return is_rejected
