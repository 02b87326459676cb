"""Differences without pairs of runs: Welch's, and those by a known noise.

They are `Differences` with another standard error, so that the one judge takes them as they are.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ablate.analysis.paired import Differences, Floats, StandardError, mean_of, sd_of


@dataclass(frozen=True)
class Unpaired(Differences):
    """Runs of which none shares a seed with `others`: `values` (n_a,), less the mean of `others` (n_b,).

    The standard error is √(s_a²/n_a + s_b²/n_b), with the degrees of freedom of Welch 1947 (Biometrika 34, 28–35). With
    `known` noise it is s_b·√(1/n_a + 1/n_b) with n_b − 1, under the assumption that both have one variance: that of a
    single run against the mean of n_b kept ones is s_b·√(1 + 1/n_b).
    """

    unit: str = "runs"
    others: Floats = field(default_factory=lambda: np.empty(0))
    """The runs of the other side, shape (n_b,)."""
    known: bool = False
    """Whether the noise of `others` is taken for that of both sides."""

    @classmethod
    def of_runs(cls, runs: Floats, others: Floats, resolution: float, *, known: bool) -> Unpaired:
        """Returns the differences of oriented `runs` from the mean of `others`; `resolution` is the metric's."""
        differences = Differences.between(runs, np.full_like(runs, mean_of(others)), resolution)
        return cls(
            differences.values,
            differences.floor,
            resolution=resolution,
            others=others,
            known=known,
        )

    @property
    def n(self) -> int:
        """Number of runs of the smaller side; with a known noise, of those that it was measured on."""
        if self.known and len(self.values):
            return len(self.others)
        return min(len(self.values), len(self.others))

    def _vary_by_less(self, sd: float) -> bool:
        """Returns whether the runs of a side whose spread counts have a smaller standard deviation than this."""
        return sd_of(self.others) < sd or (not self.known and sd_of(self.values) < sd)

    def errors_at(self, n: int) -> list[StandardError]:
        """Returns the standard error of these runs or, for another `n`, of as many on each side."""
        num_runs = len(self.values) if n == self.n else n
        num_others = len(self.others) if n == self.n else n
        sd_others = max(sd_of(self.others), self.floor)
        sd = sd_others if self.known else max(sd_of(self.values), self.floor)
        variance = sd**2 / num_runs
        variance_others = sd_others**2 / num_others
        total = variance + variance_others
        if self.known:
            return [StandardError(total**0.5, num_others - 1)]
        # As a share of the whole, whose square may be too small for a float.
        share = variance / total
        df = 1 / (share**2 / (num_runs - 1) + (1 - share) ** 2 / (num_others - 1))
        return [StandardError(total**0.5, df)]
