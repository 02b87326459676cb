"""One stream of simulated tries, by the package's own rule."""

from __future__ import annotations

import numpy as np

from ablate.analysis.level_of_tries import LevelLeft
from ablate.commits.stream import NUM_BASE_RUNS, Sides, State, attempt

from .many_streams import Runs
from .simulations import Floats


def kept_by_package(runs: Runs, gains: Floats, *, given: bool = False) -> Floats:
    """Returns what `many_streams.kept_gains` does."""
    found = []
    for number in range(len(gains)):
        stream = Stream(runs, number, given=given)
        found.append([stream.wave(index, gains[number, index]) for index in range(gains.shape[1])])
    return np.array(found)


class Stream:
    """The state of one stream."""

    def __init__(self, runs: Runs, number: int, *, given: bool = False) -> None:
        """Begins with the first runs of the base, which only screen where they are `given`."""
        self.runs = runs
        self.number = number
        self.mean = 0.0
        first = runs.first[number].tolist()
        self.state = State.on_given_base(first, NUM_BASE_RUNS) if given else State.at_start(first)
        self.left = LevelLeft()

    def wave(self, index: int, gains: Floats) -> float:
        """Returns the true gain of the try that a wave keeps; NaN where it keeps none."""
        screened = self.mean + gains + self.runs.screening[self.number, index]
        base = self.mean + self.runs.base[self.number, index]
        tried = self.mean + gains[:, None] + self.runs.tried[self.number, index]
        judged = attempt(
            self.state,
            self.left,
            len(gains),
            screen=lambda seeds: screened.tolist(),
            confirm=lambda seeds: {own: Sides(base[own].tolist(), tried[own].tolist()) for own in seeds},
            on_confirmations=lambda order, state: None,
        )
        self.state = judged.state
        self.left = judged.left
        for gain, answer in zip(gains.tolist(), judged.answers, strict=True):
            if answer is not None and answer.verdict == "keep":
                self.mean += gain
                return float(gain)
        return np.nan
