"""How often the 95 % interval holds the true mean difference."""

from collections.abc import Callable, Iterator, Mapping

import numpy as np

from .check import Check, Place
from .rules import PACKAGE, PERCENTILE, Rules
from .simulations import Floats

SEEDS = (3, 5, 8, 10, 20)
Draw = Callable[[np.random.Generator, tuple[int, int]], Floats]
DRAWS: Mapping[str, Draw] = {
    "normal": lambda rng, size: rng.normal(size=size),
    "t3": lambda rng, size: rng.standard_t(3, size),
    "exponential": lambda rng, size: rng.exponential(size=size) - 1,
    "lognormal": lambda rng, size: rng.lognormal(size=size) - np.exp(0.5),
}
"""Of differences, with mean 0; the last two are skewed."""
PROMISED = 0.94
"""For the first two."""


def coverage(rng: np.random.Generator, place: Place) -> Iterator[Check]:
    """By number of seeds and distribution of the differences."""
    for name in DRAWS:
        for n in SEEDS:
            yield of(rng, 2 * place.studies, n, name, PACKAGE)
    yield of(rng, 2 * place.studies, 5, "normal", PERCENTILE)


def of(rng: np.random.Generator, studies: int, n: int, name: str, rules: Rules) -> Check:
    """Of differences whose true mean is .02."""
    b = rng.normal(0.5, 0.1, (studies, n))
    low, high = rules.bounds(b + 0.02 + 0.05 * DRAWS[name](rng, (studies, n)), b)
    held = float(((low <= 0.02) & (high >= 0.02)).mean())
    promised, what = PROMISED, "Coverage of the 95 % interval over seeds"
    if name not in ("normal", "t3"):
        promised, what = -np.inf, f"{what}, skewed differences"
    return Check(what, {"n": n, "differences": name}, held, promised, studies=studies, rules=rules.name)
