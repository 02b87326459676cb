import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ablate.report.figures.line_names import LineEnd, moved_apart, write_names_at_ends
from ablate.report.figures.theme import colour, new_axes, theme
from figures import looks

PLACES = st.lists(st.tuples(st.floats(0, 1), st.sampled_from([0.1, 0.2])), min_size=1, max_size=5)


@given(PLACES)
def test_each_has_room_and_keeps_its_turn(ends):
    places, sizes = zip(*sorted(ends), strict=True)
    moved = moved_apart(places, sizes)
    for (low, high), (below, above) in zip(itertools.pairwise(moved), itertools.pairwise(sizes), strict=True):
        assert high - low >= (below + above) / 2 - 1e-9
    assert -1e-9 <= moved[0] <= moved[-1] <= 1 + 1e-9


@pytest.mark.parametrize(
    ("places", "moved"),
    [
        ([0.2, 0.5], [0.2, 0.5]),
        ([0.5, 0.5], [0.45, 0.55]),
        ([0.5, 0.52, 0.9], [0.46, 0.56, 0.9]),
        ([0.4, 0.48, 0.56], [0.38, 0.48, 0.58]),
        ([0.99, 1.0], [0.9, 1.0]),
        ([0.0, 0.0], [0.0, 0.1]),
    ],
)
def test_only_what_is_in_the_way_is_moved_and_no_farther_than_it_must(places, moved):
    assert moved_apart(places, [0.1] * len(places)) == pytest.approx(moved)


def test_names_stand_beside_the_panel_at_their_ends():
    ends = [LineEnd(0.01, "low", colour("blue")), LineEnd(1.0, "a long name of two lines", colour("ink"))]
    with theme():
        figure, ax = new_axes(2.0)
        ax.set(yscale="log", ylim=(0.0001, 1.0))
        write_names_at_ends(ax, ends, 1.5)
        looks.assert_readable(figure)
    low, high = ax.texts
    assert (low.get_text(), low.xy[1], low.get_color()) == ("low", pytest.approx(0.5), colour("blue"))
    assert (high.xy[1], high.get_text().count("\n")) == (1.0, 1)
    assert all(text.get_window_extent().x0 > ax.bbox.x1 for text in ax.texts)
