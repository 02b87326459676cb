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
from ablate.report.figures.scales import Limits, padded
from ablate.report.figures.theme import SMALL, colour, new_figure

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
"""Up to this difference, the most common margin, an axis of shares is linear."""
TICKS = (0.02, 0.1, 0.5, 2.0, 10.0)
"""The values at an axis of shares, on either side of 0."""
DOT = 3.0
"""Points: the diameter of a condition."""


@dataclass(frozen=True)
class Panel:
    """The claims on metrics of one unit."""

    rows: pd.DataFrame
    """What `forest` takes, with the columns id and margins: a list of what the interval must lie above, or between."""
    axis_label: str
    is_share: bool
    """True of differences in a share, which span a point and a multiple: their axis is logarithmic beyond `LINEAR`."""


def claims(panels: Sequence[Panel], conditions: pd.DataFrame) -> Figure:
    """Draws the difference that each claim is about with its interval, and a dot for each of several conditions.

    One panel stands below another. `conditions` has a row a claim and condition: id, value and holds, whether the claim
    is supported there.
    """
    all_rows = [placed(panel.rows, heads_one=True) for panel in panels]
    layouts = [layout_of(rows, label_lines=CLAIM_LINES) for rows, _ in all_rows]
    figure = new_figure(sum(AXIS_HEIGHT + layout.height for layout in layouts))
    axes: list[Axes] = figure.subplots(
        len(panels), 1, squeeze=False, height_ratios=[layout.height for layout in layouts]
    )[:, 0].tolist()
    for ax, panel, (rows, headings), layout in zip(axes, panels, all_rows, layouts, strict=True):
        ax.set_xlim(_limits(rows, conditions))
        if panel.is_share:
            _spread_small_differences(ax)
        dress_rows(ax, layout)
        label_rows(ax, rows, headings, layout)
        ax.set_xlabel(panel.axis_label, size=SMALL)
        _draw_claims(ax, rows, conditions)
    return figure


def _limits(rows: pd.DataFrame, conditions: pd.DataFrame) -> Limits:
    """Returns limits that show 0, every interval, what it must exceed or lie within, and every condition."""
    ends = [rows[["value", "low", "high"]], rows["margins"].explode()]
    of_rows = conditions.loc[conditions["id"].isin(rows["id"]), "value"]
    values = np.concatenate([np.ravel(numbers).astype(float) for numbers in (*ends, of_rows)])
    return padded(min(0.0, float(np.nanmin(values))), max(0.0, float(np.nanmax(values))))


def _spread_small_differences(ax: Axes) -> None:
    """Gives an axis a scale that is linear up to `LINEAR` and logarithmic beyond, with ticks at `TICKS` alone."""
    left, right = ax.get_xlim()
    ticks = [*(-tick for tick in reversed(TICKS)), 0.0, *TICKS]
    within = [tick for tick in ticks if left <= tick <= right]
    ax.set_xscale("symlog", linthresh=LINEAR, linscale=1.0)
    ax.set_xticks(within, [exact(tick) for tick in within])
    ax.minorticks_off()


def _draw_claims(ax: Axes, rows: pd.DataFrame, conditions: pd.DataFrame) -> None:
    """Draws the intervals of some claims, the ticks of what they claim, and the dots of their conditions."""
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
