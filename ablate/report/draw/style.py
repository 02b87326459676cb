"""The colours of page and figures, and the look of figures: one width, and the files.

Here and in sections matplotlib is imported by what draws, so that verdicts do not wait for it.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

# Name → the colour on light paper, with which figures are drawn, and on dark paper. Every colour of text has a
# contrast of at least 4.5 : 1 on its paper; blue and orange differ for every eye.
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
    "ochre": ("#8a6500", "#e3b341"),
    "sky": ("#177a94", "#9bdcf8"),
    "brown": ("#7a4b2a", "#d0a57f"),
}

# Colours of a factor's levels, in order; the baseline is always ink.
LEVELS = ("blue", "orange", "green", "purple", "ochre", "sky", "brown")
# Dashes of the levels, none for a solid line: colour is never the only difference.
DASHES: tuple[Any, ...] = (
    "",
    (5, 1.4),
    (1.6, 1.2),
    (6, 1.4, 1.4, 1.4),
    (3, 1.2),
    (8, 2),
    (1, 1),
)
DOTTED = (0, (1, 1.6))  # The style of reference lines.


class Mark(NamedTuple):
    """How a verdict is drawn: by shape and by colour, and in text."""

    marker: str
    colour: str
    sign: str


# Of each verdict on a comparison or a claim.
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
# Of every row of a figure.
MARKS = VERDICTS | {EXPLORATORY: Mark("d", "soft", "◌")}


def colour(name: str) -> str:
    """The colour that figures are drawn with: that of light paper."""
    return PALETTE[name][0]


def css_variables(dark: bool) -> str:
    """The palette as CSS custom properties."""
    return " ".join(f"--{name}: {shades[dark]};" for name, shades in PALETTE.items())


WIDTH = 4.8  # Inches: text of 8 points can be read on a phone, and in a column of a paper.
TEXT_SIZE = 8.0  # Points.
SMALL = TEXT_SIZE - 1.0

SETTINGS: dict[str, Any] = {
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
    "legend.title_fontsize": SMALL,
    "legend.frameon": False,
    "legend.handlelength": 1.6,
    "legend.columnspacing": 1.2,
    "legend.handletextpad": 0.6,
    "text.color": colour("ink"),
    "axes.labelcolor": colour("ink"),
    "axes.edgecolor": colour("soft"),
    "xtick.color": colour("soft"),
    "ytick.color": colour("soft"),
    "xtick.labelcolor": colour("ink"),
    "ytick.labelcolor": colour("ink"),
    "axes.axisbelow": True,
    "axes.linewidth": 0.6,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "xtick.major.size": 3.0,
    "ytick.major.size": 3.0,
    "xtick.minor.size": 3.2,
    "ytick.minor.size": 3.2,
    "xtick.minor.width": 0.8,
    "ytick.minor.width": 0.8,
    "lines.linewidth": 1.3,
    "lines.markersize": 4.8,
    "lines.solid_capstyle": "round",
    "patch.edgecolor": "white",
    "patch.force_edgecolor": True,
    "patch.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.facecolor": "none",
    "figure.facecolor": colour("paper"),
    "savefig.facecolor": colour("paper"),
    "figure.constrained_layout.use": True,
    "axes.formatter.useoffset": False,
    "axes.formatter.limits": (-4, 5),
    "text.parse_math": False,
    # Letters as wide as a page shows them, at any resolution.
    "text.hinting": "no_hinting",
    # Text remains text, which can be searched and takes the font of the page.
    "svg.fonttype": "none",
}

# For a paper, whose columns say how wide a figure is.
PAPER = SETTINGS | {
    # Like Times, in which most papers are set; it comes with matplotlib, and is narrower than the font of the page.
    "font.family": ["STIXGeneral", *SETTINGS["font.family"]],
    "figure.facecolor": "white",
    "savefig.facecolor": "white",
    # TrueType, which can be searched and which every publisher takes; the other kind, Type 3, many refuse.
    "pdf.fonttype": 42,
    # An SVG carries no fonts, so that its letters are drawn.
    "svg.fonttype": "path",
}


@contextmanager
def context(settings: Any = SETTINGS) -> Iterator[None]:
    """Inside, matplotlib draws and saves in this style, whatever the settings of the user are."""
    import matplotlib

    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(settings)
        yield


def width() -> float:
    """Inches of the figures that are drawn inside this `context`."""
    from matplotlib import rcParams

    return float(rcParams["figure.figsize"][0])


def new_figure(height: float) -> Figure:
    """An empty figure, `height` inches high, drawn without a display and unknown to pyplot."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width(), height))


def handle(label: str, **look: Any) -> Line2D:
    """An entry of a legend."""
    from matplotlib.lines import Line2D

    return Line2D([], [], label=label, **look)


def legend(figure: Figure, handles: Sequence[Any]) -> None:
    """A legend above a figure, in as many columns as there is room for."""
    longest = 5 + max(len(str(handle.get_label())) for handle in handles)
    figure.legend(
        handles=handles, loc="outside upper left", ncols=max(1, min(4, int(17 * width() / longest)))
    )


def saved(figure: Figure, name: str, kinds: Sequence[str] = ("svg",)) -> dict[str, bytes]:
    """The figure as SVG 1.1 for the page, or as files of these `kinds`, by kind; the same bytes everywhere.

    `name` makes the identifiers of the SVG differ from those of other figures in a page.
    """
    from matplotlib import rc_context

    figure.set_dpi(72)  # That of SVG, so that no text is measured twice.
    if engine := figure.get_layout_engine():
        engine.execute(figure)
    found = {}
    with rc_context({"svg.hashsalt": name, "figure.constrained_layout.use": False}):
        # An engine of any kind, even of none, would have the figure drawn once more for each file.
        figure.set_layout_engine(None)
        for kind in kinds:
            file, undated = io.BytesIO(), {"Creator": None, "CreationDate" if kind == "pdf" else "Date": None}
            figure.savefig(file, format=kind, metadata=undated)
            found[kind] = file.getvalue()
    return found


def inlined(source: str) -> str:
    """The SVG as an element of a page: in its font and on its paper, without identifiers of other figures."""
    source = source.replace(f"fill: {colour('paper')}", "fill: none", 1)
    source = re.sub(r'<g id="[^"]*"', "<g", source[source.index("<svg") :])
    source = re.sub(r"<(metadata|style)\b.*?</\1>\s*", "", source, flags=re.DOTALL)
    return re.sub(r'font-family: [^;]*; | xmlns(:\w+)?="[^"]*"', "", source).replace("xlink:href", "href")
