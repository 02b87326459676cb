"""The points of a grid: every value with every other, and no end of them refused."""

import pytest

from ablate.analysis.search_table import Parameter
from ablate.base.errors import Invalid
from ablate.stages.search.space import Space

RATE = Parameter("training.lr", "float", 0.1, 0.3, step=0.1)
WIDTH = Parameter("model.d_model", "choice", choices=["16", "32"])


def test_a_grid_has_each_value_with_each_other_once():
    space = Space((RATE, WIDTH), {"model.d_model": {"16": 16, "32": 32}})
    points = [(point["training.lr"], point["model.d_model"]) for point in space.grid()]
    assert points == [(lr, width) for lr in (0.1, 0.2, 0.3) for width in ("16", "32")]


def test_a_value_whose_condition_does_not_hold_is_no_part_of_a_point():
    choices = {"model.d_model": {"16": 16, "32": 32}}
    space = Space((WIDTH, RATE), choices, {"training.lr": {"model.d_model": ("32",)}})
    assert space.grid()[0] == {"model.d_model": "16"}
    assert len(space.grid()) == 1 + 3


def test_continuous_paths_are_refused_together():
    first = Parameter("a", "float", 0.0, 1.0)
    second = Parameter("b", "float", 0.0, 1.0)
    with pytest.raises(Invalid) as refused:
        Space((first, RATE, second)).grid()
    assert [problem.path for problem in refused.value.problems] == [("a",), ("b",)]
