"""Figures with a row for each variant: their labels, their panels, and intervals that end in an arrow where cut."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ablate.report.figures.scales import Limits
from ablate.report.figures.theme import NARROW, SMALL, WIDTH, Mark, colour, figure_width, new_figure
from ablate.report.words import in_lines

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LABEL = 30  # Characters of a line of a label, of a figure of the page.
MAX_LINES = 2  # Lines of a label, where its figure asks for no more.
PITCH = 0.24  # Inches from one row to the next.
TALL_PITCH = 0.3  # The same where a label has two lines.
LINE = 0.12  # Inches that each line after the second adds to it.
TOP = -0.6  # The place of the upper end of a panel, in rows.
AXIS_HEIGHT = 0.55  # Inches of an axis with its label.
MARKER = 4.4  # Points: the size of the marker of a mean, with its edge.
MARKER_EDGE = 0.9  # Points: its width.
INTERVAL_WIDTH = 1.3  # Points: the line of an interval.
END = 6.4  # Points: the height of the ends of an interval.
MAX_ROWS = 60  # Rows of one figure: more are taller than any page, and are in the tables.


@dataclass(frozen=True)
class Heading:
    """A heading above rows."""

    y: float
    words: str


@dataclass(frozen=True)
class RowLayout:
    """The labels of the rows of a panel, and the room that the rows take."""

    labels: Sequence[str]
    """A label a row, in lines."""
    pitch: float
    """Inches from one row to the next."""
    bottom: float
    """The place of the lower end of the panel, in rows."""

    @property
    def height(self) -> float:
        """The inches from the upper end of the panel to its lower end."""
        return self.pitch * (self.bottom - TOP)


def placed(data: pd.DataFrame, *, heads_one: bool = False) -> tuple[pd.DataFrame, list[Heading]]:
    """Returns rows with their places `y`, which grow downwards in steps of 1, and the headings of their groups.

    A heading takes a place of its own; what stands first is at 0. `data` may have a column `group`, whose equal values
    must follow one another. heads_one: whether a single group has a heading, too.
    """
    groups = data["group"] if "group" in data else pd.Series("", index=data.index)
    if groups.nunique() < 2 and not heads_one:
        return data.assign(y=np.arange(len(data), dtype=float)), []
    begins = groups != groups.shift()
    heights = np.arange(len(data)) + begins.cumsum()
    headings = [
        Heading(float(y) - 1, str(words)) for y, words in zip(heights[begins], groups[begins], strict=True)
    ]
    return data.assign(y=heights.astype(float)), headings


def panels_of_rows(
    data: pd.DataFrame,
    headings: Sequence[Heading],
    limits: Sequence[Limits],
    axis_label: str,
    pitch: float = PITCH,
    below: float = 0.0,
) -> tuple[Figure, list[Axes]]:
    """Returns a figure with a panel for each of the `limits` of the same rows: of all and, if two, of a closer look.

    `data` has the columns label and y. pitch, below: as in `layout_of`.
    """
    layout = layout_of(data, pitch, below)
    figure = new_figure(AXIS_HEIGHT + layout.height + (0.2 if len(limits) > 1 else 0.0))
    panels: list[Axes] = figure.subplots(1, len(limits), sharey=True, squeeze=False)[0].tolist()
    few = len(limits) > 1 or figure_width() < NARROW
    for ax, view in zip(panels, limits, strict=True):
        ax.set_xlim(view)
        ax.locator_params(axis="x", nbins=3 if few else 5, steps=[1, 2, 2.5, 5, 10])
        dress_rows(ax, layout)
    if len(limits) > 1:
        for ax, words in zip(panels, ("all", "zoom"), strict=True):
            ax.set_title(words, size=SMALL, weight="normal", color=colour("soft"))
    label_rows(panels[0], data, headings, layout)
    figure.supxlabel(axis_label, size=SMALL)
    return figure, panels


def layout_of(
    data: pd.DataFrame, pitch: float = PITCH, below: float = 0.0, *, label_lines: int = MAX_LINES
) -> RowLayout:
    """Breaks the labels of some rows into lines, and returns them with the room that the rows take.

    `data` has the columns label and y, and at least one row. below: the room under the last row, in steps of y. A step
    is `pitch` inches, and more where nothing is below and labels have several lines. label_lines: the lines of a label
    at most; a longer label is cut.
    """
    width = round(LABEL * figure_width() / WIDTH)
    labels = [in_lines(label, width, label_lines) for label in data["label"]]
    num_lines = 1 + max(label.count("\n") for label in labels)
    if num_lines > 1 and not below:
        pitch = max(pitch, TALL_PITCH + (num_lines - 2) * LINE)
    return RowLayout(labels, pitch, float(data["y"].max()) + below - TOP)


def dress_rows(ax: Axes, layout: RowLayout) -> None:
    """Makes y grow downwards in a panel, from `TOP` to the end of its rows; hides its left edge and the marks of y."""
    ax.set_ylim(layout.bottom, TOP)
    ax.spines["left"].set_visible(False)
    ax.tick_params(axis="y", length=0)


def label_rows(ax: Axes, data: pd.DataFrame, headings: Sequence[Heading], layout: RowLayout) -> None:
    """Writes the labels of rows, and their headings in bold, at the left of a panel; `data` has the column y."""
    ticks = dict(zip(data["y"], layout.labels, strict=True))
    ticks |= {heading.y: heading.words for heading in headings}
    ax.set_yticks(list(ticks), list(ticks.values()))
    for tick, y in zip(ax.get_yticklabels(), ticks, strict=True):
        if y in {heading.y for heading in headings}:
            tick.set_fontweight("bold")


def draw_interval(
    ax: Axes, row: Mapping[str, float], mark: Mark, *, hollow: bool = False, width: float = INTERVAL_WIDTH
) -> None:
    """Draws a mean with its interval at its row's place; what leaves the panel ends in an arrow.

    The ends of an interval are taller than the marker of the mean, so that a narrow one is seen. `row` has y, value,
    low and high; an interval that is not known is NaN.
    """
    from matplotlib.markers import CARETLEFT, CARETRIGHT

    left, right = ax.get_xlim()
    shade = colour(mark.colour)
    y = row["y"]
    value = row["value"]
    is_known = not np.isnan(row["low"])
    low = row["low"] if is_known else value
    high = row["high"] if is_known else value
    # An endless interval is drawn as far as the panel goes.
    drawn_low = left if np.isneginf(low) else low
    drawn_high = right if np.isposinf(high) else high
    is_seen = left <= value <= right
    ax.errorbar(
        value,
        y,
        # An interval that several settings share need not hold the mean of one.
        xerr=[[max(0.0, value - drawn_low)], [max(0.0, drawn_high - value)]],
        fmt=mark.marker if is_seen else "none",
        color=shade,
        markerfacecolor=colour("paper") if hollow else shade,
        markeredgecolor=shade,
        markeredgewidth=MARKER_EDGE,  # That of the ends, too.
        markersize=MARKER - MARKER_EDGE,
        elinewidth=width,
        capsize=END / 2 if is_known else 0.0,
        zorder=3,
    )
    arrow: dict[str, Any] = {"ls": "none", "color": shade, "ms": 6, "mew": 0, "clip_on": False, "zorder": 4}
    if low < left:
        ax.plot(left, y, marker=CARETLEFT, **arrow)
    if high > right:
        ax.plot(right, y, marker=CARETRIGHT, **arrow)


def draw_zero(ax: Axes, margin: float | None) -> None:
    """Draws no difference as a line, in the grey band of the margin."""
    if margin:
        ax.axvspan(-margin, margin, color=colour("band"), lw=0, zorder=0)
    ax.axvline(0.0, color=colour("ink"), lw=0.8, zorder=1)


def write_right(
    ax: Axes, words: Mapping[float, str], colours: Mapping[float, str], size: float = SMALL
) -> None:
    """Writes words at the right of rows: place of a row → its words, and the name of their colour."""
    at_edge = ax.get_yaxis_transform()
    for y, told in words.items():
        ax.annotate(
            told,
            (1, y),
            (8, 0),
            xycoords=at_edge,
            textcoords="offset points",
            va="center",
            size=size,
            color=colour(colours[y]),
            annotation_clip=False,
        )


def largest(data: pd.DataFrame, size: pd.Series) -> pd.DataFrame:
    """Returns the rows of the variants whose mean `size` is largest: at most `MAX_ROWS` variants."""
    sizes = size.groupby(data["variant"], sort=False).mean().abs().fillna(0.0)
    return data[data["variant"].isin(sizes.nlargest(MAX_ROWS).index)]
