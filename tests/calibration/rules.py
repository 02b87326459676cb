"""The package's rules for runs that are paired by seed, and wrong ones, which the bands must find."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import special

from ablate.analysis.paired import Differences

from .check import OWN
from .judging import differs
from .simulations import Flags, Floats

RESAMPLES = 2_000
CHUNK = 500


@dataclass(frozen=True)
class Rules:
    """How runs A and B, (num_studies, n) each, are compared."""

    name: str
    differ: Callable[[Floats, Floats, int], Flags]
    "(num_studies,): whether a difference is found, in a family of m."
    bounds: Callable[[Floats, Floats], tuple[Floats, Floats]]
    "(num_studies,) each: the ends of the 95 % interval of the mean difference."


def _bounds(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    found = [Differences.between(x, y).interval() for x, y in zip(a, b, strict=True)]
    low, high = np.array(found).T
    return low, high


def _unpaired(a: Floats, b: Floats, alpha: float = 0.05) -> tuple[Floats, Floats]:
    n = a.shape[1]
    se = np.sqrt((a.var(axis=1, ddof=1) + b.var(axis=1, ddof=1)) / n)
    mean, half = (a - b).mean(axis=1), special.stdtrit(2 * n - 2, 1 - alpha / 2) * se
    return mean - half, mean + half


def _percentile(a: Floats, b: Floats, alpha: float = 0.05) -> tuple[Floats, Floats]:
    """The resamples are the same for every study: counts of each seed, drawn from a generator of their own."""
    n = a.shape[1]
    counts = np.random.default_rng(0).multinomial(n, np.full(n, 1 / n), RESAMPLES) / n
    ends = []
    for start in range(0, len(a), CHUNK):
        means = (a - b)[start : start + CHUNK] @ counts.T
        ends.append(np.quantile(means, [alpha / 2, 1 - alpha / 2], axis=1))
    low, high = np.concatenate(ends, axis=1)
    return low, high


def _outside(bounds: tuple[Floats, Floats]) -> Flags:
    return (bounds[0] > 0) | (bounds[1] < 0)


PACKAGE = Rules(OWN, lambda a, b, m: differs(a, b, m=m), _bounds)
UNCORRECTED = Rules("no family", lambda a, b, m: differs(a, b), _bounds)
UNPAIRED = Rules("unpaired", lambda a, b, m: _outside(_unpaired(a, b, 0.05 / m)), _unpaired)
PERCENTILE = Rules("percentile bootstrap", lambda a, b, m: _outside(_percentile(a, b, 0.05 / m)), _percentile)
