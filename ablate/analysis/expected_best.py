"""The expected best of n random settings, from the N settings of one search.

Dodge et al. 2019 ("Show Your Work") estimate it by n draws with replacement: Σ_k v_(k) [(k/N)ⁿ − ((k − 1)/N)ⁿ],
v_(1) ≤ … ≤ v_(N). Tang et al. 2020 ("Showing Your Work Doesn't Always Work") show that this is too low on average, the
more so the nearer n is to N, and that draws without replacement give an unbiased estimate for every n ≤ N:
Σ_k v_(k) C(k − 1, n − 1) / C(N, n). At n = N that is the best value found.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


def expected_best(values: ArrayLike) -> tuple[Floats, Floats]:
    """Mean and standard deviation (N,) of the best of n = 1 … N settings; more is better.

    `values` (N,): one for each setting, finite, in any order; the settings were drawn independently. The mean is that
    of Tang et al. The standard deviation says how much the best of n differs from one search to the next; it is the
    plug-in estimate of Dodge et al., as that of draws without replacement would be 0 at n = N, where it is known
    least.
    """
    ordered = np.sort(np.asarray(values, float))
    n, k = np.arange(1, len(ordered) + 1)[:, None], np.arange(len(ordered) + 1)
    # The chance that all n draws are among the k smallest: (k / N)ⁿ, and C(k, n) / C(N, n) one draw after the other.
    with_replacement = np.diff((k / len(ordered)) ** n, axis=1)
    without = np.diff(np.cumprod(np.maximum(k - n + 1, 0) / (len(ordered) - n + 1), axis=0), axis=1)
    centre = with_replacement @ ordered
    variance = (with_replacement * (ordered - centre[:, None]) ** 2).sum(axis=1)
    return without @ ordered, np.sqrt(variance)
