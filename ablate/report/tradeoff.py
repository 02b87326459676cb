"""Draws what each variant achieves against what it costs."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator

from ablate.base import wording
from ablate.core.facts import BASELINE
from ablate.core.metric import Metric
from ablate.report import layout, style
from ablate.report.figures import STACKED, verdict_marker
from ablate.report.layout import Handle, Limits
from ablate.report.style import WIDE, colour

COSTS = {"parameters": "parameters", "flops": "forward FLOPs an example"}
"Column → what its axis says."
MAX_LABELS = 20
"Variants that a panel names: those whose mean is furthest from the baseline's."
MOST = 0.6
"Share of the variants that a view must show to leave the others out."
LABEL_GAP = 0.125
LABEL_WIDTH = 1.6
SMALL_CHARACTER = 0.9 * style.CHARACTER
BEESWARM = 0.1
"Inches between the points of variants of equal cost."


def varying(data: pd.DataFrame) -> list[str]:
    """The costs in which the variants of `figure_data.tradeoff` differ."""
    return [cost for cost in COSTS if data[cost].nunique() > 1]


def figure(data: pd.DataFrame, metric: str, known: Metric, width: float = WIDE) -> Figure:
    """Mean of the primary metric against each cost that varies, one panel each.

    `data` is `figure_data.tradeoff`. Points of equal cost stand side by side. Where a few means dwarf the rest,
    they stand at the edge as arrows.
    """
    stacked = width < STACKED
    costs = varying(data)
    across = 1 if stacked else len(costs)
    limits = _metric_limits(data, known)
    named = min(len(data), MAX_LABELS)
    panel_height, foot = max(1.9, named * LABEL_GAP + 0.2), 0.62
    keys = _keys(data, 3 if stacked else 6)
    key = layout.key_height(keys)
    down = -(-len(costs) // across)
    fig = layout.figure(width, down * (panel_height + foot) + key + 0.1)
    share, left = width / across, 0.55
    for i, cost in enumerate(costs):
        start = (i % across) * share + left
        bottom = foot + (down - 1 - i // across) * (panel_height + foot) - 0.08
        room = share - left - LABEL_WIDTH
        ax = layout.axes(fig, start, bottom, room, panel_height)
        ax.set_ylim(limits)
        ax.yaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 5, 10]))
        _cost_axis(ax, data[cost], room)
        shown = data[data[cost].notna()]
        _points(fig, ax, shown, cost, (start, bottom, room, panel_height))
        layout.write(fig, start + room / 2, bottom - 0.33, COSTS[cost], ha="center")
        if i % across == 0:
            better = "" if known.direction == "max" else ", less is better"
            layout.write_upright(fig, 0.1, bottom + panel_height / 2, f"{metric}{better}")
    layout.write_keys(fig, keys)
    return fig


def _metric_limits(data: pd.DataFrame, known: Metric) -> Limits:
    """What holds every interval or, where a few means dwarf the rest, the rest; no more than the metric can be."""
    lows, highs = data["low"].fillna(data["mean"]), data["high"].fillna(data["mean"])
    first = float(data["mean"].iloc[0])
    near = layout.closer([(value, value) for value in data["mean"]], (first, first))
    low, high = float(lows.min()), float(highs.max())
    if near and (inside := data["mean"].between(*near)).mean() >= MOST:
        # The intervals of what is in view may widen it, but not so far that they are all one sees.
        room = 0.6 * (near[1] - near[0])
        low = max(float(lows[inside].min()), near[0] - room)
        high = min(float(highs[inside].max()), near[1] + room)
    if known.ceiling is not None:
        low, high = (
            (low, min(high, known.ceiling)) if known.direction == "max" else (max(low, known.ceiling), high)
        )
    return layout.padded(low, high, 0.08)


def _cost_axis(ax: Axes, costs: pd.Series, room: float) -> None:
    low, high = float(costs.min()), float(costs.max())
    if low > 0 and high > 20 * low:
        ax.set_xscale("log")
        ax.xaxis.set_major_locator(LogLocator(numticks=5))
        ax.xaxis.set_minor_locator(NullLocator())
        limits = layout.padded(math.log(low), math.log(high), 0.12)
        ax.set_xlim(math.exp(limits[0]), math.exp(limits[1]))
    else:
        ax.set_xlim(layout.padded(low, high, 0.12))
        ax.xaxis.set_major_locator(MaxNLocator(max(2, int(room / 0.55)), steps=[1, 2, 2.5, 5, 10]))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: wording.compact(value)))


def _points(
    fig: Figure, ax: Axes, data: pd.DataFrame, cost: str, box: tuple[float, float, float, float]
) -> None:
    left, bottom, room, height = box
    low, high = ax.get_ylim()
    base = data[data["variant"] == BASELINE]
    ax.axhline(
        float(base["mean"].iloc[0]) if len(base) else np.nan, color=colour("soft"), lw=0.7, ls=(0, (1, 1.6))
    )
    to_axes = ax.transScale + ax.transLimits
    wanted = [room * float(to_axes.transform((x, low))[0]) for x in data[cost]]
    places = layout.apart(wanted, min(BEESWARM, (room - 0.1) / max(1, len(data) - 1)), 0.05, room - 0.05)
    inverse = to_axes.inverted()
    labels: list[tuple[float, float, str, str]] = []
    for row, place in zip(data.to_dict("records"), places, strict=True):
        x = float(inverse.transform((place / room, 0.0))[0])
        mark = style.VERDICTS.get(row["verdict"], style.BASELINE_MARK)
        shade = colour(mark.colour)
        y = min(max(row["mean"], low), high)
        if y == row["mean"]:
            ax.plot([x, x], [row["low"], row["high"]], color=shade, lw=0.8, zorder=2)
            ax.plot([x], [y], **verdict_marker(mark), zorder=4)
        else:
            ax.plot([x], [y], marker="v" if y == low else "^", ms=4.5, color=shade, clip_on=False, zorder=4)
        text = row["label"] if y == row["mean"] else f"{row['label']} {wording.number(row['mean'], 2)}"
        labels.append((place, bottom + height * (y - low) / (high - low), text, mark.colour))
    _labels(fig, labels, data["mean"].to_numpy(), left, room, (bottom, height))


def _labels(
    fig: Figure,
    labels: Sequence[tuple[float, float, str, str]],
    means: np.ndarray,
    left: float,
    room: float,
    span: tuple[float, float],
) -> None:
    """Names at the right, each led to its point."""
    far = np.argsort(-np.abs(means - means[0]), kind="stable")[: MAX_LABELS - 1]
    kept = [labels[i] for i in sorted({0, *far.tolist()})]
    bottom, height = span
    places = layout.apart([y for _, y, _, _ in kept], LABEL_GAP, bottom + 0.04, bottom + height - 0.04)
    w, h = fig.get_size_inches()
    for (x, from_y, text, name), y in zip(kept, places, strict=True):
        ends = [(left + x + 0.05) / w, (left + room + 0.02) / w, (left + room + 0.1) / w]
        line = Line2D(ends, [from_y / h, from_y / h, y / h], lw=0.4, color=colour("line"), zorder=0)
        fig.add_artist(line)
        shown = layout.fitted(text, int((LABEL_WIDTH - 0.15) / SMALL_CHARACTER), 1)[0]
        layout.write(fig, left + room + 0.12, y, shown, color=colour(name), size=style.TEXT_SIZE - 0.8)


def _keys(data: pd.DataFrame, across: int) -> list[list[Handle]]:
    present = set(data["verdict"])
    handles: list[Handle] = [Line2D([], [], label=BASELINE, **verdict_marker(style.BASELINE_MARK))]
    handles += [
        Line2D([], [], label=name, **verdict_marker(mark))
        for name, mark in style.VERDICTS.items()
        if name in present
    ]
    handles.append(Line2D([], [], color=colour("soft"), lw=0.8, label="95 % interval"))
    return layout.in_lines(handles, across)
