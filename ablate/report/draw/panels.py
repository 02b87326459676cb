"""Curves in small multiples: in each panel the baseline and the levels of one factor."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from ablate.core.facts import BASELINE
from ablate.report.draw import style
from ablate.report.entries import Entry
from ablate.report.palette import DASHES, LEVELS, colour
from ablate.report.tables import in_lines, text

HEIGHT = 1.5
"Inches of a panel with its title and its axis."


def axes(panels: Mapping[str, Sequence[Entry]]) -> tuple[Figure, dict[str, Axes]]:
    """A figure with an axes for each panel, by its title."""
    across = min(2, len(panels))
    down = -(-len(panels) // across)
    figure = style.new_figure(HEIGHT * down * (1 if across == 2 else 1.5) + 0.3)
    grid = figure.subplots(down, across, sharex=True, sharey=True, squeeze=False)
    found = dict(zip(panels, grid.ravel(), strict=False))
    for title, ax in found.items():
        ax.set_title(in_lines(title, 58 // across, 2), size=style.SMALL)
    for ax in grid.ravel()[len(panels) :]:
        ax.remove()
    for ax in grid[-1, :] if len(panels) == down * across else [grid[-1, 0], grid[-2, 1]]:
        ax.xaxis.set_tick_params(labelbottom=True)
    return figure, found


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
        if len(rows) == 1:
            # A line through one point could not be seen.
            ax.vlines(rows[x], rows["low"], rows["high"], color=look.colour, lw=0.8)
            ax.plot(rows[x], rows[y], "o", ms=4, color=look.colour)


def legend(ax: Axes, shown: Iterable[Look]) -> None:
    """Names the lines of a panel, where they leave room."""
    handles = [Line2D([], [], color=look.colour, ls=look.style, label=text(look.label)) for look in shown]
    ax.legend(
        handles=handles,
        loc="best",
        fontsize=style.SMALL - 0.5,
        frameon=True,
        framealpha=0.6,
        edgecolor="none",
        borderpad=0.2,
        labelspacing=0.3,
    )
