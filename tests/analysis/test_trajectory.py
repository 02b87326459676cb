import math

import numpy as np
import pytest
from made_evidence import ACCURACY, LOSS, study
from scipy import stats

from ablate.analysis.learning import TRAJECTORY_COLUMNS, trajectory
from ablate.core.metric import Sampling

A, B = np.array([0.60, 0.65, 0.61, 0.7]), np.array([0.5, 0.52, 0.51, 0.55])
VALUES = {"baseline": B, "a": A}


def rising(values, parts=(0.25, 0.5, 1.0)):
    return [[value * part for part in parts] for value in values]


def curves(**of):
    return {(name, seed): curve for name, per_seed in of.items() for seed, curve in enumerate(per_seed)}


def test_the_paired_difference_over_training_steps_with_its_band():
    frame = trajectory(study(VALUES, curves=curves(baseline=rising(B), a=rising(A))))
    assert tuple(frame.columns) == TRAJECTORY_COLUMNS
    assert list(frame["step"]) == [0, 100, 200]
    for row, part in zip(frame.itertuples(), (0.25, 0.5, 1.0), strict=True):
        known = stats.ttest_1samp(part * (A - B), 0).confidence_interval()
        assert (row.n, row.diff) == (4, pytest.approx(part * (A - B).mean()))
        assert (row.low, row.high) == pytest.approx((known.low, known.high))


def test_less_is_better_for_a_loss():
    made = study(
        VALUES, metric="loss", metrics={"loss": LOSS}, curves=curves(baseline=rising(B), a=rising(A))
    )
    assert list(trajectory(made)["diff"]) == pytest.approx([-p * (A - B).mean() for p in (0.25, 0.5, 1.0)])


def test_only_steps_at_which_every_run_was_evaluated():
    short = [[0.1, 0.2] for _ in range(4)]
    assert list(trajectory(study(VALUES, curves=curves(baseline=rising(B), a=short)))["step"]) == [0, 100]
    missing = curves(baseline=rising(B), a=rising(A)[:3])
    assert trajectory(study(VALUES, curves=missing)).empty
    assert trajectory(study(VALUES)).empty


def test_a_diverged_run_has_the_floor_once_its_curve_has_ended():
    made = curves(baseline=rising(B), a=rising(A))
    made["a", 1] = [0.3]
    frame = trajectory(study(VALUES, curves=made, statuses={("a", 1): "diverged"}))
    others = [0, 2, 3]
    assert list(frame["n"]) == [4, 4, 4]
    assert frame["diff"][0] == pytest.approx((0.25 * (A - B)[others].sum() + 0.3 - 0.25 * B[1]) / 4)
    assert frame["diff"][2] == pytest.approx(((A - B)[others].sum() + ACCURACY.floor - B[1]) / 4)
    loss = study(VALUES, metric="loss", metrics={"loss": LOSS}, curves=made, statuses={("a", 1): "diverged"})
    found = trajectory(loss)
    assert np.isfinite(found["diff"][0])
    assert np.isnan(found["diff"][1:]).all()


def test_runs_without_an_outcome_are_left_out():
    made = curves(baseline=rising(B), a=rising(A))
    del made["a", 2]
    frame = trajectory(study(VALUES, curves=made, statuses={("a", 2): "failed"}))
    assert list(frame["n"]) == [3, 3, 3]
    assert frame["diff"][2] == pytest.approx((A - B)[[0, 1, 3]].mean())


def test_a_resplit_pool_widens_the_band():
    made = curves(baseline=rising(B), a=rising(A))
    plain, pooled = (
        trajectory(study(VALUES, curves=made, sampling=sampling))
        for sampling in (Sampling(), Sampling("resplit", 500, 1000))
    )
    width = (pooled["high"] - pooled["low"]) / (plain["high"] - plain["low"])
    assert list(width) == pytest.approx([math.sqrt(0.25 + 0.5) / 0.5] * 3)
