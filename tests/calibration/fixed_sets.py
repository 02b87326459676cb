"""The mean over conditions of which each has one test set for all of its seeds."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from made_conditions import with_examples
from scipy import special

from ablate.analysis.judge import p_of
from ablate.analysis.power import ALPHA
from ablate.analysis.sums_of_conditions import mean_over, trend_along

from .check import OWN, Check, Place, frequency
from .many_conditions import FAMILIES, NUM_CONDITIONS, NUM_SEEDS, TOLERANCE, family_levels, p_of_mean
from .simulations import Floats, Squares
from .trends import sizes_of

NUM_EXAMPLES = 200
SDS = ((0.02, 0.1, 0.4), (0.1, 0.1, 0.4), (0.0, 0.2, 0.4))
"""Standard deviations between seeds, between examples and of the rest."""
FEW = 20
"""Examples where differences are drawn one by one."""
SUBJECT = "Mean over conditions with a test set each, no difference"
AGREEMENT = f"{SUBJECT}: p over arrays, less that of the package"
SAME = "{} over conditions that have one test set, no difference: a verdict"
OTHERS = "one test set taken for several"
WEIGHTS = np.array([-1.5, -0.5, 0.5, 1.5])
"""Of the effects of examples in each of the conditions of a trend: they do not cancel."""


def fixed_sets(rng: np.random.Generator, place: Place) -> Iterator[Check]:
    """A test set for each condition; then one for all of them."""
    cases = [*itertools.product(SDS, NUM_SEEDS, NUM_CONDITIONS)]
    for sds, n, count in cases:
        setting = {"n": n, "T": count, "sds": "/".join(map(str, sds))}
        yield Check(AGREEMENT, setting, disagreement(rng, sds, n, count), 0.0, TOLERANCE)
        drawn = [*null_variants(rng, place.studies, n, count, sds)]
        p = np.array([one.p for one in drawn])
        yield from family_levels(SUBJECT, p, setting, settings=len(cases))
        if n == 5 and sds == SDS[-1]:
            wrong = p_of_mean(drawn[0].rows.mean(axis=2)) <= ALPHA
            yield frequency(f"{SUBJECT}: a verdict", wrong, {**setting, "M": 1}, rules="seeds alone")
    yield from of_one_test_set(rng, max(100, place.studies // 20))


@dataclass(frozen=True)
class OnTestSets:
    """Means over the test set of each seed and condition, with mean squares of each condition."""

    m: int
    "Examples of each test set."
    rows: Floats
    "(num_studies, n, T)."
    examples: Floats
    "Mean squares between examples, (num_studies, T)."
    rest: Floats
    "Mean squares of the rest, (num_studies, T)."

    @classmethod
    def normal(
        cls, rng: np.random.Generator, studies: int, n: int, count: int, sds: Sequence[float]
    ) -> OnTestSets:
        """Returns those of normal effects with mean 0, in closed form (Scheffé 1959)."""
        m = NUM_EXAMPLES
        seed, example, rest = np.square(sds)
        rows = np.sqrt(seed + rest / m) * rng.normal(size=(studies, n, count))
        rows += np.sqrt(example / m) * rng.normal(size=(studies, 1, count))
        of_examples = rng.chisquare(m - 1, (studies, count)) / (m - 1)
        of_rest = rng.chisquare((n - 1) * (m - 1), (studies, count)) / ((n - 1) * (m - 1))
        return cls(m, rows, (n * example + rest) * of_examples, rest * of_rest)

    @classmethod
    def of(cls, d: Floats) -> OnTestSets:
        """Returns those of differences (num_studies, T, n, m)."""
        squares = [Squares.of(d[:, t]) for t in range(d.shape[1])]
        examples = np.stack([of_one.examples for of_one in squares], axis=1)
        rest = np.stack([of_one.rest for of_one in squares], axis=1)
        return cls(d.shape[3], d.mean(axis=3).swapaxes(1, 2), examples, rest)

    @property
    def p(self) -> Floats:
        """The two-sided p of no difference, the larger of that over seeds and that over seeds and examples."""
        _, n, count = self.rows.shape
        means = self.rows.mean(axis=2)
        of_seeds = means.var(axis=1, ddof=1) / n
        more = self.examples > self.rest
        share = 1 / (n * self.m * count**2)
        variance = of_seeds + share * np.where(more, self.examples - self.rest, 0.0).sum(axis=1)
        parts = self.examples**2 / (self.m - 1) + self.rest**2 / ((n - 1) * (self.m - 1))
        of_examples = share**2 * np.where(more, parts, 0.0).sum(axis=1)
        df = np.maximum(variance**2 / (of_seeds**2 / (n - 1) + of_examples), n - 1)
        over_both = 2 * special.stdtr(df, -np.abs(means.mean(axis=1)) / np.sqrt(variance))
        return np.maximum(p_of_mean(means), over_both)


def null_variants(
    rng: np.random.Generator, studies: int, n: int, count: int, sds: Sequence[float]
) -> Iterator[OnTestSets]:
    """Yields the differences of each of the variants of the largest family from one baseline with the same mean.

    Their means share the baseline's; their mean squares are drawn one by one.
    """
    baseline = OnTestSets.normal(rng, studies, n, count, sds)
    for _ in range(max(FAMILIES)):
        own = OnTestSets.normal(rng, studies, n, count, sds)
        yield replace(own, rows=(own.rows - baseline.rows) / np.sqrt(2))


def effects(
    rng: np.random.Generator, shape: tuple[int, int, int, int], sds: Sequence[float], *, same: bool = False
) -> Floats:
    """Returns differences (num_studies, T, n, m) with mean 0; `same`: one test set has one effect in all conditions."""
    studies, count, n, m = shape
    of_seeds, of_examples, of_rest = sds
    d = of_rest * rng.normal(size=shape) + of_seeds * rng.normal(size=(studies, count, n, 1))
    return d + of_examples * rng.normal(size=(studies, 1 if same else count, 1, m))


def disagreement(rng: np.random.Generator, sds: Sequence[float], n: int, count: int) -> float:
    """Returns by how much p differs between arrays and package, at most, over four studies."""
    d = effects(rng, (4, count, n, FEW), sds)
    by_package = [p_of(mean_over(with_examples(study))) for study in d]
    return float(np.abs(OnTestSets.of(d).p - by_package).max())


def of_one_test_set(rng: np.random.Generator, studies: int) -> Iterator[Check]:
    """Yields the levels where all conditions have the same examples, and where the package takes them for others."""
    for count in (2, 8):
        setting = {"n": 5, "T": count, "M": 1, "examples": FEW}
        d = effects(rng, (studies, count, 5, FEW), (0.1, 1.0, 1.0), same=True)
        for rules, same in ((OWN, True), (OTHERS, False)):
            p = [p_of(mean_over(with_examples(study), same_examples=same)) for study in d]
            yield frequency(SAME.format("Mean"), np.array(p) <= ALPHA, setting, rules=rules)
    setting = {"n": 5, "T": len(WEIGHTS), "M": 1, "examples": FEW}
    d = effects(rng, (studies, len(WEIGHTS), 5, FEW), (0.05, 0.0, 0.5))
    d += 0.3 * WEIGHTS[:, None, None] * rng.normal(size=(studies, 1, 1, FEW))
    sizes = sizes_of(len(WEIGHTS)).tolist()
    for rules, same in ((OWN, True), (OTHERS, False)):
        p = [p_of(trend_along(with_examples(study), sizes, same_examples=same)) for study in d]
        yield frequency(SAME.format("Trend"), np.array(p) <= ALPHA, setting, rules=rules)
