import dataclasses

import numpy as np
import pytest
from made_evidence import study
from made_searches import LR, by_learning_rate, searched

from ablate.analysis.budgets import _scores, budgets, edge
from ablate.analysis.search_table import Objective, Parameter

NOISE = np.array([0.0, 0.012, -0.006, 0.004, -0.01, 0.003])
FINE = {"baseline": 0.9 + NOISE, "a": 0.9 + NOISE[::-1], "b": 0.95 + NOISE}
TWO = {"baseline": [0.6, 0.8, 0.7], "a": [0.5, 0.9, 0.4], "b": [0.5, 0.9, 0.4]}


def spent(search, tuned=None):
    return budgets(search, (tuned or study(FINE)).facts).set_index("variant")


# Whether the best still rose


RISING = [0.1, 0.2, 0.3]  # The best of two of them is expected to be 0.267.


@pytest.mark.parametrize(("margin", "rises"), [(0.03, True), (0.04, False), (None, False)])
def test_the_best_rises_where_the_last_third_is_expected_to_add_more_than_the_margin(margin, rises):
    found = spent(searched(TWO | {"a": RISING}), study(FINE, margin=margin))
    assert found.loc["a", "rising"] == rises


def test_where_less_is_better_the_best_falls():
    loss = Objective("loss", "min", "validation")
    search = searched(TWO | {"a": RISING, "b": [0.1, 0.1, 0.9]}, objective=loss)
    assert spent(search, study(FINE, margin=0.03)).rising.to_dict() == {
        "baseline": True,
        "a": True,
        "b": False,
    }


def test_settings_that_depend_on_one_another_tell_of_no_rise():
    search = searched(dict.fromkeys(FINE, RISING), sampler="tpe(n_startup_trials=4)")
    assert not spent(search, study(FINE, margin=0.01))["rising"].any()


@pytest.mark.parametrize("status", ["diverged", "pruned", "failed", "invalid"])
@pytest.mark.parametrize(("floor", "worst"), [(None, 0.4), (0.45, 0.4), (0.1, 0.1)])
def test_a_setting_without_a_value_is_as_bad_as_anything_on_the_task(status, floor, worst):
    values = {"baseline": [0.6, 0.7, 0.4], "a": [0.6, np.nan, 0.6]}
    target = Objective("accuracy", "max", "validation", floor)
    search = searched(values, objective=target, statuses={("a", 1): status})
    assert _scores(search).tolist() == [0.6, 0.7, 0.4, 0.6, worst, 0.6]


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
        (LR, 1e-4, "lower"), (LR, 1.3e-4, "lower"), (LR, 2e-4, None), (LR, 5e-3, None), (LR, 0.08, "upper"),
        (dataclasses.replace(LR, log=False), 4e-3, "lower"), (Parameter("p", "int", 1, 8), 1.0, "lower"),
        (Parameter("p", "int", 1, 8), 2.0, None), (Parameter("p", "int", 1, 8), 8, "upper"),
        (Parameter("p", "int", 1, 2), 2, None), (Parameter("p", "int", 1, 8, step=3), 7, "upper"),
        (Parameter("p", "float", 0.0, 1.0, step=0.3), 0.9, "upper"),
        (Parameter("p", "choice", choices=["a", "b"]), "a", None),
        (Parameter("p", "float", 0.0, 1.0), None, None),
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


@pytest.mark.parametrize(
    ("value", "expected"), [("0.001", "lower"), (0.003, None), ("0.01", "upper"), (None, None)]
)
def test_the_edge_of_choices_that_are_numbers(value, expected):
    numbers = Parameter("training.lr", "choice", choices=["0.01", "0.001", "0.003"])
    assert edge(numbers, value) == expected
    two = Parameter("training.lr", "choice", choices=["0.001", "0.01"])
    assert edge(two, value) is None
