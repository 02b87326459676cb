"""Figures with a row a variant: their labels, and a closer view where a few rows dwarf the rest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from ablate.base.wording import exact
from ablate.report.draw import style
from ablate.report.draw.marks import Limits
from ablate.report.tables import in_lines

LABEL = 30
"Characters of a line of a label, which has at most two."


def placed(data: pd.DataFrame) -> tuple[dict[str, float], list[str]]:
    """The height of each variant, from 0 downwards, and their labels. `data` has the columns variant and label."""
    rows = data.drop_duplicates("variant")
    labels = [in_lines(label, LABEL, 2) for label in rows["label"]]
    return {variant: float(y) for y, variant in enumerate(rows["variant"])}, labels


def axes(
    labels: Sequence[str], views: Sequence[Limits], measured: str, pitch: float
) -> tuple[Figure, list[Axes]]:
    """A figure with one axes for each view of the same rows, `pitch` inches from one row to the next."""
    bottom = len(labels) - 0.4
    figure = style.new_figure(1.0 + pitch * (bottom + 0.6))
    found = figure.subplots(1, len(views), sharey=True, squeeze=False)[0].tolist()
    for ax, limits in zip(found, views, strict=True):
        ax.set(xlim=limits, ylim=(bottom, -0.6))
        ax.xaxis.set_major_locator(MaxNLocator(5 if len(views) == 1 else 3, steps=[1, 2, 2.5, 5, 10]))
        ax.xaxis.set_major_formatter(lambda value, _: exact(round(value, 12)))
        ax.spines["left"].set_visible(False)
        ax.tick_params(axis="y", length=0)
    found[0].set_yticks(range(len(labels)), labels)
    if len(views) > 1:
        for ax, words in zip(found, ("full range", "closer"), strict=True):
            # The names of reference lines are written below it.
            ax.set_title(words, size=style.SMALL, weight="normal", pad=12)
    figure.supxlabel(measured, size=style.SMALL)
    return figure, found


def write_right(ax: Axes, words: Mapping[float, str], shade: str) -> None:
    """Words at the right of rows, by height."""
    for y, said in words.items():
        ax.text(1.04, y, said, transform=ax.get_yaxis_transform(), va="center", size=style.SMALL, color=shade)
