from __future__ import annotations

import math

import numpy as np
import pytest
from made_evidence import ACCURACY, LOSS, study
from scipy import stats

from ablate.analysis.halfway import COLUMNS, halfway, trajectory
from ablate.core.metric import Sampling

A, B = np.array([0.60, 0.65, 0.61, 0.7]), np.array([0.5, 0.52, 0.51, 0.55])
VALUES = {"baseline": B, "a": A}


def rising(values: np.ndarray, parts: tuple[float, ...] = (0.25, 0.5, 1.0)) -> list[list[float]]:
    return [[value * part for part in parts] for value in values]


def curves(**of: list[list[float]]) -> dict[tuple[str, int], list[float]]:
    return {(name, seed): curve for name, per_seed in of.items() for seed, curve in enumerate(per_seed)}


def test_the_paired_difference_over_training_steps_with_its_band():
    frame = trajectory(study(VALUES, curves=curves(baseline=rising(B), a=rising(A))))
    assert tuple(frame.columns) == COLUMNS
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


def test_the_verdict_at_half_of_the_steps():
    # Step 100 of 200, not the last one.
    late = [[0.2, b, a] for a, b in zip(A, B, strict=True)]
    flat = [[0.1, b, b] for b in B]
    made = study(VALUES, curves=curves(baseline=flat, a=late))
    assert halfway(made, 1, {}) == {("a", "recall"): "degenerate"}
    lost = [[0.2, a, b] for a, b in zip(A, B, strict=True)]
    made = study(VALUES, curves=curves(baseline=flat, a=lost))
    assert halfway(made, 1, {}) == {("a", "recall"): "better"}
    assert halfway(made, 100, {}) == {("a", "recall"): "inconclusive"}
    # One that is the same at the end has not turned.
    early = [[0.2, a, a] for a in A]
    assert halfway(study(VALUES, curves=curves(baseline=flat, a=early)), 1, {}) == {}
    at_the_end = curves(baseline=[[math.nan, b] for b in B], a=[[math.nan, a] for a in A])
    assert halfway(study(VALUES, curves=at_the_end), 1, {}) == {}


def test_runs_of_an_all_or_nothing_task_are_judged_by_their_rates_at_half_too():
    runs = [[0.1, 0.95, 0.95] for _ in range(5)]
    stuck = [[0.1, 0.3, 0.95] for _ in range(5)]
    values = {"baseline": [0.95] * 5, "a": [0.95] * 5}
    made = study(values, curves=curves(baseline=runs, a=stuck), outcome="all_or_nothing")
    assert halfway(made, 1, {}) == {("a", "recall"): "worse"}
    # Rates over five seeds reach .00195 at best, the t of equal differences far less.
    assert halfway(made, 30, {}) == {("a", "recall"): "inconclusive"}


@pytest.mark.parametrize(("known", "expected"), [(1, None), (2, "equivalent")])
def test_a_run_that_had_diverged_by_then_is_no_longer_alike(known, expected):
    noise = np.array([0.001, -0.001, 0.002, 0.0])
    made = curves(
        baseline=[[0.1, b, b] for b in B], a=[[0.1, *2 * [b + x]] for b, x in zip(B, noise, strict=True)]
    )
    made["a", 1] = made["a", 1][:known]
    evidence = study(VALUES, curves=made, statuses={("a", 1): "diverged"}, margin=0.02)
    # Where it had, the verdict is unstable then as at the end.
    assert halfway(evidence, 1, {}).get(("a", "recall")) == expected
