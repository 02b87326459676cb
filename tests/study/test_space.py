"""Spaces: what a grid visits, what a point is called, what it is rounded to."""

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from searching import prepared, spec_of

from ablate.analysis.search_table import EXACT, Parameter
from ablate.stages.search.space import Space

LABELS = ["a", "b", "c(rank=8)", "null", "on", "0.5"]


@st.composite
def parameters(draw, path, grid=True):
    kind = draw(st.sampled_from(["choice", "int", "float"]))
    if kind == "choice":
        labels = draw(st.lists(st.sampled_from(LABELS), min_size=1, max_size=3, unique=True))
        return Parameter(path, "choice", choices=labels)
    if kind == "int":
        low = draw(st.integers(-50, 50))
        return Parameter(
            path, "int", low, low + draw(st.integers(1, 7)), step=draw(st.sampled_from([None, 1, 2, 3]))
        )
    low = draw(st.integers(-1000, 1000)) / 1000 * 10.0 ** draw(st.integers(-6, 6))
    step = draw(st.integers(1, 99)) * 10.0 ** draw(st.integers(-6, 3))
    return Parameter(
        path, "float", low, low + step * draw(st.integers(1, 5)) * 1.1, step=step if grid else None
    )


@st.composite
def spaces(draw):
    """Two to four parameters, each of which may wait for some values of an earlier one that can be named."""
    found = []
    conditions = {}
    for path in ["p", "q", "r", "s"][: draw(st.integers(2, 4))]:
        parameter = draw(parameters(path))
        others = [p for p in found if p.kind != "float"]
        if others and draw(st.booleans()):
            other = draw(st.sampled_from(others))
            values = draw(st.lists(st.sampled_from(other.values()), min_size=1, max_size=2, unique=True))
            conditions[path] = {other.path: tuple(values)}
        found.append(parameter)
    return Space(tuple(found), conditions=conditions)


@pytest.mark.slow
@given(spaces())
def test_a_grid_has_every_point_once_and_nothing_that_is_not_searched(space):
    points = list(space.grid())
    assert len({tuple(point.items()) for point in points}) == len(points)
    for point in points:
        for parameter in space.parameters:
            assert (parameter.path in point) == space.active(parameter, point)
            if parameter.path in point:
                assert point[parameter.path] in parameter.values()
    # All combinations, collapsed where a path is not searched.
    collapsed = set()
    for values in itertools.product(*(p.values() for p in space.parameters)):
        point = {}
        for parameter, value in zip(space.parameters, values, strict=True):
            if space.active(parameter, point):
                point[parameter.path] = value
        collapsed.add(tuple(point.items()))
    assert {tuple(point.items()) for point in points} == collapsed


@given(parameters("p"))
def test_the_values_of_a_grid_are_within_bounds_and_counted(parameter):
    values = parameter.values()
    assert len(values) == len(set(values))
    if parameter.kind != "choice":
        low, high = parameter.low, parameter.high
        slack = 1e-9 * max(abs(low), abs(high))
        assert all(low - slack <= value <= high + slack for value in values)
        assert values == sorted(values)
        step = parameter.step or 1
        assert all(math.isclose(b - a, step, rel_tol=1e-3) for a, b in itertools.pairwise(values))
        assert [values[0], values[-1]] == pytest.approx(parameter.ends())


@pytest.mark.slow
@given(parameters("p", grid=False), st.floats(0, 1))
def test_what_a_value_is_called_can_be_read_again(parameter, share):
    if parameter.kind == "float":
        low, high = parameter.low, parameter.high
        value = parameter.rounded(low + share * (high - low))
        assert low <= value <= high
        assert math.isclose(float(parameter.label(value)), value, rel_tol=10.0 ** (1 - EXACT))
        assert parameter.rounded(value) == value
    else:
        for value in parameter.values():
            read = type(value)(parameter.label(value))
            assert read == value


def test_a_large_number_keeps_all_its_digits():
    space = Space((Parameter("n", "int", 1, 10**9), Parameter("x", "float", 0.0, 1.0, step=0.1)))
    assert space.labels({"n": 12_345_678, "x": 0.3}) == {"n": "12345678", "x": "0.3"}


@pytest.mark.parametrize(
    ("low", "high", "value", "rounded"),
    [
        (1e-4, 1e-2, 0.00123456, 0.001235),
        (0.0, 1.0, 0.123456, 0.1235),
        # A narrow range far from zero is not reduced to its ends.
        (1000.0, 1001.0, 1000.123456, 1000.123),
        (0.9999, 0.99999, 0.999912345, 0.99991235),
        (-5.0, -4.0, -4.00001, -4.0),
    ],
)
def test_a_float_is_used_to_the_digits_that_its_range_needs(low, high, value, rounded):
    assert Parameter("p", "float", low, high).rounded(value) == pytest.approx(rounded, rel=1e-12)


def test_a_part_answers_to_its_name_and_conditions_may_chain(write):
    text = """\
    name: conditions
    task: {name: recall, vocab_size: 16, seq_len: 5, num_pairs: 2}
    model: {d_model: 8, num_layers: 1}
    training: {steps: 2, batch_size: 4}
    search:
      over:
        model.mixer.value.rank: {int: [2, 3], when: [model.mixer=attention, model.mixer.value=low_rank]}
        model.mixer.value: {choice: [full, {name: low_rank, rank: 4}], when: model.mixer=attention}
        model.mixer: {choice: [{name: attention, num_heads: 2}, lstm]}
      sampler: grid
    """
    search = spec_of(prepared(write(text)), "search")
    found = [list(search.space.labels(point).values()) for point in search.space.grid()]
    assert found == [
        ["attention", "full"],
        ["attention", "low_rank", "2"],
        ["attention", "low_rank", "3"],
        ["lstm"],
    ]
    patches = search.space.patches({"model.mixer": "lstm"})
    assert patches == {"model.mixer": "lstm"}
    assert search.facts.trials == 4
