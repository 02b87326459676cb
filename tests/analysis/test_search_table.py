"""The best settings of a table of searches, and the front of several objectives."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ablate.analysis.search_table import (
    Objective,
    Parameter,
    SearchFacts,
    SettingRow,
    TriedSetting,
    searches_tabulated,
)

SCORE = Objective("score", "max", "validation")
COST = Objective("cost", "min", "cost")
X = Parameter("x", "float", 0, 1)


def searched(rows, *objectives):
    tried = []
    for number, row in enumerate(rows):
        numbers = {objective.name: row[objective.name] for objective in objectives}
        status, diverged = row.get("status", "completed"), row.get("diverged", 0)
        fixed = SettingRow("baseline", "", number, status, seeds=2, diverged=diverged)
        tried.append(TriedSetting(fixed, {"x": row.get("x", number / 10)}, numbers))
    return searches_tabulated(SearchFacts([X], [*objectives], "tpe", "none", len(rows), [10_000], 4), [tried])


def test_the_best_is_the_best_in_its_own_direction():
    table = searched([{"score": 0.1}, {"score": 0.5}, {"score": 0.3}, {"score": 0.5}], SCORE)
    assert table.best("baseline", "") == [1]
    assert table.best("baseline", "", 3) == [1, 3, 2]
    assert table.best("baseline", "", 9) == [1, 3, 2, 0]
    assert table.best("other", "") == []
    smaller = Objective("score", "min", "validation")
    assert searched([{"score": 0.1}, {"score": 0.05}], smaller).best("baseline", "") == [1]


def test_what_has_no_value_of_its_own_never_wins():
    rows = [
        {"score": 0.9, "status": "pruned"},
        {"score": math.nan, "status": "failed"},
        {"score": math.nan, "status": "invalid"},
        {"score": -math.inf},
        {"score": 0.8, "status": "diverged", "diverged": 2},
    ]
    assert searched(rows, SCORE).best("baseline", "") == []
    rows.append({"score": 0.2, "status": "diverged", "diverged": 1})
    assert searched(rows, SCORE).best("baseline", "", 5) == [5]


def test_the_same_setting_wins_once():
    table = searched([{"score": 0.5, "x": 1.0}, {"score": 0.5, "x": 1.0}, {"score": 0.4}], SCORE)
    assert table.best("baseline", "", 3) == [0, 2]


def test_several_objectives_take_the_front():
    rows = [
        {"score": 0.9, "cost": 9.0},
        {"score": 0.5, "cost": 1.0},
        {"score": 0.5, "cost": 2.0},
        {"score": 0.7, "cost": 4.0},
        {"score": 0.99, "cost": 1.0, "status": "pruned"},
    ]
    table = searched(rows, SCORE, COST)
    assert list(table.trials.front) == [True, True, False, True, False]
    assert table.best("baseline", "", 1) == [0]
    assert table.best("baseline", "", 9) == [0, 3, 1]


@pytest.mark.slow
@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=12))
def test_the_front_is_what_none_beats(values):
    rows = [{"score": s, "cost": c, "status": "completed"} for s, c in values]
    beaten = [
        any(a >= s and b <= c and (a, b) != (s, c) for a, b in values)  # at least as good, and not the same
        for s, c in values
    ]
    assert searched(rows, SCORE, COST).trials["front"].tolist() == [not flag for flag in beaten]


@pytest.mark.parametrize("kind", ["int", "float"])
def test_numbers_that_are_missing_do_not_change_those_that_are_there(kind):
    table = searched([{"score": 1.0, "x": 3}, {"score": 0.5, "x": None}], SCORE)
    table = replace(table, facts=replace(table.facts, parameters=[Parameter("x", kind, 0, 10)]))
    table.trials["x"] = np.array([3.0, math.nan])
    assert table.point(0) == {"x": 3}
    assert type(table.point(0)["x"]).__name__ == kind
    assert table.point(1) == {}
