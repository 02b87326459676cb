import dataclasses
import itertools

import numpy as np
import pytest
from made_evidence import study
from made_searches import LR, by_learning_rate, searched

from ablate.features.search.budgets import budget_curves, budgets, edge
from ablate.features.search.table import Objective, Parameter

NOISE = np.array([0.0, 0.012, -0.006, 0.004, -0.01, 0.003])
FINE = {"baseline": 0.9 + NOISE, "a": 0.9 + NOISE[::-1], "b": 0.95 + NOISE}
TWO = {"baseline": [0.6, 0.8, 0.7], "a": [0.5, 0.9, 0.4], "b": [0.5, 0.9, 0.4]}


def spent(search, tuned=None):
    facts = (tuned or study(FINE)).facts
    return budgets(search, facts, budget_curves(search)).set_index("variant")


def curve(found, variant, column="best"):
    return found.loc[found["variant"] == variant, column].tolist()


# Best against budget


def test_of_random_settings_the_expected_best():
    found = budget_curves(searched(TWO))
    assert found["low"].notna().all()
    pairs = [max(pair) for pair in itertools.combinations(TWO["a"], 2)]
    assert curve(found, "a") == pytest.approx([0.6, np.mean(pairs), 0.9])
    assert (found["low"] <= found["best"]).all()
    assert (found["best"] <= found["high"]).all()
    assert found["high"].max() == 0.9


def test_where_less_is_better_curves_fall():
    loss = Objective("loss", "min", "validation")
    found = budget_curves(searched(TWO, objective=loss))
    pairs = [min(pair) for pair in itertools.combinations(TWO["a"], 2)]
    assert curve(found, "a") == pytest.approx([0.6, np.mean(pairs), 0.4])
    assert (found["low"] <= found["best"]).all()
    assert (found["best"] <= found["high"]).all()


def test_settings_that_depend_on_one_another_have_no_curve():
    assert budget_curves(searched(TWO, sampler="tpe(n_startup_trials=4)")).empty


@pytest.mark.parametrize("status", ["diverged", "pruned", "failed", "invalid"])
def test_every_setting_counts(status):
    values = {"baseline": [0.6, 0.8], "a": [0.9, np.nan]}
    found = budget_curves(searched(values, statuses={("a", 1): status}))
    assert curve(found, "a") == pytest.approx([(0.9 + 0.125) / 2, 0.9])


def test_a_diverged_setting_with_a_value_has_it():
    values = {"baseline": [0.6, 0.8], "a": [0.5, 0.3]}
    found = budget_curves(searched(values, statuses={("a", 1): "diverged"}))
    assert curve(found, "a") == pytest.approx([0.4, 0.5])


@pytest.mark.parametrize(("floor", "worst"), [(None, 0.05), (0.125, 0.05), (0.01, 0.01)])
def test_a_failure_is_as_bad_as_anything_on_the_task(floor, worst):
    values = {"baseline": [0.6, 0.05], "a": [0.5, np.nan]}
    target = Objective("accuracy", "max", "validation", floor)
    search = searched(values, objective=target, statuses={("a", 1): "failed"})
    assert curve(budget_curves(search), "a") == pytest.approx([(0.5 + worst) / 2, 0.5])


# What each variant was given


def test_a_placebo_that_is_given_what_the_baseline_is_given_is_no_breach():
    tuned = study({**FINE, "placebo": 0.9 + NOISE[::-1]}, placebos=["placebo"])
    assert list(spent(searched(TWO), tuned).index) == ["baseline", "a", "b"]


def test_several_tasks():
    tasks = {"recall": study(FINE).facts.tasks[0].metrics, "digits": study(FINE).facts.tasks[0].metrics}
    tuned = study(FINE, tasks=tasks)
    search = by_learning_rate({"baseline": (0.9, 3e-3), "a": (0.9, 3e-3), "b": (0.9, 3e-3)}, tasks=[*tasks])
    assert list(spent(search, tuned)["task"].items())[:3] == [
        ("baseline", "recall"),
        ("baseline", "digits"),
        ("a", "recall"),
    ]


# Edges and ends


@pytest.mark.parametrize(
    ("parameter", "value", "side"),
    [
        (LR, 1e-4, "lower"), (LR, 1.3e-4, "lower"), (LR, 2e-4, ""), (LR, 5e-3, ""), (LR, 0.08, "upper"),
        (dataclasses.replace(LR, log=False), 4e-3, "lower"), (Parameter("p", "int", 1, 8), 1.0, "lower"),
        (Parameter("p", "int", 1, 8), 2.0, ""), (Parameter("p", "int", 1, 8), 8, "upper"),
        (Parameter("p", "int", 1, 2), 2, ""), (Parameter("p", "int", 1, 8, step=3), 7, "upper"),
        (Parameter("p", "float", 0.0, 1.0, step=0.3), 0.9, "upper"),
        (Parameter("p", "choice", choices=["a", "b"]), "a", ""),
        (Parameter("p", "float", 0.0, 1.0), None, ""),
    ],
)  # fmt: skip
def test_the_edge_of_a_range(parameter, value, side):
    assert edge(parameter, value) == side


def test_a_path_that_is_not_searched_everywhere():
    heads = Parameter("model.mixer.num_heads", "int", 1, 8, when="model.mixer=attention")
    settings = [{"training.lr": 1e-3, heads.path: np.nan}, {"training.lr": 1e-3}, {"training.lr": 1e-3}]
    found = spent(searched(TWO, parameters=[LR, heads], settings=settings))
    assert found[heads.path].isna().all()
    assert found["edges"].tolist() == [{}, {}, {}]


def test_without_a_margin_nothing_says_whether_a_rise_matters():
    assert not spent(searched({name: [0.1, 0.5, 0.9] for name in FINE}))["rising"].any()


@pytest.mark.parametrize(
    ("value", "expected"), [("0.001", "lower"), (0.003, ""), ("0.01", "upper"), (None, "")]
)
def test_the_edge_of_choices_that_are_numbers(value, expected):
    numbers = Parameter("training.lr", "choice", choices=["0.01", "0.001", "0.003"])
    assert edge(numbers, value) == expected
    two = Parameter("training.lr", "choice", choices=["0.001", "0.01"])
    assert edge(two, value) == ""
