"""Interactions of a factorial, against scipy on the seeds themselves."""

import numpy as np
import pytest
from made_evidence import crossed
from scipy import stats

from ablate.analysis.interactions import interactions

LEVELS = {"a": ["x", "y", "z"], "b": ["p", "q"], "c": ["u", "v"]}
SEEDS = 6


def factorial(array, keep=lambda levels: True, design="factorial"):
    """Evidence of the values of every cell; array: of shape (levels of a, of b, of c, seeds)."""

    def value(levels, seed):
        place = tuple(LEVELS[path].index(level) for path, level in levels.items())
        return array[(*place, seed)]

    return crossed(LEVELS, value, SEEDS, keep, design)


@pytest.fixture
def array():
    return np.random.default_rng(3).uniform(0.3, 0.8, (3, 2, 2, SEEDS))


def test_an_interaction_is_a_paired_t_of_differences_of_differences(array):
    rows = interactions(factorial(array))
    assert len(rows) == 2 * 1 + 2 * 1 + 1 * 1
    row = rows[(rows["first"] == "a=z") & (rows["second"] == "c=v")].iloc[0]
    over_others = array.mean(axis=1)  # Shape (levels of a, of c, seeds).
    differences = (over_others[2, 1] - over_others[0, 1]) - (over_others[2, 0] - over_others[0, 0])
    interval = stats.t.interval(0.95, SEEDS - 1, differences.mean(), stats.sem(differences))
    assert row["n"] == SEEDS
    assert [row["diff"], row["ci_low"], row["ci_high"]] == pytest.approx([differences.mean(), *interval])


def test_a_combination_that_is_missing_leaves_out_its_levels_of_the_others(array):
    rows = interactions(factorial(array, lambda levels: levels != {"a": "y", "b": "q", "c": "v"}))
    row = rows[(rows["first"] == "a=y") & (rows["second"] == "b=q")].iloc[0]
    whole = array[:, :, 0]  # Only where c is u are all four.
    expected = ((whole[1, 1] - whole[0, 1]) - (whole[1, 0] - whole[0, 0])).mean()
    assert row["diff"] == pytest.approx(expected)


def test_other_designs_have_none(array):
    assert interactions(factorial(array, design="one_factor")).empty
