from __future__ import annotations

import dataclasses
import itertools

import numpy as np
import pandas as pd
import pytest
import searches
from matplotlib.figure import Figure

from ablate.core.searched import ParameterFacts, Searched
from ablate.report import search_data, search_figures, search_maps, style
from ablate.report.search_drawings import search_drawings
from ablate.search.importances import importances

SIZES = [style.WIDE, style.NARROW]
OBJECTIVES = (searches.ACCURACY, searches.PARAMETERS)


def drawn(searched: Searched, found: pd.DataFrame | None, width: float) -> dict[str, Figure]:
    with style.context():
        figures = {d.name: d.draw(width) for d in search_drawings(searched, found)}
        for figure in figures.values():
            figure.canvas.draw()
    return figures


@pytest.mark.parametrize("width", SIZES)
@pytest.mark.parametrize("trials", [2, 10, 40, 500])
def test_nothing_is_written_outside_the_figure_or_over_another(trials: int, width: float) -> None:
    made = searches.sweep(trials, OBJECTIVES, winners=3)
    found = importances(made, 1) if trials <= 40 else None
    figures = drawn(made, found, width)
    assert {"sweep-history", "sweep-front", "sweep-slices", "sweep-parallel"} <= set(figures)
    for name, figure in figures.items():
        renderer = figure.canvas.get_renderer()  # type: ignore[attr-defined]
        texts = [t for t in figure.texts if t.get_text()]
        boxes = [t.get_window_extent(renderer) for t in texts]
        for text, box in zip(texts, boxes, strict=True):
            assert box.x0 >= -1, (name, text.get_text())
            assert box.x1 <= figure.bbox.width + 1, (name, text.get_text())
            assert box.y0 >= -1, (name, text.get_text())
            assert box.y1 <= figure.bbox.height + 1, (name, text.get_text())
        for i, box in enumerate(boxes):
            for j in range(i):
                shared = box.intersection(box, boxes[j])
                over = 0.0 if shared is None else shared.width * shared.height
                assert over < 0.2 * min(box.width * box.height, boxes[j].width * boxes[j].height), (
                    name,
                    texts[i].get_text(),
                    texts[j].get_text(),
                )


@pytest.mark.parametrize("width", SIZES)
def test_ticks_beside_each_other_do_not_touch(width: float) -> None:
    for name, figure in drawn(searches.sweep(40), None, width).items():
        renderer = figure.canvas.get_renderer()  # type: ignore[attr-defined]
        for ax in figure.axes:
            boxes = [t.get_window_extent(renderer) for t in ax.get_xticklabels() if t.get_text()]
            assert all(a.x1 <= b.x0 + 1 for a, b in itertools.pairwise(boxes)), name


def marks(figure: Figure) -> dict[object, int]:
    """Marker → points of the first axes."""
    found: dict[object, int] = {}
    for line in figure.axes[0].lines:
        if line.get_linestyle() == "None":
            found[line.get_marker()] = found.get(line.get_marker(), 0) + len(line.get_xdata())
    return found


def test_every_setting_is_a_mark_of_its_status() -> None:
    made = searches.sweep(40)
    data = search_data.history(made, searches.ACCURACY)
    with style.context():
        figure = search_figures.history(data, searches.ACCURACY)
    counts = data["status"].value_counts()
    shown = marks(figure)
    for status in ("diverged", "pruned", "failed", "invalid"):
        assert shown[search_figures.MARKS[status].marker] == counts[status]
    # The ring around the winner is round as well.
    assert shown["o"] == counts["completed"] + 1
    assert len({mark.marker for mark in search_figures.MARKS.values()}) == len(search_figures.MARKS)


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_what_has_no_value_stands_at_the_worse_edge(objective: object) -> None:
    values = pd.Series([0.9, 0.91, 0.92, 0.93, np.nan])
    axis = search_figures.Upright(values, objective, 2.0, always=True)  # type: ignore[arg-type]
    lost = axis.places(values)[-1]
    worst, best = (axis.low, axis.high) if axis.up else (axis.high, axis.low)
    assert abs(lost - best) > abs(worst - best)
    assert axis.limits[0] < lost < axis.limits[1]


def test_a_few_bad_values_do_not_flatten_the_rest() -> None:
    values = pd.Series([0.9, 0.91, 0.92, 0.93, 0.1])
    axis = search_figures.Upright(values, searches.ACCURACY, 2.0, always=False)
    assert axis.band
    assert axis.low > 0.85
    assert axis.places(values)[-1] == axis.edge


def test_bars_are_the_importances() -> None:
    data = search_data.ranked(importances(searches.sweep(40), 2), "accuracy")
    with style.context():
        figure = search_figures.importances(data)
    widths = [patch.get_width() for patch in figure.axes[0].patches]
    np.testing.assert_allclose(widths, data["importance"])


def test_a_surface_only_where_there_are_enough_points() -> None:
    paths = searches.SPACE[0], searches.SPACE[5]
    for trials, there in ((9, False), (40, True)):
        made = searches.sweep(trials)
        data = search_data.plane(made, searches.ACCURACY, *paths)
        scales = [search_data.scale_of(made, path) for path in paths]
        axes = ((paths[0].path, scales[0]), (paths[1].path, scales[1]))
        with style.context():
            figure = search_maps.contour(data, axes, searches.ACCURACY)
        assert bool(figure.axes[0].collections) == there


def test_the_front_is_a_line_through_its_points() -> None:
    made = searches.sweep(40, OBJECTIVES)
    data = search_data.pareto(made, *OBJECTIVES)
    with style.context():
        figure = search_figures.pareto(data, *OBJECTIVES)
    line = next(found for found in figure.axes[0].lines if found.get_drawstyle() == "steps-post")
    assert len(line.get_xdata()) == data["front"].sum()
    assert (np.diff(line.get_ydata()) > 0).all(), "who pays more gets more"


def test_a_path_that_never_varies_and_settings_that_are_all_alike() -> None:
    made = searches.sweep(15, trouble=False)
    space = [ParameterFacts("a", "int", 16, 16), ParameterFacts("b", "choice", choices=["x"])]
    alike = made.trials.assign(a=16, b="x", accuracy=0.5, chosen=None)
    same = Searched(dataclasses.replace(made.facts, parameters=space), alike)
    for width in SIZES:
        assert {"sweep-history", "sweep-slices", "sweep-parallel"} <= set(drawn(same, None, width))


def test_settings_of_which_none_has_a_value() -> None:
    made = searches.sweep(12)
    made.trials["status"] = "failed"
    made.trials["accuracy"] = np.nan
    assert search_drawings(made, None) == []
    empty = Searched(made.facts, made.trials.iloc[:0])
    assert search_drawings(empty, None) == []
