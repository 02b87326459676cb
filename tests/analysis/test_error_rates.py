"""The verdicts' own error rates, by simulation with fixed seeds."""

from __future__ import annotations

import numpy as np
import pytest
from made_evidence import claim, study
from scipy import stats
from statsmodels.stats.multitest import multipletests

from ablate.analysis.claims import judge_claims
from ablate.analysis.compare import compare
from ablate.analysis.paired import paired
from ablate.core.metric import Metric

PLAIN = {"accuracy": Metric("max")}
NAMES = ["baseline", *(f"v{i}" for i in range(10))]


def null_studies(studies: int, variants: int, n: int, seed: int) -> np.ndarray:
    """Runs that differ by nothing but noise, shape (studies, 1 + variants, n); the baseline first."""
    return np.random.default_rng(seed).normal(0.5, 0.1, (studies, 1 + variants, n))


def raw_p(runs: np.ndarray) -> np.ndarray:
    """Paired t against the first, shape (studies, variants)."""
    return stats.ttest_1samp(runs[:, 1:] - runs[:, :1], 0, axis=2).pvalue


def test_simulated_p_values_are_those_of_a_comparison():
    runs = null_studies(6, 10, 5, seed=0)
    for p, values in zip(raw_p(runs), runs, strict=True):
        frame = compare(study(dict(zip(NAMES, values, strict=True)), metrics=PLAIN))
        assert frame["p"].to_numpy() == pytest.approx(p)
        assert frame["p_holm"].to_numpy() == pytest.approx(multipletests(p, method="holm")[1])
        called = frame["verdict"].isin(["better", "worse"]).to_numpy()
        assert (called == (multipletests(p, method="holm")[0])).all()


def test_family_wise_error_with_ten_variants_at_five_seeds():
    # Holm rejects some true null exactly when the smallest of ten p is below .05 / 10.
    smallest = raw_p(null_studies(20_000, 10, 5, seed=1)).min(axis=1)
    assert (smallest < 0.05).mean() == pytest.approx(0.32, abs=0.015)
    assert 0.040 < (smallest < 0.05 / 10).mean() < 0.0525


def test_false_positive_rate_of_a_single_comparison():
    rate = (raw_p(null_studies(10_000, 1, 5, seed=2)) < 0.05).mean()
    assert 0.0445 < rate < 0.0557
    # The same through the pipeline: a study of one variant, the band of 400 studies.
    verdicts = [
        compare(study({"baseline": b, "a": a}, metrics=PLAIN))["verdict"][0]
        for b, a in null_studies(200, 1, 5, seed=3)
    ]
    assert 0.015 < np.isin(verdicts, ["better", "worse"]).mean() < 0.095


@pytest.mark.parametrize("n", [3, 5, 10])
def test_coverage_of_the_95_percent_interval(n):
    rng = np.random.default_rng(4)
    covered = []
    for _ in range(700):
        base = rng.normal(0.5, 0.1, n)
        low, high = paired(base + rng.normal(0.02, 0.05, n), base, PLAIN["accuracy"]).ci95
        covered.append(low < 0.02 < high)
    assert 0.927 < np.mean(covered) < 0.97


def test_equivalence_on_the_margin_is_claimed_at_most_at_alpha():
    rng = np.random.default_rng(5)
    supported = 0
    for _ in range(200):
        base = rng.normal(0.5, 0.1, 8)
        values = {"baseline": base, "a": base + rng.normal(0.05, 0.02, 8)}
        supported += (
            judge_claims(study(values, metrics=PLAIN, claims=[claim("matches", by=0.05)]))["verdict"][0]
            == "supported"
        )
    assert 0.01 < supported / 200 < 0.095


def test_crashed_runs_come_out_unstable():
    rng = np.random.default_rng(6)
    for _ in range(10):
        values = {name: rng.normal(0.5, 0.1, 10) for name in ("baseline", "a")}
        frame = compare(study(values, statuses={("a", int(rng.integers(10))): "diverged"}))
        assert list(frame["verdict"]) == ["unstable"]
