"""Whether conditions differ in the direction of an effect: how often that is said falsely, and how often found."""

import itertools
from collections.abc import Iterator

import numpy as np
from made_conditions import conditions

from ablate.analysis.over_conditions import judge_mean
from ablate.analysis.power import ALPHA
from ablate.analysis.sums_of_conditions import mean_over

from .check import Check, Place, at_most, near, never
from .many_conditions import NUM_CONDITIONS, NUM_SEEDS, noise, one_sided, p_of_mean
from .simulations import Flags, Floats

EFFECTS = (0.0, 0.5, 1.5)
"""In standard deviations of a difference, the same in all conditions."""
MOST = 0.011
POWER = {
    1.5: {3: 0.82, 5: 0.74, 10: 0.60},
    2.0: {3: 0.98, 5: 0.95, 10: 0.89},
}
"""d_z → conditions → how often one that is reversed by the same size is found at n = 8 (METHODS §12)."""
SUBJECT = "Mean over conditions, `varies`"


def varying(rng: np.random.Generator, place: Place) -> Iterator[Check]:
    """With equal effects; then with one condition that is reversed."""
    cases = [*itertools.product(NUM_SEEDS, NUM_CONDITIONS, EFFECTS)]
    for n, count, effect in cases:
        d = effect + noise(rng, (place.studies, n, count))
        setting = {"n": n, "T": count, "M": 1, "d_z": effect}
        found = varies(d)
        other = found[: place.few] != varies_by_package(d[: place.few])
        yield never(f"{SUBJECT}: told otherwise by the package", other, setting)
        what = f"{SUBJECT}, equal effects"
        yield at_most(what, found, setting, most=MOST, alpha=MOST, settings=len(cases))
    for effect, by_count in POWER.items():
        for count, power in by_count.items():
            d = effect + noise(rng, (place.studies, 8, count))
            d[:, :, -1] -= 2 * effect
            setting = {"n": 8, "T": count, "M": 1, "d_z": effect}
            yield near(f"{SUBJECT}, one of the conditions reversed", varies(d), setting, stated=power)


def varies(d: Floats) -> Flags:
    """Returns whether `varies` is said, a study."""
    count = d.shape[2]
    above, below = one_sided(d)
    better = (2 * above < ALPHA / count).any(axis=1)
    worse = (2 * below < ALPHA / count).any(axis=1)
    means = d.mean(axis=2)
    decided = p_of_mean(means) <= ALPHA
    is_better = means.mean(axis=1) > 0
    return (better & worse) | (decided & np.where(is_better, worse, better))


def varies_by_package(d: Floats) -> Flags:
    """Returns whether the package says it, a study."""
    found = []
    for study in d:
        made = conditions(study)
        found.append(judge_mean(mean_over(made), made, None).varies)
    return np.array(found)
