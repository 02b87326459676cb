from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from made_evidence import ACCURACY, LOSS, study
from statsmodels.stats.multitest import multipletests

from ablate.analysis.compare import COLUMNS, compare
from ablate.analysis.power import detectable_effect
from ablate.base.errors import AblateError
from ablate.core.evidence import Evidence
from ablate.core.metric import Metric
from ablate.records.folder import StudyFolder

BASE = np.array([0.950, 0.955, 0.948, 0.951, 0.953])
WOBBLE = np.array([0.001, -0.001, 0.002, 0.0, -0.002])


def only(frame: pd.DataFrame, variant: str = "a", **where: object) -> pd.Series:
    for column, value in (where | {"variant": variant}).items():
        frame = frame[frame[column] == value]
    assert len(frame) == 1
    return frame.iloc[0]


def test_columns_and_rows_in_the_order_of_the_study():
    tasks = {"recall": {"accuracy": ACCURACY, "loss": LOSS}, "sort": {"loss": LOSS, "accuracy": ACCURACY}}
    flat = {"baseline": BASE, "b": BASE - 0.1, "a": BASE - 0.2}
    frame = compare(study(flat, tasks=tasks, others={"loss": flat}))
    assert tuple(frame.columns) == COLUMNS
    assert list(zip(frame["variant"], frame["task"], frame["metric"], strict=True)) == [
        (variant, task, metric)
        for variant in "ba"
        for task, metric in (
            *(("recall", "accuracy"), ("recall", "loss")),
            *(("sort", "loss"), ("sort", "accuracy")),
        )
    ]
    assert set(frame["baseline"]) == {"baseline"}


@pytest.mark.parametrize(
    ("values", "margin", "expected"),
    [
        (BASE + 0.02 + WOBBLE, None, "better"),
        (BASE - 0.02 + WOBBLE, None, "worse"),
        (BASE + WOBBLE, None, "inconclusive"),
        (BASE + WOBBLE, 0.01, "equivalent"),
        (BASE + WOBBLE, 0.001, "inconclusive"),
        (BASE, 0.01, "degenerate"),
        # Equivalence holds before difference: 0 is excluded here.
        (BASE + 0.005 + WOBBLE, 0.02, "equivalent"),
        (BASE + 0.005 + WOBBLE, None, "better"),
    ],
)
def test_the_first_rule_that_holds(values, margin, expected):
    row = only(compare(study({"baseline": BASE, "a": values}, margin=margin)))
    assert row["verdict"] == expected
    assert not row["exploratory"]


@pytest.mark.parametrize("value", [BASE, BASE + 0.02, BASE + WOBBLE])
def test_divergence_comes_before_every_other_rule(value):
    row = only(compare(study({"baseline": BASE, "a": value}, margin=0.1, statuses={("a", 1): "diverged"})))
    assert row["verdict"] == "unstable"
    assert (row["n"], row["missing"], row["diverged"], row["baseline_diverged"]) == (4, 1, 1, 0)
    kept = [0, 2, 3, 4]
    assert row["diff"] == pytest.approx((value - BASE)[kept].mean())
    assert row["mean_baseline"] == pytest.approx(BASE[kept].mean())
    assert row["p_holm"] == 1.0
    assert "1 of 5 runs (rate .2, 95 % interval [.01, .72]) of a, 0 of 5 runs (rate 0," in row["note"]
    assert "[0, .52]) of baseline" in row["note"]
    assert "4 pairs that converged" in row["note"]


def test_a_baseline_that_diverged_makes_every_comparison_unstable():
    frame = compare(
        study({"baseline": BASE, "a": BASE, "b": BASE - 0.3}, statuses={("baseline", 0): "diverged"})
    )
    assert list(frame["verdict"]) == ["unstable", "unstable"]
    assert list(frame["baseline_diverged"]) == [1, 1]


def test_all_runs_diverged():
    row = only(
        compare(study({"baseline": BASE, "a": BASE}, statuses={("a", i): "diverged" for i in range(5)}))
    )
    assert (row["verdict"], row["n"], row["solved_rate"]) == ("unstable", 0, 0.0)
    assert "no pair converged" in row["note"]


def test_bounds():
    ceiling, floor = np.ones(4), np.full(4, 0.1)
    low = floor - [0.0, 0.01, 0.02, 0.0]
    verdicts = {
        ("degenerate", "every seed"): (ceiling, ceiling),
        ("degenerate", "metric's floor"): (low, floor),
        ("better", ""): (ceiling, floor),
        ("worse", ""): (floor, ceiling),
    }
    for (verdict, note), (a, b) in verdicts.items():
        row = only(compare(study({"baseline": b, "a": a})))
        assert row["verdict"] == verdict
        assert note in row["note"]
    # For a metric that should be small, the floor is above.
    error = {"accuracy": Metric("min", 0.01, floor=0.9, ceiling=0.0)}
    row = only(compare(study({"baseline": [0.9, 0.9, 0.9], "a": [0.93, 0.91, 0.9]}, metrics=error)))
    assert (row["verdict"], row["diff"] < 0) == ("degenerate", True)


def test_clear_but_bimodal_is_not_degenerate():
    row = only(compare(study({"baseline": [0.5] * 5, "a": [1.0] * 5})))
    assert row["verdict"] == "better"
    assert (row["solved_rate"], row["baseline_solved_rate"]) == (1.0, 0.0)


def test_relevance_is_noted_where_the_interval_does_not_clear_the_margin():
    near, far = (
        only(compare(study({"baseline": BASE, "a": BASE - x + WOBBLE}, margin=0.01))) for x in (0.011, 0.1)
    )
    assert near["verdict"] == far["verdict"] == "worse"
    assert "relevance unsettled" in near["note"]
    assert "relevance" not in far["note"]


@pytest.mark.parametrize("side", [1.0, -1.0])
def test_equivalence_asks_for_the_90_percent_interval_on_both_sides(side):
    # Half-widths of the 90 and the 95 % interval: .00151 and .00196.
    values = {"baseline": BASE, "a": BASE + side * 0.003 + WOBBLE}
    verdicts = [only(compare(study(values, margin=m)))["verdict"] for m in (0.00455, 0.00447)]
    assert verdicts == ["equivalent", "better" if side > 0 else "worse"]


def test_inconclusive_says_what_could_be_seen_and_what_would_settle_it():
    row = only(compare(study({"baseline": BASE, "a": BASE + 0.0015 + WOBBLE})))
    assert row["verdict"] == "inconclusive"
    assert row["mde"] == pytest.approx(1.682 * WOBBLE.std(ddof=1), rel=1e-3)
    assert 5 < row["seeds_needed"] < 20
    assert f"about {row['seeds_needed']:.0f} seeds would settle it" in row["note"]
    hopeless = only(compare(study({"baseline": BASE, "a": BASE + 50 * WOBBLE})))
    assert hopeless["seeds_needed"] == math.inf
    assert "more than 1,000 seeds" in hopeless["note"]


def test_a_metric_that_should_be_small():
    loss = {"baseline": [2.0, 2.1, 1.9, 2.0], "a": [1.0, 1.2, 0.9, 1.1]}
    row = only(compare(study(loss, metric="loss", metrics={"loss": LOSS})))
    assert row["verdict"] == "better"
    assert row["diff"] == pytest.approx(0.95)
    assert row["mean_variant"] == pytest.approx(1.05)
    assert row["prob_better"] == 1.0


def test_primary_values_come_from_the_declared_column_under_the_metrics_name():
    evidence = study({"baseline": BASE, "a": BASE - 0.2 + WOBBLE}, column="accuracy_at_best_validation")
    evidence.trials["accuracy"] = 0.0
    row = only(compare(evidence))
    assert (row["metric"], row["verdict"]) == ("accuracy", "worse")


def test_other_metrics_are_exploratory_without_margin_or_family():
    metrics = {"accuracy": ACCURACY, "loss": LOSS}
    values = {"baseline": BASE, "a": BASE + 0.01 + WOBBLE, "b": BASE, "c": BASE}
    frame = compare(study(values, metrics=metrics, others={"loss": values}, margin=0.5))
    row = only(frame, metric="loss")
    assert row["exploratory"]
    assert row["verdict"] == "worse"
    assert np.isnan([row["p_holm"], row["bonferroni_low"], row["bonferroni_high"]]).all()
    primary = only(frame, metric="accuracy")
    assert primary["verdict"] == "equivalent"
    # The same spread, but the primary metric answers for a family of three.
    ratio = detectable_effect(5) / detectable_effect(5, 0.05 / 3)
    assert row["mde"] == pytest.approx(primary["mde"] * ratio)


def test_holm_over_all_variants_and_tasks_of_the_primary_metric():
    rng = np.random.default_rng(3)
    tasks = {name: {"accuracy": ACCURACY, "loss": LOSS} for name in ("recall", "sort")}
    values = {name: {task: rng.normal(0.5, 0.1, 6) for task in tasks} for name in ("baseline", "a", "b", "c")}
    values["a"]["sort"] = values["baseline"]["sort"] + rng.normal(0.1, 0.01, 6)
    frame = compare(study(values, tasks=tasks))
    family = frame[~frame["exploratory"]]
    assert len(family) == 6
    assert family["p_holm"].to_numpy() == pytest.approx(multipletests(family["p"], method="holm")[1])
    row = only(frame, task="sort", metric="accuracy")
    assert row["verdict"] == "better"
    width = row["bonferroni_high"] - row["bonferroni_low"]
    assert width > row["ci_high"] - row["ci_low"] > row["ci90_high"] - row["ci90_low"]
    # The other metric has no values at all, and says so.
    assert set(frame.loc[frame["exploratory"], "n"]) == {0}
    assert "has no value" in only(frame, task="sort", metric="loss")["note"]


def test_significant_alone_but_not_in_its_family():
    values = {"baseline": BASE, "a": BASE + 0.003 + WOBBLE} | dict.fromkeys("bcdefghi", BASE + WOBBLE)
    row = only(compare(study(values)))
    assert row["p"] < 0.05 < row["p_holm"]
    assert row["verdict"] == "inconclusive"
    assert "not after Holm over 9" in row["note"]


def test_planned_but_missing_comparisons_count():
    values = {"baseline": BASE, "a": BASE + 0.003 + WOBBLE, "b": [math.nan] * 5, "c": [0.9] + [math.nan] * 4}
    frame = compare(study(values))
    assert only(frame)["p_holm"] == pytest.approx(3 * only(frame)["p"])
    for name, n in (("b", 0), ("c", 1)):
        row = only(frame, name)
        assert (row["verdict"], row["n"], row["missing"], row["p_holm"]) == ("inconclusive", n, 5 - n, 1.0)
        assert np.isnan([row["p"], row["ci_low"], row["mde"], row["seeds_needed"]]).all()
        assert "no interval and no test" in row["note"]
    assert only(frame, "c")["diff"] == pytest.approx(0.9 - BASE[0])
    assert "b not run (seeds 0, 1, 2, 3, 4)" in only(frame, "b")["note"]
    # Without them the family is smaller.
    assert only(compare(study({k: values[k] for k in ("baseline", "a")})))["p_holm"] == only(frame)["p"]


def test_an_unstable_comparison_cannot_help_the_others_through_holm():
    values = {"baseline": BASE, "a": BASE + 0.003 + WOBBLE, "b": BASE - 0.5 + WOBBLE}
    stable, unstable = (compare(study(values, statuses=s)) for s in (None, {("b", 0): "diverged"}))
    assert only(stable)["p_holm"] == pytest.approx(only(stable)["p"])
    assert only(unstable)["p_holm"] == pytest.approx(2 * only(unstable)["p"])


def test_nor_can_a_degenerate_one():
    tasks = {name: {"accuracy": ACCURACY} for name in ("recall", "sort")}
    guessing = 0.05 + WOBBLE
    values = {
        "baseline": {"recall": BASE, "sort": np.full(5, 0.1)},
        "a": {"recall": BASE + 0.003 + WOBBLE, "sort": guessing},
    }
    frame = compare(study(values, tasks=tasks))
    recall, sort = only(frame, task="recall"), only(frame, task="sort")
    assert sort["verdict"] == "degenerate"
    assert sort["p"] < 0.001
    assert sort["p_holm"] == 1.0
    assert recall["p_holm"] == pytest.approx(2 * recall["p"])


def test_failed_and_pruned_runs_leave_out_their_pairs():
    values = {"baseline": BASE, "a": BASE - 0.1 + WOBBLE}
    statuses = {("a", 0): "failed", ("baseline", 2): "pruned"}
    row = only(compare(study(values, statuses=statuses, planned=6)))
    assert (row["n"], row["missing"], row["verdict"]) == (3, 3, "worse")
    assert row["diff"] == pytest.approx(np.mean((WOBBLE - 0.1)[[1, 3, 4]]))
    assert (
        "a failed (seed 0); a not run (seed 5); baseline pruned (seed 2); baseline not run (seed 5)"
        in row["note"]
    )


def test_a_value_of_a_run_that_did_not_complete_is_not_used():
    evidence = study({"baseline": BASE, "a": BASE - 0.1 + WOBBLE}, statuses={("a", 0): "failed"})
    evidence.trials.loc[(evidence.trials["variant"] == "a") & (evidence.trials["seed"] == 0), "accuracy"] = (
        1.0
    )
    assert only(compare(evidence))["n"] == 4


def test_seeds_outside_the_plan_are_left_alone():
    evidence = study({"baseline": BASE, "a": BASE - 0.1 + WOBBLE})
    evidence.facts.seeds[:] = [1, 2, 3]
    assert only(compare(evidence))["n"] == 3


def test_placebos_are_the_noise_floor_outside_the_family():
    values = {"baseline": BASE, "again": BASE - 0.01 + WOBBLE, "a": BASE + 0.003 + WOBBLE}
    frame = compare(study(values, placebos=["again"], margin=0.02))
    row = only(frame, "again")
    assert row["placebo"]
    assert row["exploratory"]
    assert math.isnan(row["p_holm"])
    assert row["verdict"] == "equivalent"
    assert "noise floor" in row["note"]
    assert only(frame)["p_holm"] == only(frame)["p"]


@pytest.mark.parametrize(("n", "reachable"), [(5, False), (6, True)])
def test_solved_rates_by_exact_mcnemar(n, reachable):
    base, a = np.linspace(0.95, 0.99, n), np.linspace(0.2, 0.3, n)
    row = only(compare(study({"baseline": base, "a": a})))
    assert (row["solved_rate"], row["baseline_solved_rate"]) == (0.0, 1.0)
    assert row["p_solved"] == pytest.approx(2 * 0.5**n)
    assert (row["p_solved"] < 0.05) == reachable


def test_a_diverged_run_has_not_solved_and_a_failed_one_does_not_count():
    statuses = {("a", 0): "diverged", ("a", 1): "failed"}
    row = only(compare(study({"baseline": BASE, "a": BASE}, statuses=statuses)))
    assert (row["solved_rate"], row["baseline_solved_rate"], row["p_solved"]) == (0.75, 1.0, 1.0)


def test_without_threshold_there_is_no_solved_rate():
    row = only(compare(study({"baseline": BASE, "a": BASE}, metrics={"accuracy": Metric("max")})))
    assert np.isnan([row["solved_rate"], row["p_solved"]]).all()
    assert "no threshold" in row["note"]


def test_the_threshold_may_be_that_of_another_metric():
    metrics = {"loss": LOSS, "accuracy": ACCURACY}
    values = {"baseline": [1.0, 1.1], "a": [2.0, 2.2]}
    accuracy = {"baseline": [0.95, 0.99], "a": [0.95, 0.2]}
    frame = compare(study(values, metric="loss", metrics=metrics, others={"accuracy": accuracy}))
    assert list(frame["solved_rate"]) == [0.5, 0.5]
    neither = compare(study({"baseline": [0.3, 0.4], "a": [0.2, 0.2]}))
    assert "neither solved the task" in only(neither)["note"]


def test_not_converged_is_noted():
    rising, flat = np.linspace(0, 0.9, 20), np.full(20, 0.95)
    curves = {("a", i): rising + 0.001 * i for i in range(3)} | {("baseline", i): flat for i in range(3)}
    row = only(compare(study({"baseline": BASE[:3], "a": BASE[:3] - 0.1}, curves=curves)))
    assert "not converged: still improving" in row["note"]


def test_neither_row_order_nor_the_names_of_seeds_matter():
    rng = np.random.default_rng(5)
    values = {name: rng.normal(0.5, 0.1, 7) for name in ("baseline", "a", "b", "c")}
    evidence = study(values, margin=0.05, statuses={("b", 2): "failed", ("c", 1): "diverged"})
    expected = compare(evidence)
    shuffled = Evidence(evidence.facts, evidence.trials.sample(frac=1, random_state=1), evidence.curves)
    pd.testing.assert_frame_equal(compare(shuffled), expected)
    names = rng.permutation(7)
    renamed = evidence.trials.assign(seed=names[evidence.trials["seed"]])
    columns = [column for column in COLUMNS if column != "note"]
    found = compare(Evidence(evidence.facts, renamed, evidence.curves))
    pd.testing.assert_frame_equal(found[columns], expected[columns], check_exact=False, rtol=1e-12)


@given(arrays(float, (2, 5), elements=st.floats(0, 1, width=16)), st.sampled_from([None, 0.1]))
@settings(deadline=None, max_examples=40)
def test_swapping_variant_and_baseline_turns_the_verdict(ab, margin):
    one = only(compare(study({"baseline": ab[0], "a": ab[1]}, margin=margin)))
    other = only(compare(study({"baseline": ab[1], "a": ab[0]}, margin=margin)))
    assert other["verdict"] == {"better": "worse", "worse": "better"}.get(one["verdict"], one["verdict"])
    assert other["diff"] == pytest.approx(-one["diff"], abs=1e-12)
    assert (other["solved_rate"], other["baseline_solved_rate"]) == (
        one["baseline_solved_rate"],
        one["solved_rate"],
    )


def test_nothing_has_run():
    evidence = study({"baseline": [math.nan] * 3, "a": [math.nan] * 3})
    row = only(compare(evidence))
    assert (row["verdict"], row["n"], row["missing"]) == ("inconclusive", 0, 3)


def test_a_study_without_variants_has_no_rows():
    frame = compare(study({"baseline": BASE}))
    assert len(frame) == 0
    assert tuple(frame.columns) == COLUMNS


def test_a_trial_in_two_rows_is_refused():
    evidence = study({"baseline": BASE, "a": BASE})
    twice = pd.concat([evidence.trials, evidence.trials.tail(1)], ignore_index=True)
    with pytest.raises(AblateError, match=r"'a' on 'recall' with seed 4 has several"):
        compare(Evidence(evidence.facts, twice, evidence.curves))


def test_evidence_that_was_saved_gives_the_same_comparisons(tmp_path):
    evidence = study({"baseline": BASE, "a": BASE - 0.1 + WOBBLE}, margin=0.02)
    StudyFolder.at(tmp_path).save_evidence(evidence)
    pd.testing.assert_frame_equal(compare(StudyFolder.at(tmp_path).evidence()), compare(evidence))
