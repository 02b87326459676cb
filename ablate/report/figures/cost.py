"""The primary metric against what a variant costs."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

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

Side = Literal["left", "right", "center"]

HEIGHT = 2.6  # Inches of a panel.
LINE = 0.13  # Inches from one line of text to the next.
LETTER = 0.062  # Inches of a letter, on average.
MARKER = 0.04  # Inches from the middle of a point to its edge.
GAP = 0.08  # Inches from a point to its name.
# Inches to the nearest other point, from which on a name is read as that of its own point.
ALONE = 1.5 * LINE
MAX_NAMED = 16  # Names in a panel.
# Lines from a point up to the middle of its name: first clear of the front, which goes to the right of a point.
RISES = (5 / 8, 0, -5 / 8, 5 / 4, -5 / 4)
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
    bars = np.stack([data[[cost.column, cost.column]], np.column_stack([low, high])], axis=2)
    segments = [*_steps(front[[cost.column, "mean"]].to_numpy(float)), *bars]
    _name_points(ax, data, cost.column, [*baseline.index, *front.index], segments)


def _steps(points: np.ndarray) -> list[np.ndarray]:
    """Returns the segments (2, 2) of a line that goes to the right from each of the points (n, 2), then to the next."""
    segments = []
    for start, end in itertools.pairwise(points):
        corner = np.array([end[0], start[1]])
        segments += [np.stack([start, corner]), np.stack([corner, end])]
    return segments


def _name_points(
    ax: Axes, data: pd.DataFrame, column: str, first: Sequence[int], segments: Sequence[np.ndarray]
) -> None:
    """Writes the names of points beside them, where no point, segment or other name is.

    Those of the index `first` are given room before others, which have a name only where they stand alone; of each,
    the upper before the lower, so that names have the order of their points. `segments` are those of drawn lines:
    each (2, 2), its ends by x and y.
    """
    size = figure_width() - 0.8, HEIGHT - 0.55
    places = dict(zip(data.index, _in_inches(ax, data[[column, "mean"]].to_numpy(float), size), strict=True))
    taken = [Box(x - MARKER, y - MARKER, x + MARKER, y + MARKER) for x, y in places.values()]
    for segment in segments:
        ends = _in_inches(ax, segment, size)
        taken.append(Box(*ends.min(axis=0), *ends.max(axis=0)))
    downwards = data.sort_values("mean", ascending=False, kind="stable").index
    alone = [index for index in downwards if _room_around(index, places) > ALONE]
    named = [index for index in downwards if index in first]
    for index in list(dict.fromkeys([*named, *alone]))[:MAX_NAMED]:
        name = _free_name(data.loc[index, "label"], places[index], size, taken)
        if name is None:
            continue
        taken.append(name.box)
        ax.annotate(
            name.words,
            places[index] / size,
            (name.edge / size[0], name.box.middle / size[1]),
            xycoords="axes fraction",
            textcoords="axes fraction",
            ha=name.side,
            va="center",
            size=SMALL,
            color=colour("ink" if data.loc[index, "variant"] == BASELINE else "blue"),
        )


def _in_inches(ax: Axes, points: np.ndarray, size: tuple[float, float]) -> np.ndarray:
    """Returns points (n, 2) in inches from the lower left corner of axes of a size in inches."""
    return ax.transLimits.transform(ax.transScale.transform(points)) * size


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

    @property
    def middle(self) -> float:
        """Half-way from the bottom to the top."""
        return (self.bottom + self.top) / 2


@dataclass(frozen=True)
class Name:
    """The name of a point as it is shown, its rectangle, and the side of this that is next to the point."""

    words: str
    box: Box
    side: Side

    @property
    def edge(self) -> float:
        """The place of its side."""
        middle = (self.box.left + self.box.right) / 2
        return {"left": self.box.left, "right": self.box.right, "center": middle}[self.side]


def _free_name(label: str, place: np.ndarray, size: tuple[float, float], taken: Sequence[Box]) -> Name | None:
    """Returns the name of a point where it overlaps nothing, if there is such a place beside the point."""
    width, height = size
    x, y = place
    is_left_half = x < width / 2
    room = max(x, width - x) - GAP
    words = in_lines(label, min(LABEL, int(room / LETTER)), 1)
    length = LETTER * len(words)
    lefts: dict[Side, float] = {"left": x + GAP, "right": x - GAP - length, "center": x - length / 2}
    sides: tuple[Side, ...] = ("left", "right", "center") if is_left_half else ("right", "left", "center")
    for side, rise in itertools.product(sides, RISES):
        left = lefts[side]
        box = Box(left, y + (rise - 0.5) * LINE, left + length, y + (rise + 0.5) * LINE)
        is_inside = left >= 0 and box.right <= width and box.bottom >= 0 and box.top <= height
        if is_inside and not any(box.overlaps(other) for other in taken):
            return Name(words, box, side)
    return None
