"""Claims of many studies on one axis, a row a claim and a dot a condition, with what each must exceed or lie within."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from ablate.base.wording import exact
from ablate.report.figures.forest import forest
from ablate.report.figures.rows import placed
from ablate.report.figures.theme import colour

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TICK = 0.28
"""Half the height of the tick of what is claimed, in rows."""
BELOW = 0.32
"""How far below the interval of their row the dots of several conditions lie, in rows."""
CLAIM_LINES = 4
"""Lines at most of a claim with the name of its study."""
LINEAR = 0.02
"""Up to this difference, the most common margin, the axis is linear."""
TICKS = (-0.5, -0.1, -0.02, 0.0, 0.02, 0.1, 0.5)
DOT = 3.0
"""Points: the diameter of a condition."""


def claims(data: pd.DataFrame, conditions: pd.DataFrame, axis_label: str) -> Figure:
    """Draws the difference that each claim is about with its interval, and a dot for each of several conditions.

    `data` is what `forest` takes, with the columns id and margins: a list of what the interval must lie above, or
    between. `conditions` has a row a claim and condition: id, value and holds, whether the claim is supported there.
    """
    figure = forest(data, axis_label, zoom=False, label_lines=CLAIM_LINES)
    rows, _ = placed(data)
    (ax,) = figure.axes
    _spread_small_differences(ax)
    for row in rows.to_dict("records"):
        ax.vlines(row["margins"], row["y"] - TICK, row["y"] + TICK, color=colour("ink"), lw=1.0, zorder=2)
        of_claim = conditions[conditions["id"] == row["id"]]
        if len(of_claim) > 1:
            _draw_conditions(ax, of_claim, float(row["y"]) + BELOW)
    return figure


def _spread_small_differences(ax: Axes) -> None:
    """Gives the axis a scale that is linear up to `LINEAR` and logarithmic beyond, with ticks at `TICKS` alone."""
    ax.set_xscale("symlog", linthresh=LINEAR, linscale=1.0)
    ax.set_xticks(TICKS, [exact(tick) for tick in TICKS])
    ax.minorticks_off()


def _draw_conditions(ax: Axes, conditions: pd.DataFrame, y: float) -> None:
    """Draws a dot for each condition, filled where the claim is supported there."""
    shade = colour("ink")
    for condition in conditions.to_dict("records"):
        fill = shade if condition["holds"] else colour("paper")
        ax.plot(condition["value"], y, "o", ms=DOT, mew=0.6, mec=shade, mfc=fill, zorder=4)
