"""The value of every setting of a sweep in the order in which they were chosen, and the best so far."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from ablate.base import wording
from ablate.core.metric import Metric
from ablate.core.search_table import Objective
from ablate.report import searches
from ablate.report.draw import settings, style
from ablate.report.palette import colour
from ablate.report.section import Block, Material, Picture, Section


class SweepHistory(searches.OfSweep, Section):
    """A figure for each objective that was searched for."""

    place = 520
    title = "How the search went"
    inside = "every setting in the order in which it was tried"

    def blocks(self, material: Material) -> Iterator[Block]:
        searched = searches.table(material)
        for objective, end in searches.sought(searched):
            data = searches.history(searched, objective)
            if data["value"].isna().all():
                continue
            words = searches.named(objective)
            counts = wording.joined([f"{n} {status}" for status, n in data["status"].value_counts().items()])
            seeds = wording.counted(len(searched.facts.seeds), "tuning seed")
            what = "" if objective.source == "cost" else f", the mean over {seeds},"
            yield Picture(
                f"sweep-history{end}",
                f"History{searches.of(searched, objective)}",
                f"The {words} of each setting{what} in the order in which they were chosen."
                f"{searches.band(data['value'], objective)}",
                f"The {words} of {len(data)} settings by number, and the best so far: {counts}.",
                data,
                draw,
                (objective, searches.metric(material, objective)),
            )


def draw(data: pd.DataFrame, objective: Objective, known: Metric | None = None) -> Figure:
    """`data` is `searches.history`."""
    fig = style.new_figure(2.5)
    ax = fig.subplots()
    view = settings.View(data["value"], objective, known)
    ax.step(data["number"], data["best"], where="post", color=colour("ink"), label="best so far", zorder=2)
    settings.scatter(
        ax, data["number"], view.places(data["value"]), data, settings.valued(objective, data["value"])
    )
    view.apply(ax)
    ax.xaxis.set_major_locator(MaxNLocator(8, integer=True))
    ax.set_xlabel("setting")
    settings.legend(fig, ax)
    return fig
