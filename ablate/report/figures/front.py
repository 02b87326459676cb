"""The settings of a search by two or three objectives, with its Pareto front."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import pandas as pd

from ablate.base.wording import compact
from ablate.core.metric import Direction
from ablate.report.figures.scales import is_log, mark_round
from ablate.report.figures.theme import SMALL, colour, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

HEIGHT = 2.4  # Inches of the figure.


def pareto_front(
    data: pd.DataFrame, labels: Mapping[str, str], directions: Mapping[str, Direction]
) -> Figure:
    """Draws the settings over the first objective and each other one, with those on the front.

    `data` has a row a setting: a column an objective of `labels`, and front, whether no other setting is as good in
    every objective and better in one. `directions` are those of the objectives.
    """
    import seaborn

    first, *others = labels
    across = min(2, len(others))
    figure = new_figure(HEIGHT)
    panels = figure.subplots(1, across, squeeze=False, sharey=True)[0]
    for ax, other in zip(panels, others[:across], strict=True):
        seaborn.scatterplot(
            data, x=other, y=first, hue="front", style="front", s=22, ax=ax, legend=False,
            palette={True: colour("orange"), False: colour("soft")}, markers={True: "D", False: "o"},
        )  # fmt: skip
        if len(others) == 1:
            front = data[data["front"].astype(bool)].sort_values(other)
            # What has been reached at a cost is there for whoever spends more.
            where = "post" if directions[other] == "min" else "pre"
            ax.step(front[other], front[first], where=where, color=colour("orange"), lw=0.9, zorder=0)
        ax.set(xlabel=labels[other], ylabel="")
        low = float(data[other].min())
        high = float(data[other].max())
        if is_log(low, high):
            ax.set_xscale("log")
            mark_round(ax.xaxis, (low, high), compact)
        else:
            ax.locator_params(axis="x", nbins=4)
            ax.xaxis.set_major_formatter(lambda value, place: compact(value))
    figure.supylabel(labels[first], size=SMALL)
    return figure
