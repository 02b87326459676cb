"""Claims of many studies, a row a claim and a dot a condition, with what each must exceed or lie within."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ablate.base.wording import exact
from ablate.report.figures.forest import draw_intervals
from ablate.report.figures.rows import (
    AXIS_HEIGHT,
    draw_zero,
    dress_rows,
    label_rows,
    layout_of,
    placed,
)
from ablate.report.figures.scales import padded
from ablate.report.figures.theme import SMALL, colour, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

TICK = 0.28
"""Half the height of the tick of what is claimed, in rows."""
BELOW = 0.32
"""How far below the interval of their row the dots of several conditions lie, in rows."""
CLAIM_LINES = 4
"""Lines at most of a claim with the name of its study."""
LINEAR = 0.02
"""Up to this difference, the most common margin, a logarithmic axis is linear."""
TICKS = (0.02, 0.1, 0.5, 2.0, 10.0, 50.0, 200.0, 1000.0)
"""The values at a logarithmic axis, on either side of 0."""
FEW = 5 * LINEAR
"""The reach of an axis from which on it is logarithmic; a shorter one has ticks of its own."""
DOT = 3.0
"""Points: the diameter of a condition."""


@dataclass(frozen=True)
class Panel:
    """The claims on metrics of one unit."""

    rows: pd.DataFrame
    """The columns of `forest`, id, and margins: a list of what the interval of the claim must lie beyond or between."""
    conditions: pd.DataFrame
    """A row a condition of a claim: id (that of the claim), value, and holds: whether the claim is supported there."""
    axis_label: str
    is_log: bool
    """True of differences that span a point and a multiple: their axis is logarithmic beyond `LINEAR`."""


def claims(panels: Sequence[Panel]) -> Figure:
    """Draws a panel for each unit, one below another: a row a claim, with its difference, its interval and its margins.

    Below the interval a claim with two conditions or more has a dot for each, filled where it holds.
    """
    all_rows = [placed(panel.rows, heads_one=True) for panel in panels]
    layouts = [layout_of(rows, label_lines=CLAIM_LINES) for rows, _ in all_rows]
    figure = new_figure(sum(AXIS_HEIGHT + layout.height for layout in layouts))
    axes: list[Axes] = figure.subplots(
        len(panels), 1, squeeze=False, height_ratios=[layout.height for layout in layouts]
    )[:, 0].tolist()
    for ax, panel, (rows, headings), layout in zip(axes, panels, all_rows, layouts, strict=True):
        _scale(ax, _values(panel), is_log=panel.is_log)
        dress_rows(ax, layout)
        label_rows(ax, rows, headings, layout)
        ax.set_xlabel(panel.axis_label, size=SMALL)
        _draw_claims(ax, rows, panel.conditions)
    return figure


def _values(panel: Panel) -> NDArray[np.float64]:
    """Returns the finite numbers that the axis of a panel must show: 0, and those of its claims and their conditions.

    These are differences, the ends of their intervals, and margins. An interval with an infinite end ends in an arrow.
    """
    rows = panel.rows
    numbers = [rows["value"], rows["low"], rows["high"], rows["margins"].explode(), panel.conditions["value"]]
    values = np.append(pd.concat(numbers).to_numpy(float), 0.0)
    return values[np.isfinite(values)]


def _scale(ax: Axes, values: NDArray[np.float64], *, is_log: bool) -> None:
    """Gives the x axis limits around all values.

    With is_log, and where a value is `FEW` or more from 0, it is logarithmic on both sides of 0, and linear up to
    `LINEAR`; its ticks are 0 and ± `TICKS`.
    """
    is_log = is_log and np.abs(values).max() >= FEW
    if is_log:
        ax.set_xscale("symlog", linthresh=LINEAR, linscale=1.0)
    scale = ax.xaxis.get_transform()
    low, high = padded(*scale.transform([values.min(), values.max()]))
    left, right = scale.inverted().transform([low, high])
    ax.set_xlim(left, right)
    if is_log:
        ticks = [*(-tick for tick in reversed(TICKS)), 0.0, *TICKS]
        within = [tick for tick in ticks if values.min() <= tick <= values.max()]
        ax.set_xticks(within, [exact(tick) for tick in within])
        ax.minorticks_off()


def _draw_claims(ax: Axes, rows: pd.DataFrame, conditions: pd.DataFrame) -> None:
    """Draws the intervals of some claims, their margins as short upright lines, and the dots of their conditions."""
    draw_zero(ax, margin=None)
    draw_intervals([ax], rows)
    for row in rows.to_dict("records"):
        ax.vlines(row["margins"], row["y"] - TICK, row["y"] + TICK, color=colour("ink"), lw=1.0, zorder=2)
        of_claim = conditions[conditions["id"] == row["id"]]
        if len(of_claim) > 1:
            _draw_conditions(ax, of_claim, float(row["y"]) + BELOW)


def _draw_conditions(ax: Axes, conditions: pd.DataFrame, y: float) -> None:
    """Draws a dot for each condition, filled where the claim is supported there."""
    shade = colour("ink")
    for condition in conditions.to_dict("records"):
        fill = shade if condition["holds"] else colour("paper")
        ax.plot(condition["value"], y, "o", ms=DOT, mew=0.6, mec=shade, mfc=fill, zorder=4)
