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


def crossing(size, *, margin=None):
    """Effects of 0.1 alone whose interaction is `size`, with residuals that differ between cells."""
    rng = np.random.default_rng(5)
    values = {("x", "p"): 0.5, ("y", "p"): 0.6, ("x", "q"): 0.6, ("y", "q"): 0.7 + size}
    return crossed(
        {"a": ["x", "y"], "b": ["p", "q"]},
        lambda levels, seed: values[tuple(levels.values())] + rng.normal(0, 0.003),
        8,
        margin=margin,
    )


def test_what_each_change_does_alone_stands_beside_its_interaction():
    [row] = interactions(crossing(-0.2)).to_dict("records")
    alone = [row["first_alone"], row["second_alone"]]
    assert alone == pytest.approx([0.1, 0.1], abs=0.01)
    assert row["first_alone"] + row["diff"] == pytest.approx(-0.1, abs=0.01)


@pytest.mark.parametrize(
    ("size", "margin", "clear"),
    [(-0.2, 0.02, True), (0.01, None, True), (0.01, 0.03, False), (0.0, 0.02, False)],
)
def test_an_interaction_is_clear_that_differs_from_0_by_what_matters(size, margin, clear):
    assert interactions(crossing(size, margin=margin))["clear"].tolist() == [clear]


@pytest.mark.slow
def test_by_chance_few_of_many_interactions_are_clear():
    rng = np.random.default_rng(6)
    found = [interactions(factorial(rng.normal(size=(3, 2, 2, SEEDS)))) for _ in range(60)]
    assert sum(table["clear"].any() for table in found) <= 8  # of 60, at most 3 are expected
    apart = [((table["ci_low"] > 0) | (table["ci_high"] < 0)).any() for table in found]
    assert sum(apart) > 8
