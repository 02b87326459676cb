"""Points, references and limits that several figures share."""

from __future__ import annotations

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
from ablate.report.palette import BASELINE_MARK, DOTTED, VERDICTS, colour

Limits = tuple[float, float]
MARKS = VERDICTS | {BASELINE: BASELINE_MARK}


def verdict_points(ax: Axes, data: pd.DataFrame, x: str, y: str) -> None:
    """A point a row, whose shape and colour are those of its `verdict`; `baseline` is one of them."""
    seaborn.scatterplot(
        data,
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


def verdict_handles(verdicts: Iterable[str]) -> list[Line2D]:
    """The entries of a legend for the verdicts that are shown."""
    shown = set(verdicts)
    return [
        Line2D([], [], ls="", marker=mark.marker, color=colour(mark.colour), mec="white", mew=0.5, label=name)
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
        line = {"color": colour("soft"), "lw": 0.7, "ls": DOTTED, "zorder": 0}
        words: dict[str, Any] = {"color": colour("soft"), "size": SMALL - 0.5}
        if along == "x":
            ax.axvline(value, **line)
            ax.text(value, 1.0, name, transform=ax.get_xaxis_transform(), ha="center", va="bottom", **words)
        else:
            ax.axhline(value, **line)
            ax.text(0.99, value, name, transform=ax.get_yaxis_transform(), ha="right", va="bottom", **words)


def padded(low: float, high: float, share: float = 0.06) -> Limits:
    """Limits of an axis around a range."""
    room = (high - low) * share if low < high else abs(low) * 0.1 or 1.0
    return low - room, high + room


def closer(lows: ArrayLike, highs: ArrayLike, always: Limits) -> Limits | None:
    """Limits of a closer view of rows from `lows` to `highs`, or None where one scale serves all of them.

    The closer view holds `always` and the rows that, with it, take up at most a quarter of the full range, if those
    are at least two, and a third of all.
    """
    lows, highs = np.asarray(lows, float), np.asarray(highs, float)
    known = np.isfinite(lows) & np.isfinite(highs)
    lows, highs = np.minimum(lows[known], always[0]), np.maximum(highs[known], always[1])
    if not len(lows):
        return None
    near = highs - lows <= (highs.max() - lows.min()) / 4
    if not max(2, len(lows) / 3) <= near.sum() < len(lows):
        return None
    return float(lows[near].min()), float(highs[near].max())


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
