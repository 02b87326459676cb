"""Two objectives of a sweep against each other, with the Pareto front."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from ablate.base import wording
from ablate.core.metric import Metric, sign
from ablate.core.search_table import Objective, SearchTable, undominated
from ablate.report import searches
from ablate.report.draw import settings, style
from ablate.report.palette import colour
from ablate.report.section import Block, Material, Picture, Section


class SweepFront(searches.OfSweep, Section):
    """The first objective against each other one or, where it is alone, against what a setting costs."""

    place = 70
    title = "The Pareto front"
    open = True

    def blocks(self, material: Material) -> Iterator[Block]:
        searched = searches.table(material)
        for i, (upright, across) in enumerate(trades(searched)):
            data = pareto(searched, upright, across)
            if len(data) < 2:
                continue
            name, against = searches.named(upright), searches.named(across)
            front = wording.counted(int(data["front"].sum()), "setting")
            three = " Fronts of three and more objectives hold settings that are on none of two."
            more = three if len(searched.facts.objectives) > 2 else ""
            yield Picture(
                f"sweep-front{f'-{i + 1}' if i else ''}",
                f"{name[0].upper()}{name[1:]} against {against}",
                f"Every setting with a value. The line is the front, {front}: no other setting is at least as "
                f"good as one of them in both and better in one.{more} Means on the tuning seeds, on which the best "
                f"look better than they are.{searches.band(data['y'], upright)}",
                f"The {name} of {len(data)} settings against {against}, {front} on the front.",
                data,
                draw,
                (upright, across, searches.metric(material, upright)),
            )


def trades(searched: SearchTable) -> list[tuple[Objective, Objective]]:
    """The pairs to set against each other, as (upright, across): the first objective and each other one or, where it
    is alone, each cost that varies.
    """
    first, *others = searched.facts.objectives
    if not others:
        found = searches.judged(searched, first.name)
        costs = [cost for cost in searches.COSTS if cost != first.name and found[cost].nunique() > 1]
        if len(costs) > 1 and (found[costs[0]].rank() == found[costs[1]].rank()).all():
            # Both would show the same.
            costs = costs[:1]
        others = [Objective(cost, "min", "cost") for cost in costs]
    return [(first, other) for other in others]


def pareto(searched: SearchTable, upright: Objective, across: Objective) -> pd.DataFrame:
    """One row per setting with both values: number, status, x, y, chosen, front.

    front: no other is as good in both and better in one; where these are all objectives, as the table says.
    """
    found = searches.judged(searched, upright.name)
    found = found[np.isfinite(pd.to_numeric(found[across.name], errors="coerce"))]
    data = searches.outcomes(found, x=found[across.name].astype(float), y=found[upright.name].astype(float))
    if len(searched.facts.objectives) == 2:
        return data.assign(front=found["front"].to_numpy(bool))
    return data.assign(front=undominated(data[["x", "y"]].to_numpy() * [sign(across), sign(upright)]))


def draw(data: pd.DataFrame, upright: Objective, across: Objective, known: Metric | None = None) -> Figure:
    """`data` is `pareto`. Between two points of the front, no more is reached than by the cheaper one."""
    fig = style.new_figure(3.0)
    ax = fig.subplots()
    view = settings.View(data["y"], upright, known)
    shown = data.assign(y=view.places(data["y"]))
    front = data[data["front"] & searches.in_view(data["y"], upright)]
    front = front.sort_values(["x", "y"], ascending=across.direction == "min")
    ax.step(front["x"], front["y"], where="post", color=colour("green"), label="front", zorder=2)
    pairs = zip(settings.valued(upright, data["y"]), settings.valued(across, data["x"]), strict=True)
    settings.scatter(ax, shown["x"], shown["y"], data, map("\n".join, pairs))
    low, high = data["x"].min(), data["x"].max()
    settings.number_axis(ax, "x", low, high, log=low > 0 and high > 20 * low)
    view.apply(ax)
    ax.set_xlabel(settings.directed(across))
    settings.name(ax, shown[shown["chosen"] != ""])
    settings.legend(fig, ax)
    return fig
