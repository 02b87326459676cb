"""What is seen of a figure: its words, whether they can be read, and what it shows of rows."""

from dataclasses import dataclass

from matplotlib.colors import to_hex
from matplotlib.markers import CARETLEFT, CARETRIGHT
from matplotlib.text import Annotation, Text

from ablate.report.figures import theme

COLUMN = 3.25
"""Inches of a column of a paper."""


def settings(width=None):
    """Those of the page, or of a paper with columns so wide."""
    return theme.PAGE if width is None else {**theme.PAPER, "figure.figsize": (width, width)}


def words(figure):
    """The texts of a figure that are seen, with their boxes in pixels, once it is laid out."""
    figure.set_dpi(72)  # That of files.
    figure.draw_without_rendering()
    hidden = {ax for ax in figure.axes if not ax.get_visible()}
    unseen = {id(label) for ax in figure.axes for label in labels_of_no_tick(ax)}
    found = []
    for text in figure.findobj(Text):
        if not text.get_text().strip() or not text.get_visible() or text.axes in hidden or id(text) in unseen:
            continue
        # Of an annotation without the line that joins it to its point.
        box = Text.get_window_extent(text) if isinstance(text, Annotation) else text.get_window_extent()
        if box.width:
            found.append((text, box))
    return found


def labels_of_no_tick(ax):
    """Labels of ticks beyond the limits of their axes."""
    for axis, limits in ((ax.xaxis, ax.get_xlim()), (ax.yaxis, ax.get_ylim())):
        low, high = sorted(limits)
        slack = 1e-9 * (high - low)
        for tick in [*axis.get_major_ticks(), *axis.get_minor_ticks()]:
            if not low - slack <= tick.get_loc() <= high + slack:
                yield from (tick.label1, tick.label2)


def assert_readable(figure):
    """Nothing is written outside a figure, over other words, or too small."""
    found = words(figure)
    assert found
    for text, box in found:
        assert box.x0 >= -1, text
        assert box.x1 <= figure.bbox.width + 1, text
        assert box.y0 >= -1, text
        assert box.y1 <= figure.bbox.height + 1, text
        assert text.get_fontsize() >= 6, text
    for i, (text, box) in enumerate(found):
        for other, beside in found[:i]:
            width = min(box.x1, beside.x1) - max(box.x0, beside.x0)
            height = min(box.y1, beside.y1) - max(box.y0, beside.y0)
            assert width <= 1 or height <= 2.5, f"{text} over {other}"


@dataclass(frozen=True)
class Interval:
    """A mean as it is drawn, at its row, with the ends of its interval; `marker` is `None` where the mean is not."""

    y: float
    value: float
    low: float
    high: float
    marker: str
    shade: str
    is_hollow: bool


def intervals(ax):
    """What `rows.draw_interval` drew, from above."""
    found = []
    for container in ax.containers:
        mean, _, (bar,) = container.lines
        ((low, y), (high, _)) = bar.get_segments()[0]
        found.append(
            Interval(
                float(y),
                float(mean.get_xdata()[0]) if mean else float("nan"),
                float(low),
                float(high),
                mean.get_marker() if mean else "None",
                to_hex(bar.get_color()[0]),
                bool(mean) and to_hex(mean.get_markerfacecolor()) == theme.colour("paper"),
            )
        )
    return sorted(found, key=lambda row: row.y)


def arrows(ax):
    """The places (side, y) of arrows."""
    sides = {CARETLEFT: "left", CARETRIGHT: "right"}
    return {
        (sides[line.get_marker()], float(line.get_ydata()[0]))
        for line in ax.lines
        if line.get_marker() in sides
    }


def labels(ax):
    """The words beside rows, by their places."""
    return {tick.get_loc(): tick.label1.get_text() for tick in ax.yaxis.get_major_ticks()}


def beside(ax):
    """The words at the right of rows, by their places."""
    return {text.xy[1]: text.get_text() for text in ax.texts if isinstance(text, Annotation)}
