"""The section of a study whose variants were tuned."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from ablate.report.draw import style
from made_searches import after_search, by_learning_rate
from matplotlib.backends.backend_agg import FigureCanvasAgg
from synthetic import BATCH, BEST, norms, study

from ablate.analysis.compare import compare
from ablate.features.search.sections.tuning import Tuning
from ablate.report.section import Material, Picture


def drawings(search, tuned):
    made = Material(after_search(search, tuned), compare(tuned), pd.DataFrame())
    return [block for block in Tuning().blocks(made) if isinstance(block, Picture)]


def test_the_lines_are_the_settings():
    (picture,) = drawings(by_learning_rate(BEST), norms())
    with style.context():
        (ax,) = picture.draw().axes
    lines = [line for line in ax.lines if len(line.get_xdata()) == 12]
    assert len(lines) == 3
    for line, name in zip(lines, BEST, strict=True):
        mine = picture.data[picture.data["variant"] == name]
        np.testing.assert_array_equal(line.get_xdata(), mine["value"])
        np.testing.assert_array_equal(line.get_ydata(), mine["best"])
    assert len([band for band in ax.collections if band.get_paths()]) == 3
    marks = [line for line in ax.lines if line.get_marker() == "o"]
    assert {line.get_xdata()[0] for line in marks} == set(picture.data.query("judged == 'chosen'")["value"])


def test_a_rival_has_a_hollow_mark_and_is_named_where_it_diverged():
    search = by_learning_rate(BEST, sampler="grid")
    second = search.trials[search.trials["variant"] == BATCH].nlargest(2, "accuracy").iloc[1]["training.lr"]
    name = f"{BATCH} at training.lr={search.facts.parameters[0].label(second)}"
    made = after_search(search, norms())
    rival = pd.DataFrame(
        [("x", name, "recall", 0, "diverged")], columns=["id", "variant", "task", "seed", "status"]
    )
    found = Material(replace(made, frames={**made.frames, "rivals": rival}), compare(made), pd.DataFrame())
    (picture,) = [block for block in Tuning().blocks(found) if isinstance(block, Picture)]
    assert picture.data.query("judged == 'rival'")[["variant", "value"]].to_numpy().tolist() == [
        [BATCH, second]
    ]
    with style.context():
        (ax,) = picture.draw().axes
    assert sum(line.get_markerfacecolor() == "white" for line in ax.lines) == 1
    assert "diverged: 1 run of batch norm at" in Tuning().findings(found)[-1]


@pytest.mark.parametrize("many", [False, True])
def test_nothing_is_written_outside_the_figure(many):
    evidence = study() if many else norms()
    names = [v.name for v in evidence.facts.variants if not v.placebo]
    picture = drawings(by_learning_rate(dict.fromkeys(names, (0.97, 3e-3))), evidence)[0]
    with style.context():
        figure = picture.draw()
        FigureCanvasAgg(figure).draw()
    box, (width, height) = figure.get_tightbbox(), figure.get_size_inches()
    assert min(box.x0, box.y0) >= -0.02
    assert box.x1 <= width + 0.02
    assert box.y1 <= height + 0.02
    # The baseline and its placebo share a search: the placebo has no panel.
    assert len(figure.axes) == (7 if many else 1)


def test_each_task_has_a_figure():
    evidence = norms(tasks=("recall", "a/<b>"), num_seeds=2)
    found = drawings(by_learning_rate(BEST, tasks=("recall", "a/<b>")), evidence)
    assert [picture.name for picture in found] == ["settings-1-recall", "settings-2-a-b"]
