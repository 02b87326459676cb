"""The look of figures in a paper: the width of a column, one size of text, and the fonts within the file."""

from __future__ import annotations

import functools
import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.font_manager import fontManager
from matplotlib.legend import Legend
from matplotlib.text import Text

from ablate.report.draw import style
from ablate.report.tables import in_lines

FONT = "STIXGeneral"
"Like Times, in which most papers are set; it comes with matplotlib, and is narrower than the font of the page."
SIZE = style.TEXT_SIZE
"Points of every word."

SETTINGS = style.SETTINGS | {
    "font.family": [FONT, *style.SETTINGS["font.family"]],
    **dict.fromkeys(("axes.labelsize", "xtick.labelsize", "ytick.labelsize", "legend.fontsize"), SIZE),
    "legend.title_fontsize": SIZE,
    "figure.facecolor": "white",
    "savefig.facecolor": "white",
    # TrueType, which can be searched and which every publisher takes; the other kind, Type 3, many refuse.
    "pdf.fonttype": 42,
    # An SVG carries no fonts, so that its letters are drawn.
    "svg.fonttype": "path",
}


@contextmanager
def context(width: float) -> Iterator[None]:
    """Inside, figures are drawn for a paper, `width` inches wide."""
    _register()
    with style.context(SETTINGS | {"figure.figsize": (width, width)}):
        yield


@functools.cache
def _register() -> None:
    """Makes the font known, whatever a cache of fonts that another environment has left says."""
    for path in sorted(Path(matplotlib.get_data_path(), "fonts", "ttf").glob(f"{FONT}*.ttf")):
        fontManager.addfont(path)


def saved(figure: Figure, name: str) -> tuple[bytes, bytes]:
    """The figure as PDF and SVG, inside `context`; the same bytes whenever it is drawn again."""
    _fit(figure)
    pdf, svg = io.BytesIO(), io.BytesIO()
    figure.savefig(pdf, format="pdf", metadata={"Creator": None, "Producer": None, "CreationDate": None})
    with matplotlib.rc_context({"svg.hashsalt": name}):
        figure.savefig(svg, format="svg", metadata={"Date": None, "Creator": None})
    return pdf.getvalue(), svg.getvalue()


def _fit(figure: Figure) -> None:
    """Lays a figure out with words of one size, legends of fewer columns and titles in two lines where need be."""
    for words in figure.findobj(Text):
        words.set_fontsize(SIZE)
        words.set_linespacing(1.0)
    for legend in list(figure.legends):
        _fit_legend(figure, legend)
    engine = figure.get_layout_engine()
    assert engine is not None
    engine.execute(figure)
    if sum(_fit_title(ax) for ax in figure.axes):
        engine.execute(figure)
    # Once for both files: it takes as long as drawing.
    figure.set_layout_engine("none")


def _fit_legend(figure: Figure, legend: Legend) -> None:
    """The legend of a figure, which stands above it, in as many columns as there is room for."""
    labels = [words.get_text() for words in legend.get_texts()]
    for columns in (3, 2, 1):
        if legend.get_window_extent().width <= figure.bbox.width:
            return
        legend.remove()
        handles = [handle for handle in legend.legend_handles if handle is not None]
        title = legend.get_title().get_text() or None
        legend = figure.legend(handles, labels, ncols=columns, title=title, loc="outside upper left")


def _fit_title(ax: Axes) -> bool:
    """Breaks a title that reaches into another, or so far beyond its panel that this would move; whether it did."""
    title = _title(ax)
    box, own = title.get_window_extent(), ax.get_window_extent()
    beside = [other.get_window_extent() for other in ax.figure.axes if _title(other).get_text()]
    ends = [b.x0 for b in beside if b.x0 > own.x0 and b.y0 < own.y1 and b.y1 > own.y0]
    # The layout keeps room for the middle of a title.
    end = min(*ends, ax.figure.bbox.x1, own.x0 + 1.9 * own.width)
    if too_long := box.x1 > end:
        lines = title.get_text().splitlines()
        whole = "".join(line if line[-1:] in ".,=/_-" else f"{line} " for line in lines).rstrip()
        longest = max(map(len, lines)) * (end - box.x0) / box.width
        title.set_text(in_lines(whole, max(8, int(longest)), 3))
    return too_long


def _title(ax: Axes) -> Text:
    written = ax.get_title(loc="left")
    return next(words for words in ax.findobj(Text) if words.get_text() == written)
