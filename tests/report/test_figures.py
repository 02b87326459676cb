import re
import sys

import matplotlib
import numpy as np
import pandas as pd
import pytest
from synthetic import ACCURACY, study

from ablate.analysis.claims import judge_claims
from ablate.analysis.compare import compare
from ablate.core.facts import Evidence
from ablate.report.draw import marks, style
from ablate.report.draw import style as palette
from ablate.report.page import figures
from ablate.report.section import Material
from ablate.report.sections import curves, differences

TASK = "recall"
NAMES = ["forest", "seeds", "cost", "validation-accuracy", "train-loss"]


def material(evidence):
    return Material(evidence, compare(evidence), judge_claims(evidence))


@pytest.fixture(scope="module")
def drawn(evidence):
    return figures(material(evidence))


def test_the_figures_of_a_report_as_objects(drawn):
    assert list(drawn) == NAMES
    for figure in drawn.values():
        assert figure.get_facecolor()[:3] == pytest.approx((1, 1, 1), abs=0.01)
        assert figure.get_size_inches()[0] == style.WIDTH


@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_written_outside_a_figure_or_over_other_words(drawn, name):
    figure = drawn[name]
    with style.context():
        figure.draw_without_rendering()
    texts = [*figure.texts, *(t for ax in figure.axes for t in [*ax.texts, ax._left_title])]
    for ax in figure.axes:
        low, high = sorted(ax.get_ylim())
        texts += [t for t in ax.get_yticklabels() if t.get_visible() and low <= t.get_position()[1] <= high]
    boxes = [(t.get_text(), t.get_window_extent()) for t in texts if t.get_text().strip()]
    for words, box in boxes:
        assert box.x0 >= -1, words
        assert box.x1 <= figure.bbox.width + 1, words
        assert box.y0 >= -1, words
        assert box.y1 <= figure.bbox.height + 1, words
    if name in ("forest", "seeds", "cost"):
        for i, (words, box) in enumerate(boxes):
            for others, other in boxes[:i]:
                width = min(box.x1, other.x1) - max(box.x0, other.x0)
                height = min(box.y1, other.y1) - max(box.y0, other.y0)
                assert width <= 1 or height <= 2.5, f"{words} over {others}"


def test_the_forest_shows_zero_margin_and_every_difference(drawn, evidence):
    data = differences.forest(evidence.facts, compare(evidence), TASK)
    full, near = drawn["forest"].axes
    low, high = full.get_xlim()
    assert low < min(data["value"].min(), -0.02)
    assert high > max(data["value"].max(), 0.02)
    for verdict, rows in data.groupby("verdict"):
        shade = palette.colour(palette.VERDICTS[verdict].colour)
        points = [np.asarray(c.get_offsets())[:, 0] for c in full.collections if filled(c) == shade]
        assert any(len(of) == len(rows) and np.allclose(of, rows["value"]) for of in points), verdict
    assert not data["value"].between(*near.get_xlim()).all(), "one difference dwarfs the rest: a closer look"


def test_each_comparison_has_a_row_of_its_own_the_planned_ones_first(evidence):
    """Also where a variant is in several: as a main effect and as a cell, or with all others."""
    rows = compare(evidence)
    others = rows[rows["metric"] == "accuracy"].assign(baseline="x", exploratory=True)
    data = differences.forest(evidence.facts, pd.concat([others, rows], ignore_index=True), TASK)
    shown = data[~data["placebo"]]["verdict"] == palette.EXPLORATORY
    assert shown.any()
    assert shown.is_monotonic_increasing
    heights = [
        y
        for points in differences.draw_forest(data, "accuracy", 0.02).axes[0].collections
        if filled(points)
        for y in np.asarray(points.get_offsets())[:, 1]
    ]
    assert sorted(heights) == list(range(len(data)))


def filled(points):
    """The colour of points that are filled; empty for others."""
    colours = points.get_facecolors() if len(points.get_offsets()) else []
    return matplotlib.colors.to_hex(colours[0]) if len(colours) else ""


def test_a_single_seed_is_in_view_without_an_interval():
    alone = study(factors={"a": {"x": 0.0, "y": -0.3}}, named={}, claims=False, num_seeds=1, trouble=False)
    data = differences.forest(alone.facts, compare(alone), TASK)
    assert data["low"].isna().all()
    full = figures(material(alone))["forest"].axes[0]
    assert data["value"].between(*full.get_xlim()).all()


def test_no_axis_goes_beyond_what_a_metric_can_be():
    perfect = study(factors={"a": {"x": 0.5, "y": 0.5}}, named={}, claims=False, num_seeds=2, trouble=False)
    perfect = Evidence(perfect.facts, perfect.trials.assign(accuracy=1.0), perfect.curves)
    found = figures(material(perfect))
    axis = found["seeds"].axes[0]
    assert 1 < axis.get_xlim()[1] < 1.05
    assert max(t for t in axis.get_xticks() if t <= axis.get_xlim()[1]) <= 1
    assert found["validation-accuracy"].axes[0].get_ylim()[1] < 1.05
    few = study(factors={"a": {"x": 0.0, "y": -0.5}}, named={}, claims=False, num_seeds=2, trouble=False)
    trials = few.trials.assign(accuracy=[0.9, 0.2, 0.1, 0.8, 0.5, 0.5])
    wide = figures(material(Evidence(few.facts, trials, few.curves)))["forest"].axes[0].get_xlim()
    assert -1 < wide[0] < wide[1] < 1, "no accuracies differ by more, whatever the interval of two seeds is"
    assert marks.padded(0.0, 2.0, known=ACCURACY)[1] > 2, "what is there is shown"


def test_every_seed_is_a_point_and_every_pair_a_line(drawn, evidence):
    data = curves.seeds(evidence, TASK)
    full = drawn["seeds"].axes[0]
    base, points, lines = full.collections
    assert len(points.get_offsets()) == data["value"].notna().sum()
    assert len(base.get_offsets()) == data["baseline"].notna().sum()
    assert len(lines.get_segments()) == len(data)
    lost = {t.get_text() for t in drawn["seeds"].axes[-1].texts}
    assert {"1 diverged", "1 failed"} <= lost


def test_a_diverged_run_does_not_flatten_the_others_and_ends_in_a_cross(drawn, evidence):
    axes = {ax.get_legend().get_title().get_text(): ax for ax in drawn["train-loss"].axes}
    assert len(axes) == 8
    assert sum(ax.xaxis.get_visible() for ax in axes.values()) == 2, "ticks are drawn once a column"
    assert sum(ax.yaxis.get_visible() for ax in axes.values()) == 4, "and once a row"
    assert all(ax.get_ylim()[1] < 10 for ax in axes.values())
    crosses = {title: sum(line.get_marker() == "X" for line in ax.lines) for title, ax in axes.items()}
    assert crosses.pop("lr") == 1
    assert sum(crosses.values()) == 1, "the run that failed"
    legend = axes["position"].get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == [
        "baseline",
        "sin/cos positions",
        "no positions",
    ]


@pytest.mark.slow
def test_drawing_leaves_the_settings_of_the_caller_alone(evidence):
    with matplotlib.rc_context({"font.size": 21.0}):
        before = dict(matplotlib.rcParams)
        figures(material(evidence))
        assert dict(matplotlib.rcParams) == before
    if "matplotlib.pyplot" in sys.modules:
        assert not sys.modules["matplotlib.pyplot"].get_fignums()


def test_svg_in_a_page_keeps_what_is_seen(drawn):
    with style.context():
        figure = style.new_figure(1.0)
        figure.subplots().plot([0, 1], [0, 1], "o-")
        figure.text(0.1, 0.1, "a < b & c")
        first, second = (style.inlined(style.saved(figure, name)["svg"].decode()) for name in ("x", "y"))
    assert first.startswith("<svg")
    assert "a &lt; b &amp; c" in first
    identifiers = [set(re.findall(r'\sid="([^"]*)"', made)) for made in (first, second)]
    assert identifiers[0]
    assert not identifiers[0] & identifiers[1]
    assert set(re.findall(r'(?:href="#|url\(#)([^")]+)', first)) == identifiers[0]


@pytest.mark.parametrize(
    ("lows", "highs", "always", "view"),
    [
        ([-0.5, -0.01, 0.0], [-0.4, 0.01, 0.02], (-0.02, 0.02), (-0.02, 0.02)),
        ([-0.03, -0.01], [0.01, 0.01], (-0.02, 0.02), None),
        ([np.nan], [np.nan], (0.0, 0.0), None),
        ([0.5, 1.0, 1.0], [0.5, 1.0, 1.0], (1.0, 1.0), None),
    ],
)
def test_a_closer_look_only_where_one_scale_hides_most_rows(lows, highs, always, view):
    found = marks.views(lows, highs, always)
    assert (found[1:] == [marks.padded(*view)]) if view else len(found) == 1


@pytest.mark.parametrize("theme", [0, 1])
def test_text_stands_out_from_its_paper(theme):
    def luminance(name):
        code = palette.PALETTE[name][theme]
        parts = [int(code[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [x / 12.92 if x <= 0.03928 else ((x + 0.055) / 1.055) ** 2.4 for x in parts]
        return float(np.dot([0.2126, 0.7152, 0.0722], linear))

    paper = luminance("paper")
    for name in ("ink", "soft", *palette.LEVELS):
        dim, bright = sorted([luminance(name), paper])
        assert (bright + 0.05) / (dim + 0.05) >= 4.5, name
