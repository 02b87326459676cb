"""The mean over conditions with the same seeds: how often a variant that changes nothing is told to differ."""

import itertools
from collections.abc import Iterator

import numpy as np
from made_conditions import conditions

from ablate.analysis.judge import p_of
from ablate.analysis.sums_of_conditions import mean_over

from .check import Check, Place, at_most
from .many_conditions import NUM_CONDITIONS, NUM_SEEDS, Shortcut, agreement, levels, null_variants, p_of_mean
from .simulations import Floats

MEAN = Shortcut(
    over_arrays=lambda d: p_of_mean(d.mean(axis=2)),
    by_package=lambda d: p_of(mean_over(conditions(d))),
)
SUBJECT = "Mean over conditions with shared seeds, no difference"
CASES = ((0.0, 10), (0.8, 1))
"""Correlation of the differences of two conditions under one seed, and the largest of their standard deviations."""
MOST = {"t3": 0.048, "skew 1": 0.067}
"""Distribution of the differences → the level that METHODS §12 states at most."""


def means(rng: np.random.Generator, place: Place) -> Iterator[Check]:
    """Normal differences by number of seeds, of conditions and of variants; then others."""
    cases = [*itertools.product(NUM_SEEDS, NUM_CONDITIONS, CASES)]
    for n, count, (correlation, ratio) in cases:
        setting = {"n": n, "T": count, "correlation": correlation, "largest SD": ratio}
        sds = np.linspace(1, ratio, count)
        variants = null_variants(rng, (place.studies, n, count), correlation, sds)
        yield from levels(SUBJECT, MEAN, variants, setting, place, settings=len(cases), exactly=True)
    for name, n, count in itertools.product(MOST, (5, 8), (2, 8, 26)):
        setting = {"n": n, "T": count, "M": 1, "differences": name}
        d = drawn(rng, name, (place.studies, n, count))
        what = f"{SUBJECT}, {name}"
        yield agreement(what, MEAN, d, setting, place)
        yield at_most(
            f"{what}: a verdict", MEAN.over_arrays(d) <= 0.05, setting, most=MOST[name], alpha=MOST[name]
        )


def drawn(rng: np.random.Generator, name: str, shape: tuple[int, ...]) -> Floats:
    """Returns differences with mean 0: t with three degrees of freedom, or a gamma variable whose skew is 1."""
    if name == "t3":
        return rng.standard_t(3, shape)
    return rng.gamma(4, size=shape) - 4
