"""What a reader who points at a mark is told: `<title>` elements over the points of an SVG."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from markupsafe import escape
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from ablate.base.wording import exact

RADIUS = 4
"Points: more than most marks have, so that they are easily hit."
NEXT = "\n\n"
"Between the words of points that lie on one another."
_TOLD: WeakKeyDictionary[Axes, list[tuple[float, float, str]]] = WeakKeyDictionary()


def tell(ax: Axes, x: ArrayLike, y: ArrayLike, words: Iterable[str]) -> None:
    """Says `words`, in lines, of each point (x, y); one outside the axes is told at its edge."""
    points = zip(np.asarray(x, float), np.asarray(y, float), words, strict=True)
    _TOLD.setdefault(ax, []).extend(points)


def titles(figure: Figure) -> str:
    """The elements to add to the SVG of a figure whose layout is final; matplotlib knows none of the kind."""
    scale, height = 72 / figure.dpi, figure.bbox.height
    found: dict[str, list[str]] = {}
    for ax in figure.axes:
        for x, y, words in _TOLD.get(ax, []):
            place: Any = ax.transData.transform((x, y))
            if np.isfinite(place).all():
                left, up = np.clip(place, ax.bbox.min, ax.bbox.max)
                # Points that lie on one another are told together.
                found.setdefault(f'cx="{left * scale:.1f}" cy="{(height - up) * scale:.1f}"', []).append(
                    words
                )
    return "\n".join(
        f'<circle {at} r="{RADIUS}" fill-opacity="0"><title>{escape(NEXT.join(words))}</title></circle>'
        for at, words in found.items()
    )


def short(value: float) -> str:
    """A value with four significant digits."""
    return exact(float(f"{value:.4g}"))


def named(label: str, variant: str) -> str:
    """A variant by its name for readers, with the one that it has in the files."""
    return label if label == variant else f"{label} ({variant})"
