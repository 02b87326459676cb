"""The paired difference of every seed, with the mean of each variant and its interval."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from ablate.report.figures.rows import draw_interval, draw_zero, panels_of_rows, placed, write_right
from ablate.report.figures.scales import zoomed
from ablate.report.figures.theme import MARKS, colour

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def seed_differences(
    data: pd.DataFrame, intervals: pd.DataFrame, axis_label: str, margin: float | None
) -> Figure:
    """Draws the differences of all pairs as strips.

    `data` has a row a pair of runs: variant, label, seed, difference (NaN where a run has no value) and lost (why the
    variant's run has none, or nothing). `intervals` has a row a variant: variant, verdict, value, low and high. Runs
    without a value are counted at the right.
    """
    import seaborn

    rows, headings = placed(data.drop_duplicates("variant")[["variant", "label"]].reset_index(drop=True))
    pairs = data.assign(y=data["variant"].map(rows.set_index("variant")["y"]))
    extremes = pairs.groupby("variant", sort=False)["difference"].agg(["min", "max"])
    limits = zoomed(extremes["min"], extremes["max"], (-margin, margin) if margin else (0.0, 0.0))
    figure, panels = panels_of_rows(rows, headings, limits, axis_label, pitch=0.28)
    means = intervals.merge(rows, on="variant")
    for ax, view in zip(panels, limits, strict=True):
        draw_zero(ax, margin)
        ylim = ax.get_ylim()
        seaborn.stripplot(
            pairs, x="difference", y="y", orient="y", native_scale=True, jitter=False, ax=ax, size=3.6,
            color=colour("sky"), alpha=0.6, linewidth=0, zorder=2, legend=False,
        )  # fmt: skip
        ax.set(xlim=view, ylim=ylim, xlabel="", ylabel="")
        for row in means.to_dict("records"):
            # Below its strip, so that neither hides the other.
            draw_interval(ax, row | {"y": row["y"] + 0.22}, MARKS[row["verdict"]])

    lost = pairs[pairs["lost"] != ""].groupby(["y", "lost"]).size().reset_index(name="count")
    told = (lost["count"].astype(str) + " " + lost["lost"]).groupby(lost["y"]).agg("\n".join)
    write_right(panels[-1], told.to_dict(), dict.fromkeys(told.index, "purple"))
    return figure
