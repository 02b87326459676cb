"""Draws how a sweep went: history, importances, slices, and the Pareto front.

Call these inside `style.context()`. `width` is in inches: below `figures.STACKED`, labels stand above their rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FixedFormatter, FixedLocator, MaxNLocator

from ablate.base.wording import MINUS, brief, compact
from ablate.core.search_table import Objective
from ablate.report import layout, style
from ablate.report.figures import STACKED, verdict_marker
from ablate.report.layout import Handle, Limits
from ablate.report.search_data import STATUSES, Scale, named, scale
from ablate.report.style import WIDE, Mark, colour

MARKS = {
    "completed": Mark("o", "blue", True),
    "diverged": Mark("X", "purple", True),
    "pruned": Mark("s", "soft", False),
    "failed": Mark("v", "orange", True),
    "invalid": Mark("D", "ochre", False),
}
EVALUATORS = {"fanova": ("fANOVA", "blue"), "ped_anova": ("PED-ANOVA", "orange")}
MARKER_SIZE = 4.6
SMALL = style.TEXT_SIZE - 0.8
STRIP = 0.2
"Inches of the band at the worse edge, where settings stand that have no value in view."
MOST = 0.6
"Share of the values that a view must hold to leave the others to the band."
MAX_ACROSS = 14
"Characters of the label of a choice that stands upright."
GOLDEN = 0.618034


def marker(status: str, size: float = MARKER_SIZE) -> dict[str, Any]:
    """How a setting of this status is drawn."""
    return {**verdict_marker(MARKS[status]), "ms": size}


def marker_size(settings: int) -> float:
    """Points, fewer where there are many settings."""
    return MARKER_SIZE if settings <= 150 else 3.2


RING: dict[str, Any] = {"marker": "o", "ls": "", "ms": 9.5, "mfc": "none", "mec": colour("ink"), "mew": 1.2}
"Around a setting that became a variant."


def status_keys(present: Sequence[str], *, chosen: bool, more: Sequence[Handle] = ()) -> list[Handle]:
    """What the marks of settings mean."""
    handles: list[Handle] = [
        Line2D([], [], label=name, **marker(name)) for name in STATUSES if name in set(present)
    ]
    ring = Line2D([], [], label="winner", **{**RING, "ms": 7.5})
    return [*handles, *more, *([ring] if chosen else [])]


class Upright:
    """The axis of an objective, with a band at its worse edge for settings without a value in view."""

    def __init__(self, values: pd.Series, objective: Objective, height: float, *, always: bool) -> None:
        known = values.dropna().to_numpy(float)
        self.up = objective.direction == "max"
        self.low, self.high = layout.padded(*_in_view(known, self.up)) if len(known) else (0.0, 1.0)
        self.empty = not len(known)
        inside = (known >= self.low) & (known <= self.high)
        self.band = always or not inside.all()
        share = STRIP / (height - STRIP) * (self.high - self.low) if self.band else 0.0
        self.limits: Limits = (self.low - share, self.high) if self.up else (self.low, self.high + share)
        self.edge = self.limits[0] + share / 2 if self.up else self.limits[1] - share / 2

    def places(self, values: pd.Series) -> np.ndarray:
        """Where values stand; those that are missing or out of view, in the band."""
        found = values.to_numpy(float)
        inside = (found >= self.low) & (found <= self.high)
        return np.where(inside, found, self.edge)

    def apply(self, ax: Axes, *, labels: bool = True) -> None:
        """Sets the limits, the ticks and the band of an axes."""
        ax.set_ylim(self.limits)
        ticks = MaxNLocator(4, steps=[1, 2, 2.5, 5, 10]).tick_values(self.low, self.high)
        shown = [tick for tick in ticks if self.low <= tick <= self.high and not self.empty]
        ax.yaxis.set_major_locator(FixedLocator(shown))
        ax.yaxis.set_major_formatter(FixedFormatter([tick_label(t) if labels else "" for t in shown]))
        if self.band:
            bounds = (self.limits[0], self.low) if self.up else (self.high, self.limits[1])
            ax.axhspan(*bounds, color=colour("band"), lw=0, zorder=0)


def _in_view(values: np.ndarray, up: bool) -> Limits:
    """What holds all values or, where a few bad ones dwarf the rest, the rest."""
    best = float(values.max() if up else values.min())
    near = layout.closer([(v, v) for v in values], (best, best))
    if near and np.mean((values >= near[0]) & (values <= near[1])) >= MOST:
        return near
    return float(values.min()), float(values.max())


def tick_label(place: float) -> str:
    """A number beside an axis, in few characters."""
    return compact(place).replace("-", MINUS) if abs(place) >= 1e4 else brief(place)


def history(data: pd.DataFrame, objective: Objective, width: float = WIDE) -> Figure:
    """The value of every setting over its number, and the best so far. `data` is `search_data.history`."""
    stacked = width < STACKED
    height, bottom, left = 1.9, 0.5, 0.72
    best = Line2D([], [], color=colour("ink"), lw=1.1, label="best so far")
    handles = status_keys(data["status"], chosen=bool((data["chosen"] != "").any()), more=[best])
    keys = layout.in_lines(handles, 3 if stacked else 7)
    fig = layout.figure(width, bottom + height + layout.key_height(keys) + 0.08)
    room = width - left - 0.12
    ax = layout.axes(fig, left, bottom, room, height)
    upright = Upright(data["value"], objective, height, always=bool(data["value"].isna().any()))
    upright.apply(ax)
    last = int(data["number"].max())
    ax.set_xlim(-0.03 * last - 0.5, 1.03 * last + 0.5)
    ax.xaxis.set_major_locator(MaxNLocator(5 if stacked else 9, integer=True))
    known = data[data["best"].notna()]
    ax.plot(known["number"], known["best"], color=colour("ink"), lw=1.1, drawstyle="steps-post", zorder=2)
    _settings(ax, data, data["number"].to_numpy(float), upright)
    layout.write(fig, left + room / 2, bottom - 0.34, "setting", ha="center")
    layout.write_upright(fig, 0.1, bottom + height / 2, _directed(objective))
    layout.write_keys(fig, keys)
    return fig


def _settings(ax: Axes, data: pd.DataFrame, x: np.ndarray, upright: Upright) -> None:
    """The settings of a frame with status, value and chosen: one artist for each status."""
    y = upright.places(data["value"])
    size = marker_size(len(data))
    for z, status in enumerate(reversed(STATUSES)):
        mine = (data["status"] == status).to_numpy()
        if mine.any():
            ax.plot(x[mine], y[mine], clip_on=False, zorder=3 + z, **marker(status, size))
    chosen = (data["chosen"] != "").to_numpy()
    if chosen.any():
        ax.plot(x[chosen], y[chosen], clip_on=False, zorder=9, **RING)


def _directed(objective: Objective) -> str:
    return f"{named(objective)}{'' if objective.direction == 'max' else ', less is better'}"


def importances(data: pd.DataFrame, width: float = WIDE) -> Figure:
    """Bars by parameter and evaluator, with the spread over resampled settings. `data` is `search_data.ranked`."""
    stacked = width < STACKED
    bar, gap = 0.13, 0.15
    label_width = width - 0.1 if stacked else 2.1
    paths = list(dict.fromkeys(data["parameter"]))
    names = {path: layout.fitted(path, layout.characters(label_width), 2) for path in paths}
    bottom = 0.5
    span: Line2D = Line2D([], [], color=colour("ink"), lw=0.9, label="5th to 95th percentile")
    bars: list[Handle] = [Patch(label=name, **_bar(key)) for key, (name, _) in EVALUATORS.items()]
    keys = layout.in_lines([*bars, span], 2 if stacked else 3)
    above = {path: style.LINE_HEIGHT * len(names[path]) + 0.02 if stacked else 0.0 for path in paths}
    row = max(2 * bar + gap, 0.0 if stacked else 2 * style.LINE_HEIGHT + 0.06)
    height = sum(above.values()) + row * len(paths)
    fig = layout.figure(width, bottom + height + layout.key_height(keys))
    left, number = (0.12, 0.55) if stacked else (label_width + 0.1, 0.6)
    room = width - left - number - 0.05
    ax = layout.axes(fig, left, bottom, room, height)
    ax.set_xlim(0, 1)
    ax.set_ylim(0, height)
    ax.yaxis.set_major_locator(FixedLocator([]))
    ax.spines["left"].set_visible(False)
    ax.xaxis.set_major_locator(FixedLocator([0, 0.25, 0.5, 0.75, 1]))
    ax.xaxis.set_major_formatter(FixedFormatter(["0 %", "25 %", "50 %", "75 %", "100 %"]))
    top = height
    of = {(r["parameter"], r["evaluator"]): r for r in data.to_dict("records")}
    for path in paths:
        lines = names[path]
        first = top - style.LINE_HEIGHT / 2 if stacked else top - row / 2 + _half(lines)
        for i, line in enumerate(lines):
            layout.write(fig, 0.04, bottom + first - i * style.LINE_HEIGHT, line)
        top -= above[path]
        for i, key in enumerate(EVALUATORS):
            found = of.get((path, key))
            if found is None:
                continue
            y = top - row / 2 + (0.5 - i) * (bar + 0.01)
            ax.barh(y, found["importance"], height=bar, zorder=2, **_bar(key))
            ax.plot([found["low"], found["high"]], [y, y], color=colour("ink"), lw=0.9, zorder=3)
            shown = f"{100 * found['importance']:.0f} %"
            layout.write(fig, width - 0.06, bottom + y, shown, ha="right", size=SMALL)
        top -= row
    layout.write(fig, left + room / 2, bottom - 0.33, "importance, as a share", ha="center")
    layout.write_keys(fig, keys)
    return fig


def _half(lines: Sequence[str]) -> float:
    return style.LINE_HEIGHT * (len(lines) - 1) / 2


def _bar(evaluator: str) -> dict[str, Any]:
    shade = colour(EVALUATORS[evaluator][1])
    face = shade if evaluator == "fanova" else colour("paper")
    return {"facecolor": face, "edgecolor": shade, "lw": 0.9}


def slices(
    data: pd.DataFrame, scales: Mapping[str, Scale], objective: Objective, width: float = WIDE
) -> Figure:
    """The objective against each searched path, one panel each. `data` is `search_data.slices`."""
    stacked = width < STACKED
    across = min(2 if stacked else 3, len(scales))
    down = -(-len(scales) // across)
    panel, left, gap = 1.25, 0.72, 0.2
    room = (width - left - 0.12 - gap * (across - 1)) / across
    names = [layout.fitted(path, layout.characters(room), 2) for path in scales]
    lines = [slice(line * across, (line + 1) * across) for line in range(down)]
    heads = [0.1 + style.LINE_HEIGHT * max(map(len, names[line])) for line in lines]
    feet = [max(_foot(axis, room) for axis in list(scales.values())[line]) for line in lines]
    handles = status_keys(data["status"], chosen=bool((data["chosen"] != "").any()))
    keys = layout.in_lines(handles, 3 if stacked else 7)
    fig = layout.figure(width, sum(feet) + sum(heads) + down * panel + layout.key_height(keys))
    upright = Upright(data["value"], objective, panel, always=bool(data["value"].isna().any()))
    top = fig.get_size_inches()[1] - layout.key_height(keys)
    for i, (path, axis) in enumerate(scales.items()):
        column, line = i % across, i // across
        start = left + column * (room + gap)
        bottom = top - sum(feet[:line]) - sum(heads[: line + 1]) - (line + 1) * panel
        ax = layout.axes(fig, start, bottom, room, panel)
        upright.apply(ax, labels=column == 0)
        mine = data[data["parameter"] == path]
        x = mine["place"].to_numpy(float)
        if axis.labels:
            # Side by side within their choice, in an order that looks like none.
            x = x + ((mine["number"].to_numpy(float) * GOLDEN) % 1 - 0.5) * 0.5
        _across(fig, ax, axis, start, bottom, room)
        _settings(ax, mine, x, upright)
        for k, part in enumerate(names[i]):
            y = bottom + panel + 0.08 + style.LINE_HEIGHT * (len(names[i]) - k - 0.5)
            layout.write(fig, start, y, part, weight="bold")
        if column == 0:
            layout.write_upright(fig, 0.1, bottom + panel / 2, _directed(objective))
    layout.write_keys(fig, keys)
    return fig


def _fit(axis: Scale, room: float) -> bool:
    """Whether the labels of the choices stand side by side."""
    each = int((room / max(1, len(axis.labels)) - 0.05) / (0.9 * style.CHARACTER))
    return max((len(label) for label in axis.labels), default=0) <= each


def _foot(axis: Scale, room: float) -> float:
    """Inches below a panel."""
    if not axis.labels or _fit(axis, room):
        return 0.32
    longest = min(MAX_ACROSS, max(map(len, axis.labels)))
    return 0.2 + longest * 0.9 * style.CHARACTER


def _across(fig: Figure, ax: Axes, axis: Scale, left: float, bottom: float, room: float) -> None:
    pad = 0.0 if axis.labels else 0.05 * (axis.high - axis.low)
    ax.set_xlim(axis.low - pad, axis.high + pad)
    if not axis.labels or _fit(axis, room):
        place_ticks(ax, axis, room)
        return
    ax.xaxis.set_major_locator(FixedLocator([place for place, _ in axis.ticks]))
    ax.xaxis.set_major_formatter(FixedFormatter([""] * len(axis.ticks)))
    for place, label in axis.ticks:
        x = left + room * (place - axis.low) / (axis.high - axis.low)
        shown = layout.fitted(label, MAX_ACROSS, 1)[0]
        look: dict[str, Any] = {"ha": "right", "rotation": 90, "rotation_mode": "anchor", "size": SMALL}
        layout.write(fig, x, bottom - 0.09, shown, **look)


def place_ticks(ax: Axes, axis: Scale, room: float) -> None:
    """The ticks of a scale across, as many as can be read in so many inches."""
    ticks = axis.ticks
    if not axis.labels:
        longest = max((len(label) for _, label in ticks), default=1)
        most = max(2, int(room / ((longest + 1.5) * style.CHARACTER)))
        ticks = ticks[:: max(1, -(-len(ticks) // most))]
    ax.xaxis.set_major_locator(FixedLocator([place for place, _ in ticks]))
    ax.xaxis.set_major_formatter(FixedFormatter([label for _, label in ticks]))


def pareto(data: pd.DataFrame, upright: Objective, across: Objective, width: float = WIDE) -> Figure:
    """Two objectives against each other, the front as a line, winners by name. `data` is `search_data.pareto`."""
    height, bottom, left, right = 2.4, 0.5, 0.72, 0.85
    front = Line2D([], [], color=colour("green"), lw=1.2, label="front")
    chosen = data[data["chosen"] != ""]
    handles = status_keys(data["status"], chosen=False, more=[front])
    keys = layout.in_lines(handles, 3 if width < STACKED else 7)
    fig = layout.figure(width, bottom + height + layout.key_height(keys) + 0.08)
    room = width - left - right
    ax = layout.axes(fig, left, bottom, room, height)
    axis = Upright(data["y"], upright, height, always=False)
    axis.apply(ax)
    x = data["x"].to_numpy(float)
    log = x.min() > 0 and x.max() > 20 * x.min()
    places = np.log10(x) if log else x
    ends = layout.padded(float(places.min()), float(places.max()))
    ax.set_xlim(ends)
    ticks = scale(10 ** ends[0], 10 ** ends[1], log=True) if log else scale(*ends)
    shown = [(place, tick_label(10**place if log else place)) for place, _ in ticks.ticks]
    place_ticks(ax, Scale(*ends, shown), room)
    inside = data["y"].between(axis.low, axis.high)
    _front(ax, data.assign(place=places)[inside], across)
    _settings(ax, data.rename(columns={"y": "value"}), places, axis)
    y = axis.places(data["y"])
    _names(fig, chosen, places[chosen.index], y[chosen.index], ax, (left, bottom, room, height))
    layout.write(fig, left + room / 2, bottom - 0.34, _directed(across), ha="center")
    layout.write_upright(fig, 0.1, bottom + height / 2, _directed(upright))
    layout.write_keys(fig, keys)
    return fig


def _front(ax: Axes, data: pd.DataFrame, across: Objective) -> None:
    """What is reached at each cost: between two points of the front, no more than the cheaper one has."""
    front = data[data["front"]].sort_values(["place", "y"], ascending=across.direction == "min")
    ax.plot(front["place"], front["y"], color=colour("green"), lw=1.2, drawstyle="steps-post", zorder=2)


def _names(
    fig: Figure,
    chosen: pd.DataFrame,
    x: np.ndarray,
    y: np.ndarray,
    ax: Axes,
    box: tuple[float, float, float, float],
) -> None:
    """The names of the winners at the right, each led to its point."""
    left, bottom, room, height = box
    (x0, x1), (y0, y1) = ax.get_xlim(), ax.get_ylim()
    at = [
        (left + room * (a - x0) / (x1 - x0), bottom + height * (b - y0) / (y1 - y0))
        for a, b in zip(x, y, strict=True)
    ]
    places = layout.apart([b for _, b in at], 0.14, bottom + 0.05, bottom + height - 0.05)
    w, h = fig.get_size_inches()
    for name, (a, b), place in zip(chosen["chosen"], at, places, strict=True):
        ends = [(a + 0.08) / w, (left + room + 0.02) / w, (left + room + 0.1) / w]
        fig.add_artist(Line2D(ends, [b / h, b / h, place / h], lw=0.4, color=colour("soft"), zorder=0))
        layout.write(fig, left + room + 0.12, place, name, size=SMALL)
