"""Streams in which some tries are true: the level that returns after a keep, waves, and a base that is given."""

import itertools
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from ablate.analysis.level_of_tries import TOTAL_LEVEL, LevelLeft
from ablate.commits.stream import NUM_BASE_RUNS, PAIRS

from .check import Check, Place, at_most, frequency, near, never
from .many_streams import ManyStreams, Runs, Spreads, keep_nothing_new, kept_gains, p_of_gains
from .one_stream import kept_by_package
from .simulations import Floats

SPREADS = (1, 2, 3, 10)
"""The standard deviations of a try's runs, those of the base's having 1."""
SHARES = (0.1, 0.3)
"""Of tries that gain."""
GAIN = 3.0
MOST_IN_MIXES = 0.047
"""The share of streams with a false keep that METHODS §13 states at most."""
POWER = {2: 0.63, 3: 0.95}
POWER_ON_GIVEN = {2: 0.59, 3: 0.94}
"""Gain in standard deviations → power at the first try."""
AFTER_KEEP = {3: (0.73, 0.54), 6: (0.68, 0.45), 12: (0.64, 0.36)}
"""The place of a keep → power of the next confirmation at two standard deviations; and that without a return.

METHODS §13 states that of the pooled t. Welch's, on the eight degrees of freedom of a new base, finds less.
"""
DRIFTS = (0.5, 1.0)
"""By how much runs are better than when those of the given base were made, in standard deviations."""
MORE_PASS = 2.5
"""Of four equal true gains, those that pass beside the one that is kept."""
MIXES = "Stream of 60 tries of which some gain: a false `keep`"
WAVES = "Waves of tries that change nothing: any `keep`"
GIVEN = "Stream of 60 tries on a given base that change nothing: any `keep`"
STALE = "the base as it was"


def waves(rng: np.random.Generator, place: Place) -> Iterator[Check]:
    """Mixes of tries, waves and given bases by the spread of tries; then power."""
    mixes = itertools.product(SPREADS, SHARES, (1, 4))
    for spread, share, wave in mixes:
        setting = {"spread of tries": spread, "gaining": share, "wave": wave}
        yield from of_mix(rng, place, setting, spread=spread, share=share, wave=wave)
    for spread, wave in itertools.product(SPREADS, (4, 10)):
        runs = Runs.drawn(rng.standard_normal, place.studies, spread, wave=wave)
        setting = {"spread of tries": spread, "wave": wave}
        yield frequency(WAVES, keep_nothing_new(runs), setting, rate=TOTAL_LEVEL)
    yield from of_given_bases(rng, place)
    yield from of_power(rng, place)


def of_mix(
    rng: np.random.Generator,
    place: Place,
    setting: dict[str, float],
    *,
    spread: float,
    share: float,
    wave: int,
) -> Iterator[Check]:
    """Yields how often a stream keeps a try that changes nothing, and where the package keeps others."""
    runs = Runs.drawn(rng.standard_normal, place.studies, spread, wave=wave)
    gains = GAIN * (rng.random(runs.screening.shape) < share)
    kept = kept_gains(runs, gains)
    other = ~np.isclose(kept[: place.few], kept_by_package(runs, gains[: place.few]), equal_nan=True)
    yield never("Stream of tries: keeps others than the package", other, setting)
    wrong = (kept == 0).any(axis=1)
    yield at_most(MIXES, wrong, setting, most=MOST_IN_MIXES, alpha=MOST_IN_MIXES)


def of_given_bases(rng: np.random.Generator, place: Place) -> Iterator[Check]:
    """Yields the levels on a base whose earlier runs only screen, and that now is as it was, or better."""
    for spread, drift in itertools.product(SPREADS, (0.0, *DRIFTS)):
        runs = Runs.drawn(rng.standard_normal, place.studies, spread)
        setting = {"spread of tries": spread, "drift": drift}
        drifted = replace(runs, first=runs.first - drift)
        yield frequency(GIVEN, keep_nothing_new(drifted, given=True), setting, rate=TOTAL_LEVEL)
        if spread == 1 and drift == max(DRIFTS):
            stale = replace(drifted, base=runs.base - drift)
            yield frequency(
                GIVEN, keep_nothing_new(stale, given=True), setting, rate=TOTAL_LEVEL, rules=STALE
            )


def of_power(rng: np.random.Generator, place: Place) -> Iterator[Check]:
    """Yields the power at the first try, and after a keep; and how many of equal gains pass."""
    for given, stated in ((False, POWER), (True, POWER_ON_GIVEN)):
        for gain, power in stated.items():
            runs = Runs.drawn(rng.standard_normal, place.studies, 1, tries=1)
            found = kept_gains(runs, np.full_like(runs.screening, gain), given=given)[:, 0] == gain
            what = "The first try on a given base" if given else "The first try"
            yield near(what, found, {"gain": gain}, stated=power)
    for keep, (power, without) in AFTER_KEEP.items():
        yield from of_power_after(rng, place, keep, with_return=power, without=without)
    runs = Runs.drawn(rng.standard_normal, place.studies, 1, wave=4, tries=4)
    streams = ManyStreams(runs)
    kept = streams.wave(0, np.full_like(runs.screening[:, 0], GAIN))
    more = float((streams.num_passed - ~np.isnan(kept)).mean()) - MORE_PASS
    what = "A wave of four equal gains: how many pass that are not kept, less those of METHODS §13"
    yield Check(what, {"gain": GAIN}, more, -0.15, 0.15, place.studies)


def of_power_after(
    rng: np.random.Generator, place: Place, keep: int, *, with_return: float, without: float
) -> Iterator[Check]:
    """Yields the power of the confirmation after a keep at a place, by the pooled t and by the rule."""
    setting = {"gain": 2, "keep at": keep}
    left = LevelLeft().after(keep)
    levels = {"": left.after_keep(keep).next_level, ", without a return of the level": left.next_level}
    pooled = p_after_keep(rng, place.studies, keep, gain=2.0, by_welch=False)
    by_rule = p_after_keep(rng, place.studies, keep, gain=2.0)
    for (words, level), stated in zip(levels.items(), (with_return, without), strict=True):
        what = f"The confirmation after a keep{words}"
        yield near(f"{what}, by the pooled t", pooled <= level, setting, stated=stated)
        found = float((by_rule <= level).mean())
        yield Check(f"{what}: power", setting, found, studies=place.studies)


def p_after_keep(
    rng: np.random.Generator, studies: int, keep: int, *, gain: float, by_welch: bool = True
) -> Floats:
    """Returns the p of the confirmation of a gain, the first after a keep at a place."""
    base = rng.normal(size=(studies, PAIRS))
    tried = gain + rng.normal(size=(studies, PAIRS))
    all_runs = _of_normal_runs(rng, studies, NUM_BASE_RUNS - 1 + 2 * keep * (PAIRS - 1))
    base_runs = _of_normal_runs(rng, studies, PAIRS - 1)
    of_base = Spreads.of(base)
    of_tried = Spreads.of(tried)
    return p_of_gains(
        tried.mean(axis=1) - base.mean(axis=1),
        pooled=all_runs.pooled_with(of_base).pooled_with(of_tried),
        base=base_runs.pooled_with(of_base),
        tried=of_tried,
        by_welch=by_welch,
    )


def _of_normal_runs(rng: np.random.Generator, studies: int, df: int) -> Spreads:
    return Spreads(rng.chisquare(df, studies) / df, np.full(studies, float(df)))
