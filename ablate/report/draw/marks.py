"""Points, references and limits that several figures share."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd
import seaborn
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from numpy.typing import ArrayLike

from ablate.core.facts import BASELINE
from ablate.core.metric import Metric
from ablate.report.draw.style import SMALL
from ablate.report.palette import BASELINE_MARK, DOTTED, EXPLORATORY, EXPLORATORY_MARK, VERDICTS, colour

Limits = tuple[float, float]
MARKS = VERDICTS | {BASELINE: BASELINE_MARK, EXPLORATORY: EXPLORATORY_MARK}


def verdicts(
    ax: Axes, data: pd.DataFrame, x: str, y: str, along: str, *intervals: tuple[str, str, float]
) -> None:
    """A point a row, whose shape and colour are those of its `verdict`, over its intervals: low, high and line width.

    `along` is the axis of the metric, `x` or `y`; an arrow at its edge points to what its limits leave out.
    """
    low, high = limits = ax.get_xlim() if along == "x" else ax.get_ylim()
    value, other = (x, y) if along == "x" else (y, x)
    shades = data["verdict"].map(lambda verdict: colour(MARKS[verdict].colour))
    inside = data[data[value].between(low, high)]
    line = ax.hlines if along == "x" else ax.vlines
    for start, end, width in intervals:
        line(inside[other], inside[start], inside[end], color=list(shades[inside.index]), lw=width)
    hollow = inside["verdict"].map(lambda verdict: MARKS[verdict].hollow).astype(bool)
    for mark, rows in inside[hollow].groupby("verdict"):
        edge = colour(MARKS[mark].colour)
        ax.scatter(rows[x], rows[y], s=26, marker=MARKS[mark].marker, fc=colour("paper"), ec=edge, zorder=4)
    if not hollow.all():
        seaborn.scatterplot(
            inside[~hollow],
            x=x,
            y=y,
            hue="verdict",
            style="verdict",
            palette={verdict: colour(mark.colour) for verdict, mark in MARKS.items()},
            markers={verdict: mark.marker for verdict, mark in MARKS.items()},
            s=30,
            linewidth=0.5,
            legend=False,
            zorder=4,
            ax=ax,
        )
    ax.set(xlabel="", ylabel="", **{f"{along}lim": limits})
    outside = data[(data[value] < low) | (data[value] > high)]
    for index, found, at in zip(outside.index, outside[value], outside[other], strict=True):
        edge_arrow(ax, found, along, at, shades[index])


def verdict_handles(verdicts: Iterable[str]) -> list[Line2D]:
    """The entries of a legend for the verdicts that are shown."""
    shown = set(verdicts)
    return [
        Line2D(
            [],
            [],
            ls="",
            marker=mark.marker,
            color=colour("paper" if mark.hollow else mark.colour),
            mec=colour(mark.colour) if mark.hollow else "white",
            mew=0.8 if mark.hollow else 0.5,
            label=name,
        )
        for name, mark in MARKS.items()
        if name in shown
    ]


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
    for value, name in ((known.floor, "guessing"), (known.solved, "solved")):
        if value is None or not low <= value <= high:
            continue
        line: dict[str, Any] = {"color": colour("soft"), "lw": 0.7, "ls": DOTTED, "zorder": 0}
        words: dict[str, Any] = {"color": colour("soft"), "size": SMALL - 0.5}
        if along == "x":
            ax.axvline(value, **line)
            ax.text(value, 1.0, name, transform=ax.get_xaxis_transform(), ha="center", va="bottom", **words)
        else:
            ax.axhline(value, **line)
            # Where curves rarely are: they come from guessing and stay at solved.
            x, side = (0.01, "left") if name == "solved" else (0.99, "right")
            ax.text(x, value, name, transform=ax.get_yaxis_transform(), ha=side, va="bottom", **words)


def padded(low: float, high: float, share: float = 0.06, known: Metric | None = None) -> Limits:
    """Limits of an axis around a range; hardly beyond what the metric can be, where that is known."""
    room = (high - low) * share if low < high else abs(low) * 0.1 or 1.0
    start, end = low - room, high + room
    if known is not None:
        least, most = ends(known)
        # Less than the distance of two ticks: none lies beyond.
        rest = 0.15 * room
        start, end = max(start, min(low, least) - rest), min(end, max(high, most) + rest)
    return start, end


def ends(known: Metric) -> Limits:
    """The least and the greatest value of a metric, infinite where it has none; worse than guessing is possible."""
    floor, ceiling = known.floor, known.ceiling
    low, high = (floor, ceiling) if known.direction == "max" else (ceiling, floor)
    return -math.inf if low is None else low, math.inf if high is None else high


def closer(lows: ArrayLike, highs: ArrayLike, always: Limits) -> Limits | None:
    """Limits of a closer view of rows from `lows` to `highs`, or None where one scale serves all of them.

    The closer view holds `always` and the rows that, with it, take up at most a quarter of the full range, if those
    are at least two, and a third of all.
    """
    ends = np.column_stack([lows, highs]).astype(float)
    ends = ends[np.isfinite(ends).all(axis=1)]
    low, high = np.minimum(ends[:, 0], always[0]), np.maximum(ends[:, 1], always[1])
    near = high - low <= (high.max(initial=always[1]) - low.min(initial=always[0])) / 4
    if not max(2, len(ends) / 3) <= near.sum() < len(ends):
        return None
    view = (float(low[near].min()), float(high[near].max()))
    return view if view[0] < view[1] else None


def views(lows: ArrayLike, highs: ArrayLike, always: Limits, known: Metric | None = None) -> list[Limits]:
    """The limits of axes that hold `always`: around all rows and, where `closer` finds one, of the closer view."""
    full = (float(np.nanmin([*np.ravel(lows), always[0]])), float(np.nanmax([*np.ravel(highs), always[1]])))
    near = closer(lows, highs, always)
    if near is None:
        return [padded(*full, known=known)]
    # A row that lies beside it is shown whole where that widens it little.
    room = (near[1] - near[0]) / 3
    bounds = np.column_stack([np.ravel(lows), np.ravel(highs)]).astype(float)
    beside = bounds[(bounds[:, 0] >= near[0] - room) & (bounds[:, 1] <= near[1] + room)]
    wide = min(near[0], beside[:, 0].min()), max(near[1], beside[:, 1].max())
    return [padded(*full, known=known), padded(*wide, known=known)]


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
