"""The values of a setting."""

import math

import numpy as np
import pytest

from ablate.analysis.search_table import Objective
from ablate.core.metric import Description, Metric
from ablate.core.record import Curve, Record, on_validation
from ablate.stages.search.objectives import intermediate, summarised

SCORE = Objective("score", "max", "validation", floor=0.1)
LOSS = Objective("loss", "min", "validation")
COST = Objective("parameters", "min", "cost")
FLOPS = Objective("flops", "min", "cost")
DIVERGED = Objective("divergence_rate", "min", "stability")
SPREAD = Objective("seed_spread", "min", "stability")
KNOWN = Description({"score": Metric("max")}, {"all": 7})


def record(status="completed", curve=None, **metrics):
    curves = {"validation_score": Curve(np.arange(1, len(curve) + 1) * 10, np.array(curve))} if curve else {}
    return Record("id", {}, 0, status, metrics=metrics, curves=curves)


def test_validation_comes_before_what_is_judged():
    assert on_validation(record(validation_score=0.5, score=0.9), "score", "last") == (0.5, "validation")
    # A workload may report its validation as a curve alone.
    assert on_validation(record(curve=[0.1, 0.4], score=0.9), "score", "last") == (0.4, "validation")
    assert on_validation(record(score=0.9), "score", "last") == (0.9, "own")
    assert on_validation(record(score=0.9, score_at_best_validation=0.7), "score", "best_validation") == (
        0.7,
        "own",
    )
    best = record(curve=[0.6, 0.4], validation_score=0.4, score_best_step=10)
    assert on_validation(best, "score", "best_validation") == (0.6, "validation")
    assert on_validation(best, "score", "last") == (0.4, "validation")
    value, source = on_validation(record("diverged", validation_score=None), "score", "last")
    assert math.isnan(value)
    assert source == "validation"


def test_a_metric_is_its_mean_over_the_seeds():
    summary = summarised([record(validation_score=v) for v in (0.5, 0.7, 0.9)], [SCORE, COST], KNOWN, "last")
    assert summary.objectives == pytest.approx([0.7, 7.0])
    assert summary.values == [0.5, 0.7, 0.9]
    assert summary.spread == pytest.approx(np.std([0.5, 0.7, 0.9], ddof=1))
    assert (summary.diverged, summary.own) == (0, False)
    # What is not measured on validation data is said.
    assert summarised([record(score=0.5)], [SCORE], KNOWN, "last").own


@pytest.mark.parametrize("status", ["diverged", "failed"])
def test_a_seed_that_was_lost_counts_as_guessing_where_that_is_known(status):
    records = [record(validation_score=0.5, validation_loss=1.0), record(status)]
    summary = summarised(records, [SCORE, DIVERGED], KNOWN, "last")
    assert summary.objectives == pytest.approx([0.3, 0.5])
    assert (summary.values, summary.diverged) == ([0.5, 0.1], 1)
    assert summarised(records, [LOSS], KNOWN, "last").objectives == [math.inf]
    assert summarised(records, [Objective("score", "max", "validation")], KNOWN, "last").objectives == [
        -math.inf
    ]


def test_what_has_no_value_is_the_worst_there_is():
    assert summarised([record(other=1.0)], [SCORE], KNOWN, "last").objectives == [-math.inf]
    one = [record(validation_score=1.0)]
    assert summarised(one, [SCORE, FLOPS], KNOWN, "last").objectives == [1.0, math.inf]
    # One seed has no spread.
    assert summarised(one, [SCORE, SPREAD], KNOWN, "last").objectives == [1.0, math.inf]


def test_the_spread_is_that_of_the_first_metric_wherever_it_stands():
    records = [record(validation_score=v) for v in (0.5, 0.7)]
    summary = summarised(records, [COST, SPREAD, SCORE], KNOWN, "last")
    assert summary.objectives == pytest.approx([7.0, np.std([0.5, 0.7], ddof=1), 0.6])


def test_an_evaluation_at_which_a_trial_diverged_was_not_reported():
    lost = record("diverged", curve=[0.1, 0.4])
    assert intermediate(lost, "score") == {10: 0.1, 20: 0.4}
    assert intermediate(record(), "score") == {}
    lost.curves["validation_loss"] = Curve(np.array([10, 20]), np.array([1.0, math.nan]))
    assert intermediate(lost, "score") == {10: 0.1}
