"""A stream of tries: how often `gate` keeps one that changes nothing, whatever its spread."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from committed import Repository, drawn
from numpy.typing import NDArray
from scipy import special

from ablate.analysis.level_of_tries import TOTAL_LEVEL, LevelLeft
from ablate.commits.stream import NUM_BASE_RUNS, PAIRS, SCREENING_P

from .check import Check, Place, frequency
from .simulations import Flags, Floats

TRIES = 60
SPREADS = (1, 2, 3, 10)
"""The standard deviations of a try's runs, those of the base's having 1."""
WHAT = "Stream of 60 tries that change nothing: any `keep`"
Draw = Callable[[tuple[int, ...]], Floats]


def streams(rng: np.random.Generator, place: Place) -> Iterator[Check]:
    """Tries that are noisier than the base, whose runs now and then are much worse, and that are the base itself."""
    for spread in SPREADS:
        setting = {"spread of tries": spread}
        yield frequency(WHAT, any_kept(rng.standard_normal, place.studies, spread), setting, rate=TOTAL_LEVEL)
    wrong = any_kept(rng.standard_normal, place.studies, 3, by_welch=False)
    yield frequency(WHAT, wrong, {"spread of tries": 3}, rate=TOTAL_LEVEL, rules="pooled variance alone")
    for spread in (1, 3):
        found = any_kept(lambda size: outlying(rng, size), place.studies, spread)
        what = f"{WHAT}, one run in ten five standard deviations worse"
        yield Check(what, {"spread of tries": spread}, float(found.mean()), studies=len(found))
    skewed = any_kept(lambda size: 1 - rng.standard_exponential(size), place.studies, 3)
    what = f"{WHAT}, skewed runs without outliers"
    yield Check(what, {"spread of tries": 3}, float(skewed.mean()), studies=len(skewed))
    yield Check("The base tried against itself: level spent", {"tries": 3}, spent_on_the_base(), 0.0, 0.0)


def outlying(rng: np.random.Generator, size: tuple[int, ...]) -> Floats:
    """Returns normal values, of which one in ten is five standard deviations worse, with the mean 0."""
    return rng.standard_normal(size) - 5 * ((rng.random(size) < 0.1) - 0.1)


@dataclass
class Spreads:
    """Variances with their degrees of freedom, of many streams: `commits.stream.Spread` over arrays."""

    variance: Floats
    df: Floats

    def add(self, streams: NDArray[np.intp], runs: Floats) -> None:
        """Pools those of some streams with the spread of `runs` (len(streams), n) around their means."""
        df = runs.shape[1] - 1
        total = self.df[streams] * self.variance[streams] + df * runs.var(axis=1, ddof=1)
        self.df[streams] += df
        self.variance[streams] = total / self.df[streams]


def any_kept(draw: Draw, studies: int, spread: float, *, by_welch: bool = True) -> Flags:
    """Returns whether a stream keeps any of `TRIES` that have the mean of the base, shape (studies,).

    `commits.stream.attempt` over arrays; a stream ends with what it keeps.
    """
    first = draw((studies, NUM_BASE_RUNS))
    means = first.mean(axis=1)
    pooled = Spreads(first.var(axis=1, ddof=1), np.full(studies, NUM_BASE_RUNS - 1.0))
    base_runs = Spreads(pooled.variance.copy(), pooled.df.copy())
    confirmations = np.zeros(studies, int)
    kept = np.zeros(studies, bool)
    levels = np.array([LevelLeft().level_of(place) for place in range(1, TRIES + 1)])
    for _ in range(TRIES):
        gain = spread * draw((studies,)) - means
        screened = special.stdtr(pooled.df, -gain / np.sqrt(pooled.variance * (1 + 1 / NUM_BASE_RUNS)))
        going = np.flatnonzero((screened <= SCREENING_P) & ~kept)
        base = draw((len(going), PAIRS))
        tried = spread * draw((len(going), PAIRS))
        base_runs.add(going, base)
        pooled.add(going, base)
        pooled.add(going, tried)
        p = p_of_gains(
            tried.mean(axis=1) - base.mean(axis=1),
            pooled=(pooled.variance[going], pooled.df[going]),
            base=(base_runs.variance[going], base_runs.df[going]),
            tried=tried.var(axis=1, ddof=1),
            by_welch=by_welch,
        )
        kept[going] = p <= levels[confirmations[going]]
        confirmations[going] += 1
    return kept


def p_of_gains(
    gains: Floats,
    *,
    pooled: tuple[Floats, Floats],
    base: tuple[Floats, Floats],
    tried: Floats,
    by_welch: bool = True,
) -> Floats:
    """Returns the p of `commits.stream.p_of_gain` of many confirmations; of the pooled test alone, without Welch's."""
    variance, df = pooled
    p = special.stdtr(df, -gains / np.sqrt(2 * variance / PAIRS))
    if not by_welch:
        return p
    variance_base, df_base = base
    total = (variance_base + tried) / PAIRS
    df = total**2 / ((variance_base / PAIRS) ** 2 / df_base + (tried / PAIRS) ** 2 / (PAIRS - 1))
    return np.maximum(p, special.stdtr(df, -gains / np.sqrt(total)))


def spent_on_the_base() -> float:
    """Returns what three tries of the base itself take of the level, by the command."""
    with TemporaryDirectory() as place:
        repository = Repository(Path(place, "repository"))
        repository.losses("base", drawn(0))
        left = []
        for _ in range(3):
            done = repository.call("gate", "tries.jsonl", "--base", "base", "--head", "base")
            left.append(json.loads(done.stdout)["alpha_left"])
    return TOTAL_LEVEL - min(left)
