"""Claims of many studies on one axis, grouped by verdict, with what each difference must exceed or lie within."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from ablate.report.figures.forest import forest
from ablate.report.figures.rows import placed
from ablate.report.figures.theme import colour

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def claims(data: pd.DataFrame, axis_label: str) -> Figure:
    """Draws the difference that each claim is about with its interval.

    `data` is what `forest` takes, with a column margins: a list of what the interval must lie above, or between.
    """
    figure = forest(data, axis_label, zoom=False)
    rows, _ = placed(data)
    (ax,) = figure.axes
    for row in rows.to_dict("records"):
        ax.vlines(row["margins"], row["y"] - 0.28, row["y"] + 0.28, color=colour("ink"), lw=1.0, zorder=2)
    return figure
