"""Differences without pairs of runs: Welch's, those by a known noise, and those of two fixed models.

They are `Differences` with another standard error, so that the one judge takes them as they are.
"""

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ablate.analysis.paired import Differences, Floats, StandardError, mean_of, sd_of


@dataclass(frozen=True)
class Unpaired(Differences):
    """Runs against others of which none shares a seed: `values` − `others`, of shapes (n_a,) and (n_b,).

    The standard error is √(s_a²/n_a + s_b²/n_b), with the degrees of freedom of Welch 1947 (Biometrika 34, 28–35). With
    `known` noise it is s_b·√(1/n_a + 1/n_b) with n_b − 1, under the assumption that both have one variance: that of a
    single run against the mean of n_b kept ones is s_b·√(1 + 1/n_b).
    """

    others: Floats = field(default_factory=lambda: np.empty(0))
    known: bool = False
    unit: str = "runs"

    @property
    def n(self) -> int:
        """Runs of the smaller side; with a known noise, those that it was measured on."""
        return len(self.others) if self.known else min(len(self.values), len(self.others))

    @property
    def all_zero(self) -> bool:
        """Whether all runs of both sides are alike."""
        return not np.ptp([*self.values, *self.others])

    @cached_property
    def mean(self) -> float:
        """The difference of the means."""
        return mean_of(self.values) - mean_of(self.others)

    def errors_at(self, n: int) -> list[StandardError]:
        """Those of these runs or, for another `n`, of as many on each side."""
        a, b = (len(self.values), len(self.others)) if n == self.n else (n, n)
        of_b = max(sd_of(self.others) ** 2, self.floor**2 / 2)
        if self.known:
            return [StandardError((of_b * (1 / a + 1 / b)) ** 0.5, len(self.others) - 1)]
        of_a = max(sd_of(self.values) ** 2, self.floor**2 / 2)
        total = of_a / a + of_b / b
        # As shares of the total, whose square may be too small for a float.
        df = 1 / ((of_a / a / total) ** 2 / (a - 1) + (of_b / b / total) ** 2 / (b - 1))
        return [StandardError(total**0.5, df)]

    def sd_at(self, n: int) -> float:
        """√n times the standard error of n runs on each side."""
        return float(n**0.5 * self.errors_at(n)[0].se)


def of_documents(d: NDArray[np.floating], sources: NDArray[np.int64], floor: float) -> Differences:
    """The mean of differences `d` (m,) by document of two fixed models, clustered by `sources` (m,).

    With the C sums S_c of the m_c differences of a source, u_c = d̄ + C/m·(S_c − m_c·d̄) have the mean d̄, and its
    standard error is that which is robust to clusters, s_u/√C with C − 1 degrees of freedom (Liang and Zeger 1986,
    Biometrika 73, 13–22). Without clusters they are the differences themselves.
    """
    _, of, sizes = np.unique(sources, return_inverse=True, return_counts=True)
    sums, mean, share = np.bincount(of, weights=d), float(d.mean()), len(sizes) / len(d)
    return Differences(mean + share * (sums - sizes * mean), max(floor, 1e-100), unit="documents")
