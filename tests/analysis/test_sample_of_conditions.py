"""Conditions as a sample, against scipy and the formula."""

from dataclasses import replace

import numpy as np
import pytest
from made_conditions import conditions, other_seeds
from scipy import stats

from ablate.analysis.conditions import Refusal
from ablate.analysis.judge import p_of
from ablate.analysis.paired import MeanSquares
from ablate.analysis.sample_of_conditions import sample_of

rng = np.random.default_rng(26)
GAMES = rng.normal(size=(5, 26)) + rng.normal(size=26) + rng.normal(size=(5, 1)) + 0.4


def test_with_independent_seeds_it_is_the_t_test_of_the_means():
    found = sample_of(other_seeds(conditions(GAMES, [2.0] * 26)), independent_seeds=True)
    expected = stats.ttest_1samp(GAMES.mean(axis=0), 0)
    assert (found.n, found.mean, p_of(found)) == (
        26,
        pytest.approx(GAMES.mean() / 2),
        pytest.approx(expected.pvalue),
    )


def test_with_shared_seeds_conditions_and_seeds_are_crossed():
    (error,) = sample_of(conditions(GAMES)).errors
    squares = MeanSquares.of(GAMES.T, 0.0)
    assert squares.examples > squares.rest
    total = squares.seeds + squares.examples - squares.rest
    df = total**2 / (squares.seeds**2 / 25 + squares.examples**2 / 4 + squares.rest**2 / 100)
    assert (error.se**2, error.df) == (pytest.approx(total / 130), pytest.approx(df))
    assert error.df < 25, "the degrees of freedom have no bound"


def test_few_conditions_or_seeds_are_refused():
    made = conditions(GAMES)
    assert sample_of(made[:7]) == Refusal("few", [f"c{t}" for t in range(7)])
    assert sample_of(conditions(GAMES[:4])) == Refusal("few_seeds", [f"c{t}" for t in range(26)], 4)
    other, *rest = made
    apart = [replace(other, seeds=range(2, 2 + other.difference.n)), *rest]
    refusal = sample_of(apart)
    assert isinstance(refusal, Refusal)
    assert (refusal.code, refusal.seeds) == ("few_seeds", other.difference.n - 2), "those that all share"
    assert sample_of(made, independent_seeds=True).code == "shared_seeds"
    assert sample_of([*made[:7], replace(made[7], seeds=())]) == Refusal("seeds", ["c7"])


def test_more_conditions_narrow_the_error_down_to_that_of_seeds():
    found = sample_of(conditions(GAMES))
    squares = MeanSquares.of(GAMES.T, 0.0)
    assert found.errors_at(10_000)[0].se ** 2 == pytest.approx(squares.by_example / squares.m, rel=0.01)
