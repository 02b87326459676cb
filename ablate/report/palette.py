"""The colours of page and figures, and the marks of verdicts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ablate.core.facts import BASELINE


@dataclass(frozen=True)
class Colour:
    """One colour of the palette, on light and on dark paper."""

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
"Every colour of text has a contrast of at least 4.5 : 1 on its paper; blue and orange differ for every eye."

LEVELS = ("blue", "orange", "green", "purple", "ochre", "sky", "brown")
"Colours of a factor's levels, in order; the baseline is always ink."
DASHES: tuple[Any, ...] = (
    "",
    (5, 1.4),
    (1.6, 1.2),
    (6, 1.4, 1.4, 1.4),
    (3, 1.2),
    (8, 2),
    (1, 1),
)
"Dashes of the levels, none for a solid line: colour is never the only difference."
DOTTED = (0, (1, 1.6))
"The style of reference lines."


@dataclass(frozen=True)
class Mark:
    """How a verdict is drawn: by shape and by colour, and in text."""

    marker: str
    colour: str
    sign: str
    hollow: bool = False


VERDICTS = {
    "better": Mark("^", "blue", "▲"),
    "worse": Mark("v", "orange", "▼"),
    "equivalent": Mark("s", "green", "■"),
    "inconclusive": Mark("o", "soft", "○"),
    "supported": Mark("^", "blue", "▲"),
    "refuted": Mark("v", "orange", "▼"),
}
"Of each verdict on a comparison or a claim."
EXPLORATORY = "exploratory"
"The mark of every comparison outside the families that the study planned, whatever it shows."
MARKS = VERDICTS | {BASELINE: Mark("P", "ink", "✚"), EXPLORATORY: Mark("o", "soft", "◌", hollow=True)}
"Of every row of a figure."


def colour(name: str) -> str:
    """The colour that figures are drawn with: that of light paper."""
    return PALETTE[name].light


def css_variables(theme: str) -> str:
    """The palette as CSS custom properties, `theme` being `light` or `dark`."""
    return " ".join(f"--{name}: {getattr(shade, theme)};" for name, shade in PALETTE.items())
