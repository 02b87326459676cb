"""The differences of variants on several tasks: a row a task."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from ablate.report.figures.forest import forest_limits
from ablate.report.figures.rows import PITCH, draw_interval, draw_zero
from ablate.report.figures.theme import MARKS, SMALL, figure_width, new_figure
from ablate.report.words import in_lines

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MAX_VARIANTS = 12  # Panels of one figure.
LETTERS = 60  # Of the titles of a row of panels.


def by_task(data: pd.DataFrame, axis_label: str, margin: float | None, span: float | None = None) -> Figure:
    """Draws the difference of each variant with its interval, a panel a variant and a row a task.

    `data` has a row a variant and task: label, task, verdict, value, low and high. `span` is the largest difference
    that the metric can show on any task.
    """
    labels = list(dict.fromkeys(data["label"]))[:MAX_VARIANTS]
    data = data[data["label"].isin(labels)]
    tasks = list(dict.fromkeys(data["task"]))
    across = min(3 if figure_width() > 4 else 2, len(labels))
    down = -(-len(labels) // across)
    figure = new_figure(down * (0.5 + PITCH * len(tasks)) + 0.4)
    panels = figure.subplots(down, across, sharex=True, sharey=True, squeeze=False).ravel()
    limits = forest_limits(data, margin, span)[0]
    for ax, label in zip(panels, labels, strict=False):
        ax.set(xlim=limits, ylim=(len(tasks) - 0.4, -0.6))
        ax.set_title(in_lines(label, LETTERS // across, 2))
        ax.locator_params(axis="x", nbins=3)
        ax.spines["left"].set_visible(False)
        ax.tick_params(axis="y", length=0)
        draw_zero(ax, margin)
        for row in data[data["label"] == label].to_dict("records"):
            draw_interval(ax, row | {"y": float(tasks.index(row["task"]))}, MARKS[row["verdict"]])
    panels[0].set_yticks(range(len(tasks)), [in_lines(task, 24, 1) for task in tasks])
    for ax in panels[len(labels) :]:
        ax.remove()
    figure.supxlabel(axis_label, size=SMALL)
    return figure
