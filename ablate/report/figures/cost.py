"""The primary metric against what a variant costs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ablate.core.facts import BASELINE
from ablate.core.metric import Metric, sign, undominated
from ablate.report.figures.scales import in_units, is_log, meaningful_range, padded, round_ticks
from ablate.report.figures.theme import SMALL, colour, figure_width, new_figure
from ablate.report.words import in_lines

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

HEIGHT = 2.6  # Inches of a panel.
LINE = 0.13  # Inches from one line of text to the next.
REACH = (
    6 * LINE
)  # Inches by which a name is moved at most: farther off, it would be read as that of another point.
STEP = LINE / 4  # Inches by which a name is moved until it has room.
LETTER = 0.062  # Inches of a letter, on average.
MARKER = 0.04  # Inches from the middle of a point to its edge.
GAP = 0.08  # Inches from a point to its name.
MAX_NAMED = 16  # Names in a panel; of more variants, those on the front and the best others have one.
LABEL = 26  # Characters of a label.


@dataclass(frozen=True)
class CostAxis:
    """A cost that a figure has a panel for: its column, the label of its axis, and how a value is said."""

    column: str
    label: str
    say: Callable[[float], str]


def against_cost(data: pd.DataFrame, costs: Sequence[CostAxis], metric: Metric, label: str) -> Figure:
    """Draws the mean of the primary metric against costs, a panel each, with the Pareto front.

    `data` has a row a variant, the baseline first: variant, label, a column a cost (NaN where unknown), mean, low and
    high (of its interval; NaN for one run).
    """
    figure = new_figure(HEIGHT * len(costs))
    panels = figure.subplots(len(costs), squeeze=False)[:, 0]
    for ax, cost in zip(panels, costs, strict=True):
        _draw_panel(ax, data[data[cost.column].notna()], cost, metric)
        ax.set(xlabel=cost.label, ylabel=label)
    return figure


def _draw_panel(ax: Axes, data: pd.DataFrame, cost: CostAxis, metric: Metric) -> None:
    """Draws each variant with its interval and its name, and joins those on the Pareto front."""
    import seaborn

    least, most = meaningful_range(metric)
    # An interval ends where the metric has no meaning; a mean is shown wherever it lies.
    low = np.fmin(data["low"].clip(lower=least), data["mean"])
    high = np.fmax(data["high"].clip(upper=most), data["mean"])
    baseline = data[data["variant"] == BASELINE]
    others = data.drop(baseline.index)
    points = np.column_stack([sign(metric) * data["mean"], -data[cost.column]])
    front = data[undominated(points)].sort_values(cost.column)

    ax.set(xscale="log" if is_log(data[cost.column].min(), data[cost.column].max()) else "linear")
    ax.set_ylim(padded(float(low.min()), float(high.max()), metric=metric))
    ax.step(
        front[cost.column], front["mean"], where="post", color=colour("orange"), lw=1.0, alpha=0.6, zorder=0
    )
    ax.vlines(data[cost.column], low, high, color=colour("soft"), lw=0.8, alpha=0.6)
    for rows, name, size in ((others, "blue", 24), (baseline, "ink", 40)):
        seaborn.scatterplot(
            rows, x=cost.column, y="mean", color=colour(name), s=size, ax=ax, legend=False, zorder=3
        )
    ax.margins(x=0.08)
    ticks = round_ticks(*ax.get_xlim(), log=ax.get_xscale() == "log", most=5)
    ax.set_xticks(ticks, [in_units(tick, cost.say) for tick in ticks])
    ax.xaxis.minorticks_off()
    _name_points(ax, data, cost.column, [*baseline.index, *front.index])


def _name_points(ax: Axes, data: pd.DataFrame, column: str, first: Sequence[int]) -> None:
    """Writes the name of each point beside it, or as near as other names and points leave room, joined by a line.

    Those of the index `first` are given room before others, then those that stand alone, then the crowd from above
    downwards, so that its names have the order of its points. A point for whose name there is no room has none.
    """
    width = figure_width() - 0.8
    height = HEIGHT - 0.55
    # In inches from the lower left corner of the axes.
    scaled = ax.transScale.transform(data[[column, "mean"]].to_numpy(float))
    places = dict(zip(data.index, ax.transLimits.transform(scaled) * (width, height), strict=True))
    taken = [Box(x - MARKER, y - MARKER, x + MARKER, y + MARKER) for x, y in places.values()]
    downwards = data.sort_values("mean", ascending=False, kind="stable").index
    alone = [index for index in downwards if _room_around(index, places) > 1.5 * LINE]
    for index in list(dict.fromkeys([*first, *alone, *downwards]))[:MAX_NAMED]:
        x, y = places[index]
        is_right = x < width / 2
        room = (width - x if is_right else x) - GAP
        words = in_lines(data.loc[index, "label"], min(LABEL, int(room / LETTER)), 1)
        start = x + GAP if is_right else x - GAP - LETTER * len(words)
        # A little above the point, where the front does not strike it through.
        beside = Box(start, y + LINE / 8, start + LETTER * len(words), y + 9 * LINE / 8)
        box = _free_box(beside, taken, height)
        if box is None:
            continue
        taken.append(box)
        middle = (box.bottom + box.top) / 2
        is_moved = abs(middle - y) > 0.8 * LINE
        line = {
            "arrowstyle": "-",
            "color": colour("soft"),
            "lw": 0.5,
            "shrinkA": 0,
            "shrinkB": 2,
            "relpos": (0.0 if is_right else 1.0, 0.5),
        }
        ax.annotate(
            words,
            (x / width, y / height),
            ((box.left if is_right else box.right) / width, middle / height),
            xycoords="axes fraction",
            textcoords="axes fraction",
            ha="left" if is_right else "right",
            va="center",
            size=SMALL,
            color=colour("ink" if data.loc[index, "variant"] == BASELINE else "blue"),
            arrowprops=line if is_moved else None,
        )


def _room_around(index: int, places: Mapping[int, np.ndarray]) -> float:
    """Returns the distance in inches from a point to the nearest other one."""
    distances = [np.hypot(*(place - places[index])) for other, place in places.items() if other != index]
    return float(min(distances, default=np.inf))


@dataclass(frozen=True)
class Box:
    """A rectangle, in inches."""

    left: float
    bottom: float
    right: float
    top: float

    def overlaps(self, other: Box) -> bool:
        """Returns whether two rectangles share more than an edge."""
        beside = self.right <= other.left or other.right <= self.left
        return not beside and self.bottom < other.top and other.bottom < self.top

    def raised(self, distance: float) -> Box:
        """Returns the rectangle so much higher."""
        return Box(self.left, self.bottom + distance, self.right, self.top + distance)


def _free_box(box: Box, taken: Sequence[Box], height: float) -> Box | None:
    """Returns the rectangle at the nearest height, from 0 to `height`, where it overlaps nothing, if there is one."""
    for step in range(round(2 * REACH / STEP)):
        moved = box.raised((step + 1) // 2 * STEP * (1 if step % 2 else -1))
        if moved.bottom >= 0 and moved.top <= height and not any(moved.overlaps(other) for other in taken):
            return moved
    return None
