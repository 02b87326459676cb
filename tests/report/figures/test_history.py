import numpy as np
import pytest

from ablate.report.figures.history import history
from ablate.report.figures.theme import theme


@pytest.mark.slow
def test_every_setting_in_its_order_and_the_best_so_far(drawn, of_study):
    data = of_study("swept")["sweep-history"].data
    (ax,) = drawn("sweep-history", "swept").axes
    points = ax.collections[0]
    np.testing.assert_allclose(points.get_offsets(), data[["number", "value"]])
    (line,) = ax.lines
    np.testing.assert_array_equal(line.get_ydata(), np.maximum.accumulate(data["value"]))
    assert line.get_drawstyle() == "steps-post"
    assert data["number"].is_monotonic_increasing
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["a setting", "best so far"]


@pytest.mark.slow
@pytest.mark.parametrize("count", [1, 2])
def test_few_settings(of_study, count):
    with theme():
        (ax,) = history(of_study("swept")["sweep-history"].data.head(count), "accuracy").axes
        ax.figure.draw_without_rendering()
    assert ax.get_ylabel() == "accuracy"
