"""The paired difference of every seed, with the mean of each variant and its interval."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd

from ablate.report.figures.rows import draw_interval, draw_zero, panels_of_rows, placed, write_right
from ablate.report.figures.scales import Limits, zoomed
from ablate.report.figures.theme import MARKS, colour

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


MOST_POINTS = 200
"""The most seeds of a row that are drawn one by one."""
BINS = 100
"""The points of a row that has more, each of which stands for those seeds that lie together."""
_LARGEST_AREA = 30.0


def seed_differences(
    data: pd.DataFrame, intervals: pd.DataFrame, axis_label: str, margin: float | None
) -> Figure:
    """Draws the differences of all pairs as strips.

    `data` has a row a pair of runs: variant, label, seed, difference (NaN where a run has no value) and lost (why the
    variant's run has none, or nothing). Where a variant has very many, a point has the area of those that lie together.
    `intervals` has a row a variant: variant, verdict, value, low and high. Runs without a value are counted at the
    right.
    """
    rows, headings = placed(data.drop_duplicates("variant")[["variant", "label"]].reset_index(drop=True))
    pairs = data.assign(y=data["variant"].map(rows.set_index("variant")["y"]))
    is_crowded = pairs.groupby("variant")["difference"].transform("count") > MOST_POINTS
    means = rows.merge(intervals, "left", "variant")
    extremes = pairs.groupby("variant", sort=False)["difference"].agg(["min", "max"]).reset_index(drop=True)
    lows = pd.concat([extremes["min"], means["low"], means["value"]], axis=1).min(axis=1)
    highs = pd.concat([extremes["max"], means["high"], means["value"]], axis=1).max(axis=1)
    limits = zoomed(lows, highs, margin, means["value"])
    figure, panels = panels_of_rows(rows, headings, limits, axis_label, pitch=0.28)
    for ax, view in zip(panels, limits, strict=True):
        draw_zero(ax, margin)
        _draw_single(ax, pairs[~is_crowded], view)
        _draw_crowded(ax, pairs[is_crowded], view)
        _mark_outside(ax, pairs, view)
        for row in means[means["value"].notna()].to_dict("records"):
            # Below its strip, so that neither hides the other.
            draw_interval(ax, row | {"y": row["y"] + 0.27}, MARKS[row["verdict"]])

    lost = pairs[pairs["lost"] != ""].groupby(["y", "lost"]).size().reset_index(name="count")
    told = (lost["count"].astype(str) + " " + lost["lost"]).groupby(lost["y"]).agg("\n".join)
    write_right(panels[-1], told.to_dict(), dict.fromkeys(told.index, "purple"))
    return figure


def _draw_single(ax: Axes, pairs: pd.DataFrame, view: Limits) -> None:
    """Draws the seeds of each row one by one; one at the edge is seen whole."""
    within = pairs[pairs["difference"].between(*view)]
    ax.scatter(
        within["difference"],
        within["y"],
        s=3.6**2,
        color=colour("ink"),
        alpha=0.45,
        lw=0,
        zorder=2,
        clip_on=False,
    )


def _draw_crowded(ax: Axes, pairs: pd.DataFrame, view: Limits) -> None:
    """Draws the seeds of each row as points on a grid, each with the area of those that lie about it."""
    width = (view[1] - view[0]) / BINS
    within = pairs[pairs["difference"].between(*view)]
    centres = view[0] + ((within["difference"] - view[0]) // width + 0.5) * width
    for y, of_row in centres.groupby(within["y"]):
        counts = of_row.value_counts().sort_index()
        areas = _LARGEST_AREA * counts / counts.max()
        ax.scatter(counts.index, [y] * len(counts), s=areas, color=colour("ink"), alpha=0.45, lw=0, zorder=2)


def _mark_outside(ax: Axes, pairs: pd.DataFrame, view: Limits) -> None:
    """Marks the seeds of each row that lie outside the panel by a small arrow at its edge."""
    from matplotlib.markers import CARETLEFT, CARETRIGHT

    arrow: dict[str, Any] = {"ls": "none", "color": colour("ink"), "alpha": 0.45, "ms": 4, "mew": 0}
    is_left = pairs["difference"] < view[0]
    is_right = pairs["difference"] > view[1]
    for is_outside, edge, marker in ((is_left, view[0], CARETLEFT), (is_right, view[1], CARETRIGHT)):
        for y in pairs.loc[is_outside, "y"].unique():
            ax.plot(edge, y, marker=marker, clip_on=False, **arrow)
