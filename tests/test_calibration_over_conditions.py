"""Shortcuts over arrays, by which verdicts over conditions and streams of tries are simulated, beside the package."""

import numpy as np
import pytest
from calibration import claims, everywhere, fixed_sets, independent, many_conditions, samples, trends, varying
from calibration.check import OWN, Place, at_most, frequency, near
from calibration.many_streams import Runs, keep_nothing_new, kept_gains
from calibration.means import MEAN, drawn
from calibration.one_stream import kept_by_package
from calibration.simulations import band
from calibration.waves import p_after_keep
from scipy import stats

SHAPE = (6, 5, 8)
SHORTCUTS = {
    "mean": MEAN,
    "independent": independent.INDEPENDENT,
    "every": everywhere.DIFFERENT,
    "likeness": everywhere.EQUIVALENT,
    "crossed": samples.CROSSED,
    "apart": samples.APART,
    "trend": trends.TREND,
}


def studies(seed=0, shape=SHAPE):
    return 0.5 + many_conditions.noise(np.random.default_rng(seed), shape, 0.3, np.linspace(1, 3, shape[2]))


@pytest.mark.parametrize("name", SHORTCUTS)
def test_p_over_arrays_is_that_of_the_package(name):
    check = many_conditions.agreement(name, SHORTCUTS[name], studies(), {}, Place(None, studies=600))
    assert check.studies == 6
    assert check.inside


def test_p_of_two_conditions_of_unpaired_runs_and_of_test_sets_is_that_of_the_package():
    two = studies(1, (6, 5, 2))
    assert many_conditions.agreement("more", trends.MORE_AT, two, {}, Place(None, studies=600)).inside
    rng = np.random.default_rng(2)
    unpaired, *_ = independent.of_unpaired(rng, Place(None, studies=20), 6, 3, settings=1)
    unequal, *_ = independent.of_unequal(rng, Place(None, studies=20))
    assert (unpaired.inside, unequal.inside) == (True, True)
    assert fixed_sets.disagreement(rng, (0.1, 1.0, 1.0), 5, 3) < many_conditions.TOLERANCE


def test_a_p_that_is_not_that_of_the_package_is_outside():
    wrong = many_conditions.Shortcut(samples.APART.over_arrays, MEAN.by_package)
    assert not many_conditions.agreement("wrong", wrong, studies(), {}, Place(None, studies=600)).inside


def test_words_of_arrays_are_those_of_the_package():
    d = np.random.default_rng(3).normal([1.5, 0.5, -1.5], size=(40, 8, 3))
    assert varying.varies(d).tolist() == varying.varies_by_package(d).tolist()
    assert 0 < varying.varies(d).sum() < 40
    assert everywhere.other_claims(d).mean() == 0.0
    outcomes = claims.until_open(claims.decided(d))
    assert [claims.by_package(study) for study in d] == outcomes.tolist()
    assert {*outcomes[:, 1].tolist()} == {0, 1}


def test_claims_in_order_end_with_the_first_that_is_open_and_false_ones_are_counted():
    outcomes = np.array([[1, 0, 1], [-1, 1, 0], [0, 1, 1], [1, 1, 1]])
    assert claims.until_open(outcomes).tolist() == [[1, 0, 0], [-1, 1, 0], [0, 0, 0], [1, 1, 1]]
    assert claims.are_false(outcomes, [2.0, 2.0, 0.0]).tolist() == [True, True, True, True]
    assert claims.are_false(claims.until_open(outcomes), [2.0, 2.0, 0.0]).tolist() == [
        False,
        True,
        False,
        True,
    ]


def test_claims_in_order_are_decided_at_some_look():
    d = np.random.default_rng(4).normal([9.0, 0.9], size=(200, 20, 2))
    outcomes = claims.outcomes_over_looks(d)
    assert (outcomes[:, 0] == 1).all()
    assert 0.7 < (outcomes[:, 1] == 1).mean() < 0.95, "the power is .86 at .8, and .97 at 1 (METHODS §5)"


def test_variants_of_a_family_share_their_baseline():
    variants = [*many_conditions.null_variants(np.random.default_rng(5), (4000, 2, 1))]
    correlation = np.corrcoef(variants[0].ravel(), variants[1].ravel())[0, 1]
    assert (len(variants), correlation) == (10, pytest.approx(0.5, abs=0.05))


def test_levels_count_any_verdict_of_a_family():
    p = np.ones((10, 4))
    p[0] = [0.04, 0.01, 1, 1]
    p[9] = [1, 1, 0.004, 0.006]
    found = {
        check.setting["M"]: check.value for check in many_conditions.family_levels("p", p, {}, settings=1)
    }
    assert found == {1: 0.5, 3: 0.25, 10: 0.25}


def test_settings_of_one_kind_share_their_band():
    assert band(10_000, settings=32) == pytest.approx((0.0424, 0.058), abs=2e-4)
    flags = np.arange(10_000) < 570
    assert not frequency("alone", flags, {}).inside
    assert frequency("of many", flags, {}, settings=32).inside
    assert not at_most("alone", flags, {}, most=0.05, alpha=0.05).inside
    assert at_most("of many", flags, {}, most=0.05, alpha=0.05, settings=32).inside


@pytest.mark.parametrize(("studies", "most"), [(10_000, 0.03), (400, 0.08)])
def test_power_lies_near_what_is_stated(studies, most):
    check = near("found", np.arange(studies) < round(0.81 * studies), {}, stated=0.8)
    assert (check.value, check.high, check.low) == (
        pytest.approx(0.01),
        pytest.approx(most),
        pytest.approx(-most),
    )
    assert check.rules == OWN


def test_differences_that_are_not_normal_have_the_mean_0_and_their_skew():
    d = drawn(np.random.default_rng(6), "skew 1", (100_000,))
    assert (d.mean(), stats.skew(d)) == (pytest.approx(0, abs=0.03), pytest.approx(1, abs=0.06))
    assert drawn(np.random.default_rng(6), "t3", (100_000,)).mean() == pytest.approx(0, abs=0.03)


def test_slopes_are_those_of_least_squares():
    d = studies(7, (3, 4, 5))
    doublings = np.log2(trends.sizes_of(5))
    expected = [[stats.linregress(doublings, row).slope for row in study] for study in d]
    assert trends.slopes(d) == pytest.approx(np.array(expected))
    repeated = np.tile(doublings, 4)
    p = [stats.linregress(repeated, study.ravel()).pvalue for study in d]
    assert trends.p_of_all_runs(d) == pytest.approx(p)


@pytest.mark.parametrize(("wave", "given"), [(1, False), (4, False), (1, True), (5, True)])
def test_streams_over_arrays_keep_what_the_package_keeps(wave, given):
    rng = np.random.default_rng(8)
    runs = Runs.drawn(rng.standard_normal, 5, 1.5, wave=wave, tries=40)
    gains = 3.0 * (rng.random(runs.screening.shape) < 0.3)
    kept = kept_gains(runs, gains, given=given)
    assert kept == pytest.approx(kept_by_package(runs, gains, given=given), nan_ok=True)
    assert (kept == 3.0).sum() > 5


def test_streams_without_a_true_try_keep_something_now_and_then():
    runs = Runs.drawn(np.random.default_rng(9).standard_normal, 400, 3)
    assert 0 < keep_nothing_new(runs).mean() < keep_nothing_new(runs, by_welch=False).mean() < 0.2


def test_the_confirmation_after_a_keep_has_the_power_of_its_degrees_of_freedom():
    """By the pooled t: a noncentral t on 9 + 8·3 + 8 degrees of freedom."""
    p = p_after_keep(np.random.default_rng(10), 4000, 3, gain=2.0, by_welch=False)
    edge = stats.t.isf(0.01, 41)
    expected = stats.nct.sf(edge, 41, 2 / (2 / 5) ** 0.5)
    assert (p <= 0.01).mean() == pytest.approx(expected, abs=0.02)
    assert p_after_keep(np.random.default_rng(10), 500, 3, gain=2.0).mean() > p.mean()
