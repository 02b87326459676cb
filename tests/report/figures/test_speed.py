import numpy as np
import pandas as pd
import pytest

from ablate.report.figures.speed import speed_ratios
from ablate.report.figures.theme import colour, theme
from figures.looks import beside, intervals


@pytest.mark.slow
def test_ratios_stand_around_one_with_what_two_copies_differ_by(drawn, of_study):
    picture = of_study("only_timed")["speed"]
    assert len(picture.data) == 3
    (ax,) = drawn("speed", "only_timed").axes
    assert ax.get_xscale() == "log"
    shown = intervals(ax)
    assert [row.value for row in shown] == pytest.approx(list(picture.data["value"]))
    assert [row.low for row in shown] == pytest.approx(list(picture.data["low"]))
    assert [row.high for row in shown] == pytest.approx(list(picture.data["high"]))
    assert list(beside(ax).values()) == list(picture.data["told"])
    slack = picture.options[-1]
    (band,) = ax.patches
    assert (band.get_x(), band.get_x() + band.get_width()) == pytest.approx((1 / (1 + slack), 1 + slack))
    assert [row.shade for row in shown] == [colour(name) for name in ("orange", "soft", "blue")]


def test_what_overlaps_the_band_is_grey():
    data = pd.DataFrame(
        {
            "label": list("abcd"),
            "value": [1.2, 1.2, 0.8, 1.0],
            "low": [1.06, 1.04, 0.7, np.nan],
            "high": [1.3, 1.3, 0.94, np.nan],
            "told": "×",
        }
    )
    with theme():
        (ax,) = speed_ratios(data, "time", 0.05).axes
        ax.figure.draw_without_rendering()
    assert [row.shade for row in intervals(ax)] == [
        colour(name) for name in ("orange", "soft", "blue", "soft")
    ]
    assert all(label.get_text().startswith("×") for label in ax.get_xticklabels())
