"""Runs that find the solution or stay at guessing: what rates decide there."""

import itertools
from collections.abc import Iterator

import numpy as np

from ablate.analysis.estimates import rate_p

from .check import Check, Place, frequency
from .judging import BOUNDED, verdicts
from .simulations import Mixture, size_of_rates


def mixtures(rng: np.random.Generator, place: Place) -> Iterator[Check]:
    """False differences, by enumeration and by simulation; false equivalence."""
    what = "All or nothing, equal rates: a difference, worst case over the failure rate"
    for n in range(3, 21):
        size = size_of_rates(n, lambda b, c, n=n: rate_p(b, c, n))
        yield Check(what, {"n": n}, size, high=0.05, error=True)
    what = "All or nothing, one failure rate for both: `better` or `worse`"
    for n, failing in itertools.product((5, 10, 20), (0.1, 0.3, 0.5)):
        a, b = (Mixture.of(rng, place.studies, n, failing).a for _ in range(2))
        wrong = np.isin(_verdicts(a, b), ["better", "worse"])
        yield frequency(what, wrong, {"n": n, "failing": failing})
    what = "All or nothing, fails one time in ten: `equivalent` within .02 (true difference −.044)"
    for n in (5, 8, 10, 20):
        made = Mixture.of(rng, place.studies, n, 0.1)
        yield frequency(what, _verdicts(made.a, made.b, 0.02) == "equivalent", {"n": n})
    as_graded = verdicts(made.a[:, :5], made.b[:, :5], margin=0.02)
    yield frequency(what, as_graded == "equivalent", {"n": 5}, rules="equivalence of means")
    what = "All or nothing, off by the margin, .15: `equivalent`"
    for n, shift in itertools.product((10, 20, 40, 80), (0.0, 0.03, 0.07)):
        made = Mixture.of(rng, place.studies // 4, n, (0.15 - shift) / (0.44 - shift), shift)
        yield frequency(what, _verdicts(made.a, made.b, 0.15) == "equivalent", {"n": n, "shift": shift})


def _verdicts(a: np.ndarray, b: np.ndarray, margin: float | None = None) -> np.ndarray:
    return verdicts(a, b, margin=margin, metric=BOUNDED, outcome="all_or_nothing")
