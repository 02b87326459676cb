"""Figures with a row a variant: labels by group, and a closer view where a few rows dwarf the rest."""

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

LABEL = 24
"Characters of a line of a label, which has at most two."


def placed(data: pd.DataFrame) -> tuple[dict[str, float], list[tuple[float, str, bool]]]:
    """The height of each variant, from 0 downwards, and all labels: height, words, whether it heads a group.

    `data` has the columns variant, group and label. A group of one has no heading.
    """
    heights: dict[str, float] = {}
    labels: list[tuple[float, str, bool]] = []
    y = 0.0
    for group, members in data.drop_duplicates("variant").groupby("group", sort=False):
        alone = len(members) == 1
        if not alone:
            heading = in_lines(str(group), LABEL, 2)
            y += 0.45 * heading.count("\n")
            labels.append((y, heading, True))
            y += 0.8
        for variant, label in zip(members["variant"], members["label"], strict=True):
            heights[variant] = y
            labels.append((y, in_lines(variant if alone else label, LABEL, 2), False))
            y += 1
    return heights, labels


def axes(
    labels: Sequence[tuple[float, str, bool]], views: Sequence[Limits], measured: str, pitch: float
) -> tuple[Figure, list[Axes]]:
    """A figure with one axes for each view of the same rows, `pitch` inches from one row to the next."""
    bottom = labels[-1][0] + 0.6
    figure = style.new_figure(1.0 + pitch * (bottom + 0.6))
    found = figure.subplots(1, len(views), sharey=True, squeeze=False)[0].tolist()
    for ax, limits in zip(found, views, strict=True):
        ax.set(xlim=limits, ylim=(bottom, -0.6))
        ax.xaxis.set_major_locator(MaxNLocator(5 if len(views) == 1 else 3, steps=[1, 2, 2.5, 5, 10]))
        ax.xaxis.set_major_formatter(lambda value, _: exact(round(value, 12)))
        ax.spines["left"].set_visible(False)
        ax.tick_params(axis="y", length=0)
    found[0].set_yticks([y for y, _, _ in labels], [words for _, words, _ in labels])
    for tick, (_, _, heading) in zip(found[0].get_yticklabels(), labels, strict=True):
        tick.set_fontweight("bold" if heading else "normal")
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
