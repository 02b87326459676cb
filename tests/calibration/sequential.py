"""Seeds until it is settled: looks at 5, 10, 15 and 20 seeds. How often do they err, what do they find and save?"""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from ablate.analysis.chances import weights
from ablate.analysis.judge import DECIDED, row
from ablate.analysis.power import ALPHA

from .check import Check, Place, frequency
from .judging import contrasts
from .simulations import Floats

SEEDS = (5, 10, 15, 20)
POWER = {0.67: (0.71, 16.4), 0.8: (0.86, 14.9), 1.0: (0.97, 12.8)}
"""d_z → power and mean number of seeds, as METHODS §5 gives them."""
VARIANTS = 10
LOOKS = "Looks at 5, 10, 15, 20 seeds"
NOTHING = f"{LOOKS}, no difference: `better` or `worse`"


def sequential(rng: np.random.Generator, place: Place) -> Iterator[Check]:
    """One variant and ten, no difference and one of the margin; then what is there to be found."""

    def runs(effect: float) -> Floats:
        return 0.1 * rng.normal(effect, 1, (place.studies, SEEDS[-1]))

    yield Check(f"{LOOKS}: weights of METHODS §5", {"K": 4}, _off([0.1, 0.2, 0.3, 0.4]), 0.0, 1e-12)
    yield frequency(NOTHING, settled(runs(0))[0] != "", {"variants": 1})
    yield frequency(
        NOTHING, settled(runs(0), by=[1.0] * 4)[0] != "", {"variants": 1}, rules="every look at .05"
    )
    found = [settled(runs(0), m=VARIANTS)[0] != "" for _ in range(VARIANTS)]
    yield frequency(NOTHING, np.any(found, axis=0), {"variants": VARIANTS})
    for margin in (1.0, 2.0):
        found = settled(runs(margin), margin=0.1 * margin)[0] == "equivalent"
        yield frequency(f"{LOOKS}, a difference of the margin: `equivalent`", found, {"margin": margin})
    for effect, (power, seeds) in POWER.items():
        verdicts, taken = settled(runs(effect))
        less = float((verdicts == "better").mean()) - power, float(taken.mean()) - seeds
        setting, studies = {"d_z": effect}, place.studies
        yield Check(f"{LOOKS}: power, less that of METHODS §5", setting, less[0], -0.02, 0.02, studies)
        yield Check(f"{LOOKS}: seeds taken, less those of METHODS §5", setting, less[1], -0.2, 0.2, studies)


def _off(expected: Sequence[float]) -> float:
    return float(np.abs(np.subtract(weights(len(expected)), expected)).max())


def settled(
    d: Floats, m: int = 1, margin: float | None = None, by: Sequence[float] = ()
) -> tuple[NDArray[np.str_], NDArray[np.int64]]:
    """The verdict of each study once it is decided, or "", and the seeds taken by then; `by`: weights of the looks."""
    found = np.full(len(d), "", object)
    taken = np.full(len(d), SEEDS[-1])
    for n, weight in zip(SEEDS, by or weights(len(SEEDS)), strict=True):
        still = np.flatnonzero(found == "")
        first = d[still, :n]
        for i, one in zip(still, contrasts(first, np.zeros_like(first)), strict=True):
            now = row(one.estimate(margin), margin, ALPHA * weight / m)
            if now.verdict in DECIDED:
                found[i], taken[i] = now.verdict, n
    return found.astype(str), taken
