"""The history of a search: what each setting reached, and the best so far."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from ablate.report.figures.theme import colour, new_axes

if TYPE_CHECKING:
    from matplotlib.figure import Figure

HEIGHT = 2.0  # Inches of the figure.


def history(data: pd.DataFrame, label: str) -> Figure:
    """Draws the objective of each setting in the order in which it was tried, and the best so far.

    `data` has a row a setting: number, value, and best, the best value up to it.
    """
    import seaborn

    figure, ax = new_axes(HEIGHT)
    seaborn.scatterplot(data, x="number", y="value", color=colour("blue"), s=16, ax=ax, label="a setting")
    seaborn.lineplot(
        data, x="number", y="best", color=colour("ink"), drawstyle="steps-post", ax=ax, label="best so far"
    )
    seaborn.move_legend(ax, "lower left", bbox_to_anchor=(0, 1), ncols=2, frameon=False)
    ax.set(xlabel="setting, in the order tried", ylabel=label)
    return figure
