"""Coverage of the 95 % interval over seeds and examples, beside that of the interval over seeds alone."""

from __future__ import annotations

import numpy as np
import pytest
from calibration.simulations import Squares

from ablate.analysis.paired import Differences, MeanSquares


def test_simulated_intervals_are_those_of_differences():
    rng = np.random.default_rng(0)
    d = rng.normal(0, 0.05, (30, 6, 1)) + rng.normal(0, 0.2, (30, 1, 50)) + rng.normal(0, 0.3, (30, 6, 50))
    squares, counted = Squares.of(d), np.zeros(2)
    for i, study in enumerate(d):
        known = MeanSquares.of(study, 0.0)
        found = squares.seeds[i], squares.examples[i], squares.rest[i]
        assert found == pytest.approx((known.seeds, known.examples, known.rest), rel=1e-4)
        one = Differences(study.mean(axis=1), 1 / 50, study)
        alone = Differences(one.values, one.floor)
        for place, (low, high) in enumerate((one.interval(), alone.interval())):
            counted[place] += low <= 0.03 <= high
    assert squares.covers(0.03) == pytest.approx(tuple(counted / 30))
    assert 0.2 < counted[1] / 30 < counted[0] / 30


def test_mean_squares_of_normal_effects_are_distributed_as_those_of_simulated_cells():
    rng, sds = np.random.default_rng(1), (0.05, 0.3, 0.4)
    cells = [
        rng.normal(0, sd, size)
        for sd, size in zip(sds, ((4000, 5, 1), (4000, 1, 20), (4000, 5, 20)), strict=True)
    ]
    slow, fast = Squares.of(cells[0] + cells[1] + cells[2]), Squares.normal(rng, 40_000, 5, 20, sds)
    for name in ("mean", "seeds", "examples", "rest"):
        one, other = getattr(slow, name), getattr(fast, name)
        assert one.mean() == pytest.approx(other.mean(), abs=0.06 * other.std())
        assert one.std() == pytest.approx(other.std(), rel=0.06)
    assert slow.covers() == pytest.approx(fast.covers(), abs=0.012)
