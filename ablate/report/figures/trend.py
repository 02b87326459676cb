"""The differences of variants over a number of the conditions: a panel a variant, with the line and its band."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from ablate.report.figures.scales import mark_values
from ablate.report.figures.theme import NARROW, SMALL, colour, figure_width, new_figure
from ablate.report.words import in_lines

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MAX_PANELS = 6  # Variants of one figure.
HEIGHT = 1.6  # Inches of a panel.
LETTERS = 56  # Of the titles of a row of panels.
ROOM = 0.08  # The share of the range of sizes beside the first and the last.


def trend(
    data: pd.DataFrame, lines: pd.DataFrame, axis_label: str, size_label: str, margin: float | None = None
) -> Figure:
    """Draws the difference of each variant over a number, on a binary logarithmic axis, a panel a variant.

    `data` has a row a variant and condition: label, size, value, low and high; `lines` the same of the least-squares
    line and its band, at other sizes. A variant without a line has its points alone.
    """
    labels = list(dict.fromkeys(data["label"]))[:MAX_PANELS]
    across = min(2 if figure_width() < NARROW else 3, len(labels))
    down = -(-len(labels) // across)
    figure = new_figure(down * HEIGHT + 0.35)
    panels = figure.subplots(down, across, sharex=True, sharey=True, squeeze=False).ravel()
    sizes = sorted({*data["size"]})
    room = (sizes[-1] / sizes[0]) ** ROOM
    for ax, label in zip(panels, labels, strict=False):
        ax.set_xscale("log", base=2)
        ax.set_xlim(sizes[0] / room, sizes[-1] * room)
        if margin:
            ax.axhspan(-margin, margin, color=colour("band"), lw=0, zorder=0)
        ax.axhline(0.0, color=colour("ink"), lw=0.8, zorder=1)
        _draw_variant(ax, data[data["label"] == label], lines[lines["label"] == label])
        ax.set_title(in_lines(label, LETTERS // across, 2) if len(labels) > 1 else "")
        ax.locator_params(axis="y", nbins=4)
    for ax in panels[: len(labels)]:
        mark_values(ax, sizes, most=6 if across == 1 else 4)
    for ax in panels[len(labels) :]:
        ax.remove()
    figure.supxlabel(size_label, size=SMALL)
    figure.supylabel(axis_label, size=SMALL)
    return figure


def _draw_variant(ax: Axes, points: pd.DataFrame, line: pd.DataFrame) -> None:
    """Draws the points of one variant with their intervals, over its line with the band."""
    shade = colour("blue")
    if len(line):
        ax.fill_between(line["size"], line["low"], line["high"], color=shade, alpha=0.16, lw=0, zorder=2)
        ax.plot(line["size"], line["value"], color=shade, zorder=3)
    known = points.dropna(subset=["low", "high"])
    ax.vlines(known["size"], known["low"], known["high"], color=colour("soft"), lw=0.9, zorder=4)
    ax.plot(points["size"], points["value"], "o", ms=3.4, color=colour("ink"), mew=0, zorder=5)
