"""Draws where the good settings of a sweep lie: parallel coordinates, and a contour of two paths.

Call these inside `style.context()`. `width` is in inches: below `figures.STACKED`, labels stand above their rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FixedFormatter, FixedLocator, MaxNLocator
from matplotlib.tri import Triangulation

from ablate.core.search_table import Objective
from ablate.report import layout, style
from ablate.report.figures import STACKED
from ablate.report.layout import Handle
from ablate.report.search_data import Scale, named, scale, triangles
from ablate.report.search_figures import (
    RING,
    SMALL,
    Upright,
    marker,
    marker_size,
    place_ticks,
    status_keys,
    tick_label,
)
from ablate.report.style import WIDE, colour

LEVELS = 6
"Bands of a contour, about."
ABSENT = -0.09
"Where a line passes an axis of which its setting has no value, as a share of the axis."


def parallel(
    data: pd.DataFrame, scales: Mapping[str, Scale], objective: Objective, width: float = WIDE
) -> Figure:
    """A line a setting, from path to path and down to its value. `data` is `search_data.parallel`.

    The axes lie below each other, so that paths and choices can be read.
    """
    stacked = width < STACKED
    label_width = width - 0.1 if stacked else 1.85
    low, high = _range(data["value"])
    axes = {**scales, named(objective): scale(low, high)}
    absent = any(data[path].isna().any() for path in scales)
    left = 0.16 if stacked else label_width + 0.1
    names = {path: layout.fitted(path, layout.characters(label_width), 1 if stacked else 2) for path in axes}
    row = 0.58 if stacked else 0.5
    handles = _parallel_keys(data)
    keys = layout.in_lines(handles, 2 if stacked else 4)
    bottom = 0.3
    height = row * (len(axes) - 1)
    fig = layout.figure(width, bottom + height + layout.key_height(keys) + (0.28 if stacked else 0.16))
    room = width - left - 0.25
    ax = layout.axes(fig, left, bottom, room, height)
    ax.set_xlim(ABSENT - 0.02 if absent else -0.02, 1.02)
    ax.set_ylim(0, height)
    ax.set_frame_on(False)
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_locator(FixedLocator([]))
    heights = height - row * np.arange(len(axes))
    shares = data[list(scales)].to_numpy(float)
    values = (data["value"].to_numpy(float) - low) / (high - low)
    lines = np.column_stack([np.where(np.isnan(shares), ABSENT, shares), values])
    best, chosen = data["best"].to_numpy(bool), (data["chosen"] != "").to_numpy()
    looks: list[tuple[np.ndarray, dict[str, Any]]] = [
        (~best & ~chosen, {"color": colour("line"), "lw": 0.5, "zorder": 1}),
        (best & ~chosen, {"color": colour("blue"), "lw": 1.0, "zorder": 3}),
        (chosen, {"color": colour("orange"), "lw": 1.8, "zorder": 4}),
    ]
    for mine, look in looks:
        # One artist for all: a gap ends each line.
        x = np.column_stack([lines[mine], np.full(mine.sum(), np.nan)]).ravel()
        y = np.tile([*heights, np.nan], mine.sum())
        ax.plot(x, y, clip_on=False, solid_joinstyle="round", **look)
    for (path, along), y in zip(axes.items(), heights, strict=True):
        ax.plot([0, 1], [y, y], color=colour("soft"), lw=0.8, zorder=5, clip_on=False)
        _ticks(ax, along, float(y), room)
        if path in scales and data[path].isna().any():
            look = {"ha": "center", "va": "top", "size": SMALL - 0.4, "color": colour("soft"), "zorder": 7}
            ax.annotate("none", (ABSENT, y), (0, -3), textcoords="offset points", bbox=_PAPER, **look)
        half = style.LINE_HEIGHT * (len(names[path]) - 1) / 2
        first = 0.14 if stacked else half
        weight = "bold" if path not in scales else "normal"
        for i, part in enumerate(names[path]):
            at = bottom + y + first - i * style.LINE_HEIGHT
            look = {"bbox": _PAPER, "zorder": 8} if stacked else {}
            layout.write(fig, 0.04, at, part, weight=weight, **look)
    layout.write_keys(fig, keys)
    return fig


_PAPER: dict[str, Any] = {"facecolor": colour("paper"), "edgecolor": "none", "pad": 0.8, "alpha": 0.8}
"Behind text that lines pass."


def _range(values: pd.Series) -> tuple[float, float]:
    low, high = float(values.min()), float(values.max())
    return (low, high) if low < high else layout.padded(low, high)


def _ticks(ax: Any, axis: Scale, y: float, room: float) -> None:
    """Marks and labels on one of the axes, the choices cut to the room that they have."""
    most = max(3, int(room / max(1, len(axis.ticks)) / (0.95 * style.CHARACTER)) - 1)
    ticks = (
        axis.ticks if axis.labels else axis.ticks[:: 1 if most >= max(len(t) for _, t in axis.ticks) else 2]
    )
    for place, label in ticks:
        x = (place - axis.low) / (axis.high - axis.low)
        ax.plot([x], [y], marker="|", ms=5, mew=0.8, color=colour("soft"), zorder=5, clip_on=False)
        shown = layout.fitted(label, most, 1)[0] if axis.labels else label
        look = {"ha": "center", "va": "top", "size": SMALL, "zorder": 7}
        ax.annotate(shown, (x, y), (0, -3.5), textcoords="offset points", bbox=_PAPER, **look)


def _parallel_keys(data: pd.DataFrame) -> list[Handle]:
    chosen = data["chosen"] != ""
    best = int((data["best"] & ~chosen).sum())
    keys: list[Handle] = []
    if chosen.any():
        keys.append(Line2D([], [], color=colour("orange"), lw=1.8, label="winner"))
    if best:
        keys.append(Line2D([], [], color=colour("blue"), lw=1.0, label="best settings"))
    if len(data) > best + chosen.sum():
        keys.append(Line2D([], [], color=colour("line"), lw=0.8, label="other settings"))
    return keys


def contour(
    data: pd.DataFrame,
    axes: tuple[tuple[str, Scale], tuple[str, Scale]],
    objective: Objective,
    width: float = WIDE,
) -> Figure:
    """The settings in the plane of two paths, over the values between them where there are enough.

    `data` is `search_data.plane`; `axes` names the path across and the upright one. The stronger the
    colour, the better.
    """
    stacked = width < STACKED
    (x_name, x), (y_name, y) = axes
    found = triangles(data, x, y)
    bands = _bands(data, objective) if found else []
    handles = status_keys(data["status"], chosen=bool((data["chosen"] != "").any()))
    keys = layout.in_lines(handles, 3 if stacked else 6)
    swatches: list[Handle] = [
        Patch(facecolor=colour("blue"), alpha=alpha, lw=0, label=f"{tick_label(low)} to {tick_label(high)}")
        for low, high, alpha in bands
    ]
    side = 0.12 if stacked or not bands else 1.75
    below = layout.in_lines(swatches, 2) if stacked else []
    height, bottom, left = 2.5, 0.5 + (layout.key_height(below) if below else 0.0), 0.72
    fig = layout.figure(width, bottom + height + layout.key_height(keys) + 0.08)
    room = min(width - left - side, 4.6)
    ax = layout.axes(fig, left, bottom, room, height)
    for axis, limit in ((x, ax.set_xlim), (y, ax.set_ylim)):
        pad = 0.04 * (axis.high - axis.low)
        limit(axis.low - pad, axis.high + pad)
    place_ticks(ax, x, room)
    ax.yaxis.set_major_locator(FixedLocator([place for place, _ in y.ticks]))
    ax.yaxis.set_major_formatter(FixedFormatter([label for _, label in y.ticks]))
    if found and bands:
        points, corners = found
        mesh = Triangulation(points["x"], points["y"], corners)
        edges = [bands[0][0], *(high for _, high, _ in bands)]
        inside = np.clip(points["value"], edges[0], edges[-1])
        for low, high, alpha in bands:
            shades: dict[str, Any] = {"colors": [colour("blue")], "alpha": alpha, "zorder": 1}
            # Neighbours meet without a seam only when neither is smoothed at its edge.
            ax.tricontourf(mesh, inside, levels=[low, high], antialiased=False, **shades)
    size = marker_size(len(data))
    for status in ("diverged", "completed"):
        mine = data[data["status"] == status]
        ax.plot(mine["x"], mine["y"], clip_on=False, zorder=4, **marker(status, size))
    chosen = data[data["chosen"] != ""]
    ax.plot(chosen["x"], chosen["y"], clip_on=False, zorder=5, **RING)
    layout.write(fig, left + room / 2, bottom - 0.34, x_name, ha="center")
    layout.write_upright(fig, 0.1, bottom + height / 2, layout.fitted(y_name, 34, 1)[0])
    layout.write_keys(fig, keys)
    if swatches:
        _write_bands(fig, swatches, below, named(objective), left + room + 0.15, bottom + height)
    return fig


def _write_bands(
    fig: Figure, swatches: list[Handle], below: list[list[Handle]], title: str, left: float, top: float
) -> None:
    w, h = fig.get_size_inches()
    look: dict[str, Any] = {"frameon": False, "borderaxespad": 0.0, "handlelength": 1.4, "borderpad": 0.2}
    if below:
        for i, line in enumerate(below):
            at = (len(below) - i) * layout.KEY_LINE / h
            fig.legend(handles=line, loc="upper left", bbox_to_anchor=(0.0, at), ncol=len(line), **look)
        return
    layout.write(fig, left, top - 0.06, layout.fitted(title, 24, 1)[0])
    fig.legend(handles=swatches[::-1], loc="upper left", bbox_to_anchor=(left / w, (top - 0.16) / h), **look)


def _bands(data: pd.DataFrame, objective: Objective) -> list[tuple[float, float, float]]:
    """From, to and opacity of each band, from low values to high ones; a few bad values do not set their width."""
    done = data.loc[data["status"] == "completed", "value"]
    if done.nunique() < 2:
        return []
    view = Upright(done, objective, 2.0, always=False)
    low, high = max(view.low, float(done.min())), min(view.high, float(done.max()))
    edges = MaxNLocator(LEVELS, steps=[1, 2, 2.5, 5, 10]).tick_values(low, high)
    shades = np.linspace(0.06, 0.62, len(edges) - 1)
    if objective.direction == "min":
        shades = shades[::-1]
    return [(float(a), float(b), float(s)) for a, b, s in zip(edges, edges[1:], shades, strict=False)]
