"""Inference from n paired differences: the mean with its intervals and tests, the effect, the power.

The paired t-test and its intervals assume independent, roughly normal differences, the seeds being a sample of all
seeds. The standard deviation is never taken below the metric's resolution: otherwise a handful of equal differences
of one step would be infinitely significant.

Where all seeds share their test examples, these are a sample too: every p and interval is computed twice, with the
error over seeds and with that over seeds and examples (`MeanSquares`), and the larger p and the wider interval count.
Where every seed draws training and test examples from one pool, its runs are not independent: the variance of the
mean is (1/n + n_test/n_train)·s_d² (Nadeau and Bengio 2003, Machine Learning 52, 239–281).

Everything here is oriented: a positive difference means that the first is better. Arrays have shape (n,), one value
a seed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ablate.analysis.power import (
    ALPHA,
    POWER,
    detectable,
    difference_power,
    equivalence_power,
    smallest,
    t_interval,
    t_p_above,
)
from ablate.core.reason import Block, Interval

NAN = math.nan
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

ROUNDING = 1e-12  # Differences below this share of the values are taken for rounding.


@dataclass(frozen=True)
class StandardError:
    """Of a mean, with its degrees of freedom."""

    se: float
    df: float


@dataclass(frozen=True)
class MeanSquares:
    """Of n × m differences: between seeds, between examples, and of the rest.

    d_ij is the difference on seed i and example j, n × m without gaps: two crossed random factors with one value a cell
    (Cornfield and Tukey 1956, Ann. Math. Statist. 27, 907–949). With the mean squares between seeds MS_S, between
    examples MS_E, and of the rest MS_R, the mean over all cells has the variance

        V = (MS_S + max(0, MS_E − MS_R)) / (nm)

    with approximate degrees of freedom after Satterthwaite 1946 (Biometrics Bull. 2, 110–114):

        df = (nmV)² / (MS_S²/(n − 1) + [MS_E > MS_R] · (MS_E²/(m − 1) + MS_R²/((n − 1)(m − 1))))

    which are never taken below n − 1: else intervals at n = 2 reach 10¹⁰.
    """

    n: int
    m: int
    seeds: float
    examples: float
    rest: float

    @classmethod
    def of(cls, differences: NDArray[np.floating], floor: float) -> MeanSquares:
        """Of an array (n, m), n and m ≥ 2; the standard deviation between seeds is never taken below `floor`."""
        d = np.asarray(differences, np.float64)
        n, m = d.shape
        grand, rows, columns = d.mean(), d.mean(axis=1), d.mean(axis=0)
        rest = d - rows[:, None] - columns[None, :] + grand
        return cls(
            n,
            m,
            max(m * float(((rows - grand) ** 2).sum()) / (n - 1), m * floor**2),
            n * float(((columns - grand) ** 2).sum()) / (m - 1),
            float((rest**2).sum()) / ((n - 1) * (m - 1)),
        )

    @property
    def by_example(self) -> float:
        """σ² of examples: the variance between them beyond what seeds explain."""
        return max(0.0, self.examples - self.rest) / self.n

    def at(self, n: int) -> MeanSquares:
        """Those that n seeds would have on average, by the components of these."""
        return self if n == self.n else replace(self, n=n, examples=self.rest + n * self.by_example)

    @property
    def error(self) -> StandardError:
        """Of the mean over all cells."""
        n, m = self.n, self.m
        total = self.seeds + max(0.0, self.examples - self.rest)
        # As shares of the total, whose square may be too small for a float.
        parts = (self.seeds / total) ** 2 / (n - 1)
        if self.examples > self.rest:
            parts += (self.examples / total) ** 2 / (m - 1) + (self.rest / total) ** 2 / ((n - 1) * (m - 1))
        return StandardError((total / (n * m)) ** 0.5, max(1 / parts, n - 1))


@dataclass(frozen=True)
class Differences:
    """n paired differences: the estimate of their mean (see `core.reason.Estimate`). NaN where n is below two.

    Of seeds, of seeds and examples, or of processes.
    """

    values: Floats  # Shape (n,).
    floor: float  # The standard deviation is never taken below it; positive.
    # Shape (n, m): the difference on each example, where all seeds share their m ≥ 2 test examples.
    examples: NDArray[np.floating] | None = None
    overlap: float = 0.0  # n_test/n_train, where every seed draws both from one pool.
    blocks: Sequence[Block] = ()
    unit: str = "seeds"  # What more of would narrow it.

    @classmethod
    def between(
        cls,
        a: ArrayLike,
        b: ArrayLike,
        resolution: float = 0.0,
        examples: NDArray[np.floating] | None = None,
        overlap: float = 0.0,
    ) -> Differences:
        """Of a − b, both of shape (n,), finite and oriented; `resolution` is the metric's."""
        a, b = np.asarray(a, float), np.asarray(b, float)
        rounding = ROUNDING * float(np.abs([a, b]).max(initial=0.0))
        values = a - b
        values[np.abs(values) <= rounding] = 0.0
        # The last bound keeps squares above zero where all values are 0 and the metric has no resolution.
        return cls(values, max(resolution, rounding, 1e-100), examples, overlap)

    def on(self, seeds: Flags) -> Differences:
        """Those of some seeds; `seeds` (n,)."""
        examples = None if self.examples is None else self.examples[seeds]
        return replace(self, values=self.values[seeds], examples=examples)

    @property
    def n(self) -> int:
        """Number of pairs."""
        return len(self.values)

    @property
    def all_zero(self) -> bool:
        """Whether every pair is a tie."""
        return not self.values.any()

    @cached_property
    def mean(self) -> float:
        """d̄, or NaN without pairs."""
        return mean_of(self.values)

    @cached_property
    def sd(self) -> float:
        """s_d, not below the floor."""
        return max(sd_of(self.values), self.floor) if self.n > 1 else NAN

    @cached_property
    def squares(self) -> MeanSquares | None:
        """Of seeds and examples; None where examples are no sample of their own."""
        if self.examples is None or self.n < 2:
            return None
        return MeanSquares.of(self.examples, self.floor)

    @cached_property
    def errors(self) -> list[StandardError]:
        """Over seeds and, where examples are a sample, over seeds and examples."""
        return self.errors_at(self.n) if self.n > 1 else [StandardError(NAN, NAN)]

    def errors_at(self, n: int) -> list[StandardError]:
        """Those that n ≥ 2 seeds would have; two pairs at least are known."""
        over_seeds = StandardError(math.sqrt(1 / n + self.overlap) * self.sd, n - 1)
        return [over_seeds] + ([self.squares.at(n).error] if self.squares is not None else [])

    def sd_at(self, n: int) -> float:
        """√n times the standard error that n seeds would have."""
        return math.sqrt(n) * max(error.se for error in self.errors_at(n))

    def interval(self, alpha: float = ALPHA) -> Interval:
        """The two-sided t interval of the mean at level 1 − `alpha`."""
        bounds = [t_interval(self.mean, error.se, error.df, alpha) for error in self.errors]
        return min(low for low, _ in bounds), max(high for _, high in bounds)

    def above(self, x: float) -> float:
        """One-sided p: small when the mean lies above `x`."""
        return max(t_p_above(self.mean, error.se, error.df, x) for error in self.errors)

    def below(self, x: float) -> float:
        """One-sided p: small when the mean lies below `x`."""
        return max(t_p_above(-self.mean, error.se, error.df, -x) for error in self.errors)

    def mde(self, alpha: float = ALPHA, n: int | None = None) -> float:
        """The difference that is found with 80 % power, two-sided at `alpha`, by these seeds, or by `n` others."""
        if self.n < 2:
            return NAN
        return max(detectable(error.df, alpha) * error.se for error in self.errors_at(n or self.n))


def mean_of(values: Floats) -> float:
    """NaN of none. Sorted first, so that no result depends on the order of the seeds."""
    return float(np.sort(values).mean()) if len(values) else NAN


def sd_of(values: Floats) -> float:
    """Of a sample, NaN below two. Equal values, which may differ from their mean by rounding, have none."""
    return float(np.sort(values).std(ddof=1)) * bool(np.ptp(values)) if len(values) > 1 else NAN


def smallest_difference(scores: Floats) -> float:
    """Returns the smallest difference between two runs that is more than rounding; 0 where there is none."""
    gaps = np.diff(np.unique(scores))
    gaps = gaps[gaps > ROUNDING * np.abs(scores).max(initial=0.0)]
    return float(gaps.min()) if len(gaps) else 0.0


def mean_interval(values: Floats) -> tuple[float, Interval]:
    """The mean of n values and its 95 % t interval, which is NaN below two."""
    d = Differences(values, 0.0)
    return d.mean, d.interval()


def seeds_needed(
    d: Differences, alpha: float = ALPHA, margin: float | None = None, x: float | None = 0.0
) -> float:
    """The seeds that would settle a comparison at the level `alpha`, if the truth were what was observed.

    The smallest n that has 80 % power for the observed distance from `x` (two-sided) or, with a margin, for equivalence
    at the observed difference. Infinite above `power.MAX_SEEDS`.
    """
    if d.n < 2:
        return NAN

    def enough(n: int) -> bool:
        sd = d.sd_at(n)
        if x is not None and difference_power((d.mean - x) / sd, n, alpha) >= POWER:
            return True
        equal = margin is not None and abs(d.mean) < margin
        return equal and equivalence_power((margin or 0.0) / sd, n, d.mean / sd, alpha / 2) >= POWER

    return smallest(enough)
