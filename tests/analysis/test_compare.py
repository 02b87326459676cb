import math
from dataclasses import fields, replace

import numpy as np
import pandas as pd
import pytest
from made_evidence import ACCURACY, LOSS, study
from scipy import stats

from ablate.analysis.compare import compare
from ablate.analysis.comparison_row import ComparisonRow
from ablate.analysis.power import detectable_effect
from ablate.base.errors import AblateError
from ablate.core.facts import ALL_PAIRS, Evidence
from ablate.core.metric import Metric, Sampling

BASE = np.array([0.950, 0.955, 0.948, 0.951, 0.953])
WOBBLE = np.array([0.001, -0.001, 0.002, 0.0, -0.002])


def only(frame, variant="a", **where):
    for column, value in (where | {"variant": variant}).items():
        frame = frame[frame[column] == value]
    assert len(frame) == 1
    return frame.iloc[0]


def code(row):
    return str(row["reason"]).partition(" ")[0]


def test_other_metrics_are_exploratory_without_a_verdict():
    metrics = {"accuracy": ACCURACY, "loss": LOSS}
    values = {"baseline": BASE, "a": BASE + 0.01 + WOBBLE, "b": BASE, "c": BASE}
    frame = compare(study(values, metrics=metrics, others={"loss": values}, margin=0.04))
    row, primary = only(frame, metric="loss"), only(frame, metric="accuracy")
    assert (row["exploratory"], row["verdict"], row["reason"], row["level"]) == (True, "", "", 0.95)
    assert (primary["exploratory"], primary["verdict"]) == (False, "equivalent")
    # The same spread, but the primary metric answers for a family of three.
    ratio = detectable_effect(5) / detectable_effect(5, 0.05 / 3)
    assert row["mde"] == pytest.approx(primary["mde"] * ratio)


@pytest.mark.parametrize(
    ("baseline", "count", "told"), [(0.52, 5, True), (0.52, 2, False), (0.125, 5, False)]
)
def test_the_seeds_that_it_takes_are_told_by_three_of_a_baseline_that_learned(baseline, count, told):
    base = baseline + np.zeros(count)
    row = only(compare(study({"baseline": base, "a": base + np.resize([0.04, -0.02, 0.02], count)})))
    assert row["verdict"] == "inconclusive"
    assert code(row) == "open"
    assert ("seeds=" in row["reason"]) == told


def test_names_that_hold_the_words_of_a_comparison_are_told_apart():
    values = {"c": BASE, "b against c": BASE + WOBBLE, "a": BASE + 0.01, "a against b": BASE + 0.02}
    evidence = study(values)
    frame = compare(replace(evidence, facts=replace(evidence.facts, compare=ALL_PAIRS)))
    names = [*zip(frame["variant"], frame["baseline"], strict=True)]
    assert len(names) == len({*names}) == 6
    assert only(frame, "a against b", baseline="c")["diff"] == pytest.approx(0.02)


def test_one_level_for_all_variants_and_tasks_of_the_primary_metric():
    rng = np.random.default_rng(3)
    tasks = {name: {"accuracy": ACCURACY, "loss": LOSS} for name in ("recall", "sort")}
    values = {name: {task: rng.normal(0.5, 0.1, 6) for task in tasks} for name in ("baseline", "a", "b", "c")}
    values["a"]["sort"] = values["baseline"]["sort"] + rng.normal(0.1, 0.01, 6)
    frame = compare(study(values, tasks=tasks, margin=0.01))
    family = frame[~frame["exploratory"]]
    assert len(family) == 6
    row = only(frame, task="sort", metric="accuracy")
    assert row["verdict"] == "better"
    known = stats.ttest_1samp(values["a"]["sort"] - values["baseline"]["sort"], 0)
    bounds = known.confidence_interval(1 - 0.05 / 6)
    assert (row["ci_low"], row["ci_high"]) == pytest.approx((bounds.low, bounds.high))
    assert row["p"] == pytest.approx(known.pvalue)
    # The other metric has no values at all.
    assert set(frame.loc[frame["exploratory"], "n"]) == {0}


def test_the_threshold_may_be_that_of_another_metric_which_bounds_no_size():
    metrics = {"loss": Metric("min", 0.001, floor=2.0, ceiling=0.0), "accuracy": ACCURACY}
    accuracy = {name: [0.95] * 39 + [0.3] for name in ("baseline", "a")}
    loss = {"baseline": np.full(40, 1.0), "a": np.linspace(0.999, 1.001, 40)}
    options = {
        "metrics": metrics,
        "others": {"accuracy": accuracy},
        "margin": 0.5,
        "outcome": "all_or_nothing",
    }
    row = only(compare(study(loss, metric="loss", **options)), metric="loss")
    assert (row["solved_variant"], row["verdict"]) == (39, "inconclusive")


@pytest.mark.slow
@pytest.mark.parametrize("outcome", ["graded", "all_or_nothing"])
@pytest.mark.parametrize("lost", [None, ("a", 1), ("baseline", 2)])
def test_swapping_variant_and_baseline_turns_the_verdict(outcome, lost):
    draw, swapped = np.random.default_rng(0), {"a": "baseline", "baseline": "a"}
    for _ in range(20):
        a, b = draw.uniform(0.3, 1.0, (2, 6)) + draw.choice([0.0, 0.4], (2, 1))
        there = {lost: "diverged"} if lost else {}
        back = {(swapped[lost[0]], lost[1]): "diverged"} if lost else {}
        one = only(compare(study({"baseline": b, "a": a}, margin=0.1, outcome=outcome, statuses=there)))
        other = only(compare(study({"baseline": a, "a": b}, margin=0.1, outcome=outcome, statuses=back)))
        assert other["verdict"] == {"better": "worse", "worse": "better"}.get(one["verdict"], one["verdict"])
        assert other["diff"] == pytest.approx(-one["diff"], abs=1e-12)


def test_a_difference_that_the_metric_cannot_show_is_not_said_to_be_detected():
    row = only(compare(study({"baseline": [0.5, 0.6], "a": [0.9, 0.4]})))
    assert (row["verdict"], row["mde"]) == ("inconclusive", math.inf)
    few = only(compare(study({"baseline": [0.95, 0.95], "a": [0.95, 0.3]}, outcome="all_or_nothing")))
    assert few["mde"] == math.inf, "two seeds decide nothing, whatever they show"
    many = {"baseline": np.full(8, 0.95), "a": np.where(np.arange(8) < 1, 0.3, 0.95)}
    assert only(compare(study(many, outcome="all_or_nothing")))["mde"] == 5


def test_the_floor_of_an_accuracy_has_its_sampling_error_and_that_of_others_is_exact():
    low, most = np.array([0.09, 0.11, 0.1, 0.12, 0.1]), 0.1 + 3 * math.sqrt(0.1 * 0.9 / 1000)
    for value, found in ((most - 1e-6, "floor"), (most + 1e-3, "open")):
        values = {"baseline": np.where(np.arange(5) == 3, value, low), "a": low + 5 * WOBBLE}
        assert code(only(compare(study(values)))) == found
    error = {"accuracy": Metric("min", 0.01, floor=0.9, ceiling=0.0)}
    for value, found in ((0.9, "floor"), (0.899, "open")):
        values = {"baseline": [0.9, 0.9, 0.92], "a": [0.93, 0.91, value]}
        assert code(only(compare(study(values, metrics=error)))) == found


def test_neither_row_order_nor_the_names_of_seeds_matter():
    rng = np.random.default_rng(5)
    values = {name: rng.normal(0.5, 0.1, 7) for name in ("baseline", "a", "b", "c")}
    examples = {name: v[:, None] + rng.normal(0, 0.1, (7, 9)) for name, v in values.items()}
    evidence = study(
        values,
        margin=0.05,
        statuses={("b", 2): "failed", ("c", 1): "diverged"},
        sampling=Sampling("held_out", 9),
        examples=examples,
    )
    expected = compare(evidence)
    mixed = evidence.trials.sample(frac=1, random_state=1), evidence.examples.sample(frac=1, random_state=2)
    pd.testing.assert_frame_equal(
        compare(Evidence(evidence.facts, mixed[0], evidence.curves, mixed[1])), expected
    )
    names = rng.permutation(7)
    renamed = evidence.trials.assign(seed=names[evidence.trials["seed"]])
    found = compare(Evidence(evidence.facts, renamed, evidence.curves, evidence.examples))
    pd.testing.assert_frame_equal(found, expected, check_exact=False, rtol=1e-9)


def test_primary_values_come_from_the_declared_column_under_the_metrics_name():
    evidence = study({"baseline": BASE, "a": BASE - 0.2 + WOBBLE}, column="accuracy_at_best_validation")
    evidence.trials["accuracy"] = 0.0
    row = only(compare(evidence))
    assert (row["metric"], row["verdict"]) == ("accuracy", "worse")


def test_seeds_outside_the_plan_are_left_alone():
    evidence = study({"baseline": BASE, "a": BASE - 0.1 + WOBBLE})
    evidence.facts.seeds[:] = [1, 2, 3]
    assert only(compare(evidence))["n"] == 3


def test_a_study_without_variants_has_no_rows():
    frame = compare(study({"baseline": BASE}))
    assert len(frame) == 0
    assert list(frame.columns) == [field.name for field in fields(ComparisonRow)]


def test_a_trial_in_two_rows_is_refused():
    evidence = study({"baseline": BASE, "a": BASE})
    twice = pd.concat([evidence.trials, evidence.trials.tail(1)], ignore_index=True)
    with pytest.raises(AblateError, match=r"'a' on 'recall' with seed 4 has several"):
        compare(Evidence(evidence.facts, twice, evidence.curves))


@pytest.mark.parametrize("level", [-3.0, 0.0])
def test_a_loss_that_goes_below_zero_has_no_best_value_at_zero(level):
    base = level + np.array([0.011, -0.009, 0.004, -0.002, 0.001, 0.0])
    noise = np.array([0.001, -0.001, 0.002, 0.0, -0.002, 0.0005])
    values = {"baseline": base, "a": base + noise, "worse": base + 0.5 + noise}
    frame = compare(study(values, metrics={"nll": Metric("min")}, metric="nll", margin=0.2))
    assert only(frame)["verdict"] == "equivalent"
    assert only(frame, "worse")["verdict"] == "worse"


def test_a_variant_that_diverges_is_not_better_than_runs_beyond_the_floor():
    base = 9.0 + np.array([0.01, -0.02, 0.015, 0.0, -0.01, 0.02])
    statuses = {("a", seed): "diverged" for seed in range(6)}
    loss = {"loss": Metric("min", floor=2.3)}
    frame = compare(
        study(
            {"baseline": base, "a": np.full(6, np.nan)},
            metric="loss",
            metrics=loss,
            statuses=statuses,
            margin=0.1,
        )
    )
    row = only(frame)
    assert row["verdict"] in ("worse", "inconclusive")
    assert row["diff"] <= 0
