from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from made_evidence import ACCURACY, LOSS, study
from scipy import stats

from ablate.analysis.compare import COLUMNS, compare
from ablate.analysis.power import detectable_effect
from ablate.analysis.rates import rate_p
from ablate.base.errors import AblateError
from ablate.core.evidence import Evidence
from ablate.core.metric import Metric, Sampling
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


def test_other_metrics_are_exploratory_without_margin_or_family():
    metrics = {"accuracy": ACCURACY, "loss": LOSS}
    values = {"baseline": BASE, "a": BASE + 0.01 + WOBBLE, "b": BASE, "c": BASE}
    frame = compare(study(values, metrics=metrics, others={"loss": values}, margin=0.04))
    row = only(frame, metric="loss")
    assert row["exploratory"]
    assert row["verdict"] == "worse"
    assert np.isnan(
        row[["p_adjusted", "family_low", "family_high", "tost_low", "p_equivalent"]].to_list()
    ).all()
    primary = only(frame, metric="accuracy")
    assert primary["verdict"] == "equivalent"
    # The same spread, but the primary metric answers for a family of three.
    ratio = detectable_effect(5) / detectable_effect(5, 0.05 / 3)
    assert row["mde"] == pytest.approx(primary["mde"] * ratio)


def test_one_level_for_all_variants_and_tasks_of_the_primary_metric():
    rng = np.random.default_rng(3)
    tasks = {name: {"accuracy": ACCURACY, "loss": LOSS} for name in ("recall", "sort")}
    values = {name: {task: rng.normal(0.5, 0.1, 6) for task in tasks} for name in ("baseline", "a", "b", "c")}
    values["a"]["sort"] = values["baseline"]["sort"] + rng.normal(0.1, 0.01, 6)
    frame = compare(study(values, tasks=tasks, margin=0.01))
    family = frame[~frame["exploratory"]]
    assert len(family) == 6
    assert list(family["p_adjusted"]) == pytest.approx(np.minimum(1, 6 * family["p"]).to_list())
    row = only(frame, task="sort", metric="accuracy")
    assert row["verdict"] == "better"
    d = stats.ttest_1samp(values["a"]["sort"] - values["baseline"]["sort"], 0)
    for (low, high), level in (
        (("ci_low", "ci_high"), 0.95),
        (("family_low", "family_high"), 1 - 0.05 / 6),
        (("tost_low", "tost_high"), 1 - 0.1 / 6),
        (("seeds_low", "seeds_high"), 0.95),
    ):
        known = d.confidence_interval(level)
        assert (row[low], row[high]) == pytest.approx((known.low, known.high))
    # The other metric has no values at all, and says so.
    assert set(frame.loc[frame["exploratory"], "n"]) == {0}
    assert set(frame.loc[frame["exploratory"], "verdict"]) == {"incomplete"}
    assert "has no value" in only(frame, task="sort", metric="loss")["note"]


def test_significant_alone_but_not_in_its_family():
    values = {"baseline": BASE, "a": BASE + 0.003 + WOBBLE} | dict.fromkeys("bcdefghi", BASE + WOBBLE)
    row = only(compare(study(values)))
    assert row["p"] < 0.05 < row["p_adjusted"] == pytest.approx(9 * row["p"])
    assert row["verdict"] == "inconclusive"
    assert "significant alone (p = .013), not among 9 comparisons" in row["note"]


def test_what_was_planned_counts_whatever_became_of_it():
    lost = {("c", 0): "diverged", ("d", 0): "failed"}
    values = {
        "baseline": BASE,
        "a": BASE + 0.003 + WOBBLE,
        "b": [math.nan] * 5,
        "c": BASE + WOBBLE,
        "d": BASE + WOBBLE,
        "e": BASE,
    }
    frame = compare(study(values, statuses=lost))
    assert list(frame["verdict"]) == ["inconclusive", "incomplete", "unstable", "incomplete", "degenerate"]
    assert only(frame)["p_adjusted"] == pytest.approx(5 * only(frame)["p"])
    alone = only(compare(study({name: values[name] for name in ("baseline", "a")})))
    assert (alone["verdict"], alone["p_adjusted"]) == ("better", alone["p"])


def test_nothing_has_run():
    row = only(compare(study({"baseline": BASE, "a": [math.nan] * 5})))
    assert (row["verdict"], row["n"], row["missing"], row["p_adjusted"]) == ("incomplete", 0, 5, 1.0)
    assert np.isnan(row[["p", "ci_low", "mde", "seeds_needed"]].to_list()).all()
    assert "a not run (seeds 0, 1, 2, 3, 4)" in row["note"]


def test_one_seed_decides_nothing():
    row = only(compare(study({"baseline": BASE[:1], "a": BASE[:1] - 0.3}, margin=0.02)))
    assert (row["verdict"], row["n"], row["diff"]) == ("inconclusive", 1, pytest.approx(-0.3))
    assert np.isnan(row[["p", "ci_low", "p_equivalent"]].to_list()).all()
    assert "1 pair: no interval and no test" in row["note"]


def test_failed_and_pruned_runs_leave_out_their_pairs():
    values = {"baseline": BASE, "a": BASE - 0.1 + WOBBLE}
    statuses = {("a", 0): "failed", ("baseline", 2): "pruned"}
    row = only(compare(study(values, statuses=statuses, planned=6)))
    assert (row["n"], row["missing"], row["verdict"]) == (3, 3, "incomplete")
    assert row["diff"] == pytest.approx(np.mean((WOBBLE - 0.1)[[1, 3, 4]]))
    assert (
        "a failed (seed 0); a not run (seed 5); baseline pruned (seed 2); baseline not run (seed 5)"
        in row["note"]
    )


def test_placebos_are_outside_the_family():
    low = BASE - 0.1
    values = {"baseline": low, "again": low - 0.01 + WOBBLE, "a": low + 0.003 + WOBBLE}
    frame = compare(study(values, placebos=["again"], margin=0.02))
    row = only(frame, "again")
    assert row["placebo"]
    assert row["exploratory"]
    assert math.isnan(row["p_adjusted"])
    assert row["verdict"] == "equivalent"
    assert row["note"].startswith("placebo: the baseline with other random streams")
    assert only(frame)["p_adjusted"] == only(frame)["p"]


def test_solved_rates_stand_beside_every_mean():
    base, a = np.linspace(0.95, 0.99, 5), np.linspace(0.2, 0.3, 5)
    row = only(compare(study({"baseline": base, "a": a})))
    assert (row["solved_rate"], row["baseline_solved_rate"], row["decided_by"]) == (0.0, 1.0, "t")
    assert (row["only_variant"], row["only_baseline"]) == (0, 5)
    assert row["p_solved"] == pytest.approx(0.00195, abs=5e-6)


def test_a_diverged_run_has_not_solved_and_a_failed_one_does_not_count():
    statuses = {("a", 0): "diverged", ("a", 1): "failed"}
    row = only(compare(study({"baseline": BASE, "a": BASE}, statuses=statuses)))
    assert (row["solved_rate"], row["baseline_solved_rate"]) == (0.75, 1.0)
    assert (row["only_variant"], row["only_baseline"], row["p_solved"]) == (
        0,
        1,
        pytest.approx(rate_p(0, 1, 4)),
    )


def test_nor_has_one_that_the_metric_cannot_score():
    metrics = {"accuracy": ACCURACY, "loss": LOSS}
    values = {"baseline": BASE, "a": BASE}
    statuses = {("a", i): "diverged" for i in range(4)}
    frame = compare(study(values, metrics=metrics, others={"loss": values}, statuses=statuses))
    for metric, n in (("accuracy", 5), ("loss", 1)):
        row = only(frame, metric=metric)
        assert (row["n"], row["only_baseline"], row["p_solved"]) == (n, 4, pytest.approx(rate_p(0, 4, 5)))


def test_the_threshold_may_be_that_of_another_metric():
    metrics = {"loss": LOSS, "accuracy": ACCURACY}
    values = {"baseline": [1.0, 1.1], "a": [2.0, 2.2]}
    accuracy = {"baseline": [0.95, 0.99], "a": [0.95, 0.2]}
    frame = compare(study(values, metric="loss", metrics=metrics, others={"accuracy": accuracy}))
    assert list(frame["solved_rate"]) == [0.5, 0.5]
    assert list(frame["baseline_solved_rate"]) == [1.0, 1.0]
    for outcome, said in (("all_or_nothing", True), ("graded", False)):
        neither = compare(study({"baseline": [0.3, 0.4], "a": [0.2, 0.2]}, outcome=outcome))
        assert ("neither side solved the task" in only(neither)["note"]) == said


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
    assert expected["sd_example"].notna().all()
    mixed = evidence.trials.sample(frac=1, random_state=1), evidence.examples.sample(frac=1, random_state=2)
    pd.testing.assert_frame_equal(
        compare(Evidence(evidence.facts, mixed[0], evidence.curves, mixed[1])), expected
    )
    names = rng.permutation(7)
    renamed = evidence.trials.assign(seed=names[evidence.trials["seed"]])
    columns = [column for column in COLUMNS if column != "note"]
    found = compare(Evidence(evidence.facts, renamed, evidence.curves, evidence.examples))
    pd.testing.assert_frame_equal(found[columns], expected[columns], check_exact=False, rtol=1e-9)


def test_a_metric_that_should_be_small():
    loss = {"baseline": [2.0, 2.1, 1.9, 2.0], "a": [1.0, 1.2, 0.9, 1.1]}
    row = only(compare(study(loss, metric="loss", metrics={"loss": LOSS})))
    assert row["verdict"] == "better"
    assert row["diff"] == pytest.approx(0.95)
    assert row["mean_variant"] == pytest.approx(1.05)


def test_primary_values_come_from_the_declared_column_under_the_metrics_name():
    evidence = study({"baseline": BASE, "a": BASE - 0.2 + WOBBLE}, column="accuracy_at_best_validation")
    evidence.trials["accuracy"] = 0.0
    row = only(compare(evidence))
    assert (row["metric"], row["verdict"]) == ("accuracy", "worse")


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


def test_without_threshold_there_is_no_solved_rate():
    row = only(compare(study({"baseline": BASE, "a": BASE}, metrics={"accuracy": Metric("max")})))
    assert np.isnan([row["solved_rate"], row["p_solved"]]).all()
    assert "no threshold" in row["note"]


def test_not_converged_is_noted():
    rising, flat = np.linspace(0, 0.9, 20), np.full(20, 0.95)
    curves = {("a", i): rising + 0.001 * i for i in range(3)} | {("baseline", i): flat for i in range(3)}
    row = only(compare(study({"baseline": BASE[:3], "a": BASE[:3] - 0.1}, curves=curves)))
    assert "not converged: still improving" in row["note"]


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
