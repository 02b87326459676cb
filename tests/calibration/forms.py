"""The power of each form of a verdict over conditions, beside that which `plan` states."""

import itertools
from collections.abc import Iterator

import numpy as np

from ablate.analysis.form_prospects import effects_of_forms
from ablate.analysis.power import ALPHA

from .check import Check, Place, near
from .everywhere import DIFFERENT
from .many_conditions import FAMILIES, NUM_CONDITIONS, NUM_SEEDS, noise, p_of_mean
from .means import MEAN
from .trends import TREND, centred_doublings, sizes_of

CORRELATIONS = (0.0, 0.5)
STATED = 0.8


def forms(rng: np.random.Generator, place: Place) -> Iterator[Check]:
    """Of the mean and the trend, conditions being correlated or not; of every condition, where they are not."""
    for n, count, rows in itertools.product(NUM_SEEDS, NUM_CONDITIONS, FAMILIES):
        for correlation in CORRELATIONS:
            yield from of_forms(rng, place, n=n, count=count, rows=rows, correlation=correlation)


def of_forms(
    rng: np.random.Generator, place: Place, *, n: int, count: int, rows: int, correlation: float
) -> Iterator[Check]:
    """Yields how often the effect is found that each form has a power of 80 % for, less that power."""
    setting = {"n": n, "T": count, "M": rows, "correlation": correlation}
    sizes = sizes_of(count).tolist() if count > 2 else []
    effects = effects_of_forms(n, count, rows, correlation=correlation, sizes=sizes)
    d = noise(rng, (place.studies, n, count), correlation)
    alpha = ALPHA / rows

    found = MEAN.over_arrays(d + effects.mean) <= alpha
    yield near("Mean over conditions", found, setting, stated=STATED)
    if effects.trend is not None:
        found = TREND.over_arrays(d + effects.trend * centred_doublings(count)) <= alpha
        yield near("Trend over conditions", found, setting, stated=STATED)
    if correlation == 0:
        found = DIFFERENT.over_arrays(d + effects.every) <= alpha
        yield near("Every condition", found, setting, stated=STATED)
        found = p_of_mean(d[:, :, 0] + effects.each) <= alpha / count
        yield near("Each condition alone", found, setting, stated=STATED)
