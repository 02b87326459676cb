"""The theme of all figures, on the page and in a paper: its colours, its sizes, and the marks of verdicts."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Name → the colour on light paper, with which figures are drawn, and on dark paper. `paper` is like no other colour, so
# that a page can find the background of a figure. Every colour of text has a contrast of at least 4.5 : 1 on its paper;
# blue and orange differ for every eye.
PALETTE = {
    "paper": ("#fffffe", "#15181c"),
    "ink": ("#1b1f24", "#e8ebef"),
    "soft": ("#5b636d", "#a3abb6"),
    "line": ("#bcc3cc", "#4a525d"),
    "band": ("#e6eaf0", "#2b323b"),
    "blue": ("#0b62b0", "#6cb4ff"),
    "orange": ("#b8430a", "#ff9a5c"),
    "green": ("#00705a", "#3fc7a2"),
    "purple": ("#8e3a86", "#e08bd6"),
    "brown": ("#7a4b2a", "#d0a57f"),
}

# The colours of variants, in order; the baseline is always ink. Any two of these differ for every eye: by 12 or more in
# CIELAB (ΔE 1976), as normal sight has them and as protanopia, deuteranopia and tritanopia do (Machado et al. 2009).
LEVELS = ("blue", "orange", "green", "purple", "brown")


class Mark(NamedTuple):
    """The look of a verdict: its marker and colour in figures, and its sign in text."""

    marker: str
    colour: str
    sign: str


# Verdict on a comparison or a claim → its mark.
VERDICTS = {
    "better": Mark("^", "blue", "▲"),
    "worse": Mark("v", "orange", "▼"),
    "equivalent": Mark("s", "green", "■"),
    "inconclusive": Mark("o", "soft", "○"),
    "supported": Mark("^", "blue", "▲"),
    "refuted": Mark("v", "orange", "▼"),
}
# The mark of every comparison outside the families that the study planned, whatever it shows.
EXPLORATORY = "exploratory"
MARKS = VERDICTS | {EXPLORATORY: Mark("d", "soft", "◌")}

WIDTH = 4.8  # Inches: text of 8 points can be read on a phone, and in a column of a paper.
NARROW = 4.0  # Inches below which a figure has no room for numbers beside its rows.
TEXT_SIZE = 8.0  # Points.
SMALL = TEXT_SIZE - 1.0
DOTTED = (0, (1, 1.6))  # The dashes of lines of reference.

# What the page changes of seaborn's style `ticks` in its context `paper`.
PAGE: Mapping[str, Any] = {
    "figure.figsize": (WIDTH, WIDTH),
    "font.family": ["DejaVu Sans", "sans-serif"],
    "font.sans-serif": ["DejaVu Sans", "Arial", "Liberation Sans"],
    "font.size": TEXT_SIZE,
    "axes.titlesize": TEXT_SIZE,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.labelsize": SMALL,
    "xtick.labelsize": SMALL,
    "ytick.labelsize": SMALL,
    "legend.fontsize": SMALL,
    "legend.frameon": False,
    "legend.handlelength": 2.4,
    "legend.columnspacing": 1.2,
    "text.color": PALETTE["ink"][0],
    "axes.labelcolor": PALETTE["ink"][0],
    "axes.edgecolor": PALETTE["soft"][0],
    "xtick.color": PALETTE["soft"][0],
    "ytick.color": PALETTE["soft"][0],
    "xtick.labelcolor": PALETTE["ink"][0],
    "ytick.labelcolor": PALETTE["ink"][0],
    "axes.linewidth": 0.6,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "xtick.major.size": 3.0,
    "ytick.major.size": 3.0,
    "lines.linewidth": 1.3,
    "lines.markersize": 4.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.facecolor": "none",
    "figure.facecolor": PALETTE["paper"][0],
    "savefig.facecolor": PALETTE["paper"][0],
    "axes.formatter.useoffset": False,
    "axes.formatter.limits": (-4, 5),
    # A name may have a dollar sign.
    "text.parse_math": False,
    # Letters are as wide as a page shows them, at any resolution.
    "text.hinting": "no_hinting",
    # Text remains text, which can be searched and takes the font of the page.
    "svg.fonttype": "none",
}

# For a paper, whose columns say how wide a figure is.
PAPER: Mapping[str, Any] = {
    **PAGE,
    # Like Times, in which most papers are set; it comes with matplotlib.
    "font.family": ["STIXGeneral", *PAGE["font.family"]],
    "figure.facecolor": "white",
    "savefig.facecolor": "white",
    # TrueType, which can be searched and which every publisher takes; the other kind, Type 3, many refuse.
    "pdf.fonttype": 42,
    # An SVG carries no fonts, so that its letters are drawn.
    "svg.fonttype": "path",
}


def colour(name: str) -> str:
    """Returns the colour that figures are drawn with: that of light paper."""
    return PALETTE[name][0]


def css_variables(dark: bool) -> str:
    """Returns the palette as CSS custom properties."""
    return " ".join(f"--{name}: {shades[dark]};" for name, shades in PALETTE.items())


@contextmanager
def theme(settings: Mapping[str, Any] = PAGE) -> Iterator[None]:
    """Draws and saves figures in the theme; the settings of the caller stay as they are."""
    import matplotlib
    import seaborn

    with warnings.catch_warnings(), matplotlib.rc_context():
        if settings["svg.fonttype"] == "none":
            # Text remains text: the reader's fonts have letters that those here lack.
            warnings.filterwarnings("ignore", "Glyph .* missing from font")
        matplotlib.rcdefaults()
        colours = [colour(name) for name in LEVELS]
        seaborn.set_theme(
            context="paper", style="ticks", palette=colours, color_codes=False, rc=dict(settings)
        )
        yield


def figure_width() -> float:
    """Returns the width in inches of the figures that are drawn inside this `theme`."""
    from matplotlib import rcParams

    return float(rcParams["figure.figsize"][0])


def new_figure(height: float) -> Figure:
    """Returns an empty figure, `height` inches high, which pyplot does not know."""
    from matplotlib.figure import Figure

    return Figure(figsize=(figure_width(), height), layout="constrained")


def new_axes(height: float) -> tuple[Figure, Axes]:
    """Returns a figure, `height` inches high, and its only axes."""
    figure = new_figure(height)
    return figure, figure.subplots()
