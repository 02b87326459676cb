"""Runs that diverged count with the metric's floor: what is said of variants that are alike, or lose their worst."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np

from .check import Check, Place, frequency
from .judging import BOUNDED, verdicts
from .simulations import Diverging

WORST = "Loses its worst fifth to divergence: falsely `better`"


def diverged(rng: np.random.Generator, place: Place) -> Iterator[Check]:
    """In full, and with four times the studies by the test alone."""
    for n in (5, 8, 10, 20):
        made = Diverging.worst(rng, place.studies, n)
        said = verdicts(made.a, made.b, metric=BOUNDED, lost=made.lost)
        yield frequency(WORST, said == "better", {"n": n, "correlation": 0.5}, most=0.025)
    for n, shared in itertools.product((3, 5, 8, 10, 20), (0.0, 0.5, 0.9)):
        made = Diverging.worst(rng, 4 * place.studies, n, shared)
        found = made.rejected & (made.scored.mean(axis=1) > 0)
        yield frequency(WORST, found, {"n": n, "correlation": shared}, most=0.025)
    made = Diverging.worst(rng, 4 * place.studies, 10, 0.5)
    found, setting = made.rejected_where_converged() > 0, {"n": 10, "correlation": 0.5}
    yield frequency(WORST, found, setting, most=0.025, rules="pairs that converged")
    what = "Identical variants, 10–30 % of the runs diverge: any verdict"
    for n, rate in itertools.product((5, 8, 10, 20), (0.1, 0.2, 0.3)):
        made = Diverging.alike(rng, place.studies, n, rate, 0.05)
        said = verdicts(made.a, made.b, metric=BOUNDED, lost=made.lost)
        decided = np.isin(said, ["better", "worse", "equivalent"])
        yield frequency(what, decided, {"n": n, "rate": rate, "spread": 0.05}, rate=0.051)
    for n, rate, spread in itertools.product((5, 8, 10, 20), (0.1, 0.2, 0.3), (0.002, 0.05)):
        made = Diverging.alike(rng, 4 * place.studies, n, rate, spread)
        yield frequency(what, made.rejected, {"n": n, "rate": rate, "spread": spread}, rate=0.051)
