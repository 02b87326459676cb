import numpy as np
import pandas as pd
import pytest

from ablate.report.figures.importance import importances
from ablate.report.figures.theme import theme


def test_the_bars_are_shares_the_largest_above(drawn, of_study):
    data = of_study("swept")["sweep-importances"].data
    assert data["importance"].is_monotonic_decreasing
    assert data["importance"].sum() == pytest.approx(1)
    (ax,) = drawn("sweep-importances", "swept").axes
    assert [bar.get_width() for bar in ax.patches] == pytest.approx(list(data["importance"]))
    np.testing.assert_array_equal(np.argsort([bar.get_y() for bar in ax.patches]), range(len(data)))
    assert [text.get_text().strip() for text in ax.texts] == [
        f"{share:.2f}" if share >= 0.01 else "<0.01" for share in data["importance"]
    ]
    names = [label.get_text() for label in ax.get_yticklabels()]
    assert names == list(data["name"])
    assert not any(sign in name for name in names for sign in "\"'._")


def test_a_search_in_which_nothing_matters():
    with theme():
        (ax,) = importances(pd.DataFrame({"name": ["a"], "importance": [0.0]}), "accuracy").axes
    assert ax.get_xlim()[1] > 0
