import pandas as pd
import pytest
from matplotlib.colors import to_hex

from ablate.report.figures.front import pareto_front
from ablate.report.figures.theme import colour, theme


def frame():
    return pd.DataFrame(
        {
            "number": range(4),
            "accuracy": [0.9, 0.8, 0.95, 0.7],
            "parameters": [1e3, 2e3, 3e3, 4e3],
            "seconds": [1.0, 2.0, 3.0, 4.0],
            "front": [True, False, True, False],
        }
    )


def test_settings_over_two_objectives_with_a_line_along_the_front():
    with theme():
        labels = {"accuracy": "validation accuracy", "parameters": "parameters"}
        (ax,) = pareto_front(frame(), labels, {"accuracy": "max", "parameters": "min"}).axes
        ax.figure.draw_without_rendering()
    (points,) = ax.collections
    assert points.get_offsets().tolist() == frame()[["parameters", "accuracy"]].to_numpy().tolist()
    shades = [to_hex(shade) for shade in points.get_facecolors()]
    assert shades == [colour(name) for name in ("orange", "soft", "orange", "soft")]
    (line,) = ax.lines
    assert list(zip(*line.get_data(), strict=True)) == [(1e3, 0.9), (3e3, 0.95)]
    assert ax.get_xlabel() == "parameters"
    assert any(label.get_text() == "2k" for label in ax.get_xticklabels())


@pytest.mark.slow
def test_the_front_of_a_sweep_is_that_of_its_table(drawn, of_study):
    data = of_study("swept")["sweep-front"].data
    (ax,) = drawn("sweep-front", "swept").axes
    assert len(ax.collections[0].get_offsets()) == len(data)
    known = data[data["front"].astype(bool)].sort_values("parameters")
    assert list(ax.lines[0].get_xdata()) == pytest.approx(list(known["parameters"]))


def test_three_objectives_have_a_panel_for_each_other_one():
    labels = {"accuracy": "validation accuracy", "parameters": "parameters", "seconds": "seconds"}
    with theme():
        axes = pareto_front(frame(), labels, dict.fromkeys(labels, "min")).axes
    assert [ax.get_xlabel() for ax in axes] == ["parameters", "seconds"]
    assert not any(ax.lines for ax in axes), "a line would join what is on the front by a third objective"


@pytest.mark.parametrize(("direction", "style"), [("min", "steps-post"), ("max", "steps-pre")])
def test_the_line_passes_no_corner_that_nothing_has_reached(direction, style):
    labels = {"accuracy": "accuracy", "other": "other"}
    data = frame().assign(other=[0.9, 0.7, 0.8, 0.6])
    with theme():
        (ax,) = pareto_front(data, labels, {"accuracy": "max", "other": direction}).axes
    assert ax.lines[0].get_drawstyle() == style
