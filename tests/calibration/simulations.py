"""Many simulated studies at once. Arrays have shape (num_studies, n), paired by seed.

Intervals over seeds and examples are found by a shortcut over arrays, which tests hold together with the package's own.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

FLOOR, RESOLUTION = 0.1, 0.001
"""Of the metric that is simulated: an accuracy over 1,000 examples, of which guessing finds a tenth."""

GRID = (
    *((0.02, 0.3, 0.4), (0.05, 0.3, 0.4), (0.03, 0.2, 0.4), (0.1, 0.1, 0.4), (0.02, 0.1, 0.4)),
    *((0.04, 0.5, 0.2), (0.1, 0.0, 0.4), (0.0, 0.2, 0.4)),
)
"""Standard deviations of differences between seeds, between examples and of the rest: of answers to one question, which
are right or wrong, they make up about .5; the last but one has no effect of examples, the last none of seeds."""


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


def band(studies: int, rate: float = 0.05, settings: int = 1) -> tuple[float, float]:
    """The binomial 99 % band of a frequency of `rate`; of several settings the one that holds all of them."""
    from scipy.stats import binom

    tail = 0.005 / settings
    low, high = binom.ppf([tail, 1 - tail], studies, rate) / studies
    return float(low), float(high)


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


def family(rng: np.random.Generator, studies: int, shifts: Sequence[float], n: int, shared: float) -> Floats:
    """Differences (num_studies, num_variants, n) with unit spread, whose true means are `shifts`.

    `shared`: the share of their variance that the noise of the common baseline makes.
    """
    own = rng.normal(0, np.sqrt(1 - shared), (studies, len(shifts), n))
    return own + rng.normal(0, np.sqrt(shared), (studies, 1, n)) + np.array(shifts)[:, None]


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
