"""How two changes act together: the means of one factor's levels along x, the other's as lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ablate.analysis.paired import mean_interval
from ablate.report.figures.facets import LEGEND_ROW, line_styles
from ablate.report.figures.theme import SMALL, new_figure
from ablate.report.words import in_lines

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MAX_PAIRS = 6  # Pairs of factors that a figure shows.
HEIGHT = 1.9  # Inches of a panel.
TITLE = 36  # Characters of the title of a panel.


def interaction(data: pd.DataFrame, label: str) -> Figure:
    """Draws the mean of each combination of two factors with its 95 % t interval over seeds, a panel a pair of factors.

    `data` has a row a seed and combination: pair (the title of its panel), x and line (the labels of the two levels, in
    the order of the study, the baseline's first), x_name and line_name (what these are levels of) and value. Lines that
    are not parallel are an interaction.
    """
    pairs = list(dict.fromkeys(data["pair"]))[:MAX_PAIRS]
    across = min(2, len(pairs))
    down = -(-len(pairs) // across)
    lines = max(data.loc[data["pair"] == pair, "line"].nunique() for pair in pairs)
    figure = new_figure(down * (HEIGHT + (1 + lines) * LEGEND_ROW) + 0.2)
    panels = figure.subplots(down, across, squeeze=False, sharey=True).ravel()
    for ax, pair in zip(panels, pairs, strict=False):
        title = in_lines(pair, TITLE, 1) if len(pairs) > 1 else ""
        _draw_pair(ax, data[data["pair"] == pair], title)
    for ax in panels[len(pairs) :]:
        ax.remove()
    figure.supylabel(label, size=SMALL)
    return figure


def _draw_pair(ax: Axes, rows: pd.DataFrame, title: str) -> None:
    """Draws the panel of a pair of factors; its title may be empty."""
    import seaborn

    levels = list(dict.fromkeys(rows["line"]))
    styles = list(line_styles(levels[1:]).values())  # The first is the baseline's.
    seaborn.pointplot(
        rows,
        x="x",
        y="value",
        hue="line",
        order=list(dict.fromkeys(rows["x"])),
        hue_order=levels,
        palette={level: style.colour for level, style in zip(levels, styles, strict=True)},
        linestyles=[style.dashes for style in styles],
        errorbar=_interval,
        dodge=0.03 * len(levels),
        linewidth=1.3,
        markersize=4,
        err_kws={"linewidth": 1.0},
        ax=ax,
    )
    ax.set(xlabel=rows["x_name"].iloc[0], ylabel="", title=title)
    ax.margins(x=0.15)
    ax.locator_params(axis="y", nbins=5)
    seaborn.move_legend(
        ax,
        "lower left",
        bbox_to_anchor=(0, 1.1 if title else 1.0),
        ncols=1,
        title=rows["line_name"].iloc[0],
        title_fontsize=SMALL,
        alignment="left",
        frameon=False,
    )


def _interval(values: pd.Series) -> tuple[float, float]:
    """Returns the 95 % t interval of the mean over seeds; the mean itself below two."""
    mean, (low, high) = mean_interval(np.asarray(values, float))
    return (mean, mean) if np.isnan(low) else (low, high)
