"""One picture of a whole study, for a README or a talk: every variant's difference on one axis, with its verdict."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ablate.base import wording
from ablate.report.figures.rows import draw_interval, draw_zero, write_right
from ablate.report.figures.scales import Limits
from ablate.report.figures.theme import MARKS, PAGE, Mark, colour
from ablate.report.words import decimals_of, in_lines

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WIDTH = 6.25  # Inches: 600 pixels of a page, so that the words can be read where a phone shows them at 60 %.
LETTERS = 66  # Of a line of the title.
TITLE_LINES = 5  # At most.
TITLE_LINE = 0.19  # Inches of a line of the title.
ROW = 0.27  # Inches of a row.
AROUND = 1.0  # Inches of the axis, its label and the footer.
DOT = 2.6  # Points: the diameter of a seed.

# What the picture changes of the page's theme: larger text, drawn as shapes, since a README brings no font.
SETTINGS: dict[str, Any] = {
    **PAGE,
    "font.size": 10.0,
    "axes.titlesize": 10.5,
    "axes.labelsize": 10.0,
    "xtick.labelsize": 9.0,
    "ytick.labelsize": 9.5,
    "svg.fonttype": "path",
}


def summary(
    data: pd.DataFrame, seeds: pd.DataFrame, title: str, axis_label: str, footer: str, margin: float | None
) -> Figure:
    """Draws the difference of each variant with its interval, over the dots of its seeds and the band of the margin.

    `data` has a row a variant, in order from above: variant, label, placebo, verdict, value, low, high. `seeds` has a
    row a variant and seed: variant and difference. An identical copy is hollow; an interval that leaves the axis
    ends in an arrow.
    """
    import seaborn
    from matplotlib.figure import Figure

    rows = data.assign(y=np.arange(len(data), dtype=float))
    heading = in_lines(title, LETTERS, TITLE_LINES)
    height = AROUND + TITLE_LINE * len(heading.splitlines()) + ROW * len(rows)
    figure = Figure(figsize=(WIDTH, height))
    ax = figure.subplots()
    ax.set(xlim=_limits(rows, margin), ylim=(len(rows) - 0.4, -0.6))
    draw_zero(ax, margin)
    dots = seeds.assign(y=seeds["variant"].map(rows.set_index("variant")["y"]) + 0.22)
    for verdict, mine in rows.groupby("verdict", sort=False):
        seaborn.scatterplot(
            dots[dots["variant"].isin(mine["variant"])], x="difference", y="y", ax=ax, s=DOT**2, alpha=0.45,
            color=colour(MARKS[verdict].colour), linewidth=0, zorder=2, legend=False,
        )  # fmt: skip
    for row in rows.to_dict("records"):
        draw_interval(ax, row, Mark("o", MARKS[row["verdict"]].colour, ""), hollow=row["placebo"])

    ax.set_yticks(rows["y"], [in_lines(label, 34, 1) for label in rows["label"]])
    ax.set(xlabel=axis_label, ylabel="")
    ax.tick_params(axis="y", length=0)
    ax.spines["left"].set_visible(False)
    told = [
        f"{row['verdict']}  {wording.plus(row['value'], _decimals(rows))}" for row in rows.to_dict("records")
    ]
    colours = [MARKS[verdict].colour for verdict in rows["verdict"]]
    write_right(
        ax, dict(zip(rows["y"], told, strict=True)), dict(zip(rows["y"], colours, strict=True)), size=9
    )
    figure.suptitle(heading, x=0.01, ha="left", size=10.5, weight="bold")
    figure.text(0.01, 0.005, footer, size=7.5, color=colour("soft"), va="bottom")
    figure.set_layout_engine("constrained", rect=(0, 0.05, 1, 0.95), h_pad=0.06)
    return figure


def _limits(rows: pd.DataFrame, margin: float | None) -> Limits:
    """Returns the limits that hold all means, the margin and most of every interval of an ordinary width."""
    width = float((rows["high"] - rows["low"]).median() / 2)
    width = 0.0 if np.isnan(width) else width
    low = rows["low"].fillna(rows["value"]).clip(lower=rows["value"] - 2 * width).min()
    high = rows["high"].fillna(rows["value"]).clip(upper=rows["value"] + 2 * width).max()
    low = min(low, -1.4 * (margin or 0.0))
    high = max(high, 1.4 * (margin or 0.0))
    room = 0.02 * (high - low) or 1.0
    return float(low - room), float(high + room)


def _decimals(rows: pd.DataFrame) -> int:
    """Returns the decimals of the numbers beside the rows, the same for all, as an ordinary interval supports them."""
    half_width = (rows["high"] - rows["low"]).median() / 2
    return max(1, decimals_of(rows["value"].abs().max(), half_width) - 1) if half_width > 0 else 1
