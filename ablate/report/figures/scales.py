"""The limits, ticks and lines of reference of axes."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ablate.base.wording import brief
from ablate.core.metric import Metric
from ablate.report.figures.theme import DOTTED, colour

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.ticker import Locator

Limits = tuple[float, float]
ROOM = 0.06  # The share of a range that an axis has beyond each of its ends.
EDGE = 0.03  # The share of a panel beside others that half a marker takes up, with some room.
ARROW_EDGE = 0.11  # The same with the arrow of an interval that leaves the panel.
LOG_RATIO = 10  # Largest over smallest value from which on an axis is logarithmic.
MAX_TICKS = 6  # Values that are written at an axis.
STEPS = (1, 2, 5, 10)  # Differences of ticks, times a power of ten.
DENSITIES = ((1, 2, 3, 5, 7), (1, 2, 5), (1, 3), (1,))  # Ticks within each power of ten, from many to few.


def padded(low: float, high: float, metric: Metric | None = None) -> Limits:
    """Returns axis limits with a margin around a range, at most half of it beyond the metric's own range."""
    room = (high - low) * ROOM if low < high else abs(low) * 0.1 or 1.0
    start = low - room
    end = high + room
    if metric is not None:
        # Half the usual room, so that no tick lies beyond what the metric can be.
        least, most = meaningful_range(metric)
        start = max(start, min(low, least) - 0.5 * room)
        end = min(end, max(high, most) + 0.5 * room)
    return start, end


def meaningful_range(metric: Metric) -> Limits:
    """Returns the values between which a metric has a meaning: guessing and the best; infinite where it names none."""
    is_rising = metric.direction == "max"
    least = metric.floor if is_rising else metric.ceiling
    most = metric.ceiling if is_rising else metric.floor
    return -math.inf if least is None else least, math.inf if most is None else most


def zoomed(lows: ArrayLike, highs: ArrayLike, margin: float | None, means: ArrayLike = ()) -> list[Limits]:
    """Returns the limits of the panels of a figure: around all rows and, where a few dwarf the others, around these.

    Both hold the margin, or 0. The second holds the rows that, with it, take up at most a quarter of the full range, if
    those are at least two, and a third of all. No mean lies at its edge.
    """
    always = (-margin, margin) if margin else (0.0, 0.0)
    bounds = np.column_stack([np.ravel(lows), np.ravel(highs)]).astype(float)
    bounds = bounds[np.isfinite(bounds).all(axis=1)]
    low = np.minimum(bounds[:, 0], always[0])
    high = np.maximum(bounds[:, 1], always[1])
    full = float(low.min(initial=always[0])), float(high.max(initial=always[1]))
    panels = [padded(*full)]

    near = high - low <= (full[1] - full[0]) / 4
    if max(2, len(bounds) / 3) <= near.sum() < len(bounds):
        closer = float(low[near].min()), float(high[near].max())
        if closer[0] < closer[1]:
            panels.append(_clear_of_arrows(means, clear_of(means, padded(*closer)), lows, highs))
    return panels


def _clear_of_arrows(means: ArrayLike, limits: Limits, lows: ArrayLike, highs: ArrayLike) -> Limits:
    """Returns limits moved outwards until no mean lies under the arrow of its own interval, which leaves them."""
    points = np.ravel(means)
    if not len(points):
        return limits
    low, _ = clear_of(points[np.ravel(lows) < limits[0]], limits, ARROW_EDGE)
    _, high = clear_of(points[np.ravel(highs) > limits[1]], limits, ARROW_EDGE)
    return low, high


def clear_of(points: ArrayLike, limits: Limits, edge: float = EDGE) -> Limits:
    """Returns limits moved outwards until no point inside is so near that its marker would be cut.

    edge: the share of the panel that has no point.
    """
    low, high = limits
    room = edge * (high - low)
    for point in np.sort(np.ravel(points))[::-1]:
        if low <= point < low + room:
            low = float(point) - room
    for point in np.sort(np.ravel(points)):
        if high - room < point <= high:
            high = float(point) + room
    return low, high


def is_log(low: float, high: float) -> bool:
    """Returns whether a logarithmic axis shows a range better."""
    return low > 0 and LOG_RATIO * low <= high


def round_ticks(low: float, high: float, *, log: bool = False, most: int = MAX_TICKS) -> list[float]:
    """Returns at most so many round numbers from low to high."""
    from matplotlib.ticker import LogLocator, MaxNLocator

    slack = 1e-9 * (low if log else high - low)
    locators: list[Locator] = [LogLocator(subs=steps, numticks=most) for steps in DENSITIES] if log else []
    locators.append(MaxNLocator(most - 1, steps=STEPS))
    ticks: list[float] = []
    for locator in locators:
        ticks = [float(tick) for tick in locator.tick_values(low, high)]
        ticks = [tick for tick in ticks if low - slack <= tick <= high + slack]
        if 1 < len(ticks) <= most:
            break
    return ticks


def mark_values(ax: Axes, values: Sequence[float], most: int = MAX_TICKS) -> None:
    """Writes the values of points, in rising order, at the x axis: at most so many, none too near another."""
    values = values[:: -(-len(values) // most)]
    places = ax.xaxis.get_transform().transform(np.asarray(values, float))
    least = 0.6 * (places[-1] - places[0]) / (most - 1)
    shown = [values[0]]
    last = places[0]
    for value, place in zip(values[1:], places[1:], strict=True):
        if place - last >= least:
            shown.append(value)
            last = place
    ax.set_xticks(shown, [brief(value) for value in shown])
    ax.xaxis.minorticks_off()


def mark_round(axis: Axis, limits: Limits, say: Callable[[float], str] = brief, most: int = 5) -> None:
    """Writes at most so many round numbers within the limits of a logarithmic axis."""
    ticks = round_ticks(*limits, log=True, most=most)
    axis.set_ticks(ticks, labels=[in_units(tick, say) for tick in ticks])
    axis.minorticks_off()


def in_units(value: float, say: Callable[[float], str]) -> str:
    """Returns a number in the words of `say` beside an axis: `2 ms`, not `2.00 ms`."""
    return re.sub(r"(\.\d*?)0+(?!\d)", r"\1", say(value)).replace(". ", " ").removesuffix(".")


def reference_lines(ax: Axes, metric: Metric) -> dict[str, float]:
    """Draws dotted lines at the values of guessing and of solved, where in view; returns these by their names."""
    low, high = ax.get_ylim()
    values = {"guessing": metric.floor, "solved": metric.solved}
    references = {name: value for name, value in values.items() if value is not None and low <= value <= high}
    for value in references.values():
        ax.axhline(value, color=colour("soft"), lw=0.7, ls=DOTTED, zorder=0)
    return references
