import pandas as pd
import pytest

from ablate.report.figures.tasks import MAX_VARIANTS, by_task
from ablate.report.figures.theme import MARKS, colour, theme
from figures.looks import intervals


@pytest.mark.slow
def test_a_panel_a_variant_and_a_row_a_task(of_study, drawn):
    data = of_study("several_tasks")["tasks"].data
    assert data["label"].value_counts().to_dict() == {"a": 2, "b": 2}
    figure = drawn("tasks", "several_tasks")
    assert [ax.get_title("left") for ax in figure.axes] == ["a", "b"]
    assert [label.get_text() for label in figure.axes[0].get_yticklabels()] == ["recall", "copy"]
    for ax in figure.axes:
        mine = data[data["label"] == ax.get_title("left")]
        shown = intervals(ax)
        assert [row.y for row in shown] == [0, 1]
        assert [row.value for row in shown] == pytest.approx(list(mine["value"]))
        assert [row.low for row in shown] == pytest.approx(list(mine["low"]))
        assert [row.shade for row in shown] == [colour(MARKS[verdict].colour) for verdict in mine["verdict"]]
        assert ax.get_xlim()[0] < data["low"].min()
    assert of_study("several_tasks").keys() >= {"forest-1-recall", "forest-2-copy"}


def test_one_task_has_no_such_figure(of_study):
    assert "tasks" not in of_study("losses")


@pytest.mark.slow
def test_of_many_variants_the_first_have_panels(of_study):
    data = of_study("several_tasks")["tasks"].data
    rows = data[data["label"] == "a"]
    many = [rows.assign(label=f"v{i}") for i in range(MAX_VARIANTS + 3)]
    with theme():
        figure = by_task(pd.concat(many), "x", None)
    assert [ax.get_title("left") for ax in figure.axes] == [f"v{i}" for i in range(MAX_VARIANTS)]
