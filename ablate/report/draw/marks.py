"""Points, rows of variants, references and limits that several figures share."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from ablate.base.wording import exact
from ablate.core.metric import Metric
from ablate.report.draw import style
from ablate.report.draw.style import DOTTED, SMALL, colour
from ablate.report.words import in_lines, say

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Limits = tuple[float, float]
STEPS = [1, 2, 5, 10]
DENSITIES = ((1, 2, 3, 5, 7), (1, 2, 5), (1, 3), (1,))  # Ticks within each power of ten, from many to few.


def plain(value: float, _: float) -> str:
    """A tick as the text writes numbers: .05."""
    return exact(round(value, 12))


def references(ax: Axes, known: Metric, along: str) -> None:
    """Dotted lines at the values of guessing and of solved that are in view; `along` is the axis of the metric."""
    low, high = ax.get_xlim() if along == "x" else ax.get_ylim()
    words: dict[str, Any] = {"color": colour("soft"), "size": SMALL - 0.5, "va": "bottom"}
    for value, name in ((known.floor, "guessing"), (known.solved, "solved")):
        if value is None or not low <= value <= high:
            continue
        (ax.axvline if along == "x" else ax.axhline)(value, color=colour("soft"), lw=0.7, ls=DOTTED, zorder=0)
        if along == "x":
            ax.text(value, 1.0, name, transform=ax.get_xaxis_transform(), ha="center", **words)
        else:
            # Where curves rarely are: they come from guessing and stay at solved.
            x, side = (0.01, "left") if name == "solved" else (0.99, "right")
            # Above it may stand a legend.
            words["va"] = "top" if value > high - 0.15 * (high - low) else "bottom"
            ax.text(x, value, name, transform=ax.get_yaxis_transform(), ha=side, **words)


def padded(low: float, high: float, share: float = 0.06, known: Metric | None = None) -> Limits:
    """Limits of an axis around a range; hardly beyond what the metric can be, where that is known."""
    room = (high - low) * share if low < high else abs(low) * 0.1 or 1.0
    start, end = low - room, high + room
    if known is not None:
        floor, ceiling = known.floor, known.ceiling
        least, most = (floor, ceiling) if known.direction == "max" else (ceiling, floor)
        # Less than the distance of two ticks: none lies beyond.
        start = start if least is None else max(start, min(low, least) - 0.15 * room)
        end = end if most is None else min(end, max(high, most) + 0.15 * room)
    return start, end


def views(lows: ArrayLike, highs: ArrayLike, always: Limits, known: Metric | None = None) -> list[Limits]:
    """The limits of axes that hold `always`: around all rows and, where a few dwarf the others, a closer one.

    The closer one holds the rows that, with `always`, take up at most a quarter of the full range, if those are at
    least two, and a third of all.
    """
    bounds = np.column_stack([np.ravel(lows), np.ravel(highs)]).astype(float)
    bounds = bounds[np.isfinite(bounds).all(axis=1)]
    low, high = np.minimum(bounds[:, 0], always[0]), np.maximum(bounds[:, 1], always[1])
    full = float(low.min(initial=always[0])), float(high.max(initial=always[1]))
    near = high - low <= (full[1] - full[0]) / 4
    found = [padded(*full, known=known)]
    if max(2, len(bounds) / 3) <= near.sum() < len(bounds):
        view = float(low[near].min()), float(high[near].max())
        found += [padded(*view, known=known)] if view[0] < view[1] else []
    return found


def ticks(low: float, high: float, *, log: bool = False, most: int = 6) -> list[float]:
    """At most so many round numbers from low to high."""
    from matplotlib.ticker import LogLocator, MaxNLocator

    slack = 1e-9 * (low if log else high - low)
    powers = [LogLocator(subs=steps, numticks=most) for steps in DENSITIES if log]
    found = [
        [float(tick) for tick in locator.tick_values(low, high) if low - slack <= tick <= high + slack]
        for locator in (*powers, MaxNLocator(most - 1, steps=STEPS))
    ]
    return next((shown for shown in found if 1 < len(shown) <= most), found[-1])


def unit_label(number: float, say: Callable[[float], str]) -> str:
    """A number in the words of `say` beside an axis: `2 ms`, not `2.00 ms`."""
    return re.sub(r"(\.\d*?)0+(?!\d)", r"\1", say(number)).replace(". ", " ").removesuffix(".")


LABEL = 30  # Characters of a line of a label, which has at most two.
PITCH = 0.24  # Inches from one row to the next.
MAX_ROWS = 60  # Rows of one figure: more are taller than any page, and are in the tables.


def largest(data: pd.DataFrame, size: pd.Series) -> tuple[pd.DataFrame, str]:
    """The rows of the variants of the largest `size`, its mean over rows, and what a caption says of the others."""
    sizes = size.groupby(data["variant"], sort=False).mean().abs().fillna(0.0)
    words = say("figures.largest", MAX_ROWS, len(sizes)) if len(sizes) > MAX_ROWS else ""
    return data[data["variant"].isin(sizes.nlargest(MAX_ROWS).index)], words


def placed(data: pd.DataFrame) -> tuple[dict[str, float], list[str]]:
    """The height of each variant, from 0 downwards, and their labels. `data` has the columns variant and label."""
    rows = data.drop_duplicates("variant")
    labels = [in_lines(label, LABEL, 2) for label in rows["label"]]
    return {variant: float(y) for y, variant in enumerate(rows["variant"])}, labels


def axes(
    labels: Sequence[str], views: Sequence[Limits], measured: str, pitch: float = PITCH
) -> tuple[Figure, list[Axes]]:
    """A figure with one axes for each view of the same rows, `pitch` inches from one row to the next."""
    bottom = len(labels) - 0.4
    figure = style.new_figure(1.0 + pitch * (bottom + 0.6))
    found = figure.subplots(1, len(views), sharey=True, squeeze=False)[0].tolist()
    for ax, limits, words in zip(
        found, views, ("full range" if len(views) > 1 else "", "closer"), strict=False
    ):
        ax.set(xlim=limits, ylim=(bottom, -0.6))
        ax.locator_params(axis="x", nbins=5 if len(views) == 1 else 3, steps=[1, 2, 2.5, 5, 10])
        ax.xaxis.set_major_formatter(plain)
        ax.spines["left"].set_visible(False)
        ax.tick_params(axis="y", length=0)
        # The names of reference lines are written below it.
        ax.set_title(words, size=style.SMALL, weight="normal", pad=12)
    found[0].set_yticks(range(len(labels)), labels)
    figure.supxlabel(measured, size=style.SMALL)
    return figure, found


def write_right(ax: Axes, words: Mapping[float, str], shade: str) -> None:
    """Words at the right of rows, by height."""
    for y, told in words.items():
        ax.text(1.04, y, told, transform=ax.get_yaxis_transform(), va="center", size=style.SMALL, color=shade)
