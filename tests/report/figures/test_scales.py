import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ablate.base import wording
from ablate.core.metric import Metric
from ablate.report.figures import scales
from ablate.report.figures.theme import new_axes, theme

ACCURACY = Metric("max", 1 / 1024, floor=1 / 8, ceiling=1.0, solved=0.95)
LOSS = Metric("min", floor=2.08, ceiling=0.0)


@pytest.mark.parametrize(
    ("lows", "highs", "margin", "view"),
    [
        ([-0.5, -0.01, 0.0], [-0.4, 0.01, 0.02], 0.02, (-0.02, 0.02)),
        ([-0.03, -0.01], [0.01, 0.01], 0.02, None),
        ([np.nan], [np.nan], None, None),
        ([0.5, 1.0, 1.0], [0.5, 1.0, 1.0], None, None),
    ],
)
def test_a_closer_look_only_where_one_scale_hides_most_rows(lows, highs, margin, view):
    found = scales.zoomed(lows, highs, margin)
    assert (found[1:] == [scales.padded(*view)]) if view else len(found) == 1


@given(st.lists(st.floats(-2, 2), max_size=12))
def test_no_point_is_cut_at_an_edge(points):
    low, high = scales.clear_of(points, (-1.0, 1.0))
    assert low <= -1 < 1 <= high
    room = 0.9 * scales.EDGE * 2.0
    assert not [point for point in points if low <= point < low + room or high - room < point <= high]


def test_a_closer_look_has_no_mean_at_its_edge():
    rows = ([-0.5, -0.0219, -0.01, 0.0], [-0.4, -0.0219, 0.01, 0.02], 0.02)
    (_, near), (_, clear) = scales.zoomed(*rows), scales.zoomed(*rows, means=[-0.45, -0.0239, 0.0, 0.0])
    assert near == scales.padded(-0.0219, 0.02)
    assert clear[0] < -0.0239 - 0.02 * (clear[1] - clear[0])
    assert clear[1] == near[1]
    assert scales.zoomed(*rows, means=[-0.45, 0.0, 0.0, 0.0])[1] == near


def test_no_axis_goes_far_beyond_what_a_metric_can_be():
    low, high = scales.padded(0.2, 1.0, metric=ACCURACY)
    assert (low < 0.2, 1 < high < 1.05) == (True, True)
    low, high = scales.padded(0.0, 2.0, metric=LOSS)
    assert (-0.1 < low < 0, high > 2) == (True, True)
    assert scales.padded(0.0, 2.0, metric=ACCURACY)[1] > 2, "what is there is shown"


def test_what_a_metric_can_be():
    assert scales.meaningful_range(ACCURACY) == (1 / 8, 1.0)
    assert scales.meaningful_range(LOSS) == (0.0, 2.08)
    assert scales.meaningful_range(Metric("max")) == (-np.inf, np.inf)
    assert scales.meaningful_range(Metric("min", ceiling=0.0)) == (0.0, np.inf)


@given(st.floats(1e-9, 1e9), st.floats(1.01, 1e9), st.booleans())
def test_ticks_are_few_round_and_within_the_range(low, ratio, log):
    ticks = scales.round_ticks(low, low * ratio, log=log)
    assert 1 <= len(ticks) <= scales.MAX_TICKS or ratio < 1.2
    for tick in ticks:
        assert low * (1 - 1e-6) <= tick <= low * ratio * (1 + 1e-6)


@pytest.mark.slow
@given(st.lists(st.floats(1e-6, 1e3), min_size=1, max_size=40, unique=True), st.integers(3, 6), st.booleans())
def test_values_at_an_axis_never_stand_on_one_another(values, most, log):
    values = sorted(values)
    with theme():
        _, ax = new_axes(1.0)
        ax.set(xscale="log" if log else "linear", xlim=(values[0] / 2, values[-1] * 2))
        scales.mark_values(ax, values, most)
    shown = ax.get_xticks()
    assert set(shown) <= set(values)
    assert 1 <= len(shown) <= most
    places = np.log(shown) if log else shown
    assert len(shown) == 1 or np.diff(places).min() > 0.5 * (places[-1] - places[0]) / (most - 1)


@pytest.mark.parametrize(
    ("say", "value", "words"),
    [
        (wording.seconds, 2e-3, "2 ms"),
        (wording.seconds, 1.5, "1.5 s"),
        (wording.compact, 26_000.0, "26k"),
        (wording.brief, 0.001, "0.001"),
        (wording.brief, 100.0, "100"),
    ],
)
def test_a_number_at_an_axis_has_no_more_digits_than_it_needs(say, value, words):
    assert scales.in_units(value, say) == words


def test_guessing_and_solved_are_drawn_where_they_are_in_view():
    with theme():
        _, ax = new_axes(1.0)
        ax.set(ylim=(0.5, 1.0))
        assert scales.reference_lines(ax, ACCURACY) == {"solved": 0.95}
    assert [line.get_ydata()[0] for line in ax.lines] == [0.95]


def test_a_closer_look_has_no_mean_under_the_arrow_of_its_own_interval():
    """The last interval leaves the panel at the right, where its mean has room for the arrow."""
    lows = [-0.143, -0.021, -0.016, 0.006]
    highs = [-0.081, 0.019, 0.014, 0.034]
    means = [-0.112, -0.001, -0.001, 0.0198]
    _, near = scales.zoomed(lows, highs, 0.02)
    _, clear = scales.zoomed(lows, highs, 0.02, means)
    assert clear[1] - means[3] >= 0.9 * scales.ARROW_EDGE * (near[1] - near[0])
    assert clear[0] == near[0]
