import itertools
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.collections import LineCollection, PathCollection
from matplotlib.colors import to_hex
from matplotlib.text import Annotation
from scipy import stats

from ablate.core.facts import BASELINE
from ablate.core.metric import Metric
from ablate.report.figures import cost
from ablate.report.figures.cost import Box, CostAxis, against_cost
from ablate.report.figures.theme import PAGE, colour, theme
from ablate.report.sections import cost as section
from figures import looks

KNOWN = Metric("max", 0.001, 0.1, 1.0, 0.95)
SIZES = CostAxis("parameters", "parameters", str)
TIMES = CostAxis("step_seconds", "time of a step", str)


def points(number):
    rng = np.random.default_rng(1)
    means = 0.9 + 0.05 * rng.random(number)
    return pd.DataFrame(
        {
            "variant": [BASELINE, *(f"v{i}" for i in range(1, number))],
            "label": [BASELINE, *(f"level={i}" for i in range(1, number))],
            "parameters": 1000.0 + (np.arange(number) % 2),
            "step_seconds": 10.0 ** (3 + np.arange(number) % 4),
            "n": 3,
            "mean": means,
            "low": means - 0.2,
            "high": means + 0.2,
        }
    )


def figure(data, *costs, metric=KNOWN, style=PAGE):
    with theme(style):
        found = against_cost(data, costs or (SIZES,), metric, "accuracy")
        found.set_dpi(72)
        found.draw_without_rendering()
    return found


def names(ax):
    return [text for text in ax.texts if isinstance(text, Annotation)]


def front(ax):
    return next(line for line in ax.lines if line.get_drawstyle() == "steps-post")


def test_means_with_marginal_intervals_and_costs(evidence):
    data = section.tradeoff(evidence, "recall", {}).set_index("variant")
    assert data.index[0] == BASELINE
    assert "placebo" not in data.index
    row = data.loc["training.lr=0.3"]
    values = evidence.trials.query("variant == 'training.lr=0.3' and status == 'completed'")["accuracy"]
    low, high = stats.t.interval(0.95, len(values) - 1, values.mean(), stats.sem(values))
    assert (row["n"], row["label"]) == (4, "learning rate 0.3")
    assert (row["mean"], row["low"], row["high"]) == pytest.approx((values.mean(), low, high))
    assert row["parameters"] == 25_000
    assert np.isnan(row["training_flops"])
    assert [shown.column for shown in section.varying(data)] == ["parameters"]
    assert data["label"].is_unique


def test_training_flops_where_they_are_known_else_parameters(evidence):
    def costs(flops):
        variants = [
            replace(variant, training_flops={"recall": next(flops)}, examples={"recall": 6_400})
            for variant in evidence.facts.variants
        ]
        found = replace(evidence, facts=replace(evidence.facts, variants=variants))
        return section.tradeoff(found, "recall", {})

    data = costs(iter(range(1_000, 3_000, 100)))
    assert data["training_flops"].iloc[0] == 1_000 * 6_400
    assert [shown.column for shown in section.varying(data)] == ["training_flops"], (
        "not both, which say one thing"
    )
    data = costs(iter([1_000] * 20))
    assert [shown.column for shown in section.varying(data)] == ["parameters"]


@pytest.mark.parametrize(("ratio", "is_shown"), [(1.0, False), (1.019, False), (1.021, True)])
def test_costs_within_two_percent_have_no_figure(ratio, is_shown):
    data = points(3).assign(parameters=[1000.0, 1000.0 * ratio, 1000.0], step_seconds=np.nan)
    assert bool(section.varying(data)) == is_shown


@pytest.mark.fast_cases(2)
@pytest.mark.parametrize("number", [2, 9, 40])
def test_every_variant_is_a_point_with_its_interval_and_few_are_named(number):
    data = points(number)
    found = figure(data, SIZES, TIMES)
    for ax, column in zip(found.axes, ("parameters", "step_seconds"), strict=True):
        marks = [drawn for drawn in ax.collections if isinstance(drawn, PathCollection)]
        offsets = np.concatenate([drawn.get_offsets() for drawn in marks])
        shown = np.array(sorted(offsets.tolist(), key=lambda point: point[1]))
        np.testing.assert_allclose(shown, data[[column, "mean"]].sort_values("mean"))
        (bars,) = [drawn for drawn in ax.collections if isinstance(drawn, LineCollection)]
        ends = sorted((*segment[:, 1],) for segment in bars.get_segments())
        assert ends == sorted(zip(data["low"], data["high"].clip(upper=1.0), strict=True)), (
            "as far as possible"
        )
        words = [text.get_text() for text in names(ax)]
        assert len(words) == len(set(words)) <= cost.MAX_NAMED
        assert set(words) <= set(data["label"])
        assert BASELINE in words


def test_the_baseline_is_ink_among_blue():
    (ax,) = figure(points(3)).axes
    shades = {text.get_text(): text.get_color() for text in names(ax)}
    assert shades == {BASELINE: colour("ink"), "level=1": colour("blue")}, "the third is too near to be named"
    others, baseline = [drawn for drawn in ax.collections if isinstance(drawn, PathCollection)]
    assert to_hex(baseline.get_facecolors()[0]) == colour("ink"), "drawn last, so that nothing hides it"
    assert baseline.get_sizes()[0] > others.get_sizes()[0]


def test_a_mean_beyond_guessing_is_in_view_and_its_interval_reaches_it():
    loss = Metric("min", floor=2.3, ceiling=0.0)
    data = points(2).assign(mean=[1.0, 2.9], low=[0.9, 2.5], high=[1.1, 3.3])
    (ax,) = figure(data, metric=loss).axes
    assert ax.get_ylim()[1] > 2.9
    (bars,) = [drawn for drawn in ax.collections if isinstance(drawn, LineCollection)]
    assert max(segment[:, 1].max() for segment in bars.get_segments()) == 2.9


@pytest.mark.parametrize("direction", ["max", "min"])
def test_the_line_joins_what_nothing_beats_on_both(direction):
    data = points(40).assign(step_seconds=10.0 ** (3 + np.random.default_rng(5).random(40)))
    up = 1 if direction == "max" else -1
    (ax,) = figure(data, TIMES, metric=Metric(direction)).axes
    pairs = list(zip(data["step_seconds"], data["mean"], strict=True))
    best = [
        (seconds, mean)
        for seconds, mean in pairs
        if not any(
            up * other >= up * mean and less <= seconds and (less, other) != (seconds, mean)
            for less, other in pairs
        )
    ]
    assert sorted(zip(*front(ax).get_data(), strict=True)) == sorted(best)


def test_one_run_has_a_mean_without_an_interval():
    data = points(2).assign(low=np.nan, high=np.nan)
    (ax,) = figure(data).axes
    (bars,) = [drawn for drawn in ax.collections if isinstance(drawn, LineCollection)]
    assert all(np.ptp(segment[:, 1]) == 0 for segment in bars.get_segments())


def test_ticks_are_exact():
    means = np.array([0.9688, 0.9823, 0.9661])
    data = points(3).assign(mean=means, low=means - 0.005, high=means + 0.005)
    data = data.assign(parameters=[26_087.0, 26_093.0, 25_930.0])
    (axis, *_) = section.known_costs()[1:]
    (ax,) = figure(data, axis).axes
    low, high = ax.get_ylim()
    assert low < 0.9611 < 0.9873 < high
    ticks = list(zip(ax.get_xticks(), (label.get_text() for label in ax.get_xticklabels()), strict=True))
    assert len(ticks) > 2
    for tick, label in ticks:
        assert float(label.removesuffix("k")) * 1000 == pytest.approx(tick, rel=1e-9)


SIZE = (4.0, 2.0)
"""Inches of a panel."""
PLACES = st.tuples(st.floats(0, SIZE[0]), st.floats(0, SIZE[1])).map(np.array)


@pytest.mark.slow
@given(st.lists(PLACES, min_size=1, max_size=16))
def test_each_name_is_inside_and_free_of_those_before_it(places):
    taken = []
    for x, y in places:
        name = cost._free_name("low-rank values", (x, y), SIZE, taken)
        if name is None:
            continue
        assert 0 <= name.box.left < name.box.right <= SIZE[0]
        assert 0 <= name.box.bottom < name.box.top <= SIZE[1]
        assert abs(name.box.middle - y) <= 1.25 * cost.LINE + 1e-9
        assert not any(name.box.overlaps(other) for other in taken)
        taken.append(name.box)


@pytest.mark.parametrize(("x", "side"), [(0.5, "left"), (3.5, "right")])
def test_a_name_lies_towards_the_middle_where_nothing_is_in_its_way(x, side):
    name = cost._free_name("batch norm", np.array([x, 1.0]), SIZE, [])
    assert name.side == side
    assert name.box.bottom > 1.0, "above a line that goes from its point to the right"
    beside = Box(*((0.6, 0.0, 1.0, 2.0) if side == "left" else (3.0, 0.0, 3.4, 2.0)))
    moved = cost._free_name("batch norm", np.array([x, 1.0]), SIZE, [beside])
    assert moved is None or not moved.box.overlaps(beside)
    assert cost._free_name("batch norm", np.array([x, 1.0]), SIZE, [Box(0.0, 0.0, *SIZE)]) is None
    touching = Box(name.box.right, 0.0, name.box.right + 1, 2.0)
    assert cost._free_name("batch norm", np.array([x, 1.0]), SIZE, [touching]) == name


def test_names_of_a_crowd_are_those_of_the_baseline_and_the_front_clear_of_all_lines():
    means = 0.55 + 0.005 * np.array([0.0, 1.0, 0.1, -0.1, -0.2, 0.2, -0.9, -8.0])
    data = points(8).assign(mean=means, low=means - 0.004, high=means + 0.004)
    data = data.assign(parameters=[*[393.0] * 6, 397.0, 192.0])
    found = figure(data)
    (ax,) = found.axes
    boxes = {text.get_text(): text.get_window_extent() for text in names(ax)}
    assert set(boxes) == {BASELINE, "level=1", "level=7"}
    for (x, y), (next_x, next_y) in itertools.pairwise(ax.transData.transform(front(ax).get_xydata())):
        for box in boxes.values():
            assert not (box.y0 < y < box.y1 and box.x0 < next_x and x < box.x1)
            assert not (box.x0 < next_x < box.x1 and box.y0 < next_y and y < box.y1)
    assert not any(text.arrow_patch for text in names(ax))


CLOUDS = st.lists(
    st.tuples(st.floats(1e3, 1e5), st.floats(0.2, 1.0), st.sampled_from(["x", "RMS norm", "low-rank values (rank 8)"])),
    min_size=2, max_size=20,
)  # fmt: skip


@pytest.mark.slow
@given(CLOUDS, st.booleans())
@settings(max_examples=25)
def test_no_two_names_overlap_wherever_the_points_lie(cloud, in_paper):
    costs, means, labels = zip(*cloud, strict=True)
    data = pd.DataFrame({"variant": [BASELINE, *(f"v{i}" for i in range(1, len(cloud)))], "label": labels})
    data = data.assign(parameters=costs, mean=means, low=np.nan, high=np.nan)
    found = figure(data, style=looks.settings(looks.COLUMN if in_paper else None))
    boxes = [(text, box) for text, box in looks.words(found) if isinstance(text, Annotation)]
    assert boxes
    for i, (text, box) in enumerate(boxes):
        assert -1 <= box.x0 < box.x1 <= found.bbox.width + 1
        for other, beside in boxes[:i]:
            width = min(box.x1, beside.x1) - max(box.x0, beside.x0)
            height = min(box.y1, beside.y1) - max(box.y0, beside.y0)
            assert width <= 1 or height <= 2.5, (text, other)
