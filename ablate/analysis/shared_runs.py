"""The error rate of several comparisons that share runs: those of one baseline above all, in one study or in several.

Each comparison is a paired t test at a nominal level of its own, as if it were the only one, and whichever finds a
difference is believed: the error rate is the probability, where no variant differs from its baseline, that any of them
finds one. It is simulated for independent normal runs of equal spread, so that two comparisons that share the runs of a
baseline correlate by a half. A test is two-sided: a false `better` and a false `worse` both count, and have half of the
nominal level each.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ablate.analysis.chances import NOMINAL
from ablate.analysis.earlier_looks import rejects

_MOST_DRAWS = 100_000  # So that a rate of 0.25 has a standard error of 0.0014.
_LEAST_DRAWS = 4_000
_MOST_NUMBERS = 20_000_000
"""About the most numbers that are drawn for one rate; it bounds the time for many runs."""
_BLOCK = 4_000
"""Draws that are held at once."""
_GENERATOR_SEED = 20_261_128


@dataclass(frozen=True)
class SharedComparison:
    """A comparison of two sides by the runs of each pair: variant first, then baseline."""

    pairs: frozenset[tuple[Hashable, Hashable]]
    """Runs by any name; the same name in two comparisons is the same run."""
    alpha: float = NOMINAL
    """The nominal two-sided level at which it judges."""


def error_rate_of_best_variant(num_variants: int, num_seeds: int, *, num_kept: int = 1) -> float:
    """Returns the probability that some variant that shares one baseline shows a false `better`.

    Whoever keeps the best variants wants one direction, and judges those that are kept as a family of `num_kept`. On
    five seeds, the best one of 13 has 0.20.
    """
    comparisons = []
    for variant in range(num_variants):
        pairs = frozenset(((variant, seed), ("baseline", seed)) for seed in range(num_seeds))
        comparisons.append(SharedComparison(pairs, NOMINAL / num_kept))
    return error_rate_of_comparisons(comparisons, only_better=True)


def error_rate_of_comparisons(comparisons: Iterable[SharedComparison], *, only_better: bool = False) -> float:
    """Returns the probability that any comparison finds a difference where there is none.

    only_better: whether a false `worse` does not count.

    On eight seeds, 3, 8 and 16 variants that share one baseline have 0.13, 0.27 and 0.41; two comparisons that share
    no run have 0.0975. The same comparison counts once, and one of a single pair not at all.
    """
    distinct = [comparison for comparison in dict.fromkeys(comparisons) if len(comparison.pairs) > 1]
    places: dict[Hashable, int] = {}
    sides = []
    for comparison in distinct:
        # Sorted by place: a set has another order in each process.
        ordered = sorted(comparison.pairs, key=repr)
        first = [places.setdefault(run, len(places)) for run, _ in ordered]
        second = [places.setdefault(run, len(places)) for _, run in ordered]
        sides.append((first, second))
    if not distinct:
        return 0.0

    draws = max(_LEAST_DRAWS, min(_MOST_DRAWS, _MOST_NUMBERS // len(places)))
    generator = np.random.default_rng(_GENERATOR_SEED)
    num_found = 0
    num_drawn = 0
    while num_drawn < draws:
        values = generator.standard_normal((_BLOCK, len(places)), dtype=np.float32)
        num_found += int(_finds_any(values, distinct, sides, only_better=only_better).sum())
        num_drawn += _BLOCK
    return num_found / num_drawn


def _finds_any(
    values: NDArray[np.float32],
    comparisons: Sequence[SharedComparison],
    sides: Sequence[tuple[Sequence[int], Sequence[int]]],
    *,
    only_better: bool,
) -> NDArray[np.bool_]:
    """Returns for each draw whether any comparison finds a difference.

    values: draws × runs; sides: the places of the runs of each comparison.
    """
    is_found = np.zeros(len(values), dtype=bool)
    for comparison, (first, second) in zip(comparisons, sides, strict=True):
        differences = (values[:, first] - values[:, second]).astype(np.float64)
        sums = differences.sum(axis=1)
        squares = (differences**2).sum(axis=1)
        is_rejected = rejects(sums, squares, len(first), comparison.alpha)
        is_found |= is_rejected & (sums > 0) if only_better else is_rejected
    return is_found
