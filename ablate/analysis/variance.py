"""The variance of a mean difference over seeds and examples, both a sample.

d_ij is the difference on seed i and example j, n × m without gaps: two crossed random factors with one value a cell
(Cornfield and Tukey 1956, Ann. Math. Statist. 27, 907–949). With the mean squares between seeds MS_S, between
examples MS_E, and of the rest MS_R, the mean over all cells has the variance

    V = (MS_S + max(0, MS_E − MS_R)) / (nm)

with approximate degrees of freedom after Satterthwaite 1946 (Biometrics Bull. 2, 110–114):

    df = (nmV)² / (MS_S²/(n − 1) + [MS_E > MS_R] · (MS_E²/(m − 1) + MS_R²/((n − 1)(m − 1))))

which are never taken below n − 1: else intervals at n = 2 reach 10¹⁰.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class StandardError:
    """Of a mean, with its degrees of freedom."""

    se: float
    df: float


@dataclass(frozen=True)
class MeanSquares:
    """Of n × m differences: between seeds, between examples, and of the rest."""

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

    @property
    def by_seed(self) -> float:
        """σ² of seeds, over infinitely many examples."""
        return max(0.0, self.seeds - self.rest) / self.m

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
