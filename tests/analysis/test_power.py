from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.power import ttest_power

from ablate.analysis.power import (
    detectable_effect,
    difference_power,
    equivalence_power,
    smallest,
)


@pytest.mark.parametrize(
    ("n", "effect"), [(3, 3.27), (5, 1.69), (8, 1.16), (10, 1.00), (15, 0.78), (20, 0.67)]
)
def test_detectable_effect_of_the_table(n, effect):
    # The table rounds up, so that the effect is detected.
    assert effect - 0.01 < detectable_effect(n) <= effect
    assert ttest_power(effect, n, 0.05, alternative="two-sided") >= 0.8


def test_a_family_of_ten_takes_nearly_twice_the_effect():
    assert detectable_effect(5, 0.05 / 10) == pytest.approx(3.16, abs=0.005)


@pytest.mark.parametrize("n", [2, 3, 5, 8, 20, 100, 1000])
@pytest.mark.parametrize("alpha", [0.05, 0.005, 0.00005])
def test_detectable_effect_has_the_power_it_promises(n, alpha):
    assert difference_power(detectable_effect(n, alpha), n, alpha) == pytest.approx(0.8, abs=1e-6)


def test_power_within_two_points_of_simulation():
    rng = np.random.default_rng(0)
    for n, effect in ((3, 2.0), (5, 1.2), (10, 0.7)):
        p = stats.ttest_1samp(rng.normal(effect, 1, (40_000, n)), 0, axis=1).pvalue
        assert difference_power(effect, n) == pytest.approx((p < 0.05).mean(), abs=0.01)


def test_power_does_not_depend_on_the_sign_and_ends_at_one():
    assert difference_power(-1.0, 6) == difference_power(1.0, 6)
    assert difference_power(1e6, 2) == pytest.approx(1.0, abs=1e-3)
    assert difference_power(50.0, 1000) == 1.0


@pytest.mark.parametrize(("m", "seeds"), [(1, (44, 21, 13, 7, 5)), (8, (69, 33, 20, 11, 8))])
def test_equivalence_power_of_the_table(m, seeds):
    for margin, n in zip((0.5, 0.75, 1.0, 1.5, 2.0), seeds, strict=True):
        assert smallest(lambda k, x=margin: equivalence_power(x, k, alpha=0.025 / m) >= 0.8) == n
        assert (
            equivalence_power(margin, n, alpha=0.025 / m)
            >= 0.8
            > equivalence_power(margin, n - 1, alpha=0.025 / m)
        )


@pytest.mark.parametrize(("n", "effect"), [(5, 2.98), (8, 1.74), (10, 1.43), (20, 0.89)])
def test_detectable_effect_in_a_family_of_eight(n, effect):
    assert detectable_effect(n, 0.05 / 8) == pytest.approx(effect, abs=0.005)


def test_equivalence_power_matches_simulation():
    rng = np.random.default_rng(1)
    for n, margin, effect in ((4, 2.0, 0.0), (10, 1.0, 0.0), (10, 1.2, 0.4), (30, 0.5, -0.2)):
        x = rng.normal(effect, 1, (40_000, n))
        half = stats.t.isf(0.05, n - 1) * x.std(1, ddof=1) / math.sqrt(n)
        share = ((x.mean(1) - half > -margin) & (x.mean(1) + half < margin)).mean()
        assert equivalence_power(margin, n, effect) == pytest.approx(share, abs=0.01)


def test_equivalence_is_declared_at_most_at_alpha_on_the_margin():
    assert equivalence_power(1.0, 200, effect=1.0) == pytest.approx(0.05, abs=1e-3)
    assert equivalence_power(0.1, 3) < 0.05
    assert equivalence_power(1e-9, 3) == pytest.approx(0.0, abs=1e-6)


def test_hopeless_numbers_of_seeds_are_infinite():
    assert smallest(lambda n: equivalence_power(0.01, n) >= 0.8) == math.inf
