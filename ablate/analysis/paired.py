"""Inference from n paired differences: the mean with its intervals and tests, the effect, the power.

The paired t-test and its intervals assume independent, roughly normal differences, the seeds being a sample of all
seeds. The standard deviation is never taken below the metric's resolution: otherwise a handful of equal differences
of one step would be infinitely significant.

Where all seeds share their test examples, these are a sample too: every p and interval is computed twice, with the
error over seeds and with that over seeds and examples (`MeanSquares`), and the larger p and the wider interval count.
Where every seed draws training and test examples from one pool, its runs are not independent: the variance of the
mean is (1/n + n_test/n_train)·s_d² (Nadeau and Bengio 2003, Machine Learning 52, 239–281). So are the k folds of one
cross-validation, of which n_test/n_train is 1/(k − 1).

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
    smallest,
    t_interval,
    t_p_above,
    tost_power,
)
from ablate.core.reason import Block, Interval

NAN = math.nan
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

ROUNDING = 1e-12
"""Differences below this share of the values are taken for rounding."""
NEAR_RESOLUTION = 1e-9
"""The share by which rounding may make a standard deviation less than the resolution that it has."""
SMALLEST_SD = 1e-100
"""Keeps squares above zero where all values are 0 and the metric has no resolution."""


@dataclass(frozen=True)
class StandardError:
    """The standard error of a mean, with its degrees of freedom."""

    se: float
    df: float


@dataclass(frozen=True)
class MeanSquares:
    """Mean squares of n × m differences: between seeds, between examples, and of the rest.

    d_ij is the difference on seed i and example j, n × m without gaps: two crossed random factors with one value a cell
    (Cornfield and Tukey 1956, Ann. Math. Statist. 27, 907–949). With the mean squares between seeds MS_S, between
    examples MS_E, and of the rest MS_R, the mean over all cells has the variance

        V = (MS_S + max(0, MS_E − MS_R)) / (nm)

    with approximate degrees of freedom after Satterthwaite 1946 (Biometrics Bull. 2, 110–114):

        df = (nmV)² / (MS_S²/(n − 1) + [MS_E > MS_R] · (MS_E²/(m − 1) + MS_R²/((n − 1)(m − 1))))

    which are never taken below n − 1: else intervals at n = 2 reach 10¹⁰.
    """

    n: int
    """Seeds."""
    m: int
    """Examples."""
    seeds: float
    """MS_S."""
    examples: float
    """MS_E."""
    rest: float
    """MS_R."""

    @classmethod
    def of(cls, differences: NDArray[np.floating], floor: float) -> MeanSquares:
        """Returns the mean squares of an array (n, m), n and m ≥ 2.

        floor: the standard deviation between seeds is never taken below it.
        """
        d = np.asarray(differences, np.float64)
        n, m = d.shape
        grand_mean = d.mean()
        seed_means = d.mean(axis=1)
        example_means = d.mean(axis=0)
        rest = d - seed_means[:, None] - example_means[None, :] + grand_mean
        between_seeds = m * float(((seed_means - grand_mean) ** 2).sum()) / (n - 1)
        between_examples = n * float(((example_means - grand_mean) ** 2).sum()) / (m - 1)
        return cls(
            n=n,
            m=m,
            seeds=max(between_seeds, m * floor**2),
            examples=between_examples,
            rest=float((rest**2).sum()) / ((n - 1) * (m - 1)),
        )

    @property
    def by_example(self) -> float:
        """σ² of examples: the variance between them beyond what seeds explain."""
        return max(0.0, self.examples - self.rest) / self.n

    def at(self, n: int) -> MeanSquares:
        """Returns the mean squares that n seeds would have on average, by the components of these."""
        if n == self.n:
            return self
        return replace(self, n=n, examples=self.rest + n * self.by_example)

    def with_examples(self, m: int) -> MeanSquares:
        """Returns the mean squares that m examples would have on average, by the components of these."""
        if m == self.m:
            return self
        by_seed = max(0.0, self.seeds - self.rest) / self.m
        return replace(self, m=m, seeds=self.rest + m * by_seed)

    @property
    def error(self) -> StandardError:
        """The standard error of the mean over all cells."""
        n = self.n
        m = self.m
        total = self.seeds + max(0.0, self.examples - self.rest)
        # As shares of the total, whose square may be too small for a float.
        parts = (self.seeds / total) ** 2 / (n - 1)
        if self.examples > self.rest:
            parts += (self.examples / total) ** 2 / (m - 1) + (self.rest / total) ** 2 / ((n - 1) * (m - 1))
        return StandardError(se=(total / (n * m)) ** 0.5, df=max(1 / parts, n - 1))


@dataclass(frozen=True)
class Differences:
    """n paired differences: the estimate of their mean (see `core.reason.Estimate`). NaN where n is below two.

    Pairs are seeds, seeds and examples, or processes.
    """

    values: Floats
    """Differences, shape (n,)."""
    floor: float
    """The standard deviation is never taken below it; positive."""
    examples: NDArray[np.floating] | None = None
    """Differences on each example, shape (n, m), where all seeds share their m ≥ 2 test examples; else None."""
    overlap: float = 0.0
    """n_test/n_train, where every seed, or every fold, draws both from one pool."""
    blocks: Sequence[Block] = ()
    unit: str = "seeds"
    """What more of would narrow the interval."""
    resolution: float = 0.0
    """The resolution of the metric, which is part of the floor; 0 where it has none."""

    @classmethod
    def between(
        cls,
        a: ArrayLike,
        b: ArrayLike,
        resolution: float = 0.0,
        examples: NDArray[np.floating] | None = None,
        overlap: float = 0.0,
    ) -> Differences:
        """Returns the differences a − b, both of shape (n,), finite and oriented; `resolution` is the metric's."""
        a = np.asarray(a, float)
        b = np.asarray(b, float)
        rounding = ROUNDING * float(np.abs([a, b]).max(initial=0.0))
        values = a - b
        values[np.abs(values) <= rounding] = 0.0
        floor = max(resolution, rounding, SMALLEST_SD)
        return cls(values, floor, examples, overlap, resolution=resolution)

    def on(self, seeds: Flags | list[int]) -> Differences:
        """Returns the differences on some seeds: flags of shape (n,), or the indices of some in another order."""
        examples = None if self.examples is None else self.examples[seeds]
        return replace(self, values=self.values[seeds], examples=examples)

    def without_examples(self) -> Differences:
        """Returns the differences as if their test examples were all that there are."""
        return replace(self, examples=None)

    @property
    def n(self) -> int:
        """Number of pairs."""
        return len(self.values)

    @property
    def all_zero(self) -> bool:
        """True where every pair is a tie."""
        return not self.values.any()

    @cached_property
    def mean(self) -> float:
        """The mean d̄; NaN without pairs."""
        return mean_of(self.values)

    @cached_property
    def sd(self) -> float:
        """The standard deviation s_d, not below the floor."""
        return max(sd_of(self.values), self.floor) if self.n > 1 else NAN

    @property
    def binding_resolution(self) -> float:
        """The resolution, where it counts as the standard deviation of differences that vary by less; else NaN.

        NaN too where all are 0, which is told as it is.
        """
        least = self.resolution * (1 - NEAR_RESOLUTION)
        return self.resolution if not self.all_zero and self._vary_by_less(least) else NAN

    def _vary_by_less(self, sd: float) -> bool:
        """Returns whether the differences have a smaller standard deviation than this; two pairs at least."""
        return sd_of(self.values) < sd

    @cached_property
    def squares(self) -> MeanSquares | None:
        """Mean squares of seeds and examples; None where examples are no sample of their own, or one alone."""
        if self.examples is None or self.n < 2 or self.examples.shape[1] < 2:
            return None
        return MeanSquares.of(self.examples, self.floor)

    @cached_property
    def errors(self) -> list[StandardError]:
        """Standard errors over seeds and, where examples are a sample, over seeds and examples."""
        return self.errors_at(self.n) if self.n > 1 else [StandardError(NAN, NAN)]

    def errors_at(self, n: int) -> list[StandardError]:
        """Returns the standard errors that n ≥ 2 seeds would have; takes two pairs at least."""
        errors = [self._error_over_seeds(n)]
        if self.squares is not None:
            errors.append(self.squares.at(n).error)
        return errors

    def _error_over_seeds(self, n: int) -> StandardError:
        """Returns the standard error over n ≥ 2 seeds, on these examples."""
        return StandardError(se=math.sqrt(1 / n + self.overlap) * self.sd, df=n - 1)

    def interval(self, alpha: float = ALPHA) -> Interval:
        """Returns the two-sided t interval of the mean, the widest over its standard errors."""
        bounds = [t_interval(self.mean, error.se, error.df, alpha) for error in self.errors]
        return min(low for low, _ in bounds), max(high for _, high in bounds)

    def above(self, x: float) -> float:
        """Returns the one-sided p: small when the mean lies above `x`."""
        return max(t_p_above(self.mean, error.se, error.df, x) for error in self.errors)

    def below(self, x: float) -> float:
        """Returns the one-sided p: small when the mean lies below `x`."""
        return max(t_p_above(-self.mean, error.se, error.df, -x) for error in self.errors)

    def mde(self, alpha: float = ALPHA, n: int | None = None) -> float:
        """Returns the difference that these seeds, or `n` others, find with 80 % power, two-sided at `alpha`."""
        if self.n < 2:
            return NAN
        return max(detectable(error.df, alpha) * error.se for error in self.errors_at(n or self.n))

    def equivalence_power(self, margin: float, n: int, effect: float, alpha: float = ALPHA) -> float:
        """Returns the probability that n ≥ 2 seeds show a true `effect` to lie inside (−`margin`, `margin`).

        The least over the standard errors; margin and effect in units of the differences. `alpha` is two-sided, unlike
        that of `power.tost_power`: each side is tested at half of it.
        """
        powers = []
        for error in self.errors_at(n):
            sd = math.sqrt(n) * error.se
            powers.append(tost_power(margin / sd, n, effect / sd, alpha / 2, error.df))
        return min(powers)


def mean_of(values: Floats) -> float:
    """Returns the mean; NaN without values. Sorted first, so that no result depends on the order of the seeds."""
    if not len(values):
        return NAN
    return float(np.sort(values).mean())


def sd_of(values: Floats) -> float:
    """Returns the standard deviation of a sample; NaN below two values.

    It is 0 for equal values, which may differ from their mean by rounding.
    """
    if len(values) < 2:
        return NAN
    if np.ptp(values) == 0:
        return 0.0
    return float(np.sort(values).std(ddof=1))


def never_vary(sides: Sequence[Floats]) -> bool:
    """Returns whether no run differs from another of its side, but for rounding; False where no side has two runs.

    sides: the runs of each, shape (num_runs,).
    """
    repeated = [values for values in sides if len(values) > 1]
    return bool(repeated) and all(np.ptp(of) <= ROUNDING * np.abs(of).max() for of in repeated)


def mean_interval(values: Floats) -> tuple[float, Interval]:
    """Returns the mean of n values and its 95 % t interval, which is NaN below two."""
    differences = Differences(values, floor=0.0)
    return differences.mean, differences.interval()


def seeds_needed(
    d: Differences, alpha: float = ALPHA, margin: float | None = None, x: float | None = 0.0
) -> float:
    """Returns how many seeds, in all, settle a comparison with 80 % power, if the observed mean is the true one.

    It is settled where the mean is shown to differ from `x` (two-sided) or to lie within ±`margin`: the smaller number
    counts. With `x` None, or `margin` None, that way is not considered. NaN below two pairs; infinite above
    `power.MAX_SEEDS`.
    """
    if d.n < 2:
        return NAN

    def enough(n: int) -> bool:
        # Below one degree of freedom, as of few documents of a source, nothing is detected.
        if min(error.df for error in d.errors_at(n)) < 1:
            return False
        if x is not None and d.mde(alpha, n) <= abs(d.mean - x):
            return True
        if margin is None or abs(d.mean) >= margin:
            return False
        return d.equivalence_power(margin, n, d.mean, alpha) >= POWER

    return smallest(enough)
