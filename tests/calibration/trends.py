"""The trend along a number that conditions differ in and, of two conditions, more at one than at the other."""

import itertools
from collections.abc import Iterator

import numpy as np
from made_conditions import conditions
from scipy import special

from ablate.analysis.judge import p_of
from ablate.analysis.power import ALPHA
from ablate.analysis.sums_of_conditions import by_more_at, trend_along

from .check import Check, Place, at_most, frequency, near
from .many_conditions import NUM_SEEDS, Shortcut, levels, noise, null_variants, p_of_mean
from .simulations import Floats

NUM_CONDITIONS = (3, 4, 8, 26)
RATIOS = (1, 4)
"""The largest standard deviation of a condition over the smallest."""
MOST_OF_EIGHT = 0.007
"""The level at 0.05/8 that METHODS §12 states at most."""
POWER = {5: 1.69, 8: 1.16}
"""Seeds → d_z of the slope that is found with a power of 80 % (METHODS §12)."""
SUBJECT = "Trend over conditions, no difference"
MORE = "By more at one of two conditions, no difference"
ALL_RUNS = "least squares over all runs at once"


def trends(rng: np.random.Generator, place: Place) -> Iterator[Check]:
    """Levels of a trend and of the claim on two conditions; then what is found."""
    cases = [*itertools.product(NUM_SEEDS, NUM_CONDITIONS, RATIOS)]
    for n, count, ratio in cases:
        setting = {"n": n, "T": count, "largest SD": ratio}
        drawn = [*null_variants(rng, (place.studies, n, count), 0.5, np.linspace(1, ratio, count))]
        yield from levels(SUBJECT, TREND, drawn, setting, place, settings=len(cases))
        found = TREND.over_arrays(drawn[0]) <= ALPHA / 8
        what = f"{SUBJECT}: a verdict at {ALPHA / 8}"
        yield at_most(what, found, setting, most=MOST_OF_EIGHT, alpha=MOST_OF_EIGHT, settings=len(cases))
        if (n, count) == (5, 4):
            wrong = p_of_all_runs(noise(rng, (place.studies, n, count), sds=np.linspace(1, ratio, count)))
            setting = {**setting, "M": 1}
            yield frequency(f"{SUBJECT}: a verdict", wrong <= ALPHA, setting, rules=ALL_RUNS)
    pairs = [*itertools.product(NUM_SEEDS, RATIOS)]
    for n, ratio in pairs:
        setting = {"n": n, "T": 2, "largest SD": ratio}
        variants = null_variants(rng, (place.studies, n, 2), 0.5, [1, ratio])
        yield from levels(MORE, MORE_AT, variants, setting, place, settings=len(pairs))
    for n, effect in POWER.items():
        doublings = centred_doublings(4)
        grown = effect * doublings / np.sqrt((doublings**2).sum())
        found = TREND.over_arrays(grown + noise(rng, (place.studies, n, 4))) <= ALPHA
        yield near("Trend over conditions", found, {"n": n, "T": 4, "M": 1, "d_z": effect}, stated=0.8)


def sizes_of(count: int) -> Floats:
    """Returns the numbers of the conditions: doubled from one to the next, the last doubled twice."""
    return 64 * 2.0 ** np.r_[: count - 1, count]


def centred_doublings(count: int) -> Floats:
    """Returns the logarithms to base 2 of these numbers, less their mean."""
    doublings = np.log2(sizes_of(count))
    return doublings - doublings.mean()


def slopes(d: Floats) -> Floats:
    """Returns the least-squares slope of each seed, (num_studies, n)."""
    doublings = centred_doublings(d.shape[2])
    return d @ (doublings / (doublings**2).sum())


TREND = Shortcut(
    over_arrays=lambda d: p_of_mean(slopes(d)),
    by_package=lambda study: p_of(trend_along(conditions(study), sizes_of(study.shape[1]).tolist())),
)
MORE_AT = Shortcut(
    over_arrays=lambda d: p_of_mean(d[:, :, 0] - d[:, :, 1]),
    by_package=lambda study: p_of(by_more_at(*conditions(study))),
)


def p_of_all_runs(d: Floats) -> Floats:
    """Returns the two-sided p of no slope by least squares over all runs, as if each were independent."""
    _, n, count = d.shape
    doublings = centred_doublings(count)
    slope = slopes(d).mean(axis=1)
    intercept = d.mean(axis=(1, 2))
    residuals = d - intercept[:, None, None] - slope[:, None, None] * doublings
    df = n * count - 2
    error = np.sqrt((residuals**2).sum(axis=(1, 2)) / df / (n * (doublings**2).sum()))
    return 2 * special.stdtr(df, -np.abs(slope) / error)
