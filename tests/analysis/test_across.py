"""Several tasks and several metrics: verdicts on each, their number, the aggregate in declared units."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from made_evidence import ACCURACY, LOSS, study
from scipy import stats

from ablate.analysis.across import across, profiles
from ablate.analysis.compare import compare
from ablate.analysis.looks import weights
from ablate.core.evidence import Evidence

A = {"digits": [0.5, 0.52, 0.47, 0.51], "recall": [0.3, 0.31, 0.33, 0.28]}
B = {"digits": [0.9, 0.93, 0.88, 0.91], "recall": [0.32, 0.30, 0.35, 0.27]}


def evidence(**facts: object) -> Evidence:
    made = study(
        {"baseline": A, "b": B}, tasks={"digits": {"accuracy": ACCURACY}, "recall": {"accuracy": ACCURACY}}
    )
    return dataclasses.replace(made, facts=dataclasses.replace(made.facts, **facts))  # type: ignore[arg-type]


def test_verdicts_are_counted_by_task() -> None:
    row = across(evidence(), compare(evidence())).iloc[0]
    assert (row["tasks"], row["better"], row["worse"], row["open"]) == (2, 1, 0, 1)
    assert np.isnan(row["diff"])


def test_the_aggregate_is_the_paired_test_of_the_mean_in_declared_units() -> None:
    found = evidence(units={"digits": 0.1, "recall": 0.5})
    row = across(found, compare(found)).iloc[0]
    d = [(np.array(B[task]) - A[task]) / unit for task, unit in (("digits", 0.1), ("recall", 0.5))]
    mean = np.mean(d, axis=0)
    test = stats.ttest_1samp(mean, 0)
    assert (row["diff"], row["p"]) == pytest.approx((mean.mean(), test.pvalue))
    assert (row["ci_low"], row["ci_high"]) == pytest.approx(tuple(test.confidence_interval(0.95)))


def test_the_aggregate_allows_for_the_looks_at_the_seeds_that_it_rests_on() -> None:
    found = evidence(units={"digits": 0.1, "recall": 0.5}, looks=[2, 4, 6])
    row = across(found, compare(found)).iloc[0]
    mean = np.mean([(np.array(B[t]) - A[t]) / unit for t, unit in (("digits", 0.1), ("recall", 0.5))], axis=0)
    by_look = [stats.ttest_1samp(mean[:n], 0) for n in (2, 4)]
    assert row["p"] == pytest.approx(min(of.pvalue / w for of, w in zip(by_look, weights(3), strict=False)))
    bounds = by_look[-1].confidence_interval(1 - 0.05 / 3)
    assert (row["ci_low"], row["ci_high"]) == pytest.approx(tuple(bounds))


def test_no_aggregate_where_a_trial_failed() -> None:
    made = evidence(units={"digits": 0.1, "recall": 0.5})
    failed = (made.trials["variant"] == "b") & (made.trials["seed"] == 1)
    trials = made.trials.assign(status=made.trials["status"].mask(failed, "failed"))
    trials.loc[failed, "accuracy"] = np.nan
    found = dataclasses.replace(made, trials=trials)
    assert across(found, compare(found))["diff"].isna().all()


def test_profiles_fall_from_one_and_count_tasks_alike() -> None:
    found = profiles(evidence()).groupby("variant")["share"]
    assert found.first().to_dict() == {"b": 1.0, "baseline": 1.0}
    assert all(np.all(np.diff(shares) <= 0) for _, shares in found)
    at = profiles(evidence()).query("variant == 'b' and score == 0.5")["share"].item()
    assert at == 0.5  # all runs on digits, none on recall


def test_a_further_metric_enters_the_family_with_its_own_margin() -> None:
    metrics = {"accuracy": ACCURACY, "loss": LOSS}
    values = np.array([0.5, 0.52, 0.47, 0.51])
    losses = {"baseline": np.array([1.0, 1.1, 0.9, 1.0]), "b": np.array([1.01, 1.09, 0.91, 1.0])}
    made = study(
        {"baseline": values, "b": values + 0.4}, metrics=metrics, others={"loss": losses}, margin=0.02
    )
    alone = compare(made).set_index("metric")
    both = compare(dataclasses.replace(made, facts=dataclasses.replace(made.facts, also={"loss": 0.1})))
    both = both.set_index("metric")
    assert alone["exploratory"].to_dict() == {"accuracy": False, "loss": True}
    assert not both["exploratory"].any()
    assert both["p_adjusted"].to_dict() == pytest.approx((2 * both["p"]).clip(upper=1).to_dict())
    assert both.loc["loss", "verdict"] == "equivalent"
