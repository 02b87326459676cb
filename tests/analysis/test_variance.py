import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from made_evidence import ACCURACY, study
from scipy import stats

from ablate.analysis.compare import compare
from ablate.analysis.paired import Differences, MeanSquares
from ablate.core.metric import Sampling

HELD_OUT = Sampling("held_out", test=40, train=1000)
tables = st.tuples(st.integers(2, 6), st.integers(2, 9)).flatmap(
    lambda shape: arrays(float, shape, elements=st.floats(-1, 1, width=32))
)


def made(n, m, seed, sds, mean=0.0):
    """n × m differences with standard deviations between seeds, between examples, and of the rest."""
    rng = np.random.default_rng(seed)
    by_seed, by_example, rest = (
        rng.normal(0, sd, size) for sd, size in zip(sds, (n, m, (n, m)), strict=True)
    )
    return mean + by_seed[:, None] + by_example + rest


def differences(d, floor=1e-9):
    return Differences(d.mean(axis=1), floor, d)


@pytest.mark.slow
@given(tables)
def test_variance_and_degrees_of_freedom_by_hand(d):
    n, m = d.shape
    assume(d.std() > 1e-3)
    # By sums of squares of totals, as they were once computed by hand.
    correction = d.sum() ** 2 / (n * m)
    of_seeds = (d.sum(axis=1) ** 2).sum() / m - correction
    of_examples = (d.sum(axis=0) ** 2).sum() / n - correction
    of_rest = (d**2).sum() - correction - of_seeds - of_examples
    s, e, r = of_seeds / (n - 1), of_examples / (m - 1), of_rest / ((n - 1) * (m - 1))
    assume(s > 1e-4)
    assume(abs(e - r) > 1e-9)
    found = MeanSquares.of(d, 0.0)
    variance = (s + max(0.0, e - r)) / (n * m)
    terms = s**2 / (n - 1) + ((e**2 / (m - 1) + r**2 / ((n - 1) * (m - 1))) if e > r else 0.0)
    assert found.error.se == pytest.approx(math.sqrt(variance), rel=1e-6)
    assert found.error.df == pytest.approx(max(n - 1, (n * m * variance) ** 2 / terms), rel=1e-5)
    assert found.by_example == pytest.approx(max(0.0, e - r) / n, abs=1e-9)


def test_variance_is_that_of_resampling_both():
    # Over many draws of seeds and examples, the mean varies as much as the average estimate says.
    draws = [made(6, 25, seed, (0.1, 0.6, 0.3)) for seed in range(3000)]
    means = np.array([d.mean() for d in draws])
    estimated = np.mean([MeanSquares.of(d, 0.0).error.se ** 2 for d in draws])
    assert estimated == pytest.approx(means.var(), rel=0.06)


def test_examples_that_do_not_vary_leave_the_error_over_seeds():
    d = np.repeat(made(5, 1, 1, (0.1, 0.0, 0.0)), 30, axis=1)
    found = differences(d)
    assert found.squares is not None
    assert found.squares.error.df == pytest.approx(4)
    assert found.interval() == pytest.approx(Differences(d.mean(axis=1), 1e-9).interval())


@given(tables, st.sampled_from([0.05, 0.005]), st.floats(-1, 1))
def test_the_larger_p_and_the_wider_interval_count(d, alpha, bound):
    both, alone = differences(d), Differences(d.mean(axis=1), 1e-9)
    assert both.above(bound) >= alone.above(bound)
    assert both.below(bound) >= alone.below(bound)
    low, high = both.interval(alpha)
    assert low <= alone.interval(alpha)[0]
    assert high >= alone.interval(alpha)[1]
    assert both.mde(alpha) >= alone.mde(alpha)


def test_seeds_are_never_closer_than_the_resolution():
    d = np.zeros((4, 10))
    found = MeanSquares.of(d, 0.1)
    assert found.error.se == pytest.approx(0.1 / 2)
    assert found.error.df == pytest.approx(3)
    # Nor is anything divided by nothing where the metric has no resolution.
    nothing = Differences.between(np.zeros(4), np.zeros(4), examples=d)
    assert (nothing.above(0.0), nothing.interval()) == (0.5, pytest.approx((0.0, 0.0)))


def test_the_minimum_detectable_effect_counts_examples_which_more_seeds_do_not_bring():
    found = differences(made(8, 50, 2, (0.05, 1.0, 0.1)))
    assert found.squares is not None
    variance = found.sd**2 / 8 + found.squares.by_example / 50
    assert found.squares.error.se == pytest.approx(math.sqrt(variance))
    of_80 = max(error.se for error in found.errors_at(80))
    assert of_80**2 == pytest.approx(found.sd**2 / 80 + found.squares.by_example / 50)
    assert found.mde() > Differences(found.values, found.floor).mde()


def by_example(shift, seed=3):
    """Values and outcomes by example of a baseline and a variant, of which some examples are much harder."""
    rng = np.random.default_rng(seed)
    hard = rng.uniform(0.3, 0.7, 40)
    base = np.clip(hard + rng.normal(0, 0.02, (6, 40)), 0, 1)
    found = {
        "baseline": base,
        "a": np.clip(base + shift + rng.normal(0, 0.2, 40) + rng.normal(0, 0.01, (6, 40)), 0, 1),
    }
    return {name: rows.mean(axis=1) for name, rows in found.items()}, found


def test_a_comparison_on_held_out_examples_is_decided_over_seeds_and_examples():
    values, examples = by_example(0.03)
    row = compare(study(values, sampling=HELD_OUT, examples=examples)).iloc[0]
    d = Differences(values["a"] - values["baseline"], 0.001, examples["a"] - examples["baseline"])
    assert d.squares is not None
    assert (row["ci_low"], row["ci_high"]) == pytest.approx(d.interval())
    alone = Differences(d.values, d.floor).interval()
    assert row["ci_high"] - row["ci_low"] > 2 * (alone[1] - alone[0])
    assert row["p"] == pytest.approx(2 * min(d.above(0), d.below(0)))
    # On these examples the difference is as good as certain; on others it is not.
    assert alone[0] > 0 > row["ci_low"]
    assert (row["verdict"], row["reason"]) == ("inconclusive", "examples")


@pytest.mark.parametrize("kept", [None, "a"])
def test_without_outcomes_by_example_a_verdict_holds_on_these_examples(kept):
    values, examples = by_example(0.1)
    some = {kept: examples[kept]} if kept else None
    alone = Differences(values["a"] - values["baseline"], 0.001).interval()
    for options in ({"sampling": HELD_OUT, "examples": some}, {"examples": examples}):
        row = compare(study(values, **options)).iloc[0]
        assert (row["ci_low"], row["ci_high"]) == pytest.approx(alone)


def test_a_diverged_run_has_the_floor_on_every_example():
    values, examples = by_example(0.1)
    row = compare(study(values, sampling=HELD_OUT, examples=examples, statuses={("a", 2): "diverged"})).iloc[
        0
    ]
    scored = examples["a"].copy()
    scored[2] = ACCURACY.floor
    d = differences(scored - examples["baseline"])
    assert (row["n"], row["diff"]) == (6, pytest.approx(d.mean))
    assert (row["ci_low"], row["ci_high"]) == pytest.approx(d.interval())


def test_a_resplit_pool_enlarges_the_variance():
    # Nadeau and Bengio: (1/n + n_test/n_train) s².
    rng = np.random.default_rng(4)
    values = {"baseline": rng.normal(0.8, 0.02, 6), "a": rng.normal(0.83, 0.02, 6)}
    row = compare(study(values, sampling=Sampling("resplit", test=300, train=1000))).iloc[0]
    d = values["a"] - values["baseline"]
    half = stats.t.isf(0.025, 5) * d.std(ddof=1) * math.sqrt(1 / 6 + 0.3)
    assert (row["ci_low"], row["ci_high"]) == pytest.approx((d.mean() - half, d.mean() + half))
    t = d.mean() / (d.std(ddof=1) * math.sqrt(1 / 6 + 0.3))
    assert row["p"] == pytest.approx(2 * stats.t.sf(abs(t), 5))
    # No number of seeds makes up for the pool.
    (of_many,) = Differences(d, 1e-9, overlap=0.3).errors_at(10_000)
    assert of_many.se == pytest.approx(math.sqrt(0.3) * d.std(ddof=1), rel=1e-3)
