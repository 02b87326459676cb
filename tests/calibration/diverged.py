"""Runs that diverged count with the metric's floor: what is said of variants that are alike, or lose their worst."""

import itertools
from collections.abc import Iterator

import numpy as np

from .check import Check, Place, frequency
from .judging import BOUNDED, verdicts
from .simulations import Diverging


def diverged(rng: np.random.Generator, place: Place) -> Iterator[Check]:
    """One that loses its worst fifth is not better; of two that are alike nothing is told."""
    what = "Loses its worst fifth to divergence: falsely `better`"
    for n, shared in itertools.product((3, 5, 8, 10, 20), (0.0, 0.5, 0.9)):
        made = Diverging.worst(rng, 4 * place.studies, n, shared)
        said = verdicts(made.a, made.b, metric=BOUNDED, lost=made.lost)
        yield frequency(what, said == "better", {"n": n, "correlation": shared}, most=0.025)
    what = "Identical variants, 10–30 % of the runs diverge: any verdict"
    for n, rate, spread in itertools.product((5, 8, 10, 20), (0.1, 0.2, 0.3), (0.002, 0.05)):
        made = Diverging.alike(rng, 4 * place.studies, n, rate, spread)
        said = verdicts(made.a, made.b, metric=BOUNDED, lost=made.lost)
        setting = {"n": n, "rate": rate, "spread": spread}
        yield frequency(what, np.isin(said, ["better", "worse", "equivalent"]), setting, rate=0.051)
