"""Learning curves: a metric by training step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ablate.core.metric import Metric
from ablate.report.figures.facets import Facets, LinePanels, line_facets, name_lines
from ablate.report.figures.scales import is_log, mark_round, padded
from ablate.report.figures.theme import SMALL

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def learning_curves(data: pd.DataFrame, facets: Facets, label: str, metric: Metric | None = None) -> Figure:
    """Draws the mean over seeds that completed, in the band of their extremes.

    `data` has a row a run and step: variant, seed, status, step, value. A run that did not complete is a thin line that
    ends in a cross. With a `metric`, guessing and solved are marked.
    """
    is_completed = data["status"] == "completed"
    # The limits are those of completed runs, so that one that left the numbers does not flatten the others.
    values = (data[is_completed] if is_completed.any() else data)["value"].astype(float)
    low = float(values.min())
    high = float(values.max())
    log = is_log(low, high)
    limits = (0.8 * low, 1.25 * high) if log else padded(low, high, metric=metric)
    scale = "log" if log else "linear"
    axes: dict[str, Any] = {"yscale": scale, "ylim": limits, "xlim": (0, 1.05 * data["step"].max())}
    lines = line_facets(
        data.assign(value=data["value"].where(is_completed)),
        facets,
        "step",
        "value",
        limits=axes,
        band=True,
    )
    if log:
        for ax in lines.panels.values():
            mark_round(ax.yaxis, limits)
    _draw_broken(lines, data[~is_completed], facets, limits)
    name_lines(lines, facets, metric)
    lines.figure.supxlabel("step", size=SMALL)
    lines.figure.supylabel(label, size=SMALL)
    return lines.figure


def _draw_broken(
    lines: LinePanels, broken: pd.DataFrame, facets: Facets, limits: tuple[float, float]
) -> None:
    """Draws each run that did not complete in the facets of its variant; it is the end of one that has no other."""
    styles = facets.styles
    for (facet, variant, _), run in facets.spread(broken).groupby(["facet", "variant", "seed"], sort=False):
        ax = lines.panels[facet]
        shade = styles[variant].colour
        ax.plot(run["step"], run["value"], color=shade, lw=0.7, ls=(0, (2, 1.5)))
        end = run.iloc[-1]
        height = float(np.clip(end["value"], *limits))
        lines.ends[facet].setdefault(variant, height)
        ax.plot(end["step"], height, "X", ms=5, color=shade, mec="white", mew=0.4, clip_on=False)
