"""Seeds until it is settled: looks at 5, 10, 15 and 20 seeds. How often do they err, what do they find and save?"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from ablate.analysis.looks import p_sequential, weights
from ablate.analysis.verdicts import Judgement

from .check import Check, Place, frequency
from .judging import judgements
from .simulations import Floats

LOOKS = (5, 10, 15, 20)
POWER = {0.67: (0.71, 16.4), 0.8: (0.86, 14.9), 1.0: (0.97, 12.8)}
"""d_z → power and mean number of seeds, as METHODS §5 gives them."""
VARIANTS = 10


def sequential(rng: np.random.Generator, place: Place) -> Iterator[Check]:
    """One variant and ten, no difference and one of the margin; then what is there to be found."""
    k = len(LOOKS)
    yield Check("Weights of the looks: their sum", {"K": k}, sum(weights(k)), 1 - 1e-12, 1 + 1e-12)
    what = "Looks at 5, 10, 15, 20 seeds, no difference: `better` or `worse`"
    by_look = p_by_look(_runs(rng, place.studies, 0.0), _of_difference)
    yield frequency(what, ends(by_look)[0], {"variants": 1})
    each = (by_look <= 0.05).any(axis=1)
    yield frequency(what, each, {"variants": 1}, rules="every look at .05")
    found = np.zeros(place.studies, bool)
    for _ in range(VARIANTS):
        found |= ends(p_by_look(_runs(rng, place.studies, 0.0), _of_difference), VARIANTS)[0]
    yield frequency(what, found, {"variants": VARIANTS})
    what = "Looks at 5, 10, 15, 20 seeds, a difference of the margin: `equivalent`"
    for margin in (1.0, 2.0):
        made = _runs(rng, place.studies, margin)
        found = ends(p_by_look(made, lambda one: one.p_equivalent, 0.1 * margin))[0]
        yield frequency(what, found, {"margin": margin})
    for effect, (power, seeds) in POWER.items():
        decided, taken = ends(p_by_look(_runs(rng, place.studies, effect), _of_difference))
        setting, counted = {"d_z": effect}, place.studies
        what = "Looks at 5, 10, 15, 20 seeds: power, less that of METHODS §5"
        yield Check(what, setting, float(decided.mean()) - power, -0.02, 0.02, counted)
        what = "Looks at 5, 10, 15, 20 seeds: seeds taken, less those of METHODS §5"
        yield Check(what, setting, float(taken.mean()) - seeds, -0.2, 0.2, counted)


def _runs(rng: np.random.Generator, studies: int, effect: float) -> Floats:
    """Differences (studies, 20) with standard deviation .1 and a mean of so many of these."""
    return 0.1 * rng.normal(effect, 1, (studies, LOOKS[-1]))


def _of_difference(one: Judgement) -> float:
    return one.p


def p_by_look(d: Floats, p: Callable[[Judgement], float], margin: float | None = None) -> Floats:
    """(studies, K): the p of each look, at the first seeds of a study."""
    zero = np.zeros_like(d)
    found = [[p(one) for one in judgements(d[:, :n], zero[:, :n], margin=margin)] for n in LOOKS]
    return np.array(found).T


def ends(p: Floats, m: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Whether each study is decided in a family of m, and the seeds it has taken by then."""
    by_then = np.array(
        [[p_sequential(row[: k + 1], len(LOOKS)) for k in range(len(LOOKS))] for row in p.tolist()]
    )
    settled = by_then <= 0.05 / m
    decided = settled.any(axis=1)
    return decided, np.where(decided, np.array(LOOKS)[settled.argmax(axis=1)], LOOKS[-1])
