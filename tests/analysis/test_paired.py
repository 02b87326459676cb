from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from made_evidence import ACCURACY, CLINIC_A, CLINIC_B, LOSS
from scipy import stats
from statsmodels.stats.weightstats import ttost_paired

from ablate.analysis.paired import Differences, paired, seeds_needed
from ablate.analysis.power import detectable_effect
from ablate.core.metric import Metric

PLAIN = Metric("max")
pairs = st.integers(2, 12).flatmap(lambda n: arrays(float, (2, n), elements=st.floats(-2, 2, width=32)))


def test_clinic_matches_the_published_analysis():
    found = paired(CLINIC_A, CLINIC_B, PLAIN)
    assert found.diff == pytest.approx(0.1646667, abs=5e-8)
    assert found.differences.sd / math.sqrt(15) == pytest.approx(0.1357514, abs=5e-8)
    assert found.ci90 == pytest.approx((-0.0744337, 0.4037670), abs=5e-8)
    assert found.ci95 == pytest.approx((-0.1264911, 0.4558245), abs=5e-8)
    assert found.p == pytest.approx(0.2451999, abs=5e-8)
    assert found.d_z * math.sqrt(15) == pytest.approx(1.2130015, abs=5e-8)
    assert found.differences.p_equivalent(0.6) == pytest.approx(0.003166881, abs=5e-10)


@given(pairs)
@settings(deadline=None, max_examples=60)
def test_agrees_with_scipy_where_the_spread_is_not_floored(ab):
    a, b = ab
    spread = (a - b).std(ddof=1)
    if spread < 1e-3:
        return
    found = paired(a, b, PLAIN, m=7)
    reference = stats.ttest_rel(a, b)
    assert found.p == pytest.approx(reference.pvalue, rel=1e-7, abs=1e-12)
    for level, bounds in ((0.95, found.ci95), (0.9, found.ci90), (1 - 0.05 / 7, found.bonferroni)):
        interval = reference.confidence_interval(level)
        assert bounds == pytest.approx((interval.low, interval.high), rel=1e-7, abs=1e-9)
    d = found.differences
    assert d.p_equivalent(0.3) == pytest.approx(float(ttost_paired(a, b, -0.3, 0.3)[0]), rel=1e-7, abs=1e-12)
    assert d.p_above(0.1) == pytest.approx(
        stats.ttest_1samp(a - b, 0.1, alternative="greater").pvalue, abs=1e-9
    )
    assert d.p_below(0.1) == pytest.approx(stats.ttest_1samp(a - b, 0.1, alternative="less").pvalue, abs=1e-9)


@given(pairs)
@settings(deadline=None, max_examples=60)
def test_swapping_the_sides_turns_the_sign(ab):
    for metric in (PLAIN, LOSS, ACCURACY):
        one, other = paired(ab[0], ab[1], metric), paired(ab[1], ab[0], metric)
        assert one.diff == pytest.approx(-other.diff, abs=1e-12)
        assert one.ci95 == pytest.approx((-other.ci95[1], -other.ci95[0]), abs=1e-9)
        assert one.p == pytest.approx(other.p, rel=1e-6)
        assert one.prob_better == pytest.approx(1 - other.prob_better)
        assert one.mde == pytest.approx(other.mde)


@given(pairs, st.floats(-8, 8, width=32), st.randoms(use_true_random=False))
@settings(deadline=None, max_examples=60)
def test_only_differences_count_and_not_the_order_of_the_seeds(ab, shift, random):
    order = list(range(ab.shape[1]))
    random.shuffle(order)
    found, shuffled = paired(*ab, ACCURACY), paired(*ab[:, order], ACCURACY)
    assert (shuffled.diff, shuffled.p, shuffled.ci95) == (found.diff, found.p, found.ci95)
    assert (shuffled.mean_variant, shuffled.prob_better) == (found.mean_variant, found.prob_better)
    assert shuffled.correlation == pytest.approx(found.correlation, nan_ok=True)
    shifted = paired(ab[0] + shift, ab[1] + shift, ACCURACY)
    assert shifted.diff == pytest.approx(found.diff, abs=1e-12)
    assert shifted.ci95 == pytest.approx(found.ci95, abs=1e-9)
    assert shifted.p == pytest.approx(found.p, rel=1e-6)


def test_a_metric_that_should_be_small_is_turned_round():
    found = paired([1.0, 1.1, 0.8], [2.0, 2.2, 1.7], LOSS)
    assert found.diff == pytest.approx(1.0)
    assert found.mean_variant == pytest.approx(2.9 / 3)
    assert found.mean_baseline == pytest.approx(5.9 / 3)
    assert found.prob_better == 1.0


def test_spread_is_never_below_the_resolution():
    # Five equal differences of one step: without the floor p would be 0.
    found = paired([0.501] * 5, [0.5] * 5, ACCURACY)
    assert found.differences.sd == 0.001
    assert found.d_z == pytest.approx(1.0)
    assert found.p == pytest.approx(2 * stats.t.sf(math.sqrt(5), 4))
    half = stats.t.isf(0.025, 4) * 0.001 / math.sqrt(5)
    assert found.ci95 == pytest.approx((0.001 - half, 0.001 + half))
    assert found.mde == pytest.approx(detectable_effect(5) * 0.001)
    assert found.differences.p_equivalent(0.002) == pytest.approx(stats.t.sf(math.sqrt(5), 4))


def test_equal_differences_of_a_metric_without_resolution_are_found():
    found = paired([0.6] * 4, [0.5] * 4, PLAIN)
    assert found.p < 1e-9
    assert found.ci95 == pytest.approx((0.1, 0.1))


def test_rounding_is_no_difference():
    found = paired([0.1 + 0.2, 0.5], [0.3, 0.5], PLAIN)
    assert found.differences.all_zero
    assert (found.diff, found.p, found.prob_better) == (0.0, 1.0, 0.5)
    nothing = paired([0.0, 0.0, 0.0], [0.0, 0.0, 0.0], PLAIN)
    assert nothing.p == 1.0
    assert nothing.ci95 == pytest.approx((0.0, 0.0))


def test_ties_count_half():
    assert paired([1.0, 2.0, 3.0, 4.0], [0.0, 2.0, 3.0, 5.0], PLAIN).prob_better == 0.5


def test_correlation_is_that_over_seeds():
    a, b = [0.1, 0.5, 0.2, 0.9], [0.2, 0.4, 0.3, 0.7]
    assert paired(a, b, LOSS).correlation == pytest.approx(stats.pearsonr(a, b).statistic)
    assert math.isnan(paired([1.0, 1.0, 1.0], [0.1, 0.2, 0.3], PLAIN).correlation)
    assert math.isnan(paired([1.0, 2.0], [0.1, 0.2], PLAIN).correlation)


def test_too_few_pairs_have_no_interval():
    one, none = paired([0.7], [0.5], ACCURACY), paired([], [], ACCURACY)
    assert (one.n, none.n) == (1, 0)
    assert one.diff == pytest.approx(0.2)
    assert math.isnan(none.diff)
    for found in (one, none):
        numbers = (*found.ci95, *found.ci90, *found.bonferroni, found.p, found.d_z, found.mde)
        assert all(math.isnan(x) for x in numbers)
        assert math.isnan(seeds_needed(found.differences))


def test_seeds_needed_is_the_cheaper_of_difference_and_equivalence():
    d = Differences.between([0.03, -0.01, 0.02, 0.0, 0.01], np.zeros(5))
    for_difference = seeds_needed(d)
    assert for_difference == seeds_needed(d, margin=0.011)
    assert seeds_needed(d, margin=0.1) < for_difference
    assert seeds_needed(d, m=10) > for_difference
    assert seeds_needed(Differences.between([1.0, -1.0, 1e-9], np.zeros(3))) == math.inf
