"""Estimates over conditions, against reference values and scipy."""

from dataclasses import replace

import numpy as np
import pytest
from made_conditions import GROWING, SCALED, SCORE, blocked, conditions, other_seeds, with_examples
from made_evidence import ACCURACY, LOSS
from scipy import stats

from ablate.analysis.conditions import Condition, Refusal
from ablate.analysis.estimates import Rate
from ablate.analysis.independent_conditions import mean_of_independent
from ablate.analysis.judge import judge, p_of
from ablate.analysis.paired import Differences
from ablate.analysis.sums_of_conditions import by_more_at, mean_over, trend_along
from ablate.analysis.unpaired import OfSummaries, Unpaired
from ablate.analysis.variance_components import VarianceComponent, satterthwaite
from ablate.core.metric import Metric
from ablate.core.reason import Block, Reason
from ablate.core.summary import Summary


def test_the_mean_over_conditions_is_that_of_the_reference():
    mean = mean_over(conditions(SCALED, [1, 20]))
    (error,) = mean.errors
    assert (mean.n, mean.mean) == (5, pytest.approx(0.0625, rel=1e-12))
    assert (mean.mean / error.se, error.df) == (pytest.approx(3.638891, abs=5e-7), 4)
    assert p_of(mean) == pytest.approx(0.0219862, abs=5e-8)


def test_the_mean_of_independent_conditions_is_that_of_the_reference():
    mean = mean_of_independent(other_seeds(conditions(SCALED, [1, 20])))
    (error,) = mean.errors
    assert (mean.mean, error.se**2) == (pytest.approx(0.0625), pytest.approx(0.00032, rel=1e-12))
    assert error.df == pytest.approx(4.892937, abs=5e-7)
    assert p_of(mean) == pytest.approx(0.0180251, abs=5e-8)


def of_sd(n, sd):
    """Values with exactly this standard deviation."""
    values = np.arange(n) - (n - 1) / 2
    return values * sd / values.std(ddof=1)


def test_independent_conditions_of_unequal_size_have_the_degrees_of_freedom_of_the_reference():
    made = []
    for t, (n, sd) in enumerate([(5, 1), (8, 0.5), (10, 2)]):
        differences = Differences.between(of_sd(n, sd), np.zeros(n))
        made.append(Condition(f"c{t}", differences, "score", SCORE, seeds=range(100 * t, 100 * t + n)))
    (error,) = mean_of_independent(made).errors
    assert error.se**2 == pytest.approx(0.07013889, abs=5e-9)
    assert error.df == pytest.approx(14.273470, abs=5e-7)


def test_of_unpaired_runs_each_side_adds_its_variance():
    a, b = np.random.default_rng(8).normal(size=(2, 7))
    welch = stats.ttest_ind(a, b, equal_var=False)
    runs = Condition("runs", Unpaired.of_runs(a, b, 0.0, known=False), "score", SCORE)
    (error,) = mean_of_independent([runs]).errors
    assert (error.df, runs.differences.mean / error.se) == (
        pytest.approx(welch.df),
        pytest.approx(welch.statistic),
    )
    sides = [Summary("a", "t", "score", side.mean(), side.std(ddof=1), 7) for side in (a, b)]
    told = Condition("told", OfSummaries.between_means(*sides, SCORE), "score", SCORE)
    both = mean_of_independent([runs, told])
    assert both.errors[0].se == pytest.approx(error.se / 2**0.5)
    assert both.errors[0].df == pytest.approx(2 * welch.df)


def test_a_trend_is_that_of_the_reference():
    trend = trend_along(conditions(GROWING), [64, 128, 512])
    (error,) = trend.errors
    assert trend.mean == pytest.approx(0.01457142857, abs=5e-12)
    assert trend.mean / error.se == pytest.approx(5.479596155, abs=5e-10)
    assert p_of(trend) == pytest.approx(0.005400046408, abs=5e-13)
    slopes = [stats.linregress(np.log2([64, 128, 512]), row).slope for row in GROWING]
    assert trend.interval() == pytest.approx(tuple(stats.ttest_1samp(slopes, 0).confidence_interval()))
    assert judge(trend, "beats", x=0.005).outcome == "supported"
    assert judge(trend, "beats", x=0.02).outcome == "inconclusive"


def test_a_trend_over_two_conditions_is_by_more_at():
    here, there = conditions(SCALED, [1, 20])
    more = by_more_at(here, there)
    assert p_of(more) == pytest.approx(stats.ttest_1samp(SCALED @ [1, -1 / 20], 0).pvalue)
    assert trend_along([here, there], [1, 2]) == Refusal("few", ["c0", "c1"])


def test_of_one_condition_the_error_with_examples_is_that_of_one_condition():
    d = np.random.default_rng(0).normal(size=(1, 6, 40)) + np.random.default_rng(1).normal(size=40)
    (one,) = with_examples(d)
    found = mean_over([one])
    assert [(error.se, error.df) for error in found.errors] == [
        (pytest.approx(error.se), pytest.approx(error.df)) for error in one.difference.errors
    ]
    assert found.interval() == pytest.approx(one.difference.interval())


def test_shared_examples_add_their_variance_by_the_formula():
    rng = np.random.default_rng(2)
    d = rng.normal(size=(3, 5, 30)) + rng.normal(size=(3, 1, 30)) + 0.2 * rng.normal(size=(1, 5, 1))
    scales = [1.0, 2.0, 4.0]
    made = [replace(one, declared_scale=u) for one, u in zip(with_examples(d), scales, strict=True)]
    over_seeds, over_both = mean_over(made).errors
    n, m = 5, 30
    variance = over_seeds.se**2
    parts = variance**2 / (n - 1)
    for one, u in zip(made, scales, strict=True):
        squares = one.difference.squares
        c = 1 / (n * m * u**2 * 9)
        variance += c * (squares.examples - squares.rest)
        parts += c**2 * (squares.examples**2 / (m - 1) + squares.rest**2 / ((n - 1) * (m - 1)))
    assert over_both.se**2 == pytest.approx(variance)
    assert over_both.df == pytest.approx(max(variance**2 / parts, n - 1))


def test_conditions_with_the_same_examples_are_judged_on_the_sum_of_each():
    d = np.random.default_rng(3).normal(size=(2, 5, 30)) + np.random.default_rng(4).normal(size=30)
    mean = mean_over(with_examples(d), same_examples=True)
    (alone,) = with_examples(d.mean(axis=0)[None])
    assert mean.interval() == pytest.approx(alone.difference.interval())
    apart = mean_over(with_examples(d))
    assert apart.errors[1].se < 0.85 * mean.errors[1].se, "test sets that are apart average out"


def test_shared_examples_count_for_independent_conditions_too():
    d = np.random.default_rng(5).normal(size=(2, 6, 30)) + np.random.default_rng(6).normal(size=(2, 1, 30))
    over_seeds, over_both = mean_of_independent(other_seeds(with_examples(d))).errors
    assert over_both.se > 1.5 * over_seeds.se


def test_seeds_are_matched_by_their_numbers():
    first, second = conditions(SCALED, [1, 20])
    order = [3, 0, 4, 1]
    shuffled = replace(second, seeds=order, difference=second.difference.on(np.array(order)))
    found = mean_over([first, shuffled])
    kept = np.delete(SCALED, 2, axis=0) @ [0.5, 0.025]
    assert (found.n, p_of(found)) == (4, pytest.approx(stats.ttest_1samp(kept, 0).pvalue))


def test_scales_are_declared_or_the_range_or_one_where_all_share_a_metric():
    plain = conditions(SCALED)
    assert mean_over(plain).mean == pytest.approx(SCALED.mean())
    assert mean_over(conditions(SCALED, metric=ACCURACY)).mean == pytest.approx(SCALED.mean() / 0.9)
    assert mean_over(conditions(SCALED, [1, 20], metric=ACCURACY)).mean == pytest.approx(0.0625)
    first, second = plain
    assert mean_over([first, replace(second, metric=ACCURACY)]) == Refusal("scales", ["c0"])
    assert mean_over([first, replace(second, metric_name="loss")]) == Refusal("scales", ["c0", "c1"])


def test_what_cannot_be_added_is_refused():
    first, second = conditions(SCALED)
    assert mean_over([first, replace(second, metric=LOSS)]) == Refusal("directions", ["c0", "c1"])
    rate = Rate((1, 0), 5, 1.0, second.difference, second.difference)
    assert mean_over([first, replace(second, difference=rate)]) == Refusal("all_or_nothing", ["c1"])
    documents = replace(second.difference, unit="documents")
    assert mean_over([first, replace(second, difference=documents)]) == Refusal("sources", ["c1"])
    assert mean_over(other_seeds([first, second])) == Refusal("seeds", ["c0", "c1"])
    assert mean_over([first, replace(second, seeds=())]) == Refusal("seeds", ["c1"])
    unpaired = Unpaired.of_runs(SCALED[:, 0], SCALED[:, 1], 0.0, known=False)
    assert mean_over([replace(first, difference=unpaired), second]) == Refusal("seeds", ["c0"])
    assert mean_of_independent([first, second]) == Refusal("shared_seeds", ["c0", "c1"])
    few = conditions(SCALED[:4])
    assert mean_of_independent(other_seeds(few)) == Refusal("few_seeds", ["c0", "c1"], 4)
    three = conditions(GROWING)
    assert trend_along(three, [0, 1, 2]) == Refusal("sizes", ["c0", "c1", "c2"])
    assert trend_along(three, [1, 1, 2]) == Refusal("sizes", ["c0", "c1", "c2"])


def test_one_condition_at_its_ceiling_blocks_only_likeness_and_all_block_everything():
    first, second = conditions(GROWING[:, 1:])
    ceiling = Block(Reason("ceiling", {"n": 5}))
    one = mean_over([first, blocked(second, ceiling)])
    assert judge(one, "beats").outcome == "supported"
    assert judge(one, "matches", x=1.0).outcome == "inconclusive"
    both = mean_over([blocked(first, ceiling), blocked(second, ceiling)])
    assert judge(both, "beats").reason == ceiling.reason
    lost = Block(Reason("incomplete", {"pairs": 4, "missing": 1}))
    missing = mean_over([blocked(first, ceiling), blocked(second, lost)])
    assert judge(missing, "beats").reason == lost.reason


def test_a_condition_near_a_bound_blocks_trends_and_differences_and_not_the_mean():
    ladder = conditions(GROWING)
    ladder[1] = replace(ladder[1], near_bound=True)
    assert trend_along(ladder, [64, 128, 512]).blocks == [Block(Reason("scale"))]
    assert by_more_at(*ladder[:2]).blocks == [Block(Reason("scale"))]
    assert not mean_over(ladder).blocks


def test_equal_differences_vary_by_the_resolution_at_least():
    values = np.full(5, 0.5)
    made = [
        replace(one, difference=Differences.between(values, 0 * values, 0.25), metric=Metric("max", 0.25))
        for one in conditions(GROWING)
    ]
    assert mean_over(made).sd == pytest.approx(0.25 / 3**0.5)
    assert mean_over(made).binding_resolution == pytest.approx(0.25 / 3**0.5)
    spread = np.log2([64, 128, 512]) - np.log2([64, 128, 512]).mean()
    assert trend_along(made, [64, 128, 512]).sd == pytest.approx(0.25 / (spread**2).sum() ** 0.5)


def test_satterthwaite_is_welch_of_two_parts():
    a, b = np.random.default_rng(7).normal(size=(2, 6))
    parts = [VarianceComponent(side.var(ddof=1) / 6, 5) for side in (a, b)]
    welch = stats.ttest_ind(a, b, equal_var=False)
    error = satterthwaite(parts)
    assert (error.df, (a.mean() - b.mean()) / error.se) == (
        pytest.approx(welch.df),
        pytest.approx(welch.statistic),
    )
