"""Seeds added after a look at the verdict: the levels that reports state."""

import itertools
from collections.abc import Iterator, Sequence

import numpy as np

from .check import Check, Place, frequency
from .outliers import differ
from .simulations import Flags, Floats

STATED = {(8, 16): 0.086, (3, 6): 0.089, (3, 6, 12, 24): 0.154}
"""Seeds at each look → the level that this has at a nominal .05."""
WHAT = "No difference, {}: `better` or `worse` at some look at .05"


def added(rng: np.random.Generator, place: Place) -> Iterator[Check]:
    """Looks that were not planned, a second chance, ranges of which the best is told, and a chosen subset."""
    for looks, level in STATED.items():
        what = WHAT.format(f"seeds added after a look ({' → '.join(map(str, looks))})")
        found = at_some_look(rng.normal(size=(4 * place.studies, looks[-1])), looks)
        yield frequency(what, found, {}, rate=level, exactly=True)
    fresh = rng.normal(size=(2, place.studies, 8))
    what = WHAT.format("a second chance on fresh seeds")
    yield frequency(what, differ(fresh, 0.05).any(axis=0), {"n": 8}, rate=0.0975, exactly=True)
    for count in (3, 10):
        ranges = rng.normal(size=(count, place.studies, 8))
        better = (differ(ranges, 0.05) & (ranges.mean(axis=-1) > 0)).any(axis=0)
        what = f"No difference, the best of {count} ranges of seeds: `better`"
        yield frequency(what, better, {"n": 8}, rate=1 - 0.975**count, exactly=True)
    chosen = chosen_subset(rng.normal(size=(place.studies, 8)), 6)
    what = WHAT.format("six of eight seeds chosen afterwards")
    yield Check(what, {}, float(chosen.mean()), studies=len(chosen), error=True)


def at_some_look(differences: Floats, looks: Sequence[int]) -> Flags:
    """Returns whether a difference is found at any of the numbers of seeds."""
    return np.any([differ(differences[:, :n], 0.05) for n in looks], axis=0)


def chosen_subset(differences: Floats, size: int) -> Flags:
    """Returns whether a difference is found on any subset of the seeds of this size."""
    n = differences.shape[1]
    found = [differ(differences[:, list(seeds)], 0.05) for seeds in itertools.combinations(range(n), size)]
    return np.any(found, axis=0)
