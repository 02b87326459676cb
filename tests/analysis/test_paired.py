"""Paired differences against scipy, statsmodels and a published analysis."""

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats
from statsmodels.stats.weightstats import ttost_paired

from ablate.analysis.paired import ROUNDING, Differences, seeds_needed
from ablate.analysis.power import detectable_effect

pairs = st.integers(2, 12).flatmap(lambda n: arrays(float, (2, n), elements=st.floats(-2, 2, width=32)))
resolutions = st.sampled_from([0.0, 0.001])


def p(d):
    return 2 * min(d.above(0.0), d.below(0.0))


@pytest.mark.slow
@given(pairs)
@settings(max_examples=60)
def test_agrees_with_scipy_where_the_spread_is_not_floored(ab):
    a, b = ab
    assume((a - b).std(ddof=1) > 1e-3)
    d, reference = Differences.between(a, b), stats.ttest_rel(a, b)
    assert p(d) == pytest.approx(reference.pvalue, rel=1e-7, abs=1e-12)
    for alpha in (0.05, 0.1, 0.05 / 7):
        known = reference.confidence_interval(1 - alpha)
        assert d.interval(alpha) == pytest.approx((known.low, known.high), rel=1e-7, abs=1e-9)
    tost = float(ttost_paired(a, b, -0.3, 0.3)[0])
    assert max(d.above(-0.3), d.below(0.3)) == pytest.approx(tost, rel=1e-7, abs=1e-12)
    above, below = (stats.ttest_1samp(a - b, 0.1, alternative=way).pvalue for way in ("greater", "less"))
    assert (d.above(0.1), d.below(0.1)) == pytest.approx((above, below), abs=1e-9)


@given(pairs, resolutions)
@settings(max_examples=60)
def test_swapping_the_sides_turns_the_sign(ab, resolution):
    one, other = Differences.between(ab[0], ab[1], resolution), Differences.between(ab[1], ab[0], resolution)
    assert one.mean == pytest.approx(-other.mean, abs=1e-12)
    assert one.interval() == pytest.approx((-other.interval()[1], -other.interval()[0]), abs=1e-9)
    assert one.mde() == pytest.approx(other.mde())
    assert one.above(0.1) == pytest.approx(other.below(-0.1), rel=1e-6)


@given(pairs, st.floats(-8, 8, width=32), st.randoms(use_true_random=False))
@settings(max_examples=60)
def test_only_differences_count_and_not_the_order_of_the_seeds(ab, shift, random):
    order = list(range(ab.shape[1]))
    random.shuffle(order)
    found, shuffled = Differences.between(*ab, 0.001), Differences.between(*ab[:, order], 0.001)
    assert (shuffled.mean, p(shuffled), shuffled.interval()) == (found.mean, p(found), found.interval())
    shifted = Differences.between(ab[0] + shift, ab[1] + shift, 0.001)
    # What counts as rounding grows with the values.
    assert shifted.mean == pytest.approx(found.mean, abs=20 * ROUNDING)
    assert shifted.interval() == pytest.approx(found.interval(), abs=1e-9)
    assert p(shifted) == pytest.approx(p(found), rel=1e-6)


def test_spread_is_never_below_the_resolution():
    # Five equal differences of one step: without the floor p would be 0.
    d = Differences.between([0.501] * 5, [0.5] * 5, 0.001)
    assert d.sd == 0.001
    assert p(d) == pytest.approx(2 * stats.t.sf(math.sqrt(5), 4))
    half = stats.t.isf(0.025, 4) * 0.001 / math.sqrt(5)
    assert d.interval() == pytest.approx((0.001 - half, 0.001 + half))
    assert d.mde() == pytest.approx(detectable_effect(5) * 0.001)
    assert d.mde(0.05 / 3) == pytest.approx(detectable_effect(5, 0.05 / 3) * 0.001)
    assert d.mde(n=20) == pytest.approx(detectable_effect(20) * 0.001)


def test_rounding_is_no_difference():
    d = Differences.between([0.1 + 0.2, 0.5], [0.3, 0.5])
    assert d.all_zero
    assert (d.mean, p(d)) == (0.0, 1.0)
    nothing = Differences.between([0.0, 0.0, 0.0], [0.0, 0.0, 0.0])
    assert p(nothing) == 1.0
    assert nothing.interval() == pytest.approx((0.0, 0.0))


def test_too_few_pairs_have_no_interval():
    one, none = Differences.between([0.7], [0.5], 0.001), Differences.between([], [], 0.001)
    assert (one.n, none.n) == (1, 0)
    assert one.mean == pytest.approx(0.2)
    assert math.isnan(none.mean)
    for d in (one, none):
        assert all(map(math.isnan, (*d.interval(), p(d), d.mde(), seeds_needed(d))))


def test_some_seeds_alone():
    d = Differences.between([0.3, 0.1, 0.2, 0.5], [0.0, 0.0, 0.0, 0.0], 0.001, overlap=0.2)
    some = d.on(np.array([True, False, True, False]))
    assert some.values.tolist() == pytest.approx([0.3, 0.2])
    assert (some.floor, some.overlap) == (d.floor, 0.2)


def test_seeds_needed_is_the_cheaper_of_difference_and_equivalence():
    d = Differences.between([0.03, -0.01, 0.02, 0.0, 0.01], np.zeros(5))
    for_difference = seeds_needed(d)
    assert for_difference == seeds_needed(d, margin=0.011)
    assert seeds_needed(d, margin=0.1) < for_difference
    assert seeds_needed(d, 0.005) > for_difference
    assert seeds_needed(Differences.between([1.0, -1.0, 1e-9], np.zeros(3))) == math.inf
