"""Figures with a row a variant: their labels, and a closer view where a few rows dwarf the rest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from ablate.base.wording import exact
from ablate.report.draw import style
from ablate.report.draw.hover import named, tell
from ablate.report.draw.marks import Limits, verdict_handles, verdicts
from ablate.report.palette import DOTTED, colour
from ablate.report.tables import in_lines

LABEL = 30
"Characters of a line of a label, which has at most two."
PITCH = 0.24
"Inches from one row to the next."


def placed(data: pd.DataFrame) -> tuple[dict[str, float], list[str]]:
    """The height of each variant, from 0 downwards, and their labels. `data` has the columns variant and label."""
    rows = data.drop_duplicates("variant")
    labels = [in_lines(label, LABEL, 2) for label in rows["label"]]
    return {variant: float(y) for y, variant in enumerate(rows["variant"])}, labels


def axes(
    labels: Sequence[str], views: Sequence[Limits], measured: str, pitch: float = PITCH
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
    for ax, words in zip(found, ("full range", "closer") if len(views) > 1 else ("",), strict=True):
        # The names of reference lines are written below it.
        ax.set_title(words, size=style.SMALL, weight="normal", pad=12)
    figure.supxlabel(measured, size=style.SMALL)
    return figure, found


def forest(
    data: pd.DataFrame,
    views: Sequence[Limits],
    measured: str,
    *,
    zero: float = 0.0,
    band: tuple[Limits, str] | None = None,
    dotted: tuple[Sequence[float], str] = ((), ""),
) -> tuple[Figure, list[Axes]]:
    """A row a variant: its value with its interval, over a named band and named dotted lines.

    `data` has variant, label, verdict, value, low, high, and told: what is written beside a row, and said of its mark.
    """
    heights, labels = placed(data)
    data = data.assign(y=data["variant"].map(heights))
    figure, found = axes(labels, views, measured)
    soft = colour("soft")
    for ax in found:
        if band is not None:
            ax.axvspan(*band[0], color=colour("band"), lw=0, zorder=0)
        ax.axvline(zero, color=colour("ink"), lw=0.8, zorder=1)
        for edge in dotted[0]:
            ax.axvline(edge, color=soft, lw=0.9, ls=DOTTED, zorder=1)
        verdicts(ax, data, "value", "y", "x", ("low", "high", 1.6))
        words = zip(data["label"], data["variant"], data["told"], strict=True)
        tell(ax, data["value"], data["y"], [f"{named(label, name)}\n{told}" for label, name, told in words])
    # A narrow figure, in a column of a paper, leaves them to the table.
    if style.width() >= style.WIDTH:
        write_right(found[-1], dict(zip(data["y"], data["told"], strict=True)), colour("ink"))
    handles: list[Any] = [
        *verdict_handles(data["verdict"]),
        Line2D([], [], color=soft, lw=1.6, label="interval"),
    ]
    handles += [Patch(color=colour("band"), lw=0, label=band[1])] if band is not None else []
    handles += [Line2D([], [], color=soft, lw=0.9, ls=DOTTED, label=dotted[1])] if dotted[1] else []
    style.legend(figure, handles)
    return figure, found


def write_right(ax: Axes, words: Mapping[float, str], shade: str) -> None:
    """Words at the right of rows, by height."""
    for y, said in words.items():
        ax.text(1.04, y, said, transform=ax.get_yaxis_transform(), va="center", size=style.SMALL, color=shade)
