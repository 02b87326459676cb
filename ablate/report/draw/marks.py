"""Points, references and limits that several figures share."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import LogLocator, MaxNLocator
from numpy.typing import ArrayLike

from ablate.core.metric import Metric
from ablate.report.draw.style import SMALL
from ablate.report.palette import DOTTED, MARKS, Mark, colour

Limits = tuple[float, float]
STEPS = [1, 2, 2.5, 5, 10]
DENSITIES = ((1, 2, 3, 5, 7), (1, 2, 5), (1, 3), (1,))
"Ticks within each power of ten, from many to few."


def verdicts(
    ax: Axes, data: pd.DataFrame, x: str, y: str, along: str, *intervals: tuple[str, str, float]
) -> None:
    """A point a row, whose shape and colour are those of its `verdict`, over its intervals: low, high and line width.

    `along` is the axis of the metric, `x` or `y`; an arrow at its edge points to what its limits leave out.
    """
    low, high = limits = ax.get_xlim() if along == "x" else ax.get_ylim()
    value, other = (x, y) if along == "x" else (y, x)
    line = ax.hlines if along == "x" else ax.vlines
    for verdict, rows in data.groupby("verdict", sort=False):
        mark = MARKS[verdict]
        shade, inside = colour(mark.colour), rows[rows[value].between(low, high)]
        for start, end, width in intervals:
            line(inside[other], inside[start], inside[end], color=shade, lw=width)
        face, edge = _colours(mark)
        ax.scatter(inside[x], inside[y], s=30, marker=mark.marker, fc=face, ec=edge, lw=0.6, zorder=4)
        outside = rows.drop(inside.index)
        for found, at in zip(outside[value], outside[other], strict=True):
            edge_arrow(ax, found, along, at, shade)
    ax.set(**{f"{along}lim": limits})


def verdict_handles(verdicts: Iterable[str]) -> list[Line2D]:
    """The entries of a legend for the verdicts that are shown."""
    shown = [(name, mark) for name, mark in MARKS.items() if name in set(verdicts)]
    looks = [(name, mark.marker, *_colours(mark)) for name, mark in shown]
    return [
        Line2D([], [], ls="", marker=marker, color=face, mec=edge, mew=0.6, label=name)
        for name, marker, face, edge in looks
    ]


def _colours(mark: Mark) -> tuple[str, str]:
    """Of the inside of a mark, and of its edge."""
    shade = colour(mark.colour)
    return (colour("paper"), shade) if mark.hollow else (shade, "white")


def edge_arrow(ax: Axes, value: float, along: str, at: float, shade: str) -> None:
    """An arrow at the edge of an axis that points to a value outside; `along` is `x` or `y`."""
    low, high = ax.get_xlim() if along == "x" else ax.get_ylim()
    edge = low if value < low else high
    marker = {"x": "<>", "y": "v^"}[along][int(edge == high)]
    point = (edge, at) if along == "x" else (at, edge)
    ax.plot(*point, marker=marker, ms=4.5, color=shade, clip_on=False, zorder=5)


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
            ax.text(x, value, name, transform=ax.get_yaxis_transform(), ha=side, **words)


def padded(low: float, high: float, share: float = 0.06, known: Metric | None = None) -> Limits:
    """Limits of an axis around a range; hardly beyond what the metric can be, where that is known."""
    room = (high - low) * share if low < high else abs(low) * 0.1 or 1.0
    start, end = low - room, high + room
    if known is not None:
        least, most = ends(known)
        # Less than the distance of two ticks: none lies beyond.
        start, end = max(start, min(low, least) - 0.15 * room), min(end, max(high, most) + 0.15 * room)
    return start, end


def ends(known: Metric) -> Limits:
    """The least and the greatest value of a metric, infinite where it has none; worse than guessing is possible."""
    floor, ceiling = known.floor, known.ceiling
    low, high = (floor, ceiling) if known.direction == "max" else (ceiling, floor)
    return -math.inf if low is None else low, math.inf if high is None else high


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


def spread(wanted: ArrayLike, gap: float, low: float, high: float) -> np.ndarray:
    """Places near `wanted`, at least `gap` apart and in the same order, between `low` and `high` if they all fit."""
    values = np.asarray(wanted, float)
    order = np.argsort(values, kind="stable")
    steps = gap * np.arange(len(values))
    up = np.maximum.accumulate(values[order] - steps) + steps
    down = np.minimum.accumulate((values[order] - steps)[::-1])[::-1] + steps
    places = np.empty_like(values)
    places[order] = np.clip((up + down) / 2, low + steps, high - steps[::-1])
    return places


def ticks(low: float, high: float, *, log: bool = False, most: int = 6) -> list[float]:
    """At most so many round numbers from low to high."""
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
