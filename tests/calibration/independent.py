"""The mean over conditions whose seeds are independent, of paired runs and of unpaired ones."""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from made_conditions import SCORE, conditions, other_seeds
from scipy import special

from ablate.analysis.conditions import Condition
from ablate.analysis.independent_conditions import mean_of_independent
from ablate.analysis.judge import p_of
from ablate.analysis.unpaired import Unpaired

from .check import Check, Place, frequency
from .many_conditions import (
    FAMILIES,
    NUM_CONDITIONS,
    TOLERANCE,
    Shortcut,
    family_levels,
    levels,
    noise,
    null_variants,
    without_band,
)
from .simulations import Floats

NUM_SEEDS = (5, 8, 20)
"""Below five seeds of a condition there is no such mean."""
BEYOND = (5, 2)
"""Seeds and conditions of which families of several variants err in up to 0.065, where spreads are as 1 to 4."""
UNEQUAL = (5, 8, 20)
"""Seeds of three conditions."""
EQUAL_SDS = (1.0, 1.0, 1.0)
WORST_SDS = (4.0, 2.0, 1.0)
"""The standard deviations of differences in them."""
SUBJECT = "Mean over conditions with independent seeds, no difference"
UNEQUAL_SUBJECT = f"{SUBJECT}, unequal numbers of seeds"
UNPAIRED_SUBJECT = f"{SUBJECT}, unpaired runs"
SHARED = "shared seeds taken for independent"


def independent(rng: np.random.Generator, place: Place) -> Iterator[Check]:
    """Equal numbers of seeds with standard deviations 1 to 10, unequal ones, unpaired runs; seeds that are shared."""
    cases = [*itertools.product(NUM_SEEDS, NUM_CONDITIONS)]
    for n, count in cases:
        setting = {"n": n, "T": count, "largest SD": 10}
        variants = null_variants(rng, (place.studies, n, count), sds=np.linspace(1, 10, count))
        agreeing, alone, *several = levels(
            SUBJECT, INDEPENDENT, variants, setting, place, settings=len(cases)
        )
        yield from (agreeing, alone)
        is_beyond = (n, count) == BEYOND
        yield from without_band(several, "two conditions on five seeds") if is_beyond else several
        yield from of_unpaired(rng, place, n, count, settings=len(cases))
    yield from of_unequal(rng, place)
    for count in NUM_CONDITIONS:
        wrong = p_of_parts(parts_of(noise(rng, (place.studies, 5, count), 0.8))) <= 0.05
        setting = {"n": 5, "T": count, "M": 1}
        yield frequency(f"{SUBJECT}: a verdict", wrong, setting, rules=SHARED)


def parts_of(d: Floats) -> list[tuple[Floats, Floats, int]]:
    """Returns the mean of each condition, the variance of that mean and its degrees of freedom."""
    n = d.shape[1]
    means = d.mean(axis=1)
    variances = d.var(axis=1, ddof=1) / n
    return [(means[:, t], variances[:, t], n - 1) for t in range(d.shape[2])]


def p_of_parts(parts: Sequence[tuple[Floats, Floats, int]], num_sides: int = 1) -> Floats:
    """Returns the two-sided p of the mean of the parts; `num_sides`: the parts of which a condition is the sum."""
    count = len(parts) / num_sides
    mean = sum(mean for mean, _, _ in parts) / count
    variance = sum(of_part for _, of_part, _ in parts) / count**2
    squares = sum((of_part / count**2) ** 2 / df for _, of_part, df in parts)
    return 2 * special.stdtr(variance**2 / squares, -np.abs(mean) / np.sqrt(variance))


INDEPENDENT = Shortcut(
    over_arrays=lambda d: p_of_parts(parts_of(d)),
    by_package=lambda d: p_of(mean_of_independent(other_seeds(conditions(d)))),
)


def of_unpaired(
    rng: np.random.Generator, place: Place, n: int, count: int, *, settings: int
) -> Iterator[Check]:
    """Yields the levels of runs that are unpaired, the variant's with three times the spread of the baseline's."""
    setting = {"n": n, "T": count}
    baseline = noise(rng, (place.studies, n, count))
    shortcut = Shortcut(
        over_arrays=lambda both: p_of_parts(parts_of(both[:, :n]) + parts_of(-both[:, n:]), num_sides=2),
        by_package=lambda both: p_of(mean_of_independent(unpaired(both[:n], both[n:]))),
    )
    tried = (3 * noise(rng, baseline.shape) for _ in range(max(FAMILIES)))
    variants = (np.concatenate([one, baseline], axis=1) for one in tried)
    yield from levels(UNPAIRED_SUBJECT, shortcut, variants, setting, place, settings=settings)


def unpaired(a: Floats, b: Floats) -> list[Condition]:
    """Returns the conditions of runs of two sides, (n, T) each."""
    made = []
    for t in range(a.shape[1]):
        differences = Unpaired.of_runs(a[:, t], b[:, t], 0.0, known=False)
        made.append(Condition(f"c{t}", differences, "score", SCORE))
    return made


def of_unequal(rng: np.random.Generator, place: Place) -> Iterator[Check]:
    """Yields the levels of conditions that have different numbers of seeds, and how often they err at the worst."""
    setting = {"n": "/".join(map(str, UNEQUAL)), "T": len(UNEQUAL)}
    for sds in (EQUAL_SDS, WORST_SDS):
        by_condition = [
            null_variants(rng, (place.studies, n, 1), sds=sd) for n, sd in zip(UNEQUAL, sds, strict=True)
        ]
        p_values = []
        for drawn in zip(*by_condition, strict=True):
            p_values.append(p_of_parts([part for d in drawn for part in parts_of(d)]))
        few = range(4)
        by_package = [p_of(mean_of_independent(unequal([d[study] for d in drawn]))) for study in few]
        off = float(np.abs(p_values[-1][: len(few)] - by_package).max())
        what = f"{UNEQUAL_SUBJECT}: p over arrays, less that of the package"
        yield Check(what, setting, off, 0.0, TOLERANCE, len(few))
        found = family_levels(UNEQUAL_SUBJECT, np.array(p_values), setting, settings=1)
        yield from found if sds == EQUAL_SDS else without_band(found, "fewest where they vary most")


def unequal(by_condition: Sequence[Floats]) -> list[Condition]:
    """Returns the conditions of differences (n_t, 1)."""
    made = []
    for t, d in enumerate(by_condition):
        (condition,) = conditions(d)
        made.append(replace(condition, name=f"c{t}"))
    return other_seeds(made)
