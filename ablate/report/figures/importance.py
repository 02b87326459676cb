"""How much each searched path separates the best settings from all."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from ablate.report.figures.rows import LABEL, PITCH
from ablate.report.figures.theme import SMALL, colour, new_axes
from ablate.report.words import in_lines

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LEAST = 0.01  # The smallest share that is told.


def importances(data: pd.DataFrame, label: str) -> Figure:
    """Draws how much each path separates the best settings from all, as a share of all paths.

    `data` has a row a path: name and importance, the largest first.
    """
    import seaborn

    figure, ax = new_axes(0.55 + PITCH * len(data))
    named = data.assign(name=[in_lines(name, LABEL, 1) for name in data["name"]])
    seaborn.barplot(named, x="importance", y="name", color=colour("blue"), width=0.6, ax=ax)
    for place, value in enumerate(named["importance"]):
        told = f"{value:.2f}" if value >= LEAST else f"<{LEAST}"
        ax.text(value, place, f" {told}", va="center", size=SMALL)
    ax.tick_params(axis="y", length=0)
    ax.set(
        xlabel=f"share of the importance for {label}",
        ylabel="",
        xlim=(0, max(1e-9, data["importance"].max()) * 1.12),
    )
    return figure
