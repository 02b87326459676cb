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
        yield Check(
            WORST,
            {"n": n, "correlation": 0.5},
            float((said == "better").mean()),
            high=0.025,
            studies=len(said),
        )
    for n, shared in itertools.product((3, 5, 8, 10, 20), (0.0, 0.5, 0.9)):
        made = Diverging.worst(rng, 4 * place.studies, n, shared)
        found = made.rejected & (made.scored.mean(axis=1) > 0)
        yield Check(
            WORST, {"n": n, "correlation": shared}, float(found.mean()), high=0.025, studies=len(found)
        )
    made = Diverging.worst(rng, 4 * place.studies, 10, 0.5)
    value = float((made.rejected_where_converged() > 0).mean())
    setting = {"n": 10, "correlation": 0.5}
    yield Check(WORST, setting, value, high=0.025, studies=len(made.a), rules="pairs that converged")
    what = "Identical variants, 10–30 % of the runs diverge: any verdict"
    for n, rate in itertools.product((5, 8, 10, 20), (0.1, 0.2, 0.3)):
        made = Diverging.alike(rng, place.studies, n, rate, 0.05)
        said = verdicts(made.a, made.b, metric=BOUNDED, lost=made.lost)
        yield frequency(
            what,
            np.isin(said, ["better", "worse", "equivalent"]),
            {"n": n, "rate": rate, "spread": 0.05},
            rate=0.051,
        )
    for n, rate, spread in itertools.product((5, 8, 10, 20), (0.1, 0.2, 0.3), (0.002, 0.05)):
        made = Diverging.alike(rng, 4 * place.studies, n, rate, spread)
        yield frequency(what, made.rejected, {"n": n, "rate": rate, "spread": spread}, rate=0.051)
