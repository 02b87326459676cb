"""Differences without pairs of runs: Welch's, and those by a known noise.

They are `Differences` with another standard error, so that the one judge takes them as they are.
"""

from dataclasses import dataclass, field

import numpy as np

from ablate.analysis.paired import Differences, Floats, StandardError, sd_of


@dataclass(frozen=True)
class Unpaired(Differences):
    """Runs of which none shares a seed with `others`: `values` (n_a,), less the mean of `others` (n_b,).

    The standard error is √(s_a²/n_a + s_b²/n_b), with the degrees of freedom of Welch 1947 (Biometrika 34, 28–35). With
    `known` noise it is s_b·√(1/n_a + 1/n_b) with n_b − 1, under the assumption that both have one variance: that of a
    single run against the mean of n_b kept ones is s_b·√(1 + 1/n_b).
    """

    unit: str = "runs"
    others: Floats = field(default_factory=lambda: np.empty(0))
    known: bool = False

    @property
    def n(self) -> int:
        """Runs of the smaller side; with a known noise, those that it was measured on."""
        return (
            len(self.others) if self.known and len(self.values) else min(map(len, (self.values, self.others)))
        )

    def errors_at(self, n: int) -> list[StandardError]:
        """Those of these runs or, for another `n`, of as many on each side."""
        a, b = (len(self.values), len(self.others)) if n == self.n else (n, n)
        sd = max(sd_of(self.others), self.floor)
        of_a, of_b = (sd if self.known else max(sd_of(self.values), self.floor)) ** 2 / a, sd**2 / b
        # As shares of the whole, whose square may be too small for a float.
        share = of_a / (of_a + of_b)
        df = b - 1 if self.known else 1 / (share**2 / (a - 1) + (1 - share) ** 2 / (b - 1))
        return [StandardError((of_a + of_b) ** 0.5, df)]
