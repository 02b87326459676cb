import numpy as np
import pytest
from matplotlib.colors import to_hex

from ablate.report.figures.theme import colour


@pytest.mark.slow
def test_the_loss_of_each_variant_over_rates_with_its_band(drawn, of_study):
    picture = of_study("stressed")["learning-rates"]
    (ax,) = drawn("learning-rates", "stressed").axes
    assert ax.get_xscale() == "log"
    lines = [line for line in ax.lines if line.get_marker() == "o"]
    assert len(ax.collections) == 3
    for line, (variant, rows) in zip(lines, picture.data.groupby("variant", sort=False), strict=True):
        np.testing.assert_array_equal(line.get_xdata(), rows["value"])
        np.testing.assert_array_equal(line.get_ydata(), rows["loss"])
        assert (to_hex(line.get_color()) == colour("ink")) == (variant == "baseline")


def test_a_cross_says_how_many_runs_diverged(drawn, of_study):
    rows = of_study("stressed")["learning-rates"].data.query("diverged > 0")
    assert len(rows) == 2
    (ax,) = drawn("learning-rates", "stressed").axes
    crosses = [line for line in ax.lines if line.get_marker() == "X"]
    assert [line.get_xdata()[0] for line in crosses] == list(rows["value"])
    told = [text.get_text() for text in ax.texts if " of " in text.get_text()]
    assert told == [f"{row.diverged} of {row.n}" for row in rows.itertuples()]
