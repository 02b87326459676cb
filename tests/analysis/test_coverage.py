"""Coverage of the 95 % interval over seeds and examples, beside that of the interval over seeds alone."""

import numpy as np
import pytest
from calibration.simulations import GRID, Squares, binary

from ablate.analysis.paired import Differences, MeanSquares

STUDIES = 20_000


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


@pytest.mark.fast_cases(10)
@pytest.mark.parametrize("sds", GRID)
@pytest.mark.parametrize("n", [3, 5, 10, 20])
def test_seeds_and_examples(n, sds):
    rng = np.random.default_rng(2)
    for m in (200, 500, 1000):
        both, alone = Squares.normal(rng, STUDIES, n, m, sds).covers()
        assert both >= 0.94
        assert alone <= both


def test_seeds_alone_say_nothing_of_other_examples():
    rng = np.random.default_rng(3)
    alone = [Squares.normal(rng, STUDIES, 10, 200, sds).covers()[1] for sds in GRID]
    # Only where examples count for nothing is the interval over seeds what it says.
    assert min(alone) < 0.6
    assert 0.94 < max(alone) < 0.96


@pytest.mark.parametrize("level", [0.5, 2.0])
@pytest.mark.parametrize(("n", "m"), [(3, 200), (10, 200), (5, 500)])
def test_right_and_wrong_answers(n, m, level):
    # Harder and easier examples, some for one side only; runs that differ.
    found, truth = binary(np.random.default_rng(4), 800, n, m, level, (0.1, 1.0, 0.4))
    both, alone = Squares.of(found).covers(truth)
    assert both >= 0.93
    assert alone < both
