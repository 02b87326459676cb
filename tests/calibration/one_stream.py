"""One stream of simulated tries, by the package's own functions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ablate.analysis.level_of_tries import Confirmed, LevelLeft, kept_of_wave, order_of_wave
from ablate.analysis.power import t_p_above
from ablate.commits.stream import SCREENING_P, Spread, p_of_gain

from .many_streams import Runs
from .simulations import Floats


def kept_by_package(runs: Runs, gains: Floats, *, given: bool = False) -> Floats:
    """Returns what `many_streams.kept_gains` does."""
    found = []
    for number in range(len(gains)):
        stream = Stream(runs, number, given=given)
        found.append([stream.wave(index, gains[number, index]) for index in range(gains.shape[1])])
    return np.array(found)


@dataclass
class Confirmation:
    """The runs of one confirmation."""

    of_base: Spread
    of_try: Spread
    tried: Floats


class Stream:
    """The state of one stream."""

    def __init__(self, runs: Runs, number: int, *, given: bool = False) -> None:
        """Begins with the first runs of the base, which only screen where they are `given`."""
        self.runs = runs
        self.number = number
        self.mean = 0.0
        self.base = runs.first[number]
        first = Spread.of(self.base.tolist())
        self.given_runs = first if given else None
        self.all_runs: list[Spread] = [] if given else [first]
        self.base_runs: list[Spread] = [] if given else [first]
        self.left = LevelLeft()

    def wave(self, index: int, gains: Floats) -> float:
        """Returns the true gain of the try that a wave keeps; NaN where it keeps none."""
        first = self.left.confirmations + 1
        promising = self._promising(index, gains)
        made = []
        judged = []
        for place, chosen in enumerate(promising, start=first):
            confirmation, gain, p = self._confirm(index, chosen, gains[chosen])
            made.append(confirmation)
            judged.append(Confirmed(gain, p, self.left.level_of(place)))

        self.left = self.left.after(len(made))
        for one in made:
            self.all_runs += [one.of_base, one.of_try]
            self.base_runs.append(one.of_base)
        kept = kept_of_wave(judged)
        if kept is None:
            return np.nan
        self.left = self.left.after_keep(first + kept)
        self.mean += gains[promising[kept]]
        self.base = made[kept].tried
        self.base_runs = [made[kept].of_try]
        self.given_runs = None
        return float(gains[promising[kept]])

    def _promising(self, index: int, gains: Floats) -> list[int]:
        """Returns the indices of the tries that are confirmed, in their order."""
        spread = self.given_runs or pooled(self.all_runs)
        error = (spread.variance * (1 + 1 / len(self.base))) ** 0.5
        screened = self.mean + gains + self.runs.screening[self.number, index] - self.base.mean()
        p = [t_p_above(gain, error, spread.df, 0) for gain in screened]
        return [chosen for chosen in order_of_wave(p) if p[chosen] <= SCREENING_P]

    def _confirm(self, index: int, chosen: int, true_gain: float) -> tuple[Confirmation, float, float]:
        """Returns a confirmation with its gain and p."""
        fresh = self.mean + self.runs.base[self.number, index, chosen]
        tried = self.mean + true_gain + self.runs.tried[self.number, index, chosen]
        one = Confirmation(Spread.of(fresh.tolist()), Spread.of(tried.tolist()), tried)
        gain = float(tried.mean() - fresh.mean())
        all_runs = pooled([*self.all_runs, one.of_base, one.of_try])
        p = p_of_gain(gain, all_runs, pooled([*self.base_runs, one.of_base]), one.of_try)
        return one, gain, p


def pooled(spreads: list[Spread]) -> Spread:
    """Returns the mean of variances, weighted by their degrees of freedom."""
    first, *others = spreads
    return first.pooled_with(*others)
