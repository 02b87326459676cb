from __future__ import annotations

import dataclasses
import itertools

import numpy as np
import pandas as pd
import pytest
import searches as made
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from ablate.core.metric import Metric
from ablate.core.search_table import Parameter, SearchTable
from ablate.report import searches
from ablate.report.draw import settings, style
from ablate.report.section import Material, Picture, pictures, sections
from ablate.search.importances import importances

OBJECTIVES = (made.ACCURACY, made.PARAMETERS)


def found_in(search: SearchTable, found: pd.DataFrame | None = None) -> dict[str, Picture]:
    """The pictures of the sections of a sweep, by name."""
    empty = pd.DataFrame()
    material = Material(made.after(search), empty, empty, searched=search, importances=found)
    mine = [
        section for section in sections() if section.name.startswith("sweep") and section.applies(material)
    ]
    return {picture.name: picture for section in mine for picture in pictures(section.blocks(material))}


def drawn(picture: Picture) -> Figure:
    with style.context():
        figure = picture.draw()
        FigureCanvasAgg(figure).draw()
    return figure


@pytest.mark.slow
@pytest.mark.parametrize("trials", [2, 10, 40, 500])
def test_nothing_is_written_outside_the_figure(trials: int) -> None:
    search = made.sweep(trials, OBJECTIVES, winners=3)
    found = found_in(search, importances(search, 1) if trials <= 40 else None)
    assert {"sweep-history", "sweep-front", "sweep-slices", "sweep-parallel"} <= set(found)
    for name, picture in found.items():
        figure = drawn(picture)
        assert figure.get_size_inches()[0] == style.WIDTH
        box = figure.get_tightbbox()
        assert box.x0 >= -0.02, name
        assert box.y0 >= -0.02, name
        assert box.x1 <= style.WIDTH + 0.02, name
        assert box.y1 <= figure.get_size_inches()[1] + 0.02, name


def test_ticks_beside_each_other_do_not_touch() -> None:
    for name, picture in found_in(made.sweep(40)).items():
        figure = drawn(picture)
        renderer = figure.canvas.get_renderer()  # type: ignore[attr-defined]
        for ax in figure.axes:
            boxes = [t.get_window_extent(renderer) for t in ax.get_xticklabels() if t.get_text()]
            assert all(a.x1 <= b.x0 + 1 for a, b in itertools.pairwise(boxes)), name


def test_every_setting_is_a_mark_of_its_status() -> None:
    search = made.sweep(40)
    picture = found_in(search)["sweep-history"]
    ax = drawn(picture).axes[0]
    points, ring = (c for c in ax.collections if len(c.get_offsets()) > 0)
    counts = picture.data["status"].value_counts()
    assert len(points.get_offsets()) == 40
    shapes = pd.Series([path.vertices.tobytes() for path in points.get_paths()])
    shades = pd.Series([tuple(shade) for shade in points.get_facecolors()])
    for marks in (shapes, shades):
        assert marks.groupby(picture.data["status"]).nunique().eq(1).all()
        assert marks.nunique() == len(counts)
    chosen = picture.data[picture.data["chosen"] != ""]
    np.testing.assert_allclose(ring.get_offsets(), chosen[["number", "value"]])
    assert {text.get_text() for text in drawn(picture).legends[0].get_texts()} == {
        *("best so far", "winner"),
        *counts.index,
    }


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_what_has_no_value_lies_at_the_worse_edge(objective: object) -> None:
    values = pd.Series([0.9, 0.91, 0.92, 0.93, np.nan])
    view = settings.View(values, objective)  # type: ignore[arg-type]
    lost = view.places(values).iloc[-1]
    worst, best = (view.low, view.high) if objective is made.ACCURACY else (view.high, view.low)
    assert abs(lost - best) > abs(worst - best)
    assert min(view.band) < lost < max(view.band)


def test_an_axis_has_no_room_above_the_best_possible_value() -> None:
    values = pd.Series([0.2, 0.6, 1.0])
    assert settings.View(values, made.ACCURACY).high > 1.05
    assert 1 < settings.View(values, made.ACCURACY, Metric("max", ceiling=1.0)).high < 1.02


def test_a_few_bad_values_do_not_flatten_the_rest() -> None:
    values = pd.Series([0.9, 0.91, 0.92, 0.93, 0.1])
    view = settings.View(values, made.ACCURACY)
    assert view.low > 0.85
    assert view.places(values).iloc[-1] == sum(view.band) / 2


def test_bars_are_the_importances_and_lines_their_percentiles() -> None:
    search = made.sweep(40)
    picture = found_in(search, importances(search, 2))["sweep-importances"]
    ax = drawn(picture).axes[0]
    data = picture.data.sort_values("evaluator", kind="stable")
    np.testing.assert_allclose(
        [bar.get_width() for bars in ax.containers for bar in bars],
        data["importance"],  # type: ignore[union-attr]
    )
    ends = [line.get_xdata() for line in ax.lines if len(line.get_xdata()) == 2]  # type: ignore[arg-type]
    np.testing.assert_allclose(ends, data[["low", "high"]])


def test_a_surface_only_between_numbers_that_are_not_whole() -> None:
    space = [made.SPACE[0], Parameter("model.dropout.residual", "float", 0.0, 0.4)]
    for trials, parameters, there in (
        (9, space, False),
        (40, space, True),
        (40, made.SPACE[5:] + space[:1], False),
    ):
        search = made.sweep(trials)
        search = SearchTable(dataclasses.replace(search.facts, parameters=parameters), search.trials)
        picture = found_in(search)["sweep-contour"]
        names = [type(found).__name__ for found in drawn(picture).axes[0].collections]
        assert ("TriContourSet" in names) == there
        assert ("interpolated" in picture.caption) == there


def test_the_front_is_a_line_through_its_points() -> None:
    picture = found_in(made.sweep(40, OBJECTIVES, winners=2))["sweep-front"]
    ax = drawn(picture).axes[0]
    line = next(found for found in ax.lines if found.get_drawstyle() == "steps-post")
    assert len(line.get_xdata()) == picture.data["front"].sum()  # type: ignore[arg-type]
    assert (np.diff(line.get_ydata()) > 0).all(), "who pays more gets more"
    assert {text.get_text() for text in ax.texts} == {"winner", "winner-2"}


def test_choices_are_told_apart_and_shown_by_name() -> None:
    picture = found_in(made.sweep(40))["sweep-slices"]
    ax = next(ax for ax in drawn(picture).axes if ax.get_title("left") == "mixer")
    assert [label.get_text() for label in ax.get_xticklabels()] == ["attention", "lstm", "gmlp"]
    mine = picture.data[picture.data["parameter"] == "model.mixer"]
    np.testing.assert_array_equal(np.round(ax.collections[0].get_offsets()[:, 0]), mine["place"])


def test_a_path_that_a_setting_lacks_is_passed_beside_its_axis() -> None:
    picture = found_in(made.sweep(40))["sweep-parallel"]
    ax = drawn(picture).axes[0]
    row = list(picture.data.columns[5:]).index("model.mixer.num_heads")
    outside = [line for line in ax.lines if len(line.get_xdata()) == 7 and line.get_xdata()[row] < 0]  # type: ignore[arg-type,index]
    assert len(outside) == picture.data["model.mixer.num_heads"].isna().sum()
    assert "none" in {text.get_text() for text in ax.texts}


def test_a_path_that_never_varies_and_settings_that_are_all_alike() -> None:
    search = made.sweep(15, trouble=False)
    space = [Parameter("a", "int", 16, 16), Parameter("b", "choice", choices=["x"])]
    alike = search.trials.assign(a=16, b="x", accuracy=0.5, chosen=None)
    found = found_in(SearchTable(dataclasses.replace(search.facts, parameters=space), alike))
    assert {"sweep-history", "sweep-slices", "sweep-parallel"} <= set(found)
    for picture in found.values():
        drawn(picture)


def test_settings_of_which_none_has_a_value() -> None:
    search = made.sweep(12)
    search.trials["status"] = "failed"
    search.trials["accuracy"] = np.nan
    assert found_in(search) == {}
    assert found_in(SearchTable(search.facts, search.trials.iloc[:0])) == {}


def test_axes_cover_what_was_searched() -> None:
    search = made.sweep(3)
    assert searches.Range.of(search, made.SPACE[0]) == searches.Range(1e-4, 1e-1, log=True)
    outside = search.trials.assign(**{"training.lr": 1.0})
    assert searches.Range.of(SearchTable(search.facts, outside), made.SPACE[0]).high == 1.0
