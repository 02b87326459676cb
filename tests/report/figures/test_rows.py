import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ablate.report.figures import rows
from ablate.report.figures.theme import MARKS, new_axes, theme
from figures.looks import arrows, intervals, labels

ENDS = st.floats(-3, 3)


def frame(groups):
    return pd.DataFrame({"label": [f"v{i}" for i in range(len(groups))], "group": groups})


def test_rows_of_groups_stand_below_headings():
    data, headings = rows.placed(frame(["a", "a", "b"]))
    assert list(data["y"]) == [1, 2, 4]
    assert headings == [rows.Heading(0, "a"), rows.Heading(3, "b")]
    with theme():
        _, (ax,) = rows.panels_of_rows(data, headings, [(0, 1)], "x")
    assert labels(ax) == {1: "v0", 2: "v1", 4: "v2", 0: "a", 3: "b"}
    assert {label.get_text() for label in ax.get_yticklabels() if label.get_weight() == "bold"} == {"a", "b"}


@pytest.mark.parametrize("data", [frame([""] * 3), frame(["a"] * 3), frame([""] * 3).drop(columns="group")])
def test_a_single_group_has_no_heading(data):
    found, headings = rows.placed(data)
    assert list(found["y"]) == [0, 1, 2]
    assert headings == []


@pytest.mark.slow
@given(st.tuples(ENDS, ENDS, ENDS).map(sorted))
def test_an_arrow_stands_where_an_interval_is_cut_and_nowhere_else(ends):
    low, value, high = ends
    with theme():
        _, ax = new_axes(1.0)
        ax.set(xlim=(-1, 1))
        rows.draw_interval(ax, {"y": 2.0, "value": value, "low": low, "high": high}, MARKS["better"])
    assert arrows(ax) == {(side, 2.0) for side, is_cut in (("left", low < -1), ("right", high > 1)) if is_cut}
    (drawn,) = intervals(ax)
    np.testing.assert_allclose((drawn.low, drawn.high), (low, high), atol=1e-12)
    assert (drawn.marker != "None") == (-1 <= value <= 1), "a mean is seen inside alone"
    assert ax.get_xlim() == (-1, 1)


def test_without_an_interval_there_is_a_mean_alone():
    row = {"y": 0.0, "value": 0.5, "low": np.nan, "high": np.nan}
    with theme():
        _, ax = new_axes(1.0)
        ax.set(xlim=(-1, 1))
        rows.draw_interval(ax, row, MARKS["worse"], hollow=True)
    (drawn,) = intervals(ax)
    assert (drawn.value, drawn.low, drawn.high, drawn.marker) == (0.5, 0.5, 0.5, "v")
    assert drawn.is_hollow
    assert not arrows(ax)
    _, ends, _ = ax.containers[0].lines
    assert not ends


def test_the_ends_of_an_interval_that_is_narrower_than_its_mean_are_seen():
    row = {"y": 0.0, "value": 0.5, "low": 0.499, "high": 0.501}
    with theme():
        _, ax = new_axes(1.0)
        ax.set(xlim=(-1, 1))
        rows.draw_interval(ax, row, MARKS["equivalent"])
    (container,) = ax.containers
    mean, ends, _ = container.lines
    assert [float(end.get_xdata()[0]) for end in ends] == [0.499, 0.501]
    for end in ends:
        assert end.get_markersize() > mean.get_markersize() + mean.get_markeredgewidth()
        assert end.get_markeredgewidth() > 0


def test_the_largest_variants_have_room():
    count = rows.MAX_ROWS + 5
    data = pd.DataFrame({"variant": [f"v{i}" for i in range(count)] * 2})
    size = pd.Series([*range(count), *(-i for i in range(count))], dtype=float)
    assert rows.largest(data, size)["variant"].nunique() == rows.MAX_ROWS
    kept = rows.largest(data, size.abs())
    assert set(kept["variant"]) == {f"v{i}" for i in range(5, count)}
    assert len(kept) == 2 * rows.MAX_ROWS
