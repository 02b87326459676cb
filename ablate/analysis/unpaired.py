"""Differences without pairs of runs: Welch's, of runs or of their summaries, and those by a known noise.

They are `Differences` with another standard error, so that the one judge takes them as they are.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from ablate.analysis.paired import NAN, ROUNDING, Differences, Floats, StandardError, mean_of, sd_of
from ablate.core.metric import Metric, sign
from ablate.core.summary import Summary


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
        if self.known:
            variance = sd**2 / num_runs + sd_others**2 / num_others
            return [StandardError(variance**0.5, num_others - 1)]
        return [_welch(sd, num_runs, sd_others, num_others)]


@dataclass(frozen=True)
class OfSummaries(Differences):
    """The difference of two means of runs that nobody has, by their standard deviations and numbers: Welch's.

    `values` has the one difference, of shape (1,).
    """

    unit: str = "runs"
    sds: tuple[float, float] = (NAN, NAN)
    """The standard deviations of both sides."""
    counts: tuple[int, int] = (0, 0)
    """The numbers of runs of both sides."""
    never_vary: bool = False
    """True where both standard deviations are 0 but for rounding."""

    @classmethod
    def between_means(cls, first: Summary, second: Summary, metric: Metric) -> OfSummaries:
        """Returns the difference of the first mean from the second, oriented by their metric."""
        better = sign(metric)
        difference = Differences.between([better * first.mean], [better * second.mean], metric.resolution)
        both = (first, second)
        return cls(
            difference.values,
            difference.floor,
            resolution=metric.resolution,
            sds=(first.sd, second.sd),
            counts=(first.n, second.n),
            never_vary=all(summary.sd <= ROUNDING * abs(summary.mean) for summary in both),
        )

    @property
    def n(self) -> int:
        """Number of runs of the smaller side."""
        return min(self.counts)

    @property
    def all_zero(self) -> bool:
        """True where the means are the same, and neither side varies."""
        return self.never_vary and not self.values.any()

    @cached_property
    def sd(self) -> float:
        """The standard deviation of the first side, not below the floor."""
        return max(self.sds[0], self.floor)

    def _vary_by_less(self, sd: float) -> bool:
        """Returns whether the runs of a side have a smaller standard deviation than this."""
        return min(self.sds) < sd

    def errors_at(self, n: int) -> list[StandardError]:
        """Returns the standard error of these runs or, for another `n`, of as many on each side."""
        sd, sd_others = (max(spread, self.floor) for spread in self.sds)
        num_runs, num_others = self.counts if n == self.n else (n, n)
        return [_welch(sd, num_runs, sd_others, num_others)]


def _welch(sd: float, num_runs: int, sd_others: float, num_others: int) -> StandardError:
    """Returns the standard error of the difference of two means, with the degrees of freedom of Welch 1947."""
    variance = sd**2 / num_runs
    total = variance + sd_others**2 / num_others
    # As a share of the whole, whose square may be too small for a float.
    share = variance / total
    df = 1 / (share**2 / (num_runs - 1) + (1 - share) ** 2 / (num_others - 1))
    return StandardError(total**0.5, df)
