import numpy as np
import pytest
from made_searches import by_learning_rate
from synthetic import BATCH, BEST, norms, study

from ablate.analysis import budgets
from ablate.core.metric import Metric
from ablate.report.figures.facets import Facets
from ablate.report.figures.settings import validation_by_setting
from ablate.report.figures.theme import colour, theme

LABELS = ("learning rate", "validation accuracy")


@pytest.mark.slow
def test_the_lines_are_the_settings_and_the_chosen_ones_are_points(drawn, of_study):
    picture = of_study("tuned")["settings"]
    (ax,) = drawn("settings", "tuned").axes
    lines = [line for line in ax.lines if len(line.get_xdata()) == 12]
    assert len(lines) == 3
    for line, name in zip(lines, BEST, strict=True):
        mine = picture.data[picture.data["variant"] == name]
        np.testing.assert_array_equal(line.get_xdata(), mine["value"])
        np.testing.assert_array_equal(line.get_ydata(), mine["best"])
    marks = [line for line in ax.lines if line.get_marker() == "o"]
    assert {line.get_xdata()[0] for line in marks} == set(picture.data.query("judged == 'chosen'")["value"])
    bars = [bar.get_segments()[0][:, 1] for bar in ax.collections]
    ends = sorted(zip(picture.data["low"], picture.data["high"], strict=True))
    np.testing.assert_allclose(sorted(map(tuple, bars)), ends)


def test_a_rival_is_hollow_and_the_chosen_setting_is_filled():
    search = by_learning_rate(BEST)
    data = budgets.setting_curves(search, set())
    second = data[data["variant"] == BATCH].nlargest(2, "best").index[1]
    data.loc[second, "judged"] = "rival"
    with theme():
        (ax,) = validation_by_setting(data, Facets.of(norms().facts), LABELS).axes
    fills = [line.get_markerfacecolor() for line in ax.lines if line.get_marker() == "o"]
    assert fills.count(colour("paper")) == 1
    assert len(fills) == 4


@pytest.mark.fast_cases(1)
@pytest.mark.parametrize("many", [False, True])
def test_a_facet_for_each_factor_and_none_for_the_placebo(many):
    """The baseline and its placebo share a search."""
    evidence = study() if many else norms()
    names = [variant.name for variant in evidence.facts.variants if not variant.placebo]
    data = budgets.setting_curves(by_learning_rate(dict.fromkeys(names, (0.97, 3e-3))), set())
    with theme():
        figure = validation_by_setting(data, Facets.of(evidence.facts), LABELS, Metric("max", solved=0.95))
    assert len(figure.axes) == (7 if many else 1)
    assert all(ax.get_xscale() == "log" for ax in figure.axes)
    assert all("solved" in {text.get_text() for text in ax.texts} for ax in figure.axes)
