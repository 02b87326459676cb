"""How often a variant that is off by exactly the margin is called equivalent, and how often one that is alike."""

import itertools
from collections.abc import Iterator

import numpy as np

from ablate.analysis.power import POWER, smallest, tost_power

from .check import Check, Place, frequency
from .judging import verdicts

SEEDS = {0.5: 44, 0.75: 21, 1.0: 13, 1.5: 7, 2.0: 5}
"""Margin in standard deviations of a difference → seeds that find no difference with a power of 80 % (METHODS §3)."""


def equivalence(rng: np.random.Generator, place: Place) -> Iterator[Check]:
    """False equivalence at the margin, and power in its middle."""

    def found(n: int, margin: float, shift: float) -> np.ndarray:
        d = 0.1 * rng.normal(shift, 1, (place.studies, n))
        return verdicts(0.5 + d, np.full_like(d, 0.5), margin=0.1 * margin) == "equivalent"

    for n, margin, side in itertools.product((3, 5, 10, 20), (1.0, 2.0, 4.0), (-1, 1)):
        what = "Off by the margin: `equivalent`"
        yield frequency(what, found(n, margin, side * margin), {"n": n, "margin": margin, "side": side})
    for margin, n in SEEDS.items():
        setting = {"n": n, "margin": margin}
        less = float(found(n, margin, 0.0).mean()) - tost_power(margin, n, one_sided=0.025)
        what = "No difference: share of `equivalent`, less the power that the package states"
        yield Check(what, setting, less, -0.02, 0.02, place.studies)
        less = smallest(lambda k, m=margin: tost_power(m, k, one_sided=0.025) >= POWER) - n
        yield Check(
            "Seeds for equivalence with a power of 80 %, less those of METHODS §3", setting, less, 0.0, 0.0
        )
