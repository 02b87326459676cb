"""Metrics that declare no resolution: the step of the grid on which values lie stands in for it."""

import itertools
from collections.abc import Callable, Iterator

import numpy as np

from ablate.analysis.grid import grid_step, resolution_of
from ablate.analysis.paired import Differences
from ablate.core.metric import Metric

from .check import Check, Place, at_most
from .simulations import Flags, Floats

UNDECLARED = Metric("max")
SEEDS = (2, 3, 8)
EXAMPLES = (64, 1797)
SPREADS = (0.5, 3.0)
"""The standard deviations of runs, in steps of the grid."""
MOST = {1: 0.055, 3: 0.018, 8: 0.007}
"""Size of the family → the level of a comparison that METHODS §2 states."""
MOST_EQUIVALENT = 0.037
MOST_GRIDS = 0.0003
"""How often full floats lie on a grid by chance."""
WHAT = "Accuracies without a declared resolution, no difference: `better` or `worse` in a family of {}"
EQUIVALENT = "Accuracies without a declared resolution, off by the margin: `equivalent`"
FLOATS = "Four full floats: a grid is found"


def grids(rng: np.random.Generator, place: Place) -> Iterator[Check]:
    """Accuracies over few and over many examples, with a spread below and above a step."""
    for num_examples, spread, n in itertools.product(EXAMPLES, SPREADS, SEEDS):
        setting = {"examples": num_examples, "spread in steps": spread, "n": n}
        a, b = accuracies(rng, (2, place.studies, n), num_examples, spread)
        p = p_values(a, b, own_step)
        for size, most in MOST.items():
            yield at_most(WHAT.format(size), p <= 0.05 / size, setting, most=most, alpha=0.05 / size)
        margin = round(4 * spread) / num_examples
        away, there = accuracies(rng, (2, place.studies, n), num_examples, spread)
        yield at_most(
            EQUIVALENT,
            are_equivalent(away + margin, there, margin),
            setting,
            most=MOST_EQUIVALENT,
            alpha=0.025,
        )
    setting = {"examples": 64, "spread in steps": 0.5, "n": 2}
    a, b = accuracies(rng, (2, place.studies, 2), 64, 0.5)
    wrong = p_values(a, b, decimal_step) <= 0.05
    yield at_most(WHAT.format(1), wrong, setting, most=MOST[1], alpha=0.05, rules="decimals before shares")
    floats = rng.normal(0.8, 0.01, (place.studies, 4))
    found = np.array([grid_step(values) > 0 for values in floats])
    yield at_most(FLOATS, found, {"n": 2}, most=MOST_GRIDS, alpha=MOST_GRIDS)


def accuracies(rng: np.random.Generator, size: tuple[int, ...], num_examples: int, spread: float) -> Floats:
    """Returns shares of `num_examples` around 0.9, which vary by `spread` of them."""
    return np.rint(0.9 * num_examples + spread * rng.normal(size=size)) / num_examples


def own_step(scores: Floats) -> float:
    """Returns the resolution by the rule of the package."""
    return resolution_of(UNDECLARED, scores)


def decimal_step(scores: Floats) -> float:
    """Returns the last of up to six decimals that all scores have, else 0."""
    for decimals in range(7):
        if (scores.round(decimals) == scores).all():
            return float(10.0**-decimals)
    return 0.0


def p_values(a: Floats, b: Floats, step_of: Callable[[Floats], float]) -> Floats:
    """Returns the two-sided p of no difference, (num_studies,)."""
    judged = (Differences.between(x, y, step_of(np.array([x, y]))) for x, y in zip(a, b, strict=True))
    return np.array([2 * min(d.above(0.0), d.below(0.0)) for d in judged])


def are_equivalent(a: Floats, b: Floats, margin: float) -> Flags:
    """Returns whether both lie within the margin of one another, (num_studies,)."""
    judged = (Differences.between(x, y, own_step(np.array([x, y]))) for x, y in zip(a, b, strict=True))
    return np.array([max(d.above(-margin), d.below(margin)) <= 0.025 for d in judged])
