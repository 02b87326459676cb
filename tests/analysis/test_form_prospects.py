"""What forms of a verdict over conditions can detect, and what more test examples save."""

import numpy as np
import pytest
from made_conditions import conditions, with_examples

from ablate.analysis.form_prospects import effects_of_forms
from ablate.analysis.independent_conditions import OfIndependentConditions
from ablate.analysis.more_examples import seeds_with_more_examples
from ablate.analysis.more_examples import test_share as share_of_test_noise
from ablate.analysis.paired import Differences, MeanSquares
from ablate.analysis.power import ALPHA, detectable_effect, difference_power
from ablate.analysis.prospects import seeds_to_detect
from ablate.analysis.sums_of_conditions import mean_over, trend_along

SIZES = [64, 128, 512]


def uncorrelated(num_seeds, num_conditions):
    """Differences of unit variance, without a correlation of any two conditions."""
    d = np.random.default_rng(0).normal(size=(num_seeds, num_conditions))
    q, _ = np.linalg.qr(np.c_[np.ones(num_seeds), d])
    return q[:, 1:] * np.sqrt(num_seeds - 1)


def test_what_is_known_of_forms_without_runs_is_what_runs_of_unit_variance_say():
    d = uncorrelated(8, 3)
    found = effects_of_forms(8, 3, num_rows=2, sizes=SIZES)
    assert found.each == pytest.approx(detectable_effect(8, ALPHA / 6))
    assert found.mean == pytest.approx(mean_over(conditions(d)).mde(ALPHA / 2))
    assert found.trend == pytest.approx(trend_along(conditions(d), SIZES).mde(ALPHA / 2))
    assert difference_power(found.every, 8, ALPHA / 2) ** 3 == pytest.approx(0.8)
    assert effects_of_forms(8, 3, num_rows=2, correlation=1.0).mean == pytest.approx(
        detectable_effect(8, ALPHA / 2)
    )


def test_the_seeds_that_detect_a_mean_take_its_test_examples_into_account():
    rng = np.random.default_rng(1)
    d = 0.1 * rng.normal(size=(2, 6, 1)) + rng.normal(size=(2, 1, 20)) + 0.1 * rng.normal(size=(2, 6, 20))
    mean = mean_over(with_examples(d))
    assert mean.mde(n=1000) > 3 * mean.without_examples().mde(n=1000)
    seeds, reason = seeds_to_detect(mean, 0.05, ALPHA)
    assert (seeds, str(reason)) == (np.inf, "examples")
    parts = [one.differences for one in with_examples(d)]
    apart = OfIndependentConditions(np.zeros(2), 1e-9, conditions=parts, scales=[1.0, 1.0])
    assert len(apart.errors) == 2
    assert len(apart.without_examples().errors) == 1


def test_more_test_examples_save_seeds_by_what_they_lessen():
    rng = np.random.default_rng(2)
    noise = 0.5 * rng.normal(size=(6, 50)) + 0.3 * rng.normal(size=50)
    seeds = 0.02 * rng.normal(size=(6, 1))
    d = Differences.between((noise + seeds).mean(axis=1), np.zeros(6), examples=noise + seeds)
    now, _ = seeds_to_detect(d, 0.105, ALPHA)
    assert seeds_with_more_examples(d.squares, 0.105, ALPHA, times=1) == now
    assert seeds_with_more_examples(d.squares, 0.105, ALPHA) < 0.7 * now
    few = Differences.between(seeds[:, 0], np.zeros(6), examples=seeds + 1e-9 * noise)
    assert seeds_with_more_examples(few.squares, 0.02, ALPHA) == seeds_to_detect(few, 0.02, ALPHA)[0]


def test_the_share_of_test_noise_is_that_which_more_examples_lessen():
    squares = MeanSquares(n=5, m=40, seeds=3.0, examples=2.5, rest=0.5)
    assert share_of_test_noise(squares) == pytest.approx(1 - (3.0 - 0.5) / (3.0 + 2.5 - 0.5))
    more = squares.with_examples(10**9)
    assert (more.error.se / squares.error.se) ** 2 == pytest.approx(
        1 - share_of_test_noise(squares), rel=1e-6
    )
    # Seeds that vary by no more than the noise of their examples leave it all.
    assert share_of_test_noise(MeanSquares(n=5, m=40, seeds=0.4, examples=2.5, rest=0.5)) == 1.0
