from __future__ import annotations

import itertools
import sys

import matplotlib
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.figure import Figure
from synthetic import study

from ablate.analysis.compare import compare
from ablate.core.evidence import Evidence
from ablate.report import figure_data, figures, layout, style

TASK = "recall"


def drawn(evidence: Evidence, kind: str, width: float) -> Figure:
    facts = evidence.facts
    known = figure_data.metric_facts(facts, TASK)
    with style.context():
        if kind == "forest":
            data = figure_data.forest(facts, compare(evidence), TASK)
            return figures.forest(data, facts.metric, facts.margin, width)
        if kind == "seeds":
            return figures.seeds(figure_data.seeds(evidence, TASK), facts.metric, known, width)
        data = figure_data.curves(evidence, TASK, "train_loss")
        broken = figure_data.broken_curves(evidence, TASK, "train_loss")
        return figures.curves(data, broken, figure_data.panels(facts), "train loss", known, width)


@pytest.mark.parametrize("width", [style.WIDE, style.NARROW])
@pytest.mark.parametrize("kind", ["forest", "seeds", "curves"])
def test_nothing_is_written_outside_the_figure(evidence: Evidence, kind: str, width: float) -> None:
    figure = drawn(evidence, kind, width)
    with style.context():
        figure.canvas.draw()
        renderer = figure.canvas.get_renderer()  # type: ignore[attr-defined]
        written = [*figure.texts, *(t for ax in figure.axes for t in [*ax.texts, ax.title, ax._left_title])]
        for text in written:
            if text.get_text():
                box = text.get_window_extent(renderer)
                assert box.x0 >= -1, text.get_text()
                assert box.x1 <= figure.bbox.width + 1, text.get_text()
                assert box.y1 <= figure.bbox.height + 1, text.get_text()


def test_labels_beside_the_rows_do_not_overlap(evidence: Evidence) -> None:
    figure = drawn(evidence, "forest", style.WIDE)
    figure.canvas.draw()
    renderer = figure.canvas.get_renderer()  # type: ignore[attr-defined]
    boxes = sorted(
        (t.get_window_extent(renderer) for t in figure.texts if t.get_ha() == "left"), key=lambda b: b.y0
    )
    assert all(below.y1 <= above.y0 + 1 for below, above in itertools.pairwise(boxes))


def test_the_forest_shows_zero_margin_and_every_difference(evidence: Evidence) -> None:
    figure = drawn(evidence, "forest", style.WIDE)
    data = figure_data.forest(evidence.facts, compare(evidence), TASK)
    full = figure.axes[0]
    low, high = full.get_xlim()
    assert low < min(data["ci_low"].min(), -0.02)
    assert high > max(data["ci_high"].max(), 0.02)
    points = [line.get_xdata()[0] for line in full.lines if len(line.get_xdata()) == 1]
    np.testing.assert_allclose(points, data["diff"])
    markers = [line.get_marker() for line in full.lines if len(line.get_xdata()) == 1]
    assert markers == [style.VERDICTS[verdict].marker for verdict in data["verdict"]]
    assert len(figure.axes) == 2, "one difference dwarfs the rest, so that there is a closer look"


def test_a_single_seed_is_in_view_without_an_interval() -> None:
    alone = study(factors={"a": {"x": 0.0, "y": -0.3}}, named={}, claims=False, num_seeds=1, trouble=False)
    full = drawn(alone, "forest", style.WIDE).axes[0]
    low, high = full.get_xlim()
    data = figure_data.forest(alone.facts, compare(alone), TASK)
    assert data["ci_low"].isna().all()
    assert data["diff"].between(low, high).all()


def test_every_seed_is_a_point(evidence: Evidence) -> None:
    data = figure_data.seeds(evidence, TASK)
    full = drawn(evidence, "seeds", style.WIDE).axes[0]
    points = sum(len(line.get_xdata()) for line in full.lines if line.get_marker() == "o")
    assert points == data["value"].notna().sum() + data["baseline"].notna().sum()


def test_a_diverged_run_does_not_flatten_the_others(evidence: Evidence) -> None:
    figure = drawn(evidence, "curves", style.WIDE)
    assert all(ax.get_ylim()[1] < 10 for ax in figure.axes)
    assert len(figure.axes) == len(figure_data.panels(evidence.facts))


def test_drawing_leaves_the_settings_of_the_caller_alone(evidence: Evidence) -> None:
    with matplotlib.rc_context({"font.size": 21.0}):
        before = dict(matplotlib.rcParams)
        drawn(evidence, "forest", style.NARROW)
        assert dict(matplotlib.rcParams) == before
    if "matplotlib.pyplot" in sys.modules:
        assert not sys.modules["matplotlib.pyplot"].get_fignums()


@settings(deadline=None)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_labels_are_moved_apart_but_keep_their_order(wanted: list[float]) -> None:
    places = layout.apart(wanted, 0.125, 0.0, 1.0)
    order = np.argsort(wanted, kind="stable")
    assert (np.diff(np.array(places)[order]) >= 0.125 - 1e-9).all()
    assert min(places) >= -1e-9
    assert max(places) <= 1 + 1e-9


def test_labels_that_do_not_collide_stay() -> None:
    assert layout.apart([0.1, 0.9, 0.5], 0.125, 0.0, 1.0) == [0.1, 0.9, 0.5]


def test_a_closer_look_only_where_one_scale_hides_most_rows() -> None:
    assert layout.closer([(-0.5, -0.4), (-0.01, 0.01), (0.0, 0.02)], (-0.02, 0.02)) == (-0.02, 0.02)
    assert layout.closer([(-0.03, 0.01), (-0.01, 0.01)], (-0.02, 0.02)) is None
    assert layout.closer([(np.nan, np.nan)], (0.0, 0.0)) is None


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_text_stands_out_from_its_paper(theme: str) -> None:
    def luminance(name: str) -> float:
        code = getattr(style.PALETTE[name], theme)
        parts = [int(code[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [x / 12.92 if x <= 0.03928 else ((x + 0.055) / 1.055) ** 2.4 for x in parts]
        return float(np.dot([0.2126, 0.7152, 0.0722], linear))

    paper = luminance("paper")
    for name in ("ink", "soft", *style.LEVELS):
        dim, bright = sorted([luminance(name), paper])
        assert (bright + 0.05) / (dim + 0.05) >= 4.5, name
