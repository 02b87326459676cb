"""The differences of variants with their intervals: a forest plot, and the seeds that solved an all-or-nothing task."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import pandas as pd

from ablate.report.figures.rows import draw_interval, draw_zero, panels_of_rows, placed, write_right
from ablate.report.figures.scales import Limits, zoomed
from ablate.report.figures.theme import DOTTED, MARKS, NARROW, colour, figure_width

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def forest(
    data: pd.DataFrame,
    axis_label: str,
    margin: float | None = None,
    span: float | None = None,
) -> Figure:
    """Draws paired differences with their intervals over the margin and the placebo's interval.

    `data` has a row a comparison, in order from above: group (its heading), label, placebo, verdict, value, low and
    high (in the metric's own direction; NaN where there is no interval), told (its words at the right). `span` is the
    largest difference that the metric can show. A second panel looks closer where a few differences dwarf the
    rest.
    """
    rows, headings = placed(data)
    figure, panels = panels_of_rows(rows, headings, forest_limits(data, margin, span), axis_label)
    placebo = data.loc[data["placebo"], ["low", "high"]].dropna().to_numpy(float).ravel()
    for ax in panels:
        draw_zero(ax, margin)
        for edge in placebo:
            ax.axvline(edge, color=colour("soft"), lw=0.9, ls=DOTTED, zorder=1)
    draw_intervals(panels, rows)
    return figure


def draw_intervals(panels: Sequence[Axes], rows: pd.DataFrame) -> None:
    """Draws the interval of each row in each panel, and writes at the right of the last what `told` says.

    A figure narrower than `NARROW` has the verdict there. `rows` has the columns that `forest` takes, and y.
    """
    for ax in panels:
        for row in rows.to_dict("records"):
            draw_interval(ax, row, MARKS[row["verdict"]], hollow=row["placebo"])
    words = rows["told"] if figure_width() >= NARROW else rows["verdict"]
    colours = rows["verdict"].map({verdict: mark.colour for verdict, mark in MARKS.items()})
    write_right(
        panels[-1],
        dict(zip(rows["y"], words, strict=True)),
        dict(zip(rows["y"], colours, strict=True)),
    )


def forest_limits(data: pd.DataFrame, margin: float | None, span: float | None) -> list[Limits]:
    """Returns the limits that show every interval, cut at `span`, the largest possible difference."""
    reach = math.inf if span is None else max(span, data["value"].abs().max())
    # One seed has a difference but no interval.
    low = data["low"].fillna(data["value"]).clip(-reach, reach)
    high = data["high"].fillna(data["value"]).clip(-reach, reach)
    return zoomed(low, high, margin, data["value"])


def solved_seeds(data: pd.DataFrame, axis_label: str) -> Figure:
    """Draws on how many seeds each variant solved its task, beside the baseline, which is hollow.

    `data` has a row a comparison: group, label, placebo, verdict, told, n, solved_variant and solved_baseline.
    """
    rows, headings = placed(data)
    most = int(data["n"].max())
    figure, (ax,) = panels_of_rows(rows, headings, [(-0.04 * most, 1.04 * most)], axis_label)
    ax.locator_params(axis="x", integer=True)
    ax.set_xticks([tick for tick in ax.get_xticks() if 0 <= tick <= most])
    for row in rows.to_dict("records"):
        mark = MARKS[row["verdict"]]
        shade = colour(mark.colour)
        ax.hlines(row["y"], row["solved_baseline"], row["solved_variant"], color=shade, lw=1.6, zorder=2)
        ax.plot(row["solved_baseline"], row["y"], "o", ms=7, mfc=colour("paper"), mec=colour("ink"), mew=1)
        ax.plot(row["solved_variant"], row["y"], mark.marker, ms=5, color=shade, mew=0)
    write_right(
        ax,
        dict(zip(rows["y"], rows["told"], strict=True)),
        dict(zip(rows["y"], rows["verdict"].map(lambda verdict: MARKS[verdict].colour), strict=True)),
    )
    return figure
