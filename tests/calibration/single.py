"""One variant that is the baseline again: how often is it called better or worse?"""

from collections.abc import Iterator

import numpy as np

from .check import Check, Place, frequency
from .rules import PACKAGE, PERCENTILE, UNPAIRED, Rules
from .simulations import Floats

SEEDS = (3, 5, 8, 10, 20)
SHARED = 0.8
"""The correlation of two runs of a seed."""
WHAT = "One variant, no difference: `better` or `worse`"


def sides(rng: np.random.Generator, studies: int, variants: int, n: int) -> Floats:
    """Runs (variants, studies, n) of one distribution, with a share of their noise in common by seed."""
    common = rng.normal(0, SHARED**0.5, (studies, n))
    return 0.5 + 0.1 * (common + rng.normal(0, (1 - SHARED) ** 0.5, (variants, studies, n)))


def single(rng: np.random.Generator, place: Place) -> Iterator[Check]:
    """By number of seeds."""
    for n in SEEDS:
        yield of(rng, place.studies, n, PACKAGE)
    for rules in (UNPAIRED, PERCENTILE):
        yield of(rng, place.studies, 5, rules)


def of(rng: np.random.Generator, studies: int, n: int, rules: Rules) -> Check:
    """Of normal runs."""
    a, b = sides(rng, studies, 2, n)
    return frequency(WHAT, rules.differ(a, b, 1), {"n": n}, exactly=True, rules=rules.name)
