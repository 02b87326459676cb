"""Runs that find the solution or stay at guessing: what rates decide there."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np

from ablate.analysis.estimates import rate_p

from .check import Check, Place, frequency
from .judging import BOUNDED, verdicts
from .simulations import Mixture, p_alike, p_rates, p_two_sided, size_of_rates

TEST = "All or nothing, equal rates: a difference, worst case over the failure rate"


def mixtures(rng: np.random.Generator, place: Place) -> Iterator[Check]:
    """False differences, by enumeration and by simulation; false equivalence."""
    for n in range(3, 21):
        yield Check(
            TEST, {"n": n}, size_of_rates(n, lambda b, c, n=n: rate_p(b, c, n)), high=0.05, error=True
        )

    def t(b: int, c: int) -> float:
        return float(p_two_sided(0.9 * np.repeat([1.0, -1.0, 0.0], [b, c, 8 - b - c])))

    yield Check(TEST, {"n": 8}, size_of_rates(8, t), high=0.05, rules="t test of 0 and 1", error=True)
    for n in (5, 8, 10, 20):
        sides = rng.random((2, 4 * place.studies, n)) < rng.beta(1.6, 0.4, (4 * place.studies, n))
        yield frequency(
            "All or nothing, equal rates, harder and easier seeds: a difference",
            p_rates(*sides) <= 0.05,
            {"n": n},
        )
    for n, failing in itertools.product((5, 10, 20), (0.1, 0.3, 0.5)):
        a, b = (Mixture.of(rng, place.studies, n, failing).a for _ in range(2))
        found = np.isin(_verdicts(a, b), ["better", "worse"])
        yield frequency(
            "All or nothing, one failure rate for both: `better` or `worse`",
            found,
            {"n": n, "failing": failing},
        )
    what = "All or nothing, fails one time in ten: `equivalent` within .02 (true difference −.044)"
    for n in (5, 8, 10, 20):
        made = Mixture.of(rng, place.studies, n, 0.1)
        yield frequency(what, _verdicts(made.a, made.b, 0.02) == "equivalent", {"n": n})
    made = Mixture.of(rng, place.studies, 5, 0.1)
    yield frequency(what, p_alike(made.a - made.b, 0.02) <= 0.05, {"n": 5}, rules="equivalence of means")
    what = "All or nothing, off by the margin, .15: `equivalent`"
    for n, shift in itertools.product((10, 20, 40, 80), (0.0, 0.03, 0.07)):
        made = Mixture.of(rng, place.studies // 4, n, (0.15 - shift) / (0.44 - shift), shift)
        yield frequency(what, _verdicts(made.a, made.b, 0.15) == "equivalent", {"n": n, "shift": shift})


def _verdicts(a: np.ndarray, b: np.ndarray, margin: float | None = None) -> np.ndarray:
    return verdicts(a, b, margin=margin, metric=BOUNDED, outcome="all_or_nothing")
