"""What tuning saw: the objective on validation data over the settings of each variant."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd

from ablate.core.metric import Metric
from ablate.report.figures.facets import Facets, line_facets, name_lines
from ablate.report.figures.scales import is_log, mark_values, padded
from ablate.report.figures.theme import SMALL, colour

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def validation_by_setting(
    data: pd.DataFrame, facets: Facets, labels: tuple[str, str], metric: Metric | None = None
) -> Figure:
    """Draws the objective on validation data against the tuned value, a line a variant; judged settings are points.

    `data` has a row a variant and setting: variant, value (at the tuned path), best (the mean over the tuning seeds),
    low and high (one standard error away), judged (`chosen`, `rival` or nothing). The chosen setting is filled.
    `labels` are those of the axes, x and y.
    """
    tried = sorted(set(data["value"]))
    limits = padded(
        data[["best", "low"]].min(axis=None), data[["best", "high"]].max(axis=None), metric=metric
    )
    axes: dict[str, Any] = {"ylim": limits, "xscale": "log" if is_log(tried[0], tried[-1]) else "linear"}
    lines = line_facets(data, facets, "value", "best", limits=axes)
    styles = facets.styles
    for facet, rows in facets.spread(data).groupby("facet", sort=False):
        ax = lines.panels[facet]
        for row in rows.to_dict("records"):
            shade = styles[row["variant"]].colour
            ax.vlines(row["value"], row["low"], row["high"], color=shade, lw=0.8, alpha=0.5)
            if row["judged"]:
                fill = shade if row["judged"] == "chosen" else colour("paper")
                ax.plot(
                    row["value"],
                    row["best"],
                    "o",
                    ms=4.6,
                    mew=1,
                    color=shade,
                    mfc=fill,
                    zorder=4,
                    clip_on=False,
                )
    for ax in lines.panels.values():
        mark_values(ax, tried, most=4)
    name_lines(lines, facets, metric)
    lines.figure.supxlabel(labels[0], size=SMALL)
    lines.figure.supylabel(labels[1], size=SMALL)
    return lines.figure
