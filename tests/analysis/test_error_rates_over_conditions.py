"""Error rates and power of verdicts over conditions, by simulation with fixed seeds."""

from dataclasses import replace

import numpy as np
import pytest
from made_conditions import conditions, with_examples
from scipy import stats

from ablate.analysis.conditions import mean_of_independent, mean_over, trend_along
from ablate.analysis.judge import p_of
from ablate.analysis.over_conditions import InCondition, judge_every, judge_mean
from ablate.analysis.sample_of_conditions import sample_of

pytestmark = pytest.mark.slow
STUDIES = 2000
SIZES = [64, 128, 256, 1024]


def most(rate, studies=STUDIES):
    """The upper edge of the binomial 99 % band of a frequency."""
    return stats.binom.ppf(0.995, studies, rate) / studies


def studies(seed, num_seeds, num_conditions, shared=0.0, sds=1.0, num=STUDIES):
    """Differences without an effect, shape (num, num_seeds, num_conditions); shared: the variance that seeds share."""
    rng = np.random.default_rng(seed)
    d = np.sqrt(1 - shared) * rng.normal(size=(num, num_seeds, num_conditions))
    return sds * (d + np.sqrt(shared) * rng.normal(size=(num, num_seeds, 1)))


@pytest.mark.parametrize("shared", [0.0, 0.8])
@pytest.mark.parametrize(("num_conditions", "num_seeds"), [(2, 5), (2, 8), (8, 5), (8, 8), (26, 5)])
@pytest.mark.parametrize("ratio", [1, 10])
def test_level_of_the_mean(num_conditions, num_seeds, shared, ratio):
    sds = np.linspace(1, ratio, num_conditions)
    p = [p_of(mean_over(conditions(d))) for d in studies(1, num_seeds, num_conditions, shared, sds)]
    assert np.mean(np.array(p) <= 0.05) <= most(0.052)
    assert np.mean(np.array(p) <= 0.05) >= stats.binom.ppf(0.005, STUDIES, 0.046) / STUDIES


def apart(made):
    return [replace(one, seeds=range(100 * t, 100 * t + one.difference.n)) for t, one in enumerate(made)]


@pytest.mark.parametrize(("num_conditions", "num_seeds"), [(2, 5), (8, 5)])
def test_level_of_the_mean_of_independent_conditions_and_of_shared_ones_taken_for_such(
    num_conditions, num_seeds
):
    sds = np.linspace(1, 10, num_conditions)
    p = [
        p_of(mean_of_independent(apart(conditions(d))))
        for d in studies(2, num_seeds, num_conditions, sds=sds)
    ]
    assert np.mean(np.array(p) <= 0.05) <= most(0.052)
    wrong = [
        p_of(mean_of_independent(apart(conditions(d)))) for d in studies(3, num_seeds, num_conditions, 0.8)
    ]
    assert np.mean(np.array(wrong) <= 0.05) > 0.07


@pytest.mark.parametrize(("seed_sd", "example_sd"), [(0.2, 1.0), (1.0, 0.3), (0.0, 1.0)])
def test_level_of_the_mean_with_fixed_test_sets(seed_sd, example_sd):
    rng = np.random.default_rng(4)
    p = []
    for _ in range(1000):
        d = rng.normal(size=(3, 5, 40)) + example_sd * rng.normal(size=(3, 1, 40))
        d += seed_sd * rng.normal(size=(3, 5, 1))
        p.append(p_of(mean_over(with_examples(d))))
    assert np.mean(np.array(p) <= 0.05) <= most(0.05, 1000)


@pytest.mark.parametrize("same_examples", [True, False])
def test_level_where_all_conditions_have_the_same_test_set(same_examples):
    """To take the same examples for others errs: their effects do not average out."""
    rng = np.random.default_rng(5)
    p = []
    for _ in range(1000):
        d = rng.normal(size=(4, 5, 40)) + rng.normal(size=40) + 0.1 * rng.normal(size=(4, 5, 1))
        p.append(p_of(mean_over(with_examples(d), same_examples=same_examples)))
    level = np.mean(np.array(p) <= 0.05)
    assert level <= most(0.05, 1000) if same_examples else level > 0.2


@pytest.mark.parametrize("grows", [False, True])
def test_level_of_a_trend_where_all_conditions_have_the_same_test_set(grows):
    """Examples that weigh on all conditions alike cancel; those that weigh on some more are part of the error."""
    rng = np.random.default_rng(15)
    weights = np.array([-1.5, -0.5, 0.5, 1.5] if grows else [1.0] * 4)
    p = []
    apart = []
    for _ in range(800):
        d = 0.5 * rng.normal(size=(4, 5, 60)) + 0.05 * rng.normal(size=(4, 5, 1))
        d += 0.3 * weights[:, None, None] * rng.normal(size=60)
        p.append(p_of(trend_along(with_examples(d), SIZES, same_examples=True)))
        apart.append(p_of(trend_along(with_examples(d), SIZES)))
    assert np.mean(np.array(p) <= 0.05) <= most(0.05, 800)
    wrong = np.mean(np.array(apart) <= 0.05)
    assert wrong > 0.1 if grows else wrong < 0.02


@pytest.mark.parametrize("num_conditions", [3, 5, 10])
def test_varies_is_rare_with_one_effect_and_found_where_one_condition_is_reversed(num_conditions):
    num = 1000
    power = {3: 0.82, 5: 0.74, 10: 0.60}[num_conditions]
    for effect in (0.0, 0.5, 1.5):
        found = [_varies(d + effect) for d in studies(6, 8, num_conditions, num=num)]
        assert np.mean(found) <= most(0.011, num)
    effects = np.full(num_conditions, 1.5)
    effects[-1] = -1.5
    found = [_varies(d + effects) for d in studies(7, 8, num_conditions, num=num)]
    assert np.mean(found) == pytest.approx(power, abs=0.03)


def _varies(d):
    made = conditions(d)
    return judge_mean(mean_over(made), made, None).varies


@pytest.mark.parametrize("num_conditions", [2, 3])
def test_level_of_every_where_one_condition_has_no_effect(num_conditions):
    effects = np.full(num_conditions, 5.0)
    effects[0] = 0.0
    verdicts = [_in_every(d + effects) for d in studies(8, 5, num_conditions)]
    assert np.mean(np.array(verdicts) == "better") <= most(0.027)
    nulls = [_in_every(d) for d in studies(9, 5, num_conditions)]
    assert np.mean(np.array(nulls) != "inconclusive") <= most(0.05)
    at_margin = [
        _in_every(d * 0.1 + np.r_[1.0, np.zeros(num_conditions - 1)], 1.0)
        for d in studies(10, 8, num_conditions)
    ]
    assert np.mean(np.array(at_margin) == "equivalent") <= most(0.027)


def _in_every(d, margin=None):
    made = [InCondition(one.name, one.difference, margin) for one in conditions(d)]
    return judge_every(made).row.verdict


@pytest.mark.parametrize(("num_seeds", "effect"), [(5, 1.69), (8, 1.16)])
@pytest.mark.parametrize("ratio", [1, 4])
def test_level_and_power_of_a_trend(num_seeds, effect, ratio):
    sds = np.linspace(1, ratio, 4)
    p = [p_of(trend_along(conditions(d), SIZES)) for d in studies(11, num_seeds, 4, 0.5, sds)]
    assert np.mean(np.array(p) <= 0.05) <= most(0.052)
    assert np.mean(np.array(p) <= 0.00625) <= most(0.007)
    doublings = np.log2(SIZES) - np.log2(SIZES).mean()
    sd_of_slope = 1 / np.sqrt((doublings**2).sum())
    grown = effect * sd_of_slope * doublings
    p = [p_of(trend_along(conditions(d + grown), SIZES)) for d in studies(12, num_seeds, 4)]
    assert np.mean(np.array(p) <= 0.05) == pytest.approx(0.80, abs=0.03)


@pytest.mark.parametrize(
    ("num_conditions", "num_seeds", "of_conditions"), [(8, 5, 0.5), (8, 8, 0.1), (16, 5, 1.0)]
)
@pytest.mark.parametrize("shared", [0.0, 0.5])
def test_level_of_conditions_as_a_sample(num_conditions, num_seeds, of_conditions, shared):
    num = 1000
    effects = of_conditions * np.random.default_rng(13).normal(size=(num, 1, num_conditions))
    made = studies(14, num_seeds, num_conditions, shared, num=num) + effects
    p = [p_of(sample_of(conditions(d))) for d in made]
    assert np.mean(np.array(p) <= 0.05) <= most(0.063, num)
