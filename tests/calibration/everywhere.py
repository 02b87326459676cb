"""Verdicts and claims that must hold in every condition: how often one is told that does not."""

import itertools
from collections.abc import Iterator

import numpy as np
from made_conditions import conditions

from ablate.analysis.judge import Judged, judge
from ablate.analysis.over_conditions import InCondition, claim_in_every, judge_every
from ablate.analysis.power import ALPHA
from ablate.core.facts import ClaimKind

from .check import Check, Place, frequency, never
from .many_conditions import NUM_CONDITIONS, NUM_SEEDS, Shortcut, levels, noise, null_variants, one_sided
from .simulations import Flags, Floats

LARGE = 50.0
"""An effect that is always found, in standard deviations of a difference."""
MARGIN = 1.0
SPREAD = 0.05
"""The standard deviation of differences of which one has the size of the margin, so that all others are within it."""
ONE_SIDED = ALPHA / 2
SUBJECT = "Every condition, one without a difference"
AT_MARGIN = "Every condition, one off by the margin"
CLAIM = "Claim on every condition, no difference in any"


def everywhere(rng: np.random.Generator, place: Place) -> Iterator[Check]:
    """One condition without a difference, one off by the margin; then claims where no condition has a difference."""
    cases = [*itertools.product(NUM_SEEDS, NUM_CONDITIONS)]
    settings = len(cases)
    for n, count in cases:
        setting = {"n": n, "T": count}
        shape = (place.studies, n, count)
        effects = np.full(count, LARGE)
        effects[0] = 0.0
        variants = (effects + d for d in null_variants(rng, shape, 0.5))
        yield from levels(SUBJECT, DIFFERENT, variants, setting, place, settings=settings, rate=ONE_SIDED)
        offsets = np.where(effects == 0, MARGIN, 0.0)
        variants = (offsets + SPREAD * d for d in null_variants(rng, shape, 0.5))
        yield from levels(AT_MARGIN, EQUIVALENT, variants, setting, place, settings=settings, rate=ONE_SIDED)
        d = noise(rng, shape, 0.5)
        yield never(f"{CLAIM}: told otherwise by the package", other_claims(d[: place.few]), setting)
        wrong = np.any(claims_of(d), axis=0)
        what = f"{CLAIM}: supported or refuted"
        yield frequency(what, wrong, {**setting, "M": 1}, settings=settings)


def p_of_every(d: Floats) -> Floats:
    """Returns the two-sided p of a difference in one direction in every condition."""
    above, below = one_sided(d)
    return np.minimum(1.0, 2 * np.minimum(above.max(axis=1), below.max(axis=1)))


def p_of_likeness(d: Floats) -> Floats:
    """Returns twice the largest p of a difference within the margin."""
    above, _ = one_sided(d, -MARGIN)
    _, below = one_sided(d, MARGIN)
    return np.minimum(1.0, 2 * np.maximum(above, below).max(axis=1))


def in_conditions(study: Floats) -> list[InCondition]:
    """Returns the comparison in each condition; study: (n, T)."""
    return [InCondition(one.name, one.difference) for one in conditions(study)]


def claimed(study: Floats, kind: ClaimKind, x: float = 0.0) -> Judged:
    """Returns the judgement of a claim in every condition; study: (n, T)."""
    judged = {one.name: judge(one.estimate, kind, x=x) for one in in_conditions(study)}
    return claim_in_every(judged).judged


DIFFERENT = Shortcut(p_of_every, by_package=lambda study: judge_every(in_conditions(study)).row.p)
EQUIVALENT = Shortcut(
    p_of_likeness,
    by_package=lambda study: claimed(study, "matches", MARGIN).supported,
)


def claims_of(d: Floats) -> tuple[Floats, Floats]:
    """Returns whether the claim that A beats B in every condition is supported, and whether it is refuted."""
    above, below = one_sided(d)
    return above.max(axis=1) <= ONE_SIDED, d.shape[2] * below.min(axis=1) <= ONE_SIDED


def other_claims(d: Floats) -> Flags:
    """Returns of which studies the package judges the claim otherwise."""
    found = []
    for study, supported, refuted in zip(d, *claims_of(d), strict=True):
        expected = "supported" if supported else "refuted" if refuted else "inconclusive"
        found.append(claimed(study, "beats").outcome != expected)
    return np.array(found)
