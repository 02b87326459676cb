"""The colours of page and figures, and the marks of verdicts."""

from __future__ import annotations

from typing import Any, NamedTuple

from ablate.core.facts import BASELINE

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
"""Name → the colour on light paper, with which figures are drawn, and on dark paper.

Every colour of text has a contrast of at least 4.5 : 1 on its paper; blue and orange differ for every eye.
"""

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


class Mark(NamedTuple):
    """How a verdict is drawn: by shape and by colour, and in text."""

    marker: str
    colour: str
    sign: str


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
MARKS = VERDICTS | {BASELINE: Mark("P", "ink", "✚"), EXPLORATORY: Mark("d", "soft", "◌")}
"Of every row of a figure."


def colour(name: str) -> str:
    """The colour that figures are drawn with: that of light paper."""
    return PALETTE[name][0]


def css_variables(dark: bool) -> str:
    """The palette as CSS custom properties."""
    return " ".join(f"--{name}: {shades[dark]};" for name, shades in PALETTE.items())
