from __future__ import annotations

import math

import numpy as np
import pytest
from made_evidence import ACCURACY, LOSS, study

from ablate.analysis.learning import convergence, mcnemar_p, solved_rates
from ablate.core.metric import Metric


def test_solved_seeds_by_variant_and_task():
    tasks = {"recall": {"accuracy": ACCURACY}, "other": {"accuracy": Metric("max")}}
    values = {"baseline": [0.95, 0.9, 0.899, 0.2], "a": [1.0, 1.0, 1.0, 1.0]}
    frame = solved_rates(study(values, tasks=tasks, statuses={("a", 0): "diverged", ("a", 1): "failed"}))
    assert list(frame["task"]) == ["recall", "recall"]
    assert list(frame["threshold"]) == [0.9, 0.9]
    assert list(frame["solved"]) == [2, 2]
    assert list(frame["runs"]) == [4, 3]
    assert list(frame["rate"]) == [0.5, pytest.approx(2 / 3)]


def test_a_threshold_from_above():
    metrics = {"loss": Metric("min", solved=0.5)}
    frame = solved_rates(study({"baseline": [0.4, 0.5, 0.6]}, metric="loss", metrics=metrics))
    assert list(frame["solved"]) == [2]


def test_no_runs_have_no_rate():
    frame = solved_rates(study({"baseline": [math.nan, math.nan]}))
    assert list(frame["runs"]) == [0]
    assert math.isnan(frame["rate"][0])


@pytest.mark.parametrize(
    ("a_only", "b_only", "expected"), [(5, 0, 0.0625), (6, 0, 0.03125), (3, 1, 0.625), (0, 0, 1.0)]
)
def test_mcnemar_is_the_sign_test_of_the_discordant_seeds(a_only, b_only, expected):
    a = np.array([True] * a_only + [False] * b_only + [True, False])
    b = np.array([False] * a_only + [True] * b_only + [True, False])
    assert mcnemar_p(a, b) == pytest.approx(expected)
    assert math.isnan(mcnemar_p(a[:0], b[:0]))


def curves_of(shape, metric="accuracy", facts=ACCURACY, runs=4, points=30, noise=0.002):
    rng = np.random.default_rng(0)
    x = np.linspace(0, 1, points)
    curves = {("baseline", i): shape(x) + noise * rng.standard_normal(points) for i in range(runs)}
    evidence = study({"baseline": [0.95] * runs}, metric=metric, metrics={metric: facts}, curves=curves)
    return convergence(evidence).iloc[0]


def test_a_curve_that_still_rises_is_not_converged():
    row = curves_of(lambda x: 0.9 * x)
    assert (row["n"], row["improving"]) == (4, True)
    # A tenth of 30 evaluations is 3, so the two means lie three steps of .9 / 29 apart.
    assert row["gain"] == pytest.approx(3 * 0.9 / 29, abs=0.005)


@pytest.mark.parametrize(
    "shape", [lambda x: np.minimum(0.95, 2 * x), lambda x: 0.9 - 0.3 * x, lambda x: 0 * x]
)
def test_a_flat_or_falling_curve_is_converged(shape):
    assert not curves_of(shape)["improving"]


def test_a_loss_improves_by_falling():
    assert curves_of(lambda x: 2 - x, "loss", LOSS)["improving"]
    assert not curves_of(lambda x: 2 + x, "loss", LOSS)["improving"]


def test_gains_below_the_resolution_or_the_seed_noise_do_not_count():
    coarse = Metric("max", resolution=0.2)
    assert not curves_of(lambda x: 0.9 * x, facts=coarse)["improving"]
    assert not curves_of(lambda x: 0.1 * x, noise=0.2)["improving"]


def test_short_curves_and_few_runs_cannot_tell():
    two = curves_of(lambda x: x, points=2)
    assert (two["n"], two["improving"]) == (4, True)
    assert curves_of(lambda x: x, points=1)["n"] == 0
    one = curves_of(lambda x: x, runs=1)
    assert (one["n"], one["improving"]) == (1, False)


def test_only_completed_runs_count():
    curves = {("baseline", i): np.linspace(0, 1, 20) for i in range(3)}
    evidence = study({"baseline": [0.9] * 3}, curves=curves, statuses={("baseline", 0): "diverged"})
    assert list(convergence(evidence)["n"]) == [2]
