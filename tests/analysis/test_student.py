import numpy as np
import pytest
from statsmodels.stats.power import ttest_power
from statsmodels.stats.proportion import proportion_confint

from ablate.analysis.estimates import clopper_pearson
from ablate.analysis.power import difference_power


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
