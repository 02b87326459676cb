"""Many simulated studies over conditions at once, and what their levels are in families of several variants.

Arrays have shape (num_studies, n, T): a difference for each seed in each condition. Over arrays p is found by a
shortcut; each part holds it together with the package's own functions, on some of the studies of each setting.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from ablate.analysis.power import ALPHA

from .check import Check, Place, frequency
from .simulations import Floats

NUM_SEEDS = (3, 5, 8, 20)
NUM_CONDITIONS = (2, 3, 8, 26)
FAMILIES = (1, 3, 10)
"""Numbers of variants, each of which is a row of one family."""
Setting = Mapping[str, float | str]
TOLERANCE = 1e-5
"""By how much the p of a shortcut and that of the package may differ; `Squares.of` adds in single precision."""


@dataclass(frozen=True)
class Shortcut:
    """A two-sided p of no effect, found in two ways."""

    over_arrays: Callable[[Floats], Floats]
    "(num_studies, n, T) → (num_studies,)."
    by_package: Callable[[Floats], float]
    "(n, T) → p."


def noise(
    rng: np.random.Generator, shape: tuple[int, int, int], shared: float = 0.0, sds: ArrayLike = 1.0
) -> Floats:
    """Returns normal values with mean 0; `shared`: the correlation of two conditions under one seed."""
    studies, n, _ = shape
    own = np.sqrt(1 - shared) * rng.normal(size=shape)
    return np.asarray(sds) * (own + np.sqrt(shared) * rng.normal(size=(studies, n, 1)))


def null_variants(
    rng: np.random.Generator, shape: tuple[int, int, int], shared: float = 0.0, sds: ArrayLike = 1.0
) -> Iterator[Floats]:
    """Yields the differences of each of the variants of the largest family from one baseline with the same mean."""
    baseline = noise(rng, shape, shared, sds)
    for _ in range(max(FAMILIES)):
        yield (noise(rng, shape, shared, sds) - baseline) / np.sqrt(2)


def p_of_mean(values: Floats, axis: int = 1) -> Floats:
    """Returns the two-sided p of a mean of 0 by t over an axis."""
    n = values.shape[axis]
    t = np.sqrt(n) * values.mean(axis=axis) / values.std(axis=axis, ddof=1)
    return 2 * special.stdtr(n - 1, -np.abs(t))


def one_sided(d: Floats, x: float = 0.0) -> tuple[Floats, Floats]:
    """Returns the p of a mean above `x` and that of one below it, in each condition, (num_studies, T)."""
    n = d.shape[1]
    t = np.sqrt(n) * (d.mean(axis=1) - x) / d.std(axis=1, ddof=1)
    return special.stdtr(n - 1, -t), special.stdtr(n - 1, t)


def agreement(subject: str, shortcut: Shortcut, d: Floats, setting: Setting, place: Place) -> Check:
    """Returns by how much p differs between arrays and package, at most, on some of the studies."""
    some = d[: max(4, place.studies // 100)]
    by_package = np.array([shortcut.by_package(study) for study in some])
    largest = np.abs(shortcut.over_arrays(some) - by_package).max()
    what = f"{subject}: p over arrays, less that of the package"
    return Check(what, setting, float(largest), 0.0, TOLERANCE, len(some))


def levels(
    subject: str,
    shortcut: Shortcut,
    variants: Iterable[Floats],
    setting: Setting,
    place: Place,
    *,
    settings: int,
    rate: float = ALPHA,
    exactly: bool = False,
) -> Iterator[Check]:
    """Yields the agreement of both ways on the first variant, then how often a family has a false verdict."""
    p_values = []
    for d in variants:
        if not p_values:
            yield agreement(subject, shortcut, d, setting, place)
        p_values.append(shortcut.over_arrays(d))
    p = np.array(p_values)
    yield from family_levels(subject, p, setting, settings=settings, rate=rate, exactly=exactly)


def family_levels(
    subject: str,
    p: Floats,
    setting: Setting,
    *,
    settings: int,
    rate: float = ALPHA,
    exactly: bool = False,
) -> Iterator[Check]:
    """Yields how often any variant of a family has a false verdict; p: by variant and study.

    settings: how many there are of the subject. exactly: whether one variant errs at `rate`, and not only at most.
    """
    for size in FAMILIES:
        alone = size == 1
        found = (p[:size] <= ALPHA / size).any(axis=0)
        what = f"{subject}: a verdict" if alone else f"{subject}, several variants: any verdict"
        yield frequency(
            what,
            found,
            {**setting, "M": size},
            rate=rate,
            exactly=exactly and alone,
            settings=settings if alone else settings * (len(FAMILIES) - 1),
        )


def without_band(checks: Iterable[Check], case: str) -> Iterator[Check]:
    """Yields levels that are published and promised by nobody; case: what is beyond the promise."""
    for check in checks:
        yield replace(check, what=f"{check.what}, {case}", low=-math.inf, high=math.inf)
