import numpy as np
import pytest
from timings import LOGS

from ablate.report.figures.scaling import growth
from ablate.report.figures.theme import colour, theme
from ablate.report.tables.speed_tables import MEMORY, STEP


@pytest.mark.slow
def test_a_line_a_variant_and_a_panel_a_measure_on_logarithmic_axes(drawn, of_study):
    picture = of_study("only_timed")["scaling"]
    figure = drawn("scaling", "only_timed")
    assert [ax.get_title("left") or ax.get_title() for ax in figure.axes] == ["Step", "Memory"]
    for ax, metric in zip(figure.axes, (STEP, MEMORY), strict=True):
        assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")
        assert len(ax.lines) == len(LOGS)
        mine = picture.data[picture.data["metric"] == metric]
        for line, variant in zip(ax.lines, LOGS, strict=True):
            rows = mine[mine["variant"] == variant]
            np.testing.assert_allclose(line.get_xdata(), rows["size"])
            np.testing.assert_allclose(line.get_ydata(), rows["value"])
        assert ax.lines[0].get_color() == colour("ink")
    steps, memory = figure.axes
    sizes = [str(int(size)) for size in sorted(set(picture.data["size"]))]
    assert [tick.get_text() for tick in memory.get_xticklabels()] == sizes
    assert all(tick.get_text().endswith(" ms") for tick in steps.get_yticklabels())
    assert all(tick.get_text().endswith(" MB") for tick in memory.get_yticklabels())


@pytest.mark.slow
def test_one_legend_for_both(drawn, of_study):
    (legend,) = drawn("scaling", "only_timed").legends
    names = [text.get_text() for text in legend.get_texts()]
    assert names[:3] == ["baseline", "slow", "same"]
    assert len(names) == len(LOGS)


@pytest.mark.slow
def test_few_variants_are_named_at_their_ends(of_study):
    picture = of_study("only_timed")["scaling"]
    measures, names, size = picture.options
    few = dict(list(names.items())[:2])
    with theme():
        figure = growth(picture.data[picture.data["variant"].isin(few)], measures, few, size)
    assert not figure.legends
    for ax in figure.axes:
        assert {text.get_text() for text in ax.texts} == set(few.values())
