"""Many streams of tries at once: `commits.stream` and `analysis.level_of_tries` over arrays.

Tries come in waves, each of one try or of several; arrays have shape (num_streams, num_waves, tries of a wave). Tests
hold this together with `one_stream`, which calls the package's own functions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from ablate.analysis.level_of_tries import EXPONENT, TOTAL_LEVEL, ZETA
from ablate.commits.stream import NUM_BASE_RUNS, PAIRS, SCREENING_P

from .simulations import Flags, Floats

TRIES = 60
Draw = Callable[[tuple[int, ...]], Floats]
Streams = NDArray[np.intp]


@dataclass(frozen=True)
class Runs:
    """Runs of many streams, less the true mean of their side; those of the base have the standard deviation 1."""

    first: Floats
    "Of the base before any try, (num_streams, NUM_BASE_RUNS)."
    screening: Floats
    "One of each try, (num_streams, num_waves, tries of a wave)."
    base: Floats
    "Of the base where each try is confirmed, (…, PAIRS)."
    tried: Floats
    "Of each try where it is confirmed, (…, PAIRS)."

    @classmethod
    def drawn(cls, draw: Draw, streams: int, spread: float, *, wave: int = 1, tries: int = TRIES) -> Runs:
        """Returns runs; spread: the standard deviation of those of a try."""
        shape = (streams, tries // wave, wave)
        return cls(
            first=draw((streams, NUM_BASE_RUNS)),
            screening=spread * draw(shape),
            base=draw((*shape, PAIRS)),
            tried=spread * draw((*shape, PAIRS)),
        )


@dataclass
class Spreads:
    """Variances with their degrees of freedom, of many streams: `commits.stream.Spread` over arrays."""

    variance: Floats
    df: Floats

    @classmethod
    def of(cls, runs: Floats) -> Spreads:
        """Returns those of runs (num_streams, n) around their means."""
        return cls(runs.var(axis=1, ddof=1), np.full(len(runs), runs.shape[1] - 1.0))

    def at(self, streams: Streams) -> Spreads:
        """Returns those of some streams."""
        return Spreads(self.variance[streams], self.df[streams])

    def pooled_with(self, other: Spreads) -> Spreads:
        """Returns the means of both variances, weighted by their degrees of freedom."""
        df = self.df + other.df
        return Spreads((self.df * self.variance + other.df * other.variance) / df, df)

    def put(self, streams: Streams, spreads: Spreads) -> None:
        """Sets those of some streams."""
        self.variance[streams] = spreads.variance
        self.df[streams] = spreads.df


@dataclass(frozen=True)
class Confirmations:
    """The confirmations that have one place in the wave of many streams."""

    streams: Streams
    tries: Streams
    "The index of each try in its wave."
    places: Streams
    "Its place among the confirmations since the last keep, from 1."
    base: Floats
    tried: Floats
    passed: Flags


class ManyStreams:
    """The state of many streams."""

    def __init__(self, runs: Runs, *, given: bool = False, by_welch: bool = True) -> None:
        """Begins with the first runs of the base, which only screen where they are `given`."""
        self.runs = runs
        self.by_welch = by_welch
        count = len(runs.first)
        self.means = np.zeros(count)
        self.screening_mean = runs.first.mean(axis=1)
        self.num_screening = np.full(count, NUM_BASE_RUNS)
        self.given = np.full(count, given)
        self.given_runs = Spreads.of(runs.first)
        self.all_runs = Spreads(np.zeros(count), np.zeros(count)) if given else Spreads.of(runs.first)
        self.base_runs = Spreads(self.all_runs.variance.copy(), self.all_runs.df.copy())
        self.budget = np.full(count, TOTAL_LEVEL)
        self.confirmations = np.zeros(count, int)
        self.num_passed = np.zeros(count, int)

    def wave(self, index: int, gains: Floats) -> Floats:
        """Returns the true gain of the try that each stream keeps, NaN where none; gains: of the tries of a wave."""
        p = self._screening_p(index, gains)
        order = p.argsort(axis=1, kind="stable")
        confirmations = []
        for rank in range(gains.shape[1]):
            tries = order[:, rank]
            streams = np.flatnonzero(p[np.arange(len(p)), tries] <= SCREENING_P)
            if len(streams):
                confirmations.append(self._confirm(index, streams, tries[streams], rank, gains))
        return self._after(confirmations, gains)

    def _screening_p(self, index: int, gains: Floats) -> Floats:
        gain = self.means[:, None] + gains + self.runs.screening[:, index] - self.screening_mean[:, None]
        variance = np.where(self.given, self.given_runs.variance, self.all_runs.variance)
        df = np.where(self.given, self.given_runs.df, self.all_runs.df)
        error = np.sqrt(variance * (1 + 1 / self.num_screening))
        return special.stdtr(df[:, None], -gain / error[:, None])

    def _confirm(
        self, index: int, streams: Streams, tries: Streams, rank: int, gains: Floats
    ) -> Confirmations:
        """Returns the confirmation of a try of each stream, by the state before the wave."""
        means = self.means[streams, None]
        base = means + self.runs.base[streams, index, tries]
        tried = means + gains[streams, tries][:, None] + self.runs.tried[streams, index, tries]
        of_base = Spreads.of(base)
        of_tried = Spreads.of(tried)
        p = p_of_gains(
            tried.mean(axis=1) - base.mean(axis=1),
            pooled=self.all_runs.at(streams).pooled_with(of_base).pooled_with(of_tried),
            base=self.base_runs.at(streams).pooled_with(of_base),
            tried=of_tried,
            by_welch=self.by_welch,
        )
        places = self.confirmations[streams] + rank + 1
        passed = p <= self.budget[streams] * places**-EXPONENT / ZETA
        return Confirmations(streams, tries, places, base, tried, passed)

    def _after(self, confirmations: list[Confirmations], gains: Floats) -> Floats:
        """Keeps of those that passed the one with the largest gain; returns the true gains that are kept."""
        count = len(self.means)
        largest = np.full(count, -np.inf)
        place = np.zeros(count, int)
        kept_try = np.zeros(count, int)
        base = np.zeros((count, PAIRS))
        for one in confirmations:
            gain = one.tried.mean(axis=1) - one.base.mean(axis=1)
            is_best = one.passed & (gain > largest[one.streams])
            streams = one.streams[is_best]
            largest[streams] = gain[is_best]
            place[streams] = one.places[is_best]
            kept_try[streams] = one.tries[is_best]
            base[streams] = one.tried[is_best]
            self._pool(one)
        kept = np.flatnonzero(place)
        found = np.full(count, np.nan)
        found[kept] = gains[kept, kept_try[kept]]
        self._keep(kept, place[kept], base[kept], found[kept])
        return found

    def _pool(self, one: Confirmations) -> None:
        of_base = Spreads.of(one.base)
        pooled = self.all_runs.at(one.streams).pooled_with(of_base).pooled_with(Spreads.of(one.tried))
        self.all_runs.put(one.streams, pooled)
        self.base_runs.put(one.streams, self.base_runs.at(one.streams).pooled_with(of_base))
        self.confirmations[one.streams] += 1
        self.num_passed[one.streams] += one.passed

    def _keep(self, streams: Streams, places: Streams, base: Floats, gains: Floats) -> None:
        """Makes a try the base of each stream; the level falls by those of the other confirmations."""
        shares = np.cumsum(np.arange(1.0, self.confirmations.max(initial=0) + 1) ** -EXPONENT) / ZETA
        others = shares[self.confirmations[streams] - 1] - places**-EXPONENT / ZETA
        self.budget[streams] *= 1 - others
        self.confirmations[streams] = 0
        self.base_runs.put(streams, Spreads.of(base))
        self.screening_mean[streams] = base.mean(axis=1)
        self.num_screening[streams] = PAIRS
        self.given[streams] = False
        self.means[streams] += gains


def p_of_gains(
    gains: Floats, *, pooled: Spreads, base: Spreads, tried: Spreads, by_welch: bool = True
) -> Floats:
    """Returns the p of `commits.stream.p_of_gain` of many confirmations; of the pooled test alone, without Welch's."""
    p = special.stdtr(pooled.df, -gains / np.sqrt(2 * pooled.variance / PAIRS))
    if not by_welch:
        return p
    of_base = base.variance / PAIRS
    of_tried = tried.variance / PAIRS
    total = of_base + of_tried
    df = total**2 / (of_base**2 / base.df + of_tried**2 / tried.df)
    return np.maximum(p, special.stdtr(df, -gains / np.sqrt(total)))


def kept_gains(runs: Runs, gains: Floats, *, given: bool = False, by_welch: bool = True) -> Floats:
    """Returns the true gains of what streams keep, NaN where a wave keeps nothing, (num_streams, num_waves).

    gains: the true gain of each try, as `Runs.screening`.
    """
    streams = ManyStreams(runs, given=given, by_welch=by_welch)
    return np.stack([streams.wave(index, gains[:, index]) for index in range(gains.shape[1])], axis=1)


def keep_nothing_new(runs: Runs, *, given: bool = False, by_welch: bool = True) -> Flags:
    """Returns whether streams keep any of their tries, none of which changes anything."""
    return ~np.isnan(kept_gains(runs, np.zeros_like(runs.screening), given=given, by_welch=by_welch)).all(
        axis=1
    )
