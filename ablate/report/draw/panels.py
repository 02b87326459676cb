"""Curves in small multiples: in each panel the baseline and the levels of one factor."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from ablate.base.wording import brief
from ablate.core.facts import BASELINE
from ablate.report.draw import style
from ablate.report.draw.hover import named, short, tell
from ablate.report.entries import Entry
from ablate.report.palette import DASHES, LEVELS, colour
from ablate.report.tables import in_lines, text

HEIGHT = 1.5
"Inches of a panel with its title and its axis."
ROW = 0.13
"Inches of a line of its legend."
MAX_TOLD = 30
"Points of a line of which their numbers are told."


def axes(panels: Mapping[str, Sequence[Entry]]) -> tuple[Figure, dict[str, Axes]]:
    """A figure with an axes for each panel, by its title, below which `legend` names its lines."""
    across = beside(panels)
    grid_of = [list(panels)[start : start + across] for start in range(0, len(panels), across)]
    rooms = [max(_rows(_labels(panels[title]), across) for title in titles) * ROW for titles in grid_of]
    heights = [HEIGHT * (1.5 if across == 1 else 1) + room for room in rooms]
    figure = style.new_figure(sum(heights) + 0.3)
    grid = figure.subplots(
        len(heights), across, sharex=True, sharey=True, squeeze=False, height_ratios=heights
    )
    found = dict(zip(panels, grid.ravel(), strict=False))
    for title, ax in found.items():
        ax.set_title(in_lines(title, int(12 * style.width()) // across, 2), size=style.SMALL)
    for ax in grid.ravel()[len(panels) :]:
        ax.remove()
    # The lowest of each column.
    for ax in list(found.values())[-across:]:
        ax.xaxis.set_tick_params(labelbottom=True)
    return figure, found


def beside(panels: Collection[str]) -> int:
    """How many panels stand beside one another."""
    return min(3 if style.width() > 6 else 2, len(panels))


def _labels(entries: Sequence[Entry]) -> list[str]:
    return [BASELINE, *(entry.label for entry in entries)]


def _columns(labels: Sequence[str], across: int) -> int:
    """How many names fit beside one another."""
    return max(
        1, min(len(labels), int(16 * style.width()) // across // (max(map(len, labels), default=0) + 8))
    )


def _rows(labels: Sequence[str], across: int) -> int:
    return -(-len(labels) // _columns(labels, across))


@dataclass(frozen=True)
class Look:
    """How a variant is drawn."""

    label: str
    colour: str
    style: Any
    "Of its line, as matplotlib takes it."


def looks(entries: Sequence[Entry]) -> dict[str, Look]:
    """Of the baseline and the variants of a panel; one keeps its look when others have no data."""
    found = {BASELINE: Look(BASELINE, colour("ink"), "-")}
    for entry, name, dashes in zip(entries, LEVELS, DASHES, strict=False):
        found[entry.variant] = Look(entry.label, colour(name), (0, dashes) if dashes else "-")
    return found


def lines(ax: Axes, data: pd.DataFrame, of: Mapping[str, Look], x: str, y: str, **options: Any) -> None:
    """A line for each variant of `of` that `data` has, with a band from its `low` to its `high`.

    `data` has a row a variant and place on the x axis.
    """
    # Many bands over one another would hide the lines.
    alpha = 0.16 if len(of) <= 4 else 0.07
    for variant, rows in data[data["variant"].isin(of)].groupby("variant", sort=False):
        look = of[str(variant)]
        ax.fill_between(rows[x], rows["low"], rows["high"], color=look.colour, alpha=alpha, lw=0)
        ax.plot(rows[x], rows[y], color=look.colour, ls=look.style, **options)
        told = rows.iloc[:: -(-len(rows) // MAX_TOLD)]
        numbers = told[[x, y, "low", "high"]].to_numpy(float)
        tell(ax, told[x], told[y], [_words(look, str(variant), x, row) for row in numbers])
        if len(rows) == 1:
            # A line through one point could not be seen.
            ax.vlines(rows[x], rows["low"], rows["high"], color=look.colour, lw=0.8)
            ax.plot(rows[x], rows[y], "o", ms=4, color=look.colour)


def _words(look: Look, variant: str, x: str, row: np.ndarray) -> str:
    """What is said of a point of a line: x, y, and the ends of its band."""
    at, value, low, high = map(float, row)
    band = "" if math.isnan(low) or low == high else f" [{short(low)}, {short(high)}]"
    return f"{named(look.label, variant)}\n{x} {brief(at)}: {short(value)}{band}"


def legend(ax: Axes, shown: Sequence[Look], across: int = 2) -> None:
    """Names the lines of a panel above it, where they cover none; `across`: panels beside one another."""
    handles = [Line2D([], [], color=look.colour, ls=look.style, label=text(look.label)) for look in shown]
    labels = [look.label for look in shown]
    ax.set_title(ax.get_title(loc="left"), size=style.SMALL, pad=4 + 72 * ROW * _rows(labels, across))
    ax.legend(
        handles=handles,
        loc="lower left",
        bbox_to_anchor=(0, 1),
        ncols=_columns(labels, across),
        fontsize=style.SMALL - 0.5,
        borderaxespad=0.2,
        borderpad=0,
        labelspacing=0.3,
        columnspacing=1.0,
    )
