"""How often a difference that is there is found, beside the noncentral t distribution."""

import itertools
from collections.abc import Iterator

import numpy as np

from ablate.analysis.power import detectable_effect, difference_power

from .check import Check, Place
from .rules import PACKAGE, Rules

EFFECTS = (0.25, 0.5, 0.75, 1.0, 1.5, 2.0)
SEEDS = (3, 5, 8, 10, 15, 20)
DETECTABLE = {3: 3.27, 5: 1.69, 8: 1.16, 10: 1.00, 15: 0.78, 20: 0.67}
"""Seeds → d_z that has a power of 80 %, rounded up (METHODS §2)."""
WHAT = "Power of one comparison, less the noncentral t"


def power(rng: np.random.Generator, place: Place) -> Iterator[Check]:
    """Measured, and as the package states it."""
    for effect, n in itertools.product(EFFECTS, SEEDS):
        yield of(rng, place.studies, n, effect, PACKAGE)
        stated = difference_power(effect, n) - noncentral(effect, n)
        yield Check(
            "Power as the package states it, less the noncentral t",
            {"d_z": effect, "n": n},
            stated,
            -0.02,
            0.02,
        )
    for n, effect in DETECTABLE.items():
        less = detectable_effect(n) - effect
        yield Check("Effect (d_z) with a power of 80 %, less that of METHODS §2", {"n": n}, less, -0.01, 0.0)


def of(rng: np.random.Generator, studies: int, n: int, effect: float, rules: Rules) -> Check:
    """Of normal differences with a mean of `effect` standard deviations."""
    b = rng.normal(0.5, 0.1, (studies, n))
    found = rules.differ(b + 0.1 * rng.normal(effect, 1, (studies, n)), b, 1)
    less = float(found.mean()) - noncentral(effect, n)
    return Check(WHAT, {"d_z": effect, "n": n}, less, -0.02, 0.02, studies, rules.name)


def noncentral(effect: float, n: int) -> float:
    """Two-sided, at .05, by scipy's noncentral t."""
    from scipy.stats import nct, t

    edge, shift = t.ppf(0.975, n - 1), effect * n**0.5
    return float(nct.sf(edge, n - 1, shift) + nct.cdf(-edge, n - 1, shift))
