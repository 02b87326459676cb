"""Many simulated studies at once, judged by the rules of the package and by the rules that they replaced.

The shortcuts over arrays repeat what `ablate.analysis` does one study at a time; tests hold the two together. Arrays of
differences have shape (num_studies, n), oriented and paired by seed.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from ablate.analysis.estimates import rate_p

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

FLOOR, RESOLUTION = 0.1, 0.001
RANGE = 1.0 - FLOOR
"""Of the metric that is simulated: an accuracy over 1,000 examples, of which guessing finds a tenth."""

GRID = (
    *((0.02, 0.3, 0.4), (0.05, 0.3, 0.4), (0.03, 0.2, 0.4), (0.1, 0.1, 0.4), (0.02, 0.1, 0.4)),
    *((0.04, 0.5, 0.2), (0.1, 0.0, 0.4), (0.0, 0.2, 0.4)),
)
"""Standard deviations of differences between seeds, between examples and of the rest: of answers to one question, which
are right or wrong, they make up about .5; the last but one has no effect of examples, the last none of seeds."""


def p_two_sided(d: Floats) -> Floats:
    """Two-sided p of the paired t-test, (num_studies,)."""
    return 2 * special.stdtr(d.shape[-1] - 1, -_t(d))


def p_alike(d: Floats, margin: float) -> Floats:
    """The p at which a mean is judged equivalent, twice that of the paired equivalence test, (num_studies,)."""
    return np.minimum(1.0, 2 * special.stdtr(d.shape[-1] - 1, _t(d, margin)))


def _t(d: Floats, margin: float = 0.0) -> Floats:
    """(|mean| − `margin`)/standard error, (num_studies,)."""
    spread = np.maximum(d.std(axis=-1, ddof=1), RESOLUTION)
    return (np.abs(d.mean(axis=-1)) - margin) * np.sqrt(d.shape[-1]) / spread


def p_rates(solved_a: Flags, solved_b: Flags) -> Floats:
    """The p of the rates of two sides, (num_studies,); `solved_*` have the shape of differences."""
    n = solved_a.shape[-1]
    table = np.ones((n + 1, n + 1))
    for b in range(n + 1):
        for c in range(n + 1 - b):
            table[b, c] = rate_p(b, c, n)
    return table[(solved_a & ~solved_b).sum(axis=-1), (solved_b & ~solved_a).sum(axis=-1)]


def size_of_rates(n: int, p: Callable[[int, int], float]) -> float:
    """The largest chance that a test of two equal rates rejects at .05, by enumeration.

    `p` of the number of seeds on which A alone and B alone succeed, each with a probability from .0001 to .25: that of
    one outcome and not the other at equal rates, which is smaller where a seed makes failures go together.
    """
    theta, size = np.arange(1, 2501) / 10_000, np.zeros(2500)
    for b, c in itertools.product(range(n + 1), repeat=2):
        if b + c <= n and p(b, c) <= 0.05:
            ways = math.comb(n, b) * math.comb(n - b, c)
            size += ways * theta ** (b + c) * (1 - 2 * theta) ** (n - b - c)
    return float(size.max())


def band(studies: int, rate: float = 0.05) -> tuple[float, float]:
    """The binomial 99 % band of a frequency of `rate`."""
    from scipy.stats import binom

    low, high = binom.ppf([0.005, 0.995], studies, rate) / studies
    return float(low), float(high)


def upper_edge(studies: int, rate: float = 0.05) -> float:
    """Of the binomial 99 % band of a frequency of `rate`."""
    return band(studies, rate)[1]


@dataclass(frozen=True)
class Mixture:
    """Runs that either find the solution or stay at .56; of the variant, and of a baseline that always finds it."""

    a: Floats
    b: Floats

    @classmethod
    def of(
        cls, rng: np.random.Generator, studies: int, n: int, failing: float, shift: float = 0.0
    ) -> Mixture:
        """`failing`: how often the variant fails; `shift`: by how much it is worse where it does not."""
        noise = rng.normal(0, 0.002, (2, studies, n))
        failed = rng.random((studies, n)) < failing
        b = 0.97 + noise[0]
        return cls(np.where(failed, b - 0.44 + noise[1], b - shift + noise[1]), b)

    @property
    def solved(self) -> tuple[Flags, Flags]:
        """At .9 or more."""
        return self.a >= 0.9, self.b >= 0.9


def family(rng: np.random.Generator, studies: int, shifts: Sequence[float], n: int, shared: float) -> Floats:
    """Differences (num_studies, num_variants, n) with unit spread, whose true means are `shifts`.

    `shared`: the share of their variance that the noise of the common baseline makes.
    """
    own = rng.normal(0, np.sqrt(1 - shared), (studies, len(shifts), n))
    return own + rng.normal(0, np.sqrt(shared), (studies, 1, n)) + np.array(shifts)[:, None]


def falsely_rejected(d: Floats, shifts: Sequence[float], margin: float) -> Flags:
    """(num_studies,): whether a family of m, each judged at .05/m, rejects what is true: no difference, or the margin.

    A verdict of equivalence hides a significant difference: false verdicts are at most as many.
    """
    p = np.where(np.array(shifts) == 0, p_two_sided(d), p_alike(d, margin))
    found: Flags = (p * len(shifts) <= 0.05).any(axis=1)
    return found


@dataclass(frozen=True)
class Diverging:
    """Two sides of one distribution, of which some runs diverged: scores, and where neither diverged."""

    a: Floats
    b: Floats
    lost: tuple[Flags, Flags]

    @classmethod
    def worst(
        cls, rng: np.random.Generator, studies: int, n: int, shared: float = 0.5, share: float = 0.2
    ) -> Diverging:
        """A loses the worst `share` of its runs. `shared`: the correlation of two runs of a seed."""
        seed = rng.normal(0, np.sqrt(shared), (studies, n))
        a, b = (seed + rng.normal(0, np.sqrt(1 - shared), (studies, n)) for _ in range(2))
        return cls(0.6 + 0.05 * a, 0.6 + 0.05 * b, (a < special.ndtri(share), np.zeros_like(a, bool)))

    @classmethod
    def alike(cls, rng: np.random.Generator, studies: int, n: int, rate: float, spread: float) -> Diverging:
        """Both lose a `rate` of their runs, whichever."""
        a, b = 0.6 + rng.normal(0, spread, (2, studies, n))
        return cls(a, b, (rng.random(a.shape) < rate, rng.random(a.shape) < rate))

    @property
    def scored(self) -> Floats:
        """Differences (num_studies, n) with the floor in place of what diverged."""
        a, b = (np.where(lost, FLOOR, x) for lost, x in zip(self.lost, (self.a, self.b), strict=True))
        return a - b

    @property
    def rejected(self) -> Flags:
        """Whether the scores differ at .05, two-sided."""
        return p_two_sided(self.scored) <= 0.05

    def rejected_where_converged(self) -> Floats:
        """−1, 0 or 1 by study: whether B, neither or A is better on the pairs that converged alone."""
        kept = ~(self.lost[0] | self.lost[1])
        d, n = np.where(kept, self.a - self.b, 0.0), kept.sum(axis=1)
        known = np.maximum(n, 2)
        mean = d.sum(axis=1) / known
        spread = np.sqrt((kept * (d - mean[:, None]) ** 2).sum(axis=1) / (known - 1))
        p = 2 * special.stdtr(known - 1, -np.abs(mean) * np.sqrt(known) / np.maximum(spread, RESOLUTION))
        return np.where((p <= 0.05) & (n > 1), np.sign(mean), 0.0)


@dataclass(frozen=True)
class Squares:
    """Means of n × m differences and their mean squares, of many studies: (num_studies,) each."""

    n: int
    m: int
    mean: Floats
    seeds: Floats
    examples: Floats
    rest: Floats

    @classmethod
    def normal(cls, rng: np.random.Generator, studies: int, n: int, m: int, sds: Sequence[float]) -> Squares:
        """Of normal effects of seeds, of examples and of the rest, with mean 0: in closed form (Scheffé 1959)."""
        seed, example, rest = np.square(sds)
        mean = rng.normal(0, np.sqrt(seed / n + example / m + rest / (n * m)), studies)
        degrees = n - 1, m - 1, (n - 1) * (m - 1)
        expected = m * seed + rest, n * example + rest, rest
        return cls(
            n,
            m,
            mean,
            *(e * rng.chisquare(df, studies) / df for e, df in zip(expected, degrees, strict=True)),
        )

    @classmethod
    def of(cls, d: NDArray[np.floating]) -> Squares:
        """Of differences (num_studies, n, m)."""
        _, n, m = d.shape
        rows, columns = d.mean(axis=2, dtype=float), d.mean(axis=1, dtype=float)
        mean = rows.mean(axis=1)
        seeds = m * ((rows - mean[:, None]) ** 2).sum(axis=1)
        examples = n * ((columns - mean[:, None]) ** 2).sum(axis=1)
        rest = (d.astype(np.float32) ** 2).sum(axis=(1, 2), dtype=float) - n * m * mean**2 - seeds - examples
        return cls(n, m, mean, seeds / (n - 1), examples / (m - 1), rest / ((n - 1) * (m - 1)))

    def covers(self, truth: float = 0.0) -> tuple[float, float]:
        """How often the 95 % intervals over seeds and examples, and over seeds alone, hold the truth."""
        n, m = self.n, self.m
        # An accuracy over m examples has steps of 1/m.
        seeds = np.maximum(self.seeds, 1 / m)
        more = self.examples > self.rest
        total = seeds + np.where(more, self.examples - self.rest, 0.0)
        parts = self.examples**2 / (m - 1) + self.rest**2 / ((n - 1) * (m - 1))
        df = np.maximum(total**2 / (seeds**2 / (n - 1) + np.where(more, parts, 0.0)), n - 1)
        half = special.stdtrit(df, 0.975) * np.sqrt(total / (n * m))
        alone = special.stdtrit(n - 1, 0.975) * np.sqrt(seeds / (n * m))
        off = np.abs(self.mean - truth)
        return float((off <= np.maximum(half, alone)).mean()), float((off <= alone).mean())


def binary(
    rng: np.random.Generator, studies: int, n: int, m: int, level: float, sds: Sequence[float]
) -> tuple[NDArray[np.int8], float]:
    """Differences of right and wrong answers (num_studies, n, m), and their true mean.

    An answer is right where `level` and normal effects of the run, of the example (on both sides, and on this side) and
    of the cell (unit spread) add up to more than 0; `sds` of the first three. The variant's level is .15 higher.
    """
    by_run, by_example, by_side = sds
    common = rng.normal(0, by_example, (studies, 1, m))
    right = []
    for add in (0.15, 0.0):
        side = common + rng.normal(0, by_side, (studies, 1, m)) + rng.normal(0, by_run, (studies, n, 1))
        chance = special.ndtr((level + add + side).astype(np.float32))
        right.append(rng.random((studies, n, m), np.float32) < chance)
    total = np.sqrt(1 + np.square(sds).sum())
    truth = float(special.ndtr((level + 0.15) / total) - special.ndtr(level / total))
    return right[0].astype(np.int8) - right[1], truth
