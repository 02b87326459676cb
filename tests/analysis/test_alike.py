"""Runs that have the same numbers: copies are found, and equal accuracies on a grid are chance."""

import numpy as np
import pandas as pd
import pytest
from made_evidence import study

from ablate.analysis.alike import alike_groups, alike_runs, are_seedless
from ablate.analysis.runs import runs_of
from ablate.core.metric import Metric

ACCURACY = {"acc": Metric("max")}


def alike(values):
    """Groups of runs alike; `values`: variant → its runs."""
    rows = []
    for variant, runs in values.items():
        for seed, value in enumerate(runs):
            rows.append((f"{variant}{seed}", variant, "task", seed, "completed", value))
    trials = pd.DataFrame(rows, columns=["id", "variant", "task", "seed", "status", "acc"])
    return alike_runs(trials, trials[:0], ACCURACY)


@pytest.mark.fast_cases(1)
@pytest.mark.parametrize("examples", [100, 1000, 10_000])
@pytest.mark.parametrize("gap", [0.0, 0.3])
def test_accuracies_on_a_grid_are_equal_by_chance(examples, gap):
    """An outlying variant makes the range wide, and equal values within the others no rarer."""
    rng = np.random.default_rng(1)
    for _ in range(20):
        rates = {f"v{place}": 0.8 - gap * (place == 0) for place in range(10)}
        assert alike({name: rng.binomial(examples, rate, 8) / examples for name, rate in rates.items()}) == []


def test_one_copy_among_full_floats_is_found():
    rng = np.random.default_rng(2)
    values = {name: rng.normal(0.8, 0.01, 6) for name in "abc"}
    values["c"][4] = values["a"][1]
    assert alike(values) == [["a1", "c4"]]


def test_a_whole_variant_that_is_a_copy_is_found_on_a_fine_grid():
    rng = np.random.default_rng(3)
    values = {name: rng.binomial(200_000, 0.8, 8) / 200_000 for name in "abc"}
    values["d"] = values["a"]
    groups = alike(values)
    pairs = [{f"a{seed}", f"d{seed}"} for seed in range(8)]
    # Values at an end of the range may be alike by themselves.
    assert sum(any(pair <= {*group} for group in groups) for pair in pairs) >= 6


def test_seeds_that_change_no_variant_are_found_on_a_coarse_grid():
    assert alike({"base": [0.81] * 5, "new": [0.85] * 5}) == [
        [f"base{seed}" for seed in range(5)],
        [f"new{seed}" for seed in range(5)],
    ]
    assert alike({"base": [0.81] * 4 + [0.82], "new": [0.85] * 5}) == []
    assert alike({"base": [0.81] * 5, "new": [0.81] * 5}) == []


LOSSES = {
    "baseline": [2.3025850, 2.2917311, 2.3110042, 2.2875519],
    "a": [2.1, 2.2041007, 2.1503319, 2.1207744],
}


def two_metrics(losses):
    """Two variants whose accuracies are equal, and whose losses tell the seeds apart."""
    accuracies = {"baseline": [0.81] * 4, "a": [0.85] * 4}
    return study(
        accuracies, metrics={"accuracy": Metric("max"), "loss": Metric("min")}, others={"loss": losses}
    )


@pytest.mark.parametrize("lacking", [np.nan, np.inf])
def test_one_run_without_a_metric_makes_no_seed_without_effect(lacking):
    """The metric tells all other runs apart."""
    evidence = two_metrics({**LOSSES, "a": [lacking, *LOSSES["a"][1:]]})
    task = evidence.facts.tasks[0]
    assert alike_groups(runs_of(evidence), task) == []
    assert not are_seedless(runs_of(evidence), ["baseline", "a"], task)


def test_a_metric_that_one_variant_never_has_leaves_what_the_others_show():
    equal = [2.3025850] * 4
    evidence = two_metrics({"baseline": equal, "a": [np.nan] * 4})
    task = evidence.facts.tasks[0]
    assert are_seedless(runs_of(evidence), ["baseline"], task)
    assert not are_seedless(runs_of(evidence), ["a"], task), "its loss may differ"


def test_a_metric_that_no_run_has_is_not_compared():
    evidence = two_metrics({"baseline": [np.nan] * 4, "a": [np.nan] * 4})
    assert are_seedless(runs_of(evidence), ["baseline", "a"], evidence.facts.tasks[0])


def test_runs_that_share_no_metric_are_not_alike():
    metrics = {"accuracy": Metric("max"), "loss": Metric("min")}
    losses = {"baseline": [np.nan] * 4, "a": [2.1] * 4}
    evidence = study({"baseline": [0.81] * 4, "a": [0.85] * 4}, metrics=metrics, others={"loss": losses})
    is_a = evidence.trials["variant"] == "a"
    evidence.trials.loc[is_a, "accuracy"] = np.nan
    assert alike_groups(runs_of(evidence), evidence.facts.tasks[0]) == []
