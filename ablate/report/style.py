"""How figures look: one palette for light and dark, and the matplotlib settings that go with it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

WIDE = 7.2
"Inches: two columns of a paper, and a page on a desk."
NARROW = 3.7
"Inches: one column, and a phone."
TEXT_SIZE = 8.0
"Points."
LINE_HEIGHT = 0.145
"Inches from one line of text to the next."
CHARACTER = 0.068
"Inches: the mean width of a character at TEXT_SIZE."
DPI = 200


@dataclass(frozen=True)
class Colour:
    """One colour of the palette, as it is on light and on dark paper."""

    light: str
    dark: str


PALETTE = {
    "paper": Colour("#fffffe", "#15181c"),
    "ink": Colour("#1b1f24", "#e8ebef"),
    "soft": Colour("#5b636d", "#a3abb6"),
    "line": Colour("#bcc3cc", "#4a525d"),
    "band": Colour("#e6eaf0", "#2b323b"),
    "blue": Colour("#0b62b0", "#6cb4ff"),
    "orange": Colour("#b8430a", "#ff9a5c"),
    "green": Colour("#00705a", "#3fc7a2"),
    "purple": Colour("#8e3a86", "#e08bd6"),
    "ochre": Colour("#8a6500", "#e3b341"),
    "sky": Colour("#177a94", "#9bdcf8"),
    "brown": Colour("#7a4b2a", "#d0a57f"),
}
"Every colour of text has a contrast of at least 4.5 : 1 on its paper; blue and orange stay apart for every eye."


def colour(name: str) -> str:
    """The colour that figures are drawn with: that of light paper."""
    return PALETTE[name].light


LEVELS = ("blue", "orange", "green", "purple", "ochre", "sky", "brown")
"Colours of a factor's levels, in order; the baseline is always ink."
DASHES = (
    "-",
    (0, (5, 1.4)),
    (0, (1.6, 1.2)),
    (0, (6, 1.4, 1.4, 1.4)),
    (0, (3, 1.2)),
    (0, (8, 2)),
    (0, (1, 1)),
)
"Line styles of the levels: colour is never the only difference."


@dataclass(frozen=True)
class Mark:
    """How a verdict is drawn."""

    marker: str
    colour: str
    filled: bool


VERDICTS = {
    "better": Mark("^", "blue", True),
    "worse": Mark("v", "orange", True),
    "equivalent": Mark("s", "green", True),
    "inconclusive": Mark("o", "soft", False),
    "unstable": Mark("X", "purple", True),
    "degenerate": Mark("D", "soft", False),
}

BASELINE_MARK = Mark("P", "ink", True)

SETTINGS: dict[str, Any] = {
    "font.family": "DejaVu Sans",
    "font.size": TEXT_SIZE,
    "axes.titlesize": TEXT_SIZE,
    "axes.labelsize": TEXT_SIZE,
    "xtick.labelsize": TEXT_SIZE - 0.8,
    "ytick.labelsize": TEXT_SIZE - 0.8,
    "legend.fontsize": TEXT_SIZE,
    "text.color": colour("ink"),
    "axes.labelcolor": colour("ink"),
    "axes.edgecolor": colour("soft"),
    "xtick.color": colour("soft"),
    "ytick.color": colour("soft"),
    "xtick.labelcolor": colour("ink"),
    "ytick.labelcolor": colour("ink"),
    "axes.linewidth": 0.6,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "xtick.minor.width": 0.4,
    "ytick.minor.width": 0.4,
    "xtick.major.size": 3.0,
    "ytick.major.size": 3.0,
    "xtick.major.pad": 3.5,
    "ytick.major.pad": 3.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.facecolor": "none",
    "figure.facecolor": "none",
    "axes.unicode_minus": True,
    "axes.formatter.useoffset": False,
    "axes.formatter.limits": (-4, 5),
    "text.usetex": False,
    "text.parse_math": False,
    # Text stays text, in the font of the page: it can be searched, and costs a tenth of its outlines.
    "svg.fonttype": "none",
    # Identifiers that do not change: the same bytes everywhere.
    "svg.hashsalt": "ablate",
    "path.simplify": True,
}


@contextmanager
def context() -> Iterator[None]:
    """Inside, matplotlib draws and saves in this style, whatever the user's own settings are."""
    import matplotlib

    with matplotlib.rc_context():
        # The backend belongs to whoever called.
        defaults = {k: v for k, v in matplotlib.rcParamsDefault.items() if not k.startswith("backend")}
        matplotlib.rcParams.update(defaults | SETTINGS)  # type: ignore[arg-type]
        yield


def css_variables(theme: str) -> str:
    """The palette as CSS custom properties, `theme` being `light` or `dark`."""
    return " ".join(f"--{name}: {getattr(shade, theme)};" for name, shade in PALETTE.items())
