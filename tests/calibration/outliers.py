"""Differences with outliers to one side: what a page errs where they have them. Published; no band is promised."""

import itertools
from collections.abc import Iterator, Mapping

import numpy as np
from scipy import special

from .check import Check, Place
from .simulations import Flags, Floats

VARIANTS = 7
SEEDS = (8, 20)
STRAGGLERS = ((0.1, 5.0), (0.2, 5.0), (0.1, 10.0))
"""How often a run lags behind, and by how many standard deviations."""
WHAT = "Seven variants with the baseline's mean, {}: any `better` or `worse`"


def outliers(rng: np.random.Generator, place: Place) -> Iterator[Check]:
    """Stragglers among the runs of variants, and among those of the baseline; lognormal variants."""
    for n, (rate, lag) in itertools.product(SEEDS, STRAGGLERS):
        setting = {"n": n, "lags": rate, "by": lag}
        variants = (place.studies, VARIANTS, n)
        baseline = (place.studies, 1, n)
        lagging = straggling(rng, variants, rate, lag) - rng.normal(size=baseline)
        yield published("stragglers among their runs", lagging, setting)
        lagging = rng.normal(size=variants) - straggling(rng, baseline, rate, lag)
        yield published("stragglers among the baseline's runs", lagging, setting)
    for n, spread in itertools.product(SEEDS, (0.2, 0.5)):
        baseline = spread * rng.normal(size=(place.studies, 1, n))
        skewed = -lognormal(rng, (place.studies, VARIANTS, n)) - baseline
        yield published("lognormal losses", skewed, {"n": n, "spread of the baseline": spread})


def published(how: str, differences: Floats, setting: Mapping[str, float | str]) -> Check:
    """Returns how often any variant of a study is told apart; `differences` (studies, variants, n)."""
    found = differ(differences, 0.05 / VARIANTS).any(axis=1)
    return Check(WHAT.format(how), setting, float(found.mean()), studies=len(found), error=True)


def straggling(rng: np.random.Generator, size: tuple[int, ...], rate: float, lag: float) -> Floats:
    """Returns runs of which a `rate` lag by `lag`, with the mean 0."""
    return rng.normal(size=size) - lag * ((rng.random(size) < rate) - rate)


def lognormal(rng: np.random.Generator, size: tuple[int, ...]) -> Floats:
    """Returns lognormal values with σ = 0.5, mean 0 and standard deviation 1."""
    values = rng.lognormal(0, 0.5, size) - np.exp(0.125)
    return np.asarray(values / np.sqrt((np.exp(0.25) - 1) * np.exp(0.25)))


def differ(differences: Floats, alpha: float) -> Flags:
    """Returns whether the paired t test of the last axis finds a difference at `alpha`."""
    n = differences.shape[-1]
    t = differences.mean(axis=-1) / (differences.std(axis=-1, ddof=1) / np.sqrt(n))
    return 2 * special.stdtr(n - 1, -np.abs(t)) <= alpha
