import math

import numpy as np
import pytest
from scipy import stats

from ablate.analysis.power import detectable_effect, difference_power, smallest, tost_power


@pytest.mark.parametrize("n", [2, 3, 5, 8, 20, 100, 1000])
@pytest.mark.parametrize("alpha", [0.05, 0.005, 0.00005])
def test_detectable_effect_has_the_power_it_promises(n, alpha):
    assert difference_power(detectable_effect(n, alpha), n, alpha) == pytest.approx(0.8, abs=1e-6)


@pytest.mark.parametrize(("m", "seeds"), [(1, (44, 21, 13, 7, 5)), (8, (69, 33, 20, 11, 8))])
def test_equivalence_power_of_the_table(m, seeds):
    for margin, n in zip((0.5, 0.75, 1.0, 1.5, 2.0), seeds, strict=True):
        assert smallest(lambda k, x=margin: tost_power(x, k, one_sided=0.025 / m) >= 0.8) == n
        assert (
            tost_power(margin, n, one_sided=0.025 / m) >= 0.8 > tost_power(margin, n - 1, one_sided=0.025 / m)
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
        assert tost_power(margin, n, effect) == pytest.approx(share, abs=0.01)


def test_equivalence_is_declared_at_most_at_alpha_on_the_margin():
    assert tost_power(1.0, 200, effect=1.0) == pytest.approx(0.05, abs=1e-3)
    assert tost_power(0.1, 3) < 0.05
    assert tost_power(1e-9, 3) == pytest.approx(0.0, abs=1e-6)


def test_hopeless_numbers_of_seeds_are_infinite():
    assert smallest(lambda n: tost_power(0.01, n) >= 0.8) == math.inf
