"""A stream of tries: how often `gate` keeps one that changes nothing, whatever its spread."""

import json
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from committed import Repository, drawn

from ablate.analysis.level_of_tries import TOTAL_LEVEL

from .check import Check, Place, frequency
from .many_streams import Draw, Runs, keep_nothing_new
from .simulations import Flags, Floats

SPREADS = (1, 2, 3, 10)
"""The standard deviations of a try's runs, those of the base's having 1."""
WHAT = "Stream of 60 tries that change nothing: any `keep`"


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


def any_kept(draw: Draw, studies: int, spread: float, *, by_welch: bool = True) -> Flags:
    """Returns whether a stream keeps any of its tries, which have the mean of the base, (studies,)."""
    return keep_nothing_new(Runs.drawn(draw, studies, spread), by_welch=by_welch)


def outlying(rng: np.random.Generator, size: tuple[int, ...]) -> Floats:
    """Returns normal values, of which one in ten is five standard deviations worse, with the mean 0."""
    return rng.standard_normal(size) - 5 * ((rng.random(size) < 0.1) - 0.1)


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
