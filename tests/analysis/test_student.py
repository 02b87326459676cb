import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from statsmodels.stats.power import ttest_power
from statsmodels.stats.proportion import proportion_confint
from statsmodels.stats.weightstats import DescrStatsW

from ablate.analysis.estimates import clopper_pearson
from ablate.analysis.power import difference_power, t_interval, t_p_above

samples = st.integers(2, 12).flatmap(lambda n: arrays(float, n, elements=st.floats(-2, 2, width=32)))


@given(samples, st.sampled_from([0.05, 0.1, 0.05 / 40]), st.floats(-1, 1))
@settings(max_examples=60)
def test_intervals_and_tests_of_a_mean_are_those_of_statsmodels(values, alpha, bound):
    mean, sd, n = float(values.mean()), float(values.std(ddof=1)), len(values)
    assume(sd > 1e-3)
    known, se = DescrStatsW(values), sd / n**0.5
    assert t_interval(mean, se, n - 1, alpha) == pytest.approx(known.tconfint_mean(alpha), rel=1e-9, abs=1e-9)
    above = known.ttest_mean(bound, alternative="larger")[1]
    assert t_p_above(mean, se, n - 1, bound) == pytest.approx(above, rel=1e-7, abs=1e-12)


@pytest.mark.parametrize("total", [1, 5, 20])
def test_bounds_of_a_rate_are_those_of_statsmodels(total):
    for count in range(total + 1):
        assert clopper_pearson(count, total) == pytest.approx(proportion_confint(count, total, method="beta"))


@pytest.mark.parametrize("alpha", [0.05, 0.05 / 40])
@pytest.mark.parametrize("n", [2, 5, 30])
def test_power_is_that_of_statsmodels(n, alpha):
    for effect in np.linspace(0, 3, 7):
        expected = ttest_power(effect, n, alpha / 2, alternative="larger")
        assert difference_power(effect, n, alpha) == pytest.approx(expected, rel=1e-9)
