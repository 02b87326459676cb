"""The best of n settings of a search: what it is expected to be, and what it was.

Everything here is oriented: more is better. A search has tried N settings; arrays have shape (N,).

Dodge et al. 2019 ("Show Your Work") estimate the expected best of n random settings by that of n draws from
the empirical distribution, with replacement: Σ_k v_(k) [(k/N)ⁿ − ((k − 1)/N)ⁿ], v_(1) ≤ … ≤ v_(N). Tang et al. 2020
("Showing Your Work Doesn't Always Work") show that this is too low on average, the more so the nearer n is to N,
and that draws without replacement give an estimate without bias for every n ≤ N:
Σ_k v_(k) C(k − 1, n − 1) / C(N, n). That is the default here; at n = N it is the best that was found.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class ExpectedBest:
    """The best of n settings for n = 1 … N."""

    mean: Floats
    "Shape (N,)."
    sd: Floats
    """Shape (N,): how much the best of n differs from one search to the next, by the plug-in variance of Dodge et al.
    That of draws without replacement would be 0 at n = N, where it is the least known."""


def expected_best(values: ArrayLike, *, replacement: bool = False) -> ExpectedBest:
    """From `values` (N,), one a setting, finite, in any order.

    `replacement`: the biased estimate of Dodge et al. in place of that of Tang et al. Holds for settings that were
    drawn independently of one another: of a sampler that learns, see `best_so_far`.
    """
    ordered = np.sort(np.asarray(values, float))
    with_replacement = _weights(len(ordered), replacement=True)
    centre = with_replacement @ ordered
    variance = (with_replacement * (ordered - centre[:, None]) ** 2).sum(axis=1)
    mean = centre if replacement else _weights(len(ordered), replacement=False) @ ordered
    return ExpectedBest(mean, np.sqrt(variance))


def best_so_far(values: ArrayLike) -> Floats:
    """The best of the first n settings for n = 1 … N; `values` (N,) in the order in which they were tried."""
    return np.maximum.accumulate(np.asarray(values, float))


def with_failures(values: ArrayLike, worst: float) -> Floats:
    """A setting without a value (NaN) is one that found nothing better: it counts as `worst`."""
    given = np.asarray(values, float)
    return np.where(np.isnan(given), worst, given)


def _weights(count: int, *, replacement: bool) -> Floats:
    """Row n − 1, column k − 1: the chance that the k-th smallest of `count` values is the best of n draws."""
    n, k = np.arange(1, count + 1)[:, None], np.arange(count + 1)
    if replacement:
        return np.asarray(np.diff((k / count) ** n, axis=1))
    # The chance that all n are among the k smallest, C(k, n) / C(count, n), one draw after the other.
    return np.asarray(np.diff(np.cumprod(np.maximum(k - n + 1, 0) / (count - n + 1), axis=0), axis=1))
