"""The noise of a study: spread, the test set's part in it, placebo, and what could be detected."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_evidence import ACCURACY, LOSS, study
from scipy import stats

from ablate.analysis.compare import compare
from ablate.analysis.noise import COLUMNS, noise
from ablate.analysis.power import detectable_effect
from ablate.analysis.rates import rate_p
from ablate.core.evidence import Evidence
from ablate.core.metric import Metric, Sampling

BASE = np.array([0.950, 0.955, 0.948, 0.951, 0.953])
WOBBLE = np.array([0.001, -0.001, 0.002, 0.0, -0.002])


def of(evidence: Evidence) -> pd.Series:
    (_, row), *others = noise(evidence, compare(evidence)).iterrows()
    assert not others
    return row


def test_the_spread_of_the_baseline_has_the_interval_of_chi_square():
    found = of(study({"baseline": BASE, "a": BASE + WOBBLE}))
    sd = float(np.std(BASE, ddof=1))
    low, high = (sd * math.sqrt(4 / stats.chi2(4).ppf(q)) for q in (0.975, 0.025))
    assert (found["n"], found["mean"]) == (5, pytest.approx(BASE.mean()))
    assert [found["spread"], found["spread_low"], found["spread_high"]] == pytest.approx([sd, low, high])
    assert [low / sd, high / sd] == pytest.approx([0.60, 2.87], abs=0.005), "five seeds"


def test_what_is_detectable_is_median_and_range_of_the_floors_in_the_family():
    spreads = {"a": 1, "b": 2, "c": 6}
    found = of(study({"baseline": BASE} | {name: BASE + k * WOBBLE for name, k in spreads.items()}))
    sd, effect = float(np.std(WOBBLE, ddof=1)), detectable_effect(5, 0.05 / 3)
    shown = [found["mde_low"], found["mde"], found["mde_high"]]
    assert shown == pytest.approx([k * sd * effect for k in spreads.values()])
    assert (found["comparisons"], math.isnan(found["failure_rate"])) == (3, True)


def test_a_difference_lies_within_the_noise_below_its_own_floor_unless_it_was_shown():
    sd, effect = float(np.std(WOBBLE, ddof=1)), detectable_effect(5, 0.05 / 4)
    critical = stats.t(4).ppf(1 - 0.05 / 8) / math.sqrt(5)
    # Beyond what 5 % of studies without a difference show, and below what 80 % of studies with this one do.
    shown = sd * (critical + effect) / 2
    values = {"baseline": BASE, "shown": BASE + WOBBLE + shown, "open": BASE + 9 * WOBBLE + 0.001}
    values |= {"same": BASE + WOBBLE, "small but real": BASE + WOBBLE / 8 + 1.2 * sd * effect / 8}
    table = compare(study(values, margin=0.02, metrics={"accuracy": Metric("max", floor=0.1, ceiling=1.0)}))
    found = table.set_index("variant")[["verdict", "within_noise"]]
    assert found.loc["small but real"].to_list() == ["equivalent", False]
    assert found.loc["same"].to_list() == ["equivalent", True]
    assert found.loc["open"].to_list() == ["inconclusive", True]
    alone = compare(study({"baseline": BASE, "shown": values["shown"]} | dict.fromkeys("bcd", BASE)))
    row = alone.set_index("variant").loc["shown"]
    assert (row["verdict"], row["within_noise"], row["diff"] < row["mde"]) == ("better", False, True)


@pytest.mark.parametrize("share", [0.3, 0.9])
def test_of_accuracies_on_fresh_examples_the_binomial_part_is_the_test_sets(share):
    rng = np.random.default_rng(3)
    n, size, p = 4000, 400, 0.8
    between = p * (1 - p) / size * (1 - share) / share
    skill = p + math.sqrt(between) * rng.standard_normal(n)
    values = rng.binomial(size, skill) / size
    found = of(study({"baseline": values, "a": values}, sampling=Sampling("fresh", size)))
    assert found["test_share"] == pytest.approx(share, abs=0.05)


def test_the_binomial_part_is_that_of_the_formula_and_no_more_than_everything():
    found = of(study({"baseline": BASE, "a": BASE}, sampling=Sampling("fresh", 100_000)))
    assert found["test_share"] == pytest.approx(np.mean(BASE * (1 - BASE)) / 1e5 / np.var(BASE, ddof=1))
    assert of(study({"baseline": BASE, "a": BASE}, sampling=Sampling("fresh", 50)))["test_share"] == 1.0


def made(n: int, m: int, by_seed: float, by_example: float, rest: float) -> Evidence:
    rng = np.random.default_rng(5)
    scales = {(n, 1): by_seed, (1, m): by_example, (n, m): rest}
    losses = 1 + sum(scale * rng.standard_normal(shape) for shape, scale in scales.items())
    means = losses.mean(axis=1)
    sampling = Sampling("held_out", m)
    values, examples = {"baseline": means, "a": means}, {"baseline": losses, "a": losses}
    return study(values, metric="loss", metrics={"loss": LOSS}, sampling=sampling, examples=examples)


def test_of_shared_examples_only_what_differs_by_run_counts():
    # Variance of a seed's mean: by_seed² + rest²/m. How hard the examples are moves all seeds alike.
    for by_example in (0.0, 3.0):
        found = of(made(2000, 50, 0.1, by_example, 0.5))
        assert found["test_share"] == pytest.approx(0.005 / 0.015, abs=0.03)
        assert found["spread"] == pytest.approx(0.015**0.5, abs=0.004)
        assert found["shared"]


def test_of_a_loss_on_fresh_examples_the_kept_outcomes_tell():
    rng = np.random.default_rng(7)
    losses = 1 + 0.1 * rng.standard_normal((500, 1)) + rng.standard_normal((500, 40))
    values, kept = losses.mean(axis=1), {"baseline": losses, "a": losses}
    fresh = {"metric": "loss", "metrics": {"loss": LOSS}, "sampling": Sampling("fresh", 40)}
    found = of(study({"baseline": values, "a": values}, examples=kept, **fresh))
    assert found["test_share"] == pytest.approx(0.025 / 0.035, abs=0.07)
    assert math.isnan(of(study({"baseline": values, "a": values}, **fresh))["test_share"]), "nothing was kept"


def test_the_placebo_stays_out_of_the_family():
    values = {"baseline": BASE, "a": BASE + WOBBLE, "again": BASE + 2 * WOBBLE}
    found = of(study(values, placebos=["again"]))
    sd, effect = float(np.std(WOBBLE, ddof=1)), detectable_effect(5)
    assert (found["placebo"], found["placebo_verdict"]) == ("again", "inconclusive")
    assert found["placebo_low"] < found["placebo_diff"] < found["placebo_high"]
    assert (found["comparisons"], found["mde"]) == (1, pytest.approx(sd * effect))
    assert of(study({"baseline": BASE, "a": BASE}))["placebo"] == ""


def test_where_rates_decide_the_smallest_failure_rate_is_given():
    found = of(study({"baseline": [0.99] * 10, "a": [0.99] * 9 + [0.3]}, outcome="all_or_nothing"))
    needed = next(c for c in range(11) if rate_p(0, c, 10) <= 0.05)
    power = stats.binom(10, found["failure_rate"]).sf(needed - 1)
    assert (math.isnan(found["mde"]), power, found["within"]) == (True, pytest.approx(0.8), 1)
    few = of(study({"baseline": [0.99] * 2, "a": [0.99] * 2}, outcome="all_or_nothing"))
    assert math.isinf(few["failure_rate"])


def test_diverged_runs_count_with_the_floor_or_are_left_out_where_there_is_none():
    diverged = {("baseline", 0): "diverged"}
    found = of(study({"baseline": BASE, "a": BASE}, statuses=diverged))
    assert (found["n"], found["diverged"]) == (5, 1)
    assert found["spread"] == pytest.approx(np.std([0.1, *BASE[1:]], ddof=1))
    without = {"metrics": {"accuracy": Metric("max")}}
    found = of(study({"baseline": BASE, "a": BASE}, statuses=diverged, **without))
    assert (found["n"], found["diverged"], found["unscored"]) == (4, 0, 1)
    assert found["spread"] == pytest.approx(np.std(BASE[1:], ddof=1))


def test_equal_values_have_no_spread_and_no_interval():
    found = of(study({"baseline": [0.1 + 0.2] * 3, "a": [0.3] * 3}, sampling=Sampling("fresh", 10)))
    assert found["spread"] == 0.0
    assert found[["spread_low", "spread_high", "test_share"]].isna().all()


@settings(max_examples=20, deadline=None)
@given(
    values=st.lists(st.floats(0, 1) | st.just(math.nan), min_size=1, max_size=5),
    diverged=st.booleans(),
    metric=st.sampled_from([ACCURACY, LOSS]),
    sampling=st.sampled_from(
        [Sampling(), Sampling("held_out", 4), Sampling("resplit", 4, 8), Sampling("fresh", 4)]
    ),
)
def test_whatever_the_runs_there_is_a_row_without_warnings(values, diverged, metric, sampling):
    statuses = {("baseline", 0): "diverged"} if diverged else {}
    evidence = study(
        {"baseline": values, "a": values}, metrics={"accuracy": metric}, sampling=sampling, statuses=statuses
    )
    found = noise(evidence, compare(evidence))
    assert list(found.columns) == list(COLUMNS)
    assert len(found) == 1
    assert not found["spread"].lt(0).any()
    assert not (found["spread_low"] > found["spread"]).any()


def test_a_task_without_the_metric_has_no_row():
    evidence = study({"baseline": BASE}, tasks={"x": {"loss": LOSS}})
    assert noise(evidence, compare(evidence)).empty
