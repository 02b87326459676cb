"""The mean over conditions as a sample of conditions like them."""

import itertools
from collections.abc import Iterator

import numpy as np
from made_conditions import conditions, other_seeds
from scipy import special

from ablate.analysis.judge import p_of
from ablate.analysis.power import ALPHA
from ablate.analysis.sample_of_conditions import sample_of

from .check import Check, Place, frequency
from .many_conditions import Shortcut, levels, null_variants, p_of_mean, without_band
from .simulations import Floats, Squares

NUM_SEEDS = (5, 8, 20)
NUM_CONDITIONS = (8, 26)
"""Below eight conditions or five seeds they are no sample."""
CASES = ((0.0, 0.0), (0.0, 0.5), (0.5, 0.1), (0.5, 0.5))
"""Correlation of conditions under one seed, and the standard deviation of the effects of conditions."""
BEYOND = (5, 26)
"""Seeds and conditions of which one variant errs in up to 0.059, and families of several in up to 0.09: the variance
between so few seeds has four degrees of freedom."""
SUBJECT = "Conditions as a sample, shared seeds, no difference"
INDEPENDENT = "Conditions as a sample, independent seeds, no difference"
PLAIN = "t over conditions with shared seeds"


def samples(rng: np.random.Generator, place: Place) -> Iterator[Check]:
    """With shared seeds and with independent ones, by the spread of the effects of conditions."""
    cases = [*itertools.product(NUM_SEEDS, NUM_CONDITIONS, CASES)]
    for n, count, (correlation, spread) in cases:
        setting = {"n": n, "T": count, "correlation": correlation, "SD of effects": spread}
        drawn = [*_drawn(rng, (place.studies, n, count), correlation, spread)]
        shared = correlation > 0
        subject = SUBJECT if shared else INDEPENDENT
        shortcut = CROSSED if shared else APART
        agreeing, *found = levels(subject, shortcut, drawn, setting, place, settings=len(cases) // 2)
        yield agreeing
        is_beyond = shared and (n, count) == BEYOND
        yield from without_band(found, "26 conditions on five seeds") if is_beyond else found
        if shared:
            wrong = APART.over_arrays(drawn[0]) <= ALPHA
            yield frequency(f"{subject}: a verdict", wrong, {**setting, "M": 1}, rules=PLAIN)


def _drawn(
    rng: np.random.Generator, shape: tuple[int, int, int], correlation: float, spread: float
) -> Iterator[Floats]:
    """Yields the differences of each variant, the effects of conditions having the standard deviation `spread`."""
    studies, _, count = shape
    effects = null_variants(rng, (studies, 1, count), sds=spread)
    for d, effect in zip(null_variants(rng, shape, correlation), effects, strict=True):
        yield d + effect


def p_of_crossed(d: Floats) -> Floats:
    """Returns the two-sided p of the mean, conditions and seeds being crossed random factors."""
    squares = Squares.of(d.swapaxes(1, 2))
    n, m = squares.n, squares.m
    more = squares.examples > squares.rest
    total = squares.seeds + np.where(more, squares.examples - squares.rest, 0.0)
    parts = squares.examples**2 / (m - 1) + squares.rest**2 / ((n - 1) * (m - 1))
    df = total**2 / (squares.seeds**2 / (n - 1) + np.where(more, parts, 0.0))
    return 2 * special.stdtr(df, -np.abs(squares.mean) / np.sqrt(total / (n * m)))


CROSSED = Shortcut(p_of_crossed, by_package=lambda study: p_of(sample_of(conditions(study))))
APART = Shortcut(
    over_arrays=lambda d: p_of_mean(d.mean(axis=1)),
    by_package=lambda study: p_of(sample_of(other_seeds(conditions(study)), independent_seeds=True)),
)
