"""How much of the variance of the objective each searched path explains."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from ablate.report.figures.rows import LABEL, PITCH
from ablate.report.figures.theme import SMALL, colour, new_axes
from ablate.report.words import in_lines

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def importances(data: pd.DataFrame, label: str) -> Figure:
    """Draws the share of the variance of the objective that each path explains.

    `data` has a row a path: name and importance, the largest first.
    """
    import seaborn

    figure, ax = new_axes(0.55 + PITCH * len(data))
    named = data.assign(name=[in_lines(name, LABEL, 1) for name in data["name"]])
    seaborn.barplot(named, x="importance", y="name", color=colour("blue"), width=0.6, ax=ax)
    for place, value in enumerate(named["importance"]):
        ax.text(value, place, f" {value:.2f}", va="center", size=SMALL)
    ax.tick_params(axis="y", length=0)
    ax.set(
        xlabel=f"share in what decides {label}",
        ylabel="",
        xlim=(0, max(1e-9, data["importance"].max()) * 1.12),
    )
    return figure
