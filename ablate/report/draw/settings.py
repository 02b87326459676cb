"""Settings of a search in a figure: their marks, the axis of an objective, and the axis of a searched path."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pandas as pd
import seaborn
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, Locator, LogLocator, MaxNLocator, NullLocator

from ablate.base.wording import MINUS, brief, compact
from ablate.core.metric import Metric
from ablate.core.search_table import Objective
from ablate.report import searches
from ablate.report.draw import style
from ablate.report.draw.hover import short, tell
from ablate.report.draw.marks import padded, spread
from ablate.report.palette import colour
from ablate.report.tables import shortened

MARKS = {
    "completed": ("o", "blue"),
    "diverged": ("X", "purple"),
    "pruned": ("s", "soft"),
    "failed": ("v", "orange"),
    "invalid": ("D", "ochre"),
}
"Status → shape and colour."
GOLDEN = 0.618034
STEPS = [1, 2, 2.5, 5, 10]
DENSITIES = ((1, 2, 3, 5, 7), (1, 2, 5), (1, 3), (1,))
"Ticks within each power of ten, from many to few."


def scatter(
    ax: Axes, x: pd.Series | np.ndarray, y: pd.Series, data: pd.DataFrame, words: Iterable[str]
) -> None:
    """A mark for each setting by its status, and a ring around winners. `data` has number, status and chosen.

    `words` say more of a setting to a reader who points at it.
    """
    status = data["status"].astype(str).to_numpy()
    looks: dict[str, Any] = {
        "hue": status,
        "style": status,
        "hue_order": [name for name in MARKS if name in status],
        "style_order": [name for name in MARKS if name in status],
        "palette": {name: colour(shade) for name, (_, shade) in MARKS.items()},
        "markers": {name: marker for name, (marker, _) in MARKS.items()},
    }
    size = 20 if len(data) <= 150 else 10
    seaborn.scatterplot(x=np.asarray(x), y=y.to_numpy(), s=size, linewidth=0.4, ax=ax, zorder=3, **looks)
    ring(ax, x, y, data)
    tell_settings(ax, x, y, data, words)


def tell_settings(
    ax: Axes, x: pd.Series | np.ndarray, y: pd.Series, data: pd.DataFrame, words: Iterable[str]
) -> None:
    """The number of each setting, how it ended and `words` to a reader who points at it."""
    rows = zip(data["number"], data["chosen"], data["status"], words, strict=True)
    of = (
        f"setting {number}{f', {chosen}' if chosen else ''}: {status}\n{more}"
        for number, chosen, status, more in rows
    )
    tell(ax, x, y, of)


def valued(objective: Objective, values: pd.Series) -> list[str]:
    """`validation accuracy .968` of each value; `no value` where there is none."""
    words = searches.named(objective)
    return ["no value" if math.isnan(value) else f"{words} {short(value)}" for value in values.astype(float)]


def scattered(numbers: pd.Series) -> pd.Series:
    """Shifts between −.5 and .5 by the numbers of settings, evenly spread in an order that looks like none."""
    return (numbers * GOLDEN) % 1 - 0.5


def ring(ax: Axes, x: pd.Series | np.ndarray, y: pd.Series, data: pd.DataFrame) -> None:
    """A ring around each winner."""
    chosen = (data["chosen"] != "").to_numpy()
    if chosen.any():
        look: dict[str, Any] = {"facecolors": "none", "edgecolors": colour("ink"), "linewidths": 1.1}
        ax.scatter(
            np.asarray(x)[chosen], y.to_numpy()[chosen], 75, label="winner", zorder=4, clip_on=False, **look
        )


def legend(fig: Figure, *axes: Axes) -> None:
    """One legend above all axes, each entry once."""
    found: dict[str, Any] = {}
    for ax in axes:
        found |= {label: handle for handle, label in zip(*ax.get_legend_handles_labels(), strict=True)}
        if own := ax.get_legend():
            own.remove()
    fig.legend(
        list(found.values()),
        list(found),
        loc="outside upper left",
        ncols=5,
        columnspacing=1.2,
        handletextpad=0.4,
    )


class View:
    """The axis of an objective, with a grey band at its worse edge for settings that are not in view."""

    def __init__(self, values: pd.Series, objective: Objective, known: Metric | None = None) -> None:
        self.objective = objective
        self.inside = searches.in_view(values, objective)
        low, high = values[self.inside].min(), values[self.inside].max()
        self.low, self.high = padded(low, high, 0.1, known)
        width = 0 if self.inside.all() else 0.12 * (self.high - self.low)
        up = objective.direction == "max"
        self.band = (self.low - width, self.low) if up else (self.high, self.high + width)

    def places(self, values: pd.Series) -> pd.Series:
        """Where to draw values: those outside in the middle of the band."""
        return values.where((values >= self.low) & (values <= self.high), sum(self.band) / 2)

    def apply(self, ax: Axes, *, label: bool = True) -> None:
        """Sets limits and ticks, and draws the band."""
        number_axis(ax, "y", self.low, self.high, most=5)
        ax.set_ylim(min(self.low, *self.band), max(self.high, *self.band))
        if not self.inside.all():
            ax.axhspan(*self.band, color=colour("band"), linewidth=0, zorder=0)
        ax.set_ylabel(directed(self.objective) if label else "")


def directed(objective: Objective) -> str:
    """An objective as the label of an axis."""
    return f"{searches.named(objective)}{'' if objective.direction == 'max' else ', less is better'}"


def number_axis(
    ax: Axes, which: str, low: float, high: float, *, log: bool = False, whole: bool = False, most: int = 6
) -> None:
    """A scale with at most so many round ticks from low to high."""
    axis = ax.xaxis if which == "x" else ax.yaxis
    if log:
        ax.set(**{f"{which}scale": "log"})
    axis.set_ticks(ticks(low, high, log=log, whole=whole, most=most))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda number, _: tick_label(number)))


def ticks(low: float, high: float, *, log: bool = False, whole: bool = False, most: int = 6) -> list[float]:
    """At most so many round numbers from low to high."""
    slack = 1e-9 * (low if log else high - low)

    def inside(locator: Locator) -> list[float]:
        return [float(tick) for tick in locator.tick_values(low, high) if low - slack <= tick <= high + slack]

    powers = [inside(LogLocator(subs=steps, numticks=most + 1)) for steps in DENSITIES if log]
    linear = inside(MaxNLocator(most - 1, steps=STEPS, integer=whole))
    known = [found for found in powers if len(found) > 1] or [linear]
    shown = next((found for found in known if len(found) <= most), known[-1])
    return shown[:: -(-len(shown) // most)]


def tick_label(number: float) -> str:
    """A number beside an axis, in few characters."""
    return compact(number).replace("-", MINUS) if abs(number) >= 1e4 else brief(number)


def unit_label(number: float, say: Callable[[float], str]) -> str:
    """A number in the words of `say` beside an axis: `2 ms`, not `2.00 ms`."""
    return re.sub(r"(\.\d*?)0+(?!\d)", r"\1", say(number)).replace(". ", " ").removesuffix(".")


def upright(along: searches.Range) -> bool:
    """Whether the labels of choices do not fit beside one another below a panel, of which three share a line."""
    return sum(len(label) + 1 for label in along.labels) > 21


def path_axis(ax: Axes, which: str, along: searches.Range, *, most: int = 6) -> None:
    """The whole range that a path was searched on."""
    if along.labels:
        axis = ax.xaxis if which == "x" else ax.yaxis
        axis.set_ticks(range(len(along.labels)), [shortened(label, 14) for label in along.labels])
        axis.set_tick_params(rotation=90 if upright(along) else 0)
        ax.set(**{f"{which}lim": (along.low, along.high)})
        return
    number_axis(ax, which, along.low, along.high, log=along.log, whole=along.whole, most=most)
    # Whole numbers are scattered around their place.
    ends = (along.low - 0.2, along.high + 0.2) if along.whole else (along.low, along.high)
    low, high = (math.log(end) if along.log else end for end in ends)
    pad = 0.05 * (high - low)
    limits = [math.exp(end) if along.log else end for end in (low - pad, high + pad)]
    ax.set(**{f"{which}lim": limits})


def name(ax: Axes, chosen: pd.DataFrame) -> None:
    """The names of winners at the right of an axes, each led to its point; `chosen` has chosen, x and y."""
    ordered = chosen.sort_values("y")
    low, high = ax.get_ylim()
    wanted = (ordered["y"].to_numpy(float) - low) / (high - low)
    for row, place in zip(ordered.to_dict("records"), spread(wanted, 0.06, 0, 1), strict=True):
        ax.annotate(
            row["chosen"],
            (row["x"], row["y"]),
            (1.02, place),
            textcoords="axes fraction",
            va="center",
            fontsize=style.SMALL,
            arrowprops={"arrowstyle": "-", "color": colour("line"), "lw": 0.6, "shrinkB": 4},
        )
