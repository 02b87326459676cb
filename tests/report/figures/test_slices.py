import numpy as np
import pandas as pd
import pytest

from ablate.report.figures.slices import slices
from ablate.report.figures.theme import theme
from figures.looks import words


@pytest.mark.slow
def test_a_panel_a_path_named_in_words_without_quotes(drawn, of_study):
    data, (names, log, label) = (
        of_study("swept")["sweep-slices"].data,
        of_study("swept")["sweep-slices"].options,
    )
    figure = drawn("sweep-slices", "swept")
    assert [ax.get_xlabel() for ax in figure.axes] == list(names.values())
    assert label == "validation accuracy"
    seen = [text.get_text() for text, _ in words(figure)]
    assert {"attention", "lstm", "gmlp", "relu"} <= set(seen)
    assert not any(quote in said for said in seen for quote in "\"'`")
    for ax, path in zip(figure.axes, names, strict=True):
        (points,) = ax.collections
        tried = data[data[path].notna()]
        np.testing.assert_allclose(points.get_offsets()[:, 1], tried["value"])
        assert ax.get_xscale() == ("log" if path in log else "linear")
        if path == "training.lr":
            np.testing.assert_allclose(points.get_offsets()[:, 0], tried[path].astype(float))


def test_labels_stand_in_rising_order_numbers_before_words_whatever_was_tried_first():
    data = pd.DataFrame({"number": range(5), "value": range(5), "a.b": ["none", "16", "8", "all", "8"]})
    with theme():
        (ax,) = slices(data, {"a.b": "b"}, [], "accuracy").axes
    assert [label.get_text() for label in ax.get_xticklabels()] == ["8", "16", "all", "none"]
    (points,) = ax.collections
    assert points.get_offsets()[:, 0].tolist() == [3, 1, 0, 2, 0]


def test_later_settings_are_darker():
    data = pd.DataFrame({"number": range(4), "value": [0.1] * 4, "a.b": [1.0, 2.0, 3.0, 4.0]})
    with theme():
        (ax,) = slices(data, {"a.b": "b"}, [], "accuracy").axes
        ax.figure.draw_without_rendering()
    brightness = ax.collections[0].get_facecolors()[:, :3].mean(axis=1)
    assert (np.diff(brightness) < 0).all()
    assert list(ax.get_xticks()) == [1, 2, 3, 4], "few values are written themselves"
