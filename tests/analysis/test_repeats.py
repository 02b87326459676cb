"""Whether seeds spread more than a repeat of one seed does, against METHODS §1."""

import numpy as np
import pytest

from ablate.analysis.repeats import spread_no_more

SEEDS = np.array([0.80, 0.82, 0.79, 0.83, 0.81])


def test_the_reference_says_nothing():
    assert SEEDS.var(ddof=1) == pytest.approx(0.00025)
    assert not spread_no_more(SEEDS, np.array([0.02, 0.01, 0.012]))
    assert spread_no_more(SEEDS, np.array([0.02, 0.01, 0.017])), "mean r² is 0.000263"


def test_runs_that_repeat_exactly_and_single_ones_say_nothing():
    assert not spread_no_more(np.full(5, 0.8), np.zeros(3))
    assert not spread_no_more(SEEDS, np.array([0.5]))
    assert not spread_no_more(SEEDS[:1], np.array([0.5, 0.5]))
