"""Rules 0 to 3 in their order, each where the next one would hold too."""

from __future__ import annotations

import math

import numpy as np
import pytest
from made_evidence import LOSS, study
from scipy import stats
from verdict_cases import BASE, FLOOR_OF_1000, WOBBLE, of, verdict

from ablate.analysis.compare import compare
from ablate.core.metric import Metric


@pytest.mark.parametrize("status", ["failed", "pruned", "not run"])
@pytest.mark.parametrize("side", ["a", "baseline"])
def test_0_incomplete_before_everything(side, status):
    for a in (BASE, BASE - 0.3 + WOBBLE, BASE + WOBBLE):
        row = of(a, margin=0.1, statuses={(side, 0): status, ("a", 1): "diverged"})
        assert (row["verdict"], row["n"], row["missing"]) == ("incomplete", 4, 1)
        assert "4 pairs of 5: no verdict before every run has an outcome" in row["note"]


def test_0_a_completed_run_without_a_value_is_missing():
    evidence = study({"baseline": BASE, "a": BASE - 0.3 + WOBBLE})
    evidence.trials.loc[7, "accuracy"] = math.inf
    row = compare(evidence).iloc[0]
    assert (row["verdict"], row["missing"]) == ("incomplete", 1)
    assert "a has no value (seed 2)" in row["note"]


@pytest.mark.parametrize("margin", [None, 0.1])
def test_1_degenerate_before_equivalent(margin):
    row = of(BASE, margin=margin)
    assert (row["verdict"], row["diff"]) == ("degenerate", 0.0)
    assert "every difference is 0" in row["note"]


def test_1_but_saturated_where_both_are_at_a_bound():
    for value in (1.0, 0.998, 0.1, FLOOR_OF_1000 - 1e-6):
        assert verdict(np.full(5, value), np.full(5, value), margin=0.001) == "saturated"
    for value in (0.99, FLOOR_OF_1000 + 1e-3):
        assert verdict(np.full(5, value), np.full(5, value), margin=0.001) == "degenerate"


def test_2_saturated_within_three_steps_of_the_ceiling():
    # Significant and within the margin too.
    for least, expected in ((0.997, "saturated"), (0.9969, "better")):
        row = of([1.0] * 5, [least] * 5)
        assert (row["verdict"], row["p"] < 0.05) == (expected, True)
    assert "every run is at the metric's ceiling: a smaller margin" in of([1.0] * 5, [0.997] * 5)["note"]
    below = Metric("min", 0.01, floor=0.9, ceiling=0.0)
    assert verdict([0.0] * 5, [0.03] * 5, metrics={"accuracy": below}) == "saturated"
    assert verdict([0.0] * 5, [0.031] * 5, metrics={"accuracy": below}) == "better"


def test_2_saturated_within_the_margin_of_the_ceiling():
    high = BASE + 0.13
    assert verdict(high + WOBBLE, high, margin=0.03) == "saturated"
    assert verdict(high + WOBBLE, high, margin=0.01) == "equivalent"
    assert verdict(high + WOBBLE, high) == "inconclusive"


def test_2_saturated_where_every_run_solved_an_all_or_nothing_task():
    runs = np.linspace(0.91, 0.95, 8)
    row = of(runs - 0.005, runs, outcome="all_or_nothing", margin=0.02)
    assert row["verdict"] == "saturated"
    assert "a failure rate of up to .37 is not excluded" in row["note"]
    assert verdict(runs - 0.005, runs, margin=0.02) == "equivalent"
    # One that is not solved is no longer at the ceiling.
    runs[0] = 0.3
    assert verdict(runs, runs - 0.005, outcome="all_or_nothing") == "inconclusive"


@pytest.mark.parametrize("side", ["a", "baseline"])
def test_3_divergence_before_degenerate_saturated_and_equivalent(side):
    for a, b in ((BASE, BASE), (np.ones(5), np.ones(5)), (BASE + WOBBLE, BASE)):
        row = of(a, b, margin=0.9, statuses={(side, 1): "diverged"})
        assert row["verdict"] == "unstable"
        assert (row["n"], row["missing"]) == (5, 0)


def test_3_a_diverged_run_is_scored_at_the_floor():
    row = of(BASE, statuses={("a", 1): "diverged"})
    assert row["diff"] == pytest.approx((0.1 - BASE[1]) / 5)
    assert row["mean_variant"] == pytest.approx((BASE.sum() - BASE[1] + 0.1) / 5)
    known = stats.ttest_1samp([0, 0.1 - BASE[1], 0, 0, 0], 0)
    assert (row["p"], row["ci_low"]) == pytest.approx((known.pvalue, known.confidence_interval().low))
    note = row["note"]
    assert "1 of 5 runs (rate .2, 95 % interval [.01, .72]) of a" in note
    assert "0 of 5 runs (rate 0, 95 % interval [0, .52]) of baseline" in note
    assert "they count with the metric's floor; the 4 pairs that converged alone show" in note


def test_3_better_or_worse_all_the_same():
    for side, expected in (("a", "worse"), ("baseline", "better")):
        row = of(BASE, statuses={(side, i): "diverged" for i in range(5)})
        assert (row["verdict"], row["n"]) == (expected, 5)
        assert "no pair converged" in row["note"]
    # By the rates where the task is all or nothing: none of ten solved against all of them.
    everywhere = {("a", i): "diverged" for i in range(5)}
    row = of([0.95] * 5, [0.95] * 5, outcome="all_or_nothing", statuses=everywhere)
    assert (row["verdict"], row["decided_by"]) == ("worse", "rate")
    assert row["p"] == pytest.approx(0.00195, abs=5e-6)


def test_3_at_the_level_of_the_family():
    a = BASE - 0.3 + 20 * WOBBLE
    statuses = {("a", 1): "diverged"}
    assert 0.001 < of(a, statuses=statuses)["p"] < 0.05 / 2
    assert verdict(a, statuses=statuses) == "worse"
    many = {"baseline": BASE, "a": a} | {f"v{i}": BASE + WOBBLE for i in range(60)}
    assert compare(study(many, statuses=statuses))["verdict"][0] == "unstable"


@pytest.mark.parametrize("lost", [1, 4, 5])
def test_3_without_a_floor_unstable_with_p_1(lost):
    statuses = {("a", i): "diverged" for i in range(lost)}
    row = of(BASE + 1.0, metric="loss", metrics={"loss": LOSS}, statuses=statuses, margin=5.0)
    assert (row["verdict"], row["p"], row["p_adjusted"], row["n"]) == ("unstable", 1.0, 1.0, 5 - lost)
    assert row["missing"] == 0
    assert "the metric has no floor to score them with" in row["note"]


@pytest.mark.parametrize(
    "reason", ["OutOfMemoryError: CUDA out of memory", "time limit of 60 s: stopped", "MemoryError: "]
)
def test_3_a_run_that_its_variant_was_too_large_for_diverged(reason):
    lost = {("a", 0): "failed"}
    row = of(BASE, statuses=lost, reasons={("a", 0): reason})
    assert (row["verdict"], row["diverged"], row["missing"]) == ("unstable", 1, 0)
    assert of(BASE, statuses=lost, reasons={("a", 0): "ValueError: no"})["verdict"] == "incomplete"
