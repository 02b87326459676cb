from __future__ import annotations

import dataclasses
import math

import numpy as np
import pandas as pd
import pytest
from made_evidence import RATES, claim, study
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

from ablate.analysis.claims import judge_claims
from ablate.analysis.stability import COLUMNS, stability
from ablate.analysis.stress import rate_curves
from ablate.core.evidence import Evidence
from ablate.core.metric import Metric

N = 8
rng = np.random.default_rng(3)
VALUES = {name: 0.8 + 0.01 * rng.normal(size=N) for name in ("baseline", "a", "b")}
NUMBERS = {
    "grad_norm_max": {"baseline": 3 + rng.random(N), "a": 6 + rng.random(N), "b": 3 + rng.random(N)},
    "loss_spikes": dict.fromkeys(VALUES, np.zeros(N)),
    "logit": {"baseline": 3 + rng.random(N), "a": 6 + rng.random(N), "b": np.full(N, math.nan)},
}
KNOWN = {"grad_norm_max": Metric("min"), "loss_spikes": Metric("min", 0.01, 1.0, 0.0), "logit": Metric("min")}
GRIDS = {
    "baseline": 0.5 + 0.05 * rng.normal(size=(N, 3)),
    "a": np.where(np.arange(3) == 2, math.inf, 0.5 + 0.05 * rng.normal(size=(N, 3))),
    "b": 0.5 + 0.05 * rng.normal(size=(N, 3)),
}
LOST = {("a", seed): "diverged" for seed in range(6)}


def made(**changes: object) -> pd.DataFrame:
    options = {"others": NUMBERS, "stability": KNOWN, "stress": GRIDS} | changes
    return stability(study(VALUES, **options))


def tuned(evidence: Evidence, path: str = "training.lr", **labels: str) -> Evidence:
    """The same, of variants for which a search chose the values of `labels`."""
    variants = [
        dataclasses.replace(v, tuned={"recall": {path: labels[v.name]}} if v.name in labels else {})
        for v in evidence.facts.variants
    ]
    return dataclasses.replace(evidence, facts=dataclasses.replace(evidence.facts, variants=variants))


def row(frame: pd.DataFrame, variant: str, metric: str) -> pd.Series:
    found = frame[(frame["variant"] == variant) & (frame["metric"] == metric)]
    assert len(found) == 1
    return found.iloc[0]


def test_a_row_for_each_variant_and_measure_all_exploratory():
    frame = made()
    assert tuple(frame.columns) == COLUMNS
    assert list(frame["metric"]) == 2 * ["divergence_rate", "lr_sensitivity", "seed_spread"]
    assert frame["exploratory"].all()
    assert list(made(stress=None)["metric"]) == 2 * ["divergence_rate", "seed_spread"]


def test_divergence_is_compared_by_exact_intervals_and_the_rate_test():
    found = row(made(statuses=LOST), "a", "divergence_rate")
    assert (found["verdict"], found["mean_variant"], found["diff"]) == ("worse", 0.75, -0.75)
    for side, count in (("variant", 6), ("baseline", 0)):
        bounds = proportion_confint(count, N, method="beta")
        assert (found[f"low_{side}"], found[f"high_{side}"]) == pytest.approx(bounds)
    assert row(made(statuses={("a", 0): "diverged"}), "a", "divergence_rate")["verdict"] == "inconclusive"
    nothing = row(made(), "a", "divergence_rate")
    assert (nothing["verdict"], nothing["p"]) == ("degenerate", 1.0)
    assert nothing["note"] == "no run diverged; a rate of up to .37 is not excluded"


def test_the_sensitivity_is_compared_by_the_paired_t():
    found = row(made(), "b", "lr_sensitivity")
    b, base = (np.minimum(GRIDS[name], 2.0) for name in ("b", "baseline"))
    cost = [(of - of.min(axis=1, keepdims=True)).mean(axis=1) for of in (base, b)]
    expected = stats.ttest_rel(*cost)
    assert found["p"] == pytest.approx(expected.pvalue)
    assert (found["ci_low"], found["ci_high"]) == pytest.approx(tuple(expected.confidence_interval()))
    bounds = stats.t.interval(0.95, N - 1, cost[1].mean(), stats.sem(cost[1]))
    assert (found["low_variant"], found["high_variant"]) == pytest.approx(bounds)


def test_a_spread_has_its_interval_and_waits_for_twenty_seeds():
    found = row(made(), "a", "seed_spread")
    sd = VALUES["a"].std(ddof=1)
    assert found["mean_variant"] == pytest.approx(sd)
    assert found["low_variant"] == pytest.approx(sd / math.sqrt(stats.chi2.ppf(0.975, N - 1) / (N - 1)))
    assert (found["verdict"], math.isnan(found["p"])) == ("inconclusive", True)
    close = {"baseline": rng.normal(0.8, 0.05, 25), "a": rng.normal(0.8, 0.001, 25)}
    assert row(stability(study(close)), "a", "seed_spread")["verdict"] == "better"


def test_what_learns_at_no_rate_has_no_verdict():
    found = row(made(stress=GRIDS | {"a": np.full((N, 3), math.inf)}), "a", "lr_sensitivity")
    assert (found["verdict"], found["note"]) == (
        "unstable",
        "a: no learning rate of the grid trains it on 8 of 8 seeds",
    )


def test_a_failed_run_leaves_everything_it_touches_incomplete():
    frame = made(statuses={("a", 2): "failed"})
    verdicts = frame[frame["variant"] == "a"].set_index("metric")["verdict"]
    assert verdicts.pop("lr_sensitivity") == "worse"
    assert set(verdicts) == {"incomplete"}


def test_the_curve_over_learning_rates_counts_a_diverged_run_with_the_initial_loss():
    frame = rate_curves(study(VALUES, stress=GRIDS))
    assert list(frame["value"].unique()) == list(RATES)
    lost = frame[(frame["variant"] == "a") & (frame["value"] == RATES[2])].iloc[0]
    assert (lost["loss"], lost["low"], lost["diverged"], lost["n"]) == (2.0, 2.0, N, N)
    kept = frame[(frame["variant"] == "b") & (frame["value"] == RATES[1])].iloc[0]
    losses = GRIDS["b"][:, 1]
    assert (kept["low"], kept["high"]) == pytest.approx(
        stats.t.interval(0.95, N - 1, losses.mean(), stats.sem(losses))
    )
    assert rate_curves(study(VALUES)).empty


def test_a_claim_on_a_number_that_moves_with_a_tuned_rate_is_open():
    names = {name: Metric("min") for name in ("grad_norm_max", "attention_logit_max", "test_loss")}
    numbers = dict.fromkeys(names, NUMBERS["grad_norm_max"])
    claims = [claim("beats", "baseline", "a", metric=name) for name in names]
    claims += [claim("beats", "b", "a", metric="grad_norm_max")]
    claims += [dataclasses.replace(claims[0], kind="interaction", a_less=["b"], b_less=["baseline"])]
    evidence = study(VALUES, others=numbers, stability=names, claims=claims)
    assert set(judge_claims(tuned(evidence, baseline="0.006", a="0.006", b="0.006"))["verdict"]) == {
        "supported"
    }
    found = judge_claims(tuned(evidence, baseline="0.006", a="0.02", b="0.02"))
    assert list(found["verdict"]) == [
        "inconclusive",
        "inconclusive",
        "supported",
        "supported",
        "inconclusive",
    ]
    assert found["reason"][1] == (
        "trained at lr 0.006 (baseline) and lr 0.02 (a): attention_logit_max moves with that"
    )
