"""The look of figures in a paper: the width of a column, one size of text, and the fonts within the file."""

from __future__ import annotations

import functools
import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import matplotlib
from matplotlib.figure import Figure
from matplotlib.font_manager import fontManager
from matplotlib.text import Text

from ablate.report.draw import style

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
    """Lays a figure out with words of one size."""
    for words in figure.findobj(Text):
        words.set_fontsize(SIZE)
        words.set_linespacing(1.0)
    engine = figure.get_layout_engine()
    assert engine is not None
    engine.execute(figure)
    # Once for both files: it takes as long as drawing.
    figure.set_layout_engine("none")
