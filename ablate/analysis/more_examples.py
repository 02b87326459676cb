"""The seeds that more test examples save, where all seeds share a fixed set.

With m test examples and n seeds the mean has the variance (σ²_seed + σ²_rest/m)/n + σ²_example/m: more examples lessen
two of its parts, more seeds two others. The components are those of `paired.MeanSquares`.
"""

import math

from ablate.analysis.paired import MeanSquares
from ablate.analysis.power import detectable, smallest

FOUR_TIMES = 4


def test_share(squares: MeanSquares) -> float:
    """Returns the share of the variance of the mean that infinitely many test examples would remove.

    What remains is σ²_seed/n.
    """
    total = squares.seeds + max(0.0, squares.examples - squares.rest)
    of_seeds = max(0.0, squares.seeds - squares.rest)
    return 1 - of_seeds / total


def seeds_with_more_examples(
    squares: MeanSquares, difference: float, alpha: float, times: int = FOUR_TIMES
) -> float:
    """Returns the seeds that detect a difference with 80 % power on `times` as many examples.

    Infinite above `power.MAX_SEEDS`.
    """
    more = squares.with_examples(times * squares.m)

    def detected(n: int) -> float:
        over_seeds = math.sqrt(more.seeds / (n * more.m))
        over_both = more.at(n).error
        return max(detectable(n - 1, alpha) * over_seeds, detectable(over_both.df, alpha) * over_both.se)

    return smallest(lambda n: detected(n) <= difference)
