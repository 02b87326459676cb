"""Ten variants: how often is any of them told what is not true?"""

from collections.abc import Iterator

import numpy as np

from .check import OWN, Check, Place, frequency
from .judging import verdicts
from .rules import PACKAGE, PERCENTILE, UNCORRECTED, Rules
from .simulations import family
from .single import sides

VARIANTS = 10


def families(rng: np.random.Generator, place: Place) -> Iterator[Check]:
    """Without a difference; and with both kinds of null together."""
    for n in (5, 10):
        yield alike(rng, place.studies, n, PACKAGE)
    for rules in (UNCORRECTED, PERCENTILE):
        yield alike(rng, place.studies, 5, rules)
    for n, nulls, margin in ((5, 5, 4.0), (10, 5, 1.0), (20, 5, 1.0), (20, 0, 1.0)):
        yield judged(rng, place.studies, n, nulls, margin)


def _shifts(nulls: int, margin: float) -> list[float]:
    """True differences: none of `nulls` variants; of the others the margin, every second one worse."""
    return [0.0] * nulls + [margin * (-1) ** i for i in range(VARIANTS - nulls)]


def alike(rng: np.random.Generator, studies: int, n: int, rules: Rules) -> Check:
    """All of them the baseline again, with runs that share their seeds' noise."""
    baseline, *others = sides(rng, studies, 1 + VARIANTS, n)
    found = np.array([rules.differ(other, baseline, VARIANTS) for other in others])
    what = "Ten variants, no difference: any `better` or `worse`"
    return frequency(what, found.any(axis=0), {"n": n}, rules=rules.name)


def judged(rng: np.random.Generator, studies: int, n: int, nulls: int, margin: float) -> Check:
    """Some the baseline again, the others off by the margin, in standard deviations of a difference."""
    shifts = _shifts(nulls, margin)
    d = 0.1 * family(rng, studies, shifts, n, 0.5)
    wrong = np.zeros(studies, bool)
    for i, shift in enumerate(shifts):
        said = verdicts(0.5 + d[:, i], np.full((studies, n), 0.5), m=VARIANTS, margin=0.1 * margin)
        wrong |= (said == "equivalent") if shift else np.isin(said, ["better", "worse"])
    what = "Ten variants, both kinds of null: any false verdict"
    return frequency(what, wrong, {"n": n, "margin": margin, "nulls": nulls}, rules=OWN)
