"""Families of claims alone, and claims in their order: how often any is told what is not true, and what is found.

Each claim is "A beats B" of a variant of its own; arrays have shape (num_studies, n, C), a column a claim.
"""

import itertools
from collections.abc import Iterator, Sequence

import numpy as np
from made_conditions import conditions
from numpy.typing import NDArray

from ablate.analysis.chances import weights
from ablate.analysis.claim_families import alpha_of_late_claim, outcomes_in_order
from ablate.analysis.judge import judge
from ablate.analysis.power import ALPHA

from .check import Check, Place, at_most, frequency, near, never
from .many_conditions import NUM_SEEDS, family_levels, noise, null_variants, one_sided, p_of_mean
from .simulations import Flags, Floats

FOUND = 9.0
"""An effect that is found, in standard deviations of a difference."""
MIXES = (
    *((0, 0, 0), (FOUND, 0, 0), (FOUND, FOUND, 0), (0.8, 0, 0), (0.8, 0.8, 0), (FOUND, 0, FOUND)),
    *((0,) * 10, (FOUND,) * 9 + (0,), (0.8,) * 5 + (0,) * 5),
)
"""The effects of claims in their order."""
MOST_IN_ORDER, MOST_WITH_LOOKS = 0.0513, 0.052
LOOKS = (5, 10, 15, 20)
LAST_OF = {3: (13, 0.5), 8: (17, 0.0)}
"""Claims → seeds at which the last in order has a power of 80 % at d_z = 1, and the correlation of claims."""
ROWS, PICKED, WITH_INTERVAL = 16, 3, 0.40
"""Rows of a study, claims picked afterwards, and how often an interval of such rows excludes 0 (METHODS §3)."""
FAMILY = "Claims alone, no difference"
ORDERED = "Claims in their order: any false verdict"
INTERVALS = "Sixteen rows without a word, no difference: some 95 % interval excludes 0"
LATE = "Claims picked after results, no difference: any decided"
Outcomes = NDArray[np.int8]


def claims(rng: np.random.Generator, place: Place) -> Iterator[Check]:
    """Families by number of claims; claims in order, at one look and at four; claims that are picked afterwards."""
    for n in NUM_SEEDS:
        p = np.array([p_of_mean(d[:, :, 0]) for d in null_variants(rng, (place.studies, n, 1))])
        yield from family_levels(FAMILY, p, {"n": n, "T": 1}, settings=len(NUM_SEEDS))
    for n, effects in itertools.product(NUM_SEEDS, MIXES):
        yield from in_order(rng, place, n, effects)
    yield from wrong_orders(rng, place)
    for effects in MIXES[:6]:
        d = effects + noise(rng, (place.studies, LOOKS[-1], len(effects)))
        wrong = are_false(outcomes_over_looks(d), effects)
        setting = {"claims": _words(effects), "looks": len(LOOKS)}
        yield at_most(f"{ORDERED}, with looks", wrong, setting, most=MOST_WITH_LOOKS, alpha=MOST_WITH_LOOKS)
    for count, (n, correlation) in LAST_OF.items():
        d = 1 + noise(rng, (place.studies, n, count), correlation)
        found = until_open(decided(d))[:, -1] == 1
        yield near("Claims in their order, the last of them", found, {"n": n, "claims": count}, stated=0.8)
    yield from picked(rng, place)


def _words(effects: Sequence[float]) -> str:
    return "/".join(f"{effect:g}" for effect in effects)


def decided(d: Floats, alpha: float = ALPHA) -> Outcomes:
    """Returns for each claim 1 where it is supported, −1 where it is refuted, else 0, shape (num_studies, C)."""
    above, below = one_sided(d)
    return (2 * above <= alpha).astype(np.int8) - (2 * below <= alpha)


def until_open(outcomes: Outcomes) -> Outcomes:
    """Returns the outcomes of claims in order: 0 after the first that is not decided."""
    return np.where(np.cumprod(outcomes != 0, axis=1), outcomes, 0)


def outcomes_over_looks(d: Floats) -> Outcomes:
    """Returns the outcomes of claims in order, each at the first look that decides it."""
    outcomes = np.zeros(d[:, 0].shape, np.int8)
    for n, weight in zip(LOOKS, weights(len(LOOKS)), strict=True):
        outcomes = np.where(outcomes, outcomes, decided(d[:, :n], ALPHA * weight))
    return until_open(outcomes)


def are_false(outcomes: Outcomes, effects: Sequence[float]) -> Flags:
    """Returns whether any claim is decided that is true of nothing, or refuted though it is true."""
    wrong = np.where(np.array(effects) == 0, outcomes != 0, outcomes < 0)
    return wrong.any(axis=1)


def in_order(rng: np.random.Generator, place: Place, n: int, effects: Sequence[float]) -> Iterator[Check]:
    """Yields how often claims in order have a false verdict, and where the package says otherwise."""
    setting = {"n": n, "claims": _words(effects)}
    d = effects + noise(rng, (place.studies, n, len(effects)))
    outcomes = until_open(decided(d))
    by_rule = [by_package(study) for study in d[: place.few]]
    other = (outcomes[: place.few] != by_rule).any(axis=1)
    yield never("Claims in their order: told otherwise by the package", other, setting)
    wrong = are_false(outcomes, effects)
    settings = len(NUM_SEEDS) * len(MIXES)
    yield at_most(ORDERED, wrong, setting, most=MOST_IN_ORDER, alpha=MOST_IN_ORDER, settings=settings)


def by_package(study: Floats) -> list[int]:
    """Returns the outcomes of claims in order as `decided` has them; study: (n, C)."""
    found = outcomes_in_order([judge(one.difference, "beats") for one in conditions(study)])
    numbers = {"supported": 1, "refuted": -1, "inconclusive": 0, "not_tested": 0}
    return [numbers[outcome] for outcome in found]


def wrong_orders(rng: np.random.Generator, place: Place) -> Iterator[Check]:
    """Yields the levels of going on past an open claim, and of an order by the results."""
    d = noise(rng, (place.studies, 8, 6))
    going_on = are_false(decided(d), [0.0] * 6)
    setting = {"n": 8, "claims": _words([0.0] * 6)}
    yield frequency(ORDERED, going_on, setting, rate=MOST_IN_ORDER, rules="going on past an open claim")
    three = d[:, :, :3]
    p = np.minimum(*one_sided(three))
    first = np.take_along_axis(decided(three), p.argsort(axis=1)[:, :1], axis=1)
    setting = {"n": 8, "claims": _words([0.0] * 3)}
    by_results = are_false(first, [0.0])
    yield frequency(ORDERED, by_results, setting, rate=MOST_IN_ORDER, rules="in the order of results")


def picked(rng: np.random.Generator, place: Place) -> Iterator[Check]:
    """Yields how often an interval of null rows excludes 0, and what claims err that are picked among them."""
    setting = {"n": 8, "rows": ROWS, "claims": PICKED}
    baseline = rng.normal(size=(place.studies, 8, 1))
    d = (rng.normal(size=(place.studies, 8, ROWS)) - baseline) / np.sqrt(2)
    smallest = 2 * np.minimum(*one_sided(d)).min(axis=1)
    yield near(INTERVALS, smallest <= ALPHA, setting, stated=WITH_INTERVAL)
    late = smallest <= alpha_of_late_claim(ROWS, PICKED)
    yield frequency(LATE, late, setting)
    yield frequency(LATE, smallest <= ALPHA / PICKED, setting, rules="a family of the claims picked")
