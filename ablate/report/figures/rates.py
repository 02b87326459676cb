"""How sensitive variants are to the learning rate: the loss at the end over a grid of rates."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from ablate.report.figures.facets import Facets, line_facets, name_lines
from ablate.report.figures.scales import mark_values
from ablate.report.figures.theme import SMALL

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def loss_by_rate(data: pd.DataFrame, facets: Facets, label: str) -> Figure:
    """Draws the held-out loss of each variant over learning rates, with the interval of its mean.

    `data` has a row a variant and rate: variant, value (the rate), loss, low, high, n and diverged, the number of its n
    runs that did; these are said beside a cross. `label` is that of the x axis.
    """
    lines = line_facets(data, facets, "value", "loss", limits={"xscale": "log"}, marker="o", ms=2.5)
    styles = facets.styles
    for facet, rows in facets.spread(data).groupby("facet", sort=False):
        ax = lines.panels[facet]
        for variant, mine in rows.groupby("variant", sort=False):
            shade = styles[variant].colour
            ax.fill_between(mine["value"], mine["low"], mine["high"], color=shade, alpha=0.14, lw=0)
        for row in rows[rows["diverged"] > 0].to_dict("records"):
            shade = styles[row["variant"]].colour
            place = row["value"], row["loss"]
            ax.plot(*place, "X", ms=5.5, color=shade, mec="white", mew=0.4, zorder=4)
            said = f"{row['diverged']} of {row['n']}"
            ax.annotate(
                said, place, (0, 5), textcoords="offset points", ha="center", size=SMALL - 1, color=shade
            )
    for ax in lines.panels.values():
        mark_values(ax, sorted(set(data["value"])), most=4)
    name_lines(lines, facets)
    lines.figure.supxlabel(label, size=SMALL)
    lines.figure.supylabel("held-out loss", size=SMALL)
    return lines.figure
