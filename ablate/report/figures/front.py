"""The settings of a search by two or three objectives, with its Pareto front."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import pandas as pd

from ablate.base.wording import compact
from ablate.report.figures.theme import SMALL, colour, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

HEIGHT = 2.4  # Inches of the figure.


def pareto_front(data: pd.DataFrame, labels: Mapping[str, str]) -> Figure:
    """Draws the settings over the first objective and each other one, with those on the front.

    `data` has a row a setting: a column an objective of `labels`, and front, whether no other setting is as good in
    every objective and better in one.
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
            ax.step(front[other], front[first], where="post", color=colour("orange"), lw=0.9, zorder=0)
        ax.set(xlabel=labels[other], ylabel="")
        ax.locator_params(axis="x", nbins=4)
        ax.xaxis.set_major_formatter(lambda value, place: compact(value))
    figure.supylabel(labels[first], size=SMALL)
    return figure
