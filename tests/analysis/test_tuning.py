from __future__ import annotations

import dataclasses
import itertools
import math

import numpy as np
import pandas as pd
import pytest
from made_evidence import study
from made_searches import LR, by_learning_rate, searched
from scipy import stats

from ablate.analysis.compare import compare
from ablate.analysis.tuning import Tuning, budget_curves, changes, edge, tuning
from ablate.core.evidence import Evidence
from ablate.core.search_table import Objective, Parameter, SearchTable

NOISE = np.array([0.0, 0.012, -0.006, 0.004, -0.01, 0.003])
FINE = {"baseline": 0.9 + NOISE, "a": 0.9 + NOISE[::-1], "b": 0.95 + NOISE}
TWO = {"baseline": [0.6, 0.8, 0.7], "a": [0.5, 0.9, 0.4], "b": [0.5, 0.9, 0.4]}


def made(search: SearchTable, tuned: Evidence | None = None, untuned: Evidence | None = None) -> Tuning:
    tuned = tuned or study(FINE)
    before = None if untuned is None else compare(untuned)
    return tuning(search, tuned, compare(tuned), untuned, before)


def curve(found: pd.DataFrame, variant: str, column: str = "best") -> list[float]:
    return found.loc[found["variant"] == variant, column].tolist()


# Best against budget


def test_of_random_settings_the_expected_best() -> None:
    found = budget_curves(searched(TWO), study(FINE).facts)
    assert set(found["kind"]) == {"expected"}
    pairs = [max(pair) for pair in itertools.combinations(TWO["a"], 2)]
    assert curve(found, "a") == pytest.approx([0.6, np.mean(pairs), 0.9])
    assert (found["low"] <= found["best"]).all()
    assert (found["best"] <= found["high"]).all()
    assert found["high"].max() == 0.9


def test_where_less_is_better_curves_fall() -> None:
    loss = Objective("loss", "min", "validation")
    found = budget_curves(searched(TWO, objective=loss), study(FINE).facts)
    pairs = [min(pair) for pair in itertools.combinations(TWO["a"], 2)]
    assert curve(found, "a") == pytest.approx([0.6, np.mean(pairs), 0.4])
    assert (found["low"] <= found["best"]).all()
    assert (found["best"] <= found["high"]).all()


@pytest.mark.parametrize("sampler", ["tpe", "tpe(n_startup_trials=4)", "qmc", "grid"])
def test_of_other_samplers_what_was_found_in_order(sampler: str) -> None:
    search = searched(TWO, sampler=sampler)
    shuffled = SearchTable(search.facts, search.trials.sample(frac=1, random_state=0))
    found = budget_curves(shuffled, study(FINE).facts)
    assert set(found["kind"]) == {"so far"}
    assert curve(found, "a") == [0.5, 0.9, 0.9]
    assert found["low"].isna().all()


@pytest.mark.parametrize("status", ["diverged", "pruned", "failed", "invalid"])
def test_every_setting_counts(status: str) -> None:
    values = {"baseline": [0.6, 0.8], "a": [0.9, np.nan]}
    found = budget_curves(searched(values, statuses={("a", 1): status}), study(FINE).facts)
    assert curve(found, "a") == pytest.approx([(0.9 + 0.125) / 2, 0.9])


def test_a_pruned_setting_does_not_win_by_its_unfinished_value() -> None:
    values = {"baseline": [0.6, 0.8], "a": [0.5, 0.99]}
    found = budget_curves(searched(values, statuses={("a", 1): "pruned"}), study(FINE).facts)
    assert curve(found, "a")[-1] == 0.5


def test_a_diverged_setting_with_a_value_has_it() -> None:
    values = {"baseline": [0.6, 0.8], "a": [0.5, 0.3]}
    found = budget_curves(searched(values, statuses={("a", 1): "diverged"}), study(FINE).facts)
    assert curve(found, "a") == pytest.approx([0.4, 0.5])


@pytest.mark.parametrize(("floor", "worst"), [(None, 0.05), (0.125, 0.05), (0.01, 0.01)])
def test_a_failure_is_as_bad_as_anything_on_the_task(floor: float | None, worst: float) -> None:
    values = {"baseline": [0.6, 0.05], "a": [0.5, np.nan]}
    target = Objective("accuracy", "max", "validation", floor)
    search = searched(values, objective=target, statuses={("a", 1): "failed"})
    assert curve(budget_curves(search, study(FINE).facts), "a") == pytest.approx([(0.5 + worst) / 2, 0.5])


def test_a_search_that_found_nothing_has_no_curve() -> None:
    statuses = {("a", 0): "failed", ("a", 1): "failed"}
    found = made(searched({"baseline": [0.6, 0.8], "a": [np.nan] * 2}, statuses=statuses))
    assert set(found.curves["variant"]) == {"baseline"}
    assert found.budgets.set_index("variant").loc["a", ["settings", "trainings", "failed"]].tolist() == [
        2,
        0,
        2,
    ]


def test_a_table_without_rows() -> None:
    search = searched(TWO)
    found = made(SearchTable(search.facts, search.trials.iloc[:0]))
    assert found.curves.empty
    assert list(found.budgets["settings"]) == [0, 0, 0]


# What each variant was given


def test_the_same_budget() -> None:
    found = made(searched(TWO, seeds=2))
    assert found.sentences == [
        "Every variant was tuned with the same budget: 3 settings × 2 tuning seeds over training.lr (sampler random); "
        "18 trainings in all."
    ]
    row = found.budgets.set_index("variant").loc["a"]
    assert row[["settings", "seeds", "trainings", "diverged"]].tolist() == [3, 2, 6, 0]
    assert (row["seconds"], row["best"], row["training.lr"]) == (9.0, 0.9, 1e-3)


def test_budgets_that_differ() -> None:
    (sentence,) = made(searched({"baseline": [0.5] * 4, "a": [0.5] * 3, "b": [0.5] * 4})).sentences
    assert sentence.startswith(
        "Not every variant was tuned with the same budget: 3 settings for a; 4 settings for baseline, b, of 4 settings"
    )


def test_a_variant_that_was_not_searched_for_has_not_had_the_same() -> None:
    (sentence,) = made(searched({"baseline": [0.5, 0.6], "a": [0.5, 0.6]})).sentences
    assert "0 settings for b; 2 settings for baseline, a" in sentence


def test_an_interrupted_search_says_how_far_it_came() -> None:
    (sentence,) = made(searched(TWO, trials=12)).sentences
    assert "12 settings × 2 tuning seeds" in sentence
    assert ", of which 3 were tried;" in sentence


def test_pruning_spends_less() -> None:
    search = searched(TWO, pruner="median", statuses={("a", 2): "pruned"})
    (sentence,) = made(search).sentences
    assert sentence == (
        "Every variant was tuned with as many settings, not with as many trainings: 3 settings × 2 tuning seeds over "
        "training.lr (sampler random, pruner median); from 5 to 6 trainings of a variant, 17 trainings in all; 1 "
        "setting was pruned."
    )


def test_what_was_lost_is_said() -> None:
    statuses = {("a", 0): "diverged", ("b", 0): "failed", ("b", 2): "invalid"}
    (sentence,) = made(searched(TWO, statuses=statuses)).sentences
    assert (
        "14 trainings in all, of which 1 diverged; 1 setting failed (b); 1 setting could not be built (b)."
        in sentence
    )


def test_a_placebo_that_is_given_what_the_baseline_is_given_is_no_breach() -> None:
    tuned = study({**FINE, "placebo": 0.9 + NOISE[::-1]}, placebos=["placebo"])
    found = made(searched(TWO), tuned)
    assert list(found.budgets["variant"]) == ["baseline", "a", "b"]
    assert found.sentences[0].startswith("Every variant was tuned with the same budget")


def test_several_tasks() -> None:
    tasks = {"recall": study(FINE).facts.tasks[0].metrics, "digits": study(FINE).facts.tasks[0].metrics}
    tuned = study(FINE, tasks=tasks)
    found = made(
        by_learning_rate({"baseline": (0.9, 3e-3), "a": (0.9, 3e-3), "b": (0.9, 3e-3)}, tasks=[*tasks]), tuned
    )
    assert "on each of 2 tasks" in found.sentences[0]
    assert list(zip(found.budgets["variant"], found.budgets["task"], strict=True))[:3] == [
        ("baseline", "recall"),
        ("baseline", "digits"),
        ("a", "recall"),
    ]


# Edges and ends


@pytest.mark.parametrize(
    ("parameter", "value", "side"),
    [
        (LR, 1e-4, "lower"),
        (LR, 1.3e-4, "lower"),
        (LR, 2e-4, ""),
        (LR, 5e-3, ""),
        (LR, 0.08, "upper"),
        (dataclasses.replace(LR, log=False), 4e-3, "lower"),
        (Parameter("p", "int", 1, 8), 1.0, "lower"),
        (Parameter("p", "int", 1, 8), 2.0, ""),
        (Parameter("p", "int", 1, 8), 8, "upper"),
        (Parameter("p", "int", 1, 2), 2, ""),
        (Parameter("p", "int", 1, 8, step=3), 7, "upper"),
        (Parameter("p", "float", 0.0, 1.0, step=0.3), 0.9, "upper"),
        (Parameter("p", "choice", choices=["a", "b"]), "a", ""),
        (Parameter("p", "float", 0.0, 1.0), None, ""),
    ],
)
def test_the_edge_of_a_range(parameter: Parameter, value: object, side: str) -> None:
    assert edge(parameter, value) == side


def test_a_best_value_at_the_edge_is_said() -> None:
    lrs = {"baseline": [1e-3, 2e-3, 3e-3], "a": [1e-3, 0.0912, 2e-3], "b": [1e-3, 0.09, 2e-3]}
    found = made(searched(TWO, lrs=lrs))
    assert found.sentences[1] == (
        "The best training.lr lies at the upper edge of the space, which may be too narrow: a (.0912), b (.09)."
    )
    assert found.budgets.set_index("variant").loc["a", "edges"] == {"training.lr": "upper"}


def test_a_path_that_is_not_searched_everywhere() -> None:
    heads = Parameter("model.mixer.num_heads", "int", 1, 8, when="model.mixer=attention")
    settings = [{"training.lr": 1e-3, heads.path: np.nan}, {"training.lr": 1e-3}, {"training.lr": 1e-3}]
    found = made(searched(TWO, parameters=[LR, heads], settings=settings))
    assert found.budgets[heads.path].isna().all()
    assert found.budgets["edges"].tolist() == [{}, {}, {}]


@pytest.mark.parametrize("sampler", ["random", "tpe"])
def test_a_best_that_still_rises_at_the_end(sampler: str) -> None:
    rising = {
        "baseline": [0.5] * 6,
        "a": [0.5, 0.5, 0.5, 0.5, 0.5, 0.8],
        "b": [0.8, 0.81, 0.8, 0.8, 0.8, 0.8],
    }
    found = made(searched(rising, sampler=sampler), study(FINE, margin=0.02))
    assert found.budgets["rising"].tolist() == [False, True, False]
    gain = {"random": "+.10", "tpe": "+.30"}[sampler]
    assert found.sentences[-1] == (
        "The budget may be too small, the best was still rising by more than the margin when it ended: a "
        f"({gain} over the last 2 of 6 settings)."
    )


def test_without_a_margin_nothing_says_whether_a_rise_matters() -> None:
    found = made(searched({name: [0.1, 0.5, 0.9] for name in FINE}, sampler="tpe"))
    assert not found.budgets["rising"].any()


# What tuning changed


def test_a_verdict_that_changed() -> None:
    untuned = study({"baseline": 0.9 + NOISE, "a": 0.8 + NOISE[::-1], "b": 0.95 + NOISE}, margin=0.02)
    tuned = study(FINE, margin=0.02)
    found = made(searched(TWO), tuned, untuned)
    before, after = (
        compare(untuned).set_index("variant").loc["a"],
        compare(tuned).set_index("variant").loc["a"],
    )
    row = found.changes.set_index("variant").loc["a"]
    assert (row["untuned_verdict"], row["verdict"], row["changed"]) == (
        before["verdict"],
        after["verdict"],
        True,
    )
    assert (row["untuned_diff"], row["diff"]) == (before["diff"], after["diff"])
    assert (row["untuned_low"], row["ci_high"]) == (before["ci_low"], after["ci_high"])
    assert found.sentences[1] == (
        "Tuning changed 1 of 2 verdicts, with 95 % intervals: a was worse (−.100 [−.116, −.084]) and is equivalent "
        "once tuned (.000 [−.016, .016])."
    )


def test_how_far_a_difference_moved_is_paired_over_the_seeds_of_both() -> None:
    rng = np.random.default_rng(5)
    after = {name: 0.9 + 0.01 * rng.normal(size=6) for name in ("baseline", "a")}
    before = {name: 0.8 + 0.01 * rng.normal(size=4) for name in ("baseline", "a")}
    tuned, untuned = study(after), study(before)
    row = changes(tuned, compare(tuned), untuned, compare(untuned)).iloc[0]
    moved = (after["a"] - after["baseline"])[:4] - (before["a"] - before["baseline"])
    low, high = stats.t.interval(0.95, 3, moved.mean(), stats.sem(moved))
    assert (row["n"], row["untuned_n"]) == (6, 4)
    assert (row["shift"], row["shift_low"], row["shift_high"]) == pytest.approx((moved.mean(), low, high))


def test_where_less_is_better_a_rise_of_the_difference_is_a_gain() -> None:
    kinds = {
        "metrics": {
            "loss": dataclasses.replace(study(FINE).facts.tasks[0].metrics["accuracy"], direction="min")
        }
    }
    after = study({"baseline": [0.5, 0.6, 0.7], "a": [0.3, 0.35, 0.5]}, metric="loss", **kinds)
    before = study({"baseline": [0.5, 0.6, 0.7], "a": [0.5, 0.6, 0.7]}, metric="loss", **kinds)
    assert changes(after, compare(after), before, compare(before))["shift"].iloc[0] == pytest.approx(0.65 / 3)


def test_nothing_changed() -> None:
    tuned = study(FINE, margin=0.02)
    assert made(searched(TWO), tuned, tuned).sentences[1] == "Tuning did not change any of 2 verdicts."
    assert not made(searched(TWO), tuned, tuned).changes["shift"].any()


def test_placebos_and_other_metrics_are_left_out() -> None:
    kinds = {
        "accuracy": study(FINE).facts.tasks[0].metrics["accuracy"],
        "loss": dataclasses.replace(study(FINE).facts.tasks[0].metrics["accuracy"], direction="min"),
    }
    values = {**FINE, "placebo": FINE["a"]}
    tuned = study(values, placebos=["placebo"], metrics=kinds, others={"loss": values})
    assert list(made(searched(TWO), tuned, tuned).changes["variant"]) == ["a", "b"]


def test_untuned_variants_that_are_missing_or_unfinished() -> None:
    assert made(searched(TWO)).changes.empty
    nothing = study({"baseline": [np.nan] * 2, "a": [np.nan] * 2})
    assert made(searched(TWO), None, nothing).changes.empty
    only_a = study({"baseline": 0.9 + NOISE, "a": 0.8 + NOISE})
    assert list(made(searched(TWO), None, only_a).changes["variant"]) == ["a"]
    one_seed = study({"baseline": [0.9], "a": [0.8]})
    row = made(searched(TWO), None, one_seed).changes.iloc[0]
    assert (row["untuned_n"], row["untuned_verdict"]) == (1, "inconclusive")
    assert np.isnan(row["shift_low"])


def test_untuned_variants_that_diverged() -> None:
    statuses = {("a", seed): "diverged" for seed in range(6)}
    untuned = study(FINE, statuses=statuses)
    found = made(searched(TWO), study(FINE, margin=0.02), untuned)
    assert found.changes.set_index("variant").loc["a", "untuned_verdict"] == "unstable"
    assert "a was unstable and is equivalent once tuned (" in found.sentences[1]


def test_a_variant_of_which_nothing_could_be_chosen() -> None:
    nothing = searched(
        {"baseline": [0.5, 0.6], "a": [math.nan] * 2}, statuses={("a", 0): "failed", ("a", 1): "failed"}
    )
    sentences = made(nothing).sentences
    assert "Judged as the study gives it, for no setting that was tried has a value: a." in sentences
