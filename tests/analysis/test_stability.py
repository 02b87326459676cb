import math
from dataclasses import fields

import numpy as np
import pytest
from made_evidence import study
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

from ablate.analysis.estimates import rate_p
from ablate.analysis.sensitivity import rate_curves
from ablate.analysis.stability import StabilityRow, stability

N, RATES = 8, (3e-4, 1e-3, 3e-3, 1e-2, 3e-2)
rng = np.random.default_rng(3)
VALUES = {name: 0.8 + 0.01 * rng.normal(size=N) for name in ("baseline", "a", "b")}
GRIDS = {
    "baseline": 0.5 + 0.05 * rng.normal(size=(N, 5)),
    "a": np.where(np.arange(5) == 2, math.inf, 0.5 + 0.05 * rng.normal(size=(N, 5))),
    "b": 0.5 + 0.05 * rng.normal(size=(N, 5)),
}
LOST = {("a", seed): "diverged" for seed in range(6)}


def made(**changes):
    options = {"stress": GRIDS, "rates": RATES} | changes
    return stability(study(VALUES, **options))


def row(frame, variant, metric):
    found = frame[(frame["variant"] == variant) & (frame["metric"] == metric)]
    assert len(found) == 1
    return found.iloc[0]


def test_a_row_for_each_variant_and_measure_without_a_verdict():
    frame = made()
    assert list(frame.columns) == [field.name for field in fields(StabilityRow)]
    metrics = ["divergence_rate", "seed_spread", "lr_sensitivity"]
    assert list(frame["metric"]) == metrics * 2
    assert "verdict" not in frame
    assert list(made(stress=None)["metric"]) == ["divergence_rate", "seed_spread"] * 2
    assert list(made(placebos=["b"])["metric"]) == [*metrics, *metrics[:2]]


def test_divergence_has_exact_intervals_and_the_rate_test():
    found = row(made(statuses=LOST), "a", "divergence_rate")
    assert (found["mean_variant"], found["diff"], found["p"]) == (0.75, -0.75, pytest.approx(rate_p(6, 0, 8)))
    assert math.isnan(found["ci_low"])
    for side, count in (("variant", 6), ("baseline", 0)):
        bounds = proportion_confint(count, N, method="beta")
        assert (found[f"low_{side}"], found[f"high_{side}"]) == pytest.approx(bounds)
    nothing = row(made(), "a", "divergence_rate")
    assert (nothing["p"], nothing["diff"]) == (1.0, 0.0)


def test_a_spread_has_its_interval_and_is_compared_by_distances_from_the_median():
    found = row(made(), "a", "seed_spread")
    a, base = VALUES["a"], VALUES["baseline"]
    sd = a.std(ddof=1)
    assert found["mean_variant"] == pytest.approx(sd)
    assert found["low_variant"] == pytest.approx(sd / math.sqrt(stats.chi2.ppf(0.975, N - 1) / (N - 1)))
    away = np.abs(base - np.median(base)) - np.abs(a - np.median(a))
    known = stats.ttest_1samp(away, 0)
    assert (found["diff"], found["p"]) == (pytest.approx(away.mean()), pytest.approx(known.pvalue))
    bounds = known.confidence_interval(0.95)
    assert (found["ci_low"], found["ci_high"]) == pytest.approx((bounds.low, bounds.high))
    few = stability(study({name: of[:5] for name, of in VALUES.items()}))
    assert row(few, "a", "seed_spread")["reason"] == "few n=5 least=6"


def test_a_failed_run_leaves_everything_it_touches_incomplete():
    frame = made(statuses={("a", 2): "failed"})
    codes = frame[frame["variant"] == "a"].set_index("metric")["reason"].str.partition(" ")[0]
    assert codes.to_dict() == {
        "divergence_rate": "incomplete",
        "lr_sensitivity": "",
        "seed_spread": "incomplete",
    }


def test_the_curve_over_learning_rates_counts_a_diverged_run_with_the_initial_loss():
    frame = rate_curves(study(VALUES, stress=GRIDS, rates=RATES))
    assert list(frame["value"].unique()) == list(RATES)
    lost = frame[(frame["variant"] == "a") & (frame["value"] == RATES[2])].iloc[0]
    assert (lost["loss"], lost["low"], lost["diverged"], lost["n"]) == (2.0, 2.0, N, N)
    kept = frame[(frame["variant"] == "b") & (frame["value"] == RATES[1])].iloc[0]
    losses = GRIDS["b"][:, 1]
    bounds = stats.t.interval(0.95, N - 1, losses.mean(), stats.sem(losses))
    assert (kept["low"], kept["high"]) == pytest.approx(bounds)
    assert rate_curves(study(VALUES)).empty
