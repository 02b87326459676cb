"""The objective of a sweep against each searched path."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd
from matplotlib.figure import Figure

from ablate.core.metric import Metric
from ablate.core.search_table import Objective, SearchTable
from ablate.report import searches
from ablate.report.draw import settings, style
from ablate.report.section import Block, Material, Picture, Section
from ablate.report.tables import short, wrapped


class SweepSlices(searches.OfSweep, Section):
    """A figure for each objective that was searched for, a panel for each path."""

    place = 550
    title = "Slices"
    inside = "the objective against each searched path"

    def blocks(self, material: Material) -> Iterator[Block]:
        searched = searches.table(material)
        for objective, end in searches.sought(searched):
            data = slices(searched, objective)
            if data["value"].isna().all():
                continue
            words, paths = searches.named(objective), searches.ranges(searched)
            yield Picture(
                f"sweep-slices{end}",
                f"Slices{searches.of(searched, objective)}",
                f"The {words} of every setting against each path that it has; the others vary as well. Points of "
                f"one choice or whole number are spread sideways.{searches.band(data['value'], objective)}",
                f"The {words} of the settings against each of {len(paths)} paths.",
                data,
                draw,
                (paths, objective, searches.metric(material, objective)),
            )


def slices(searched: SearchTable, objective: Objective) -> pd.DataFrame:
    """One row per setting and path that it has: number, status, place, value, chosen, parameter."""
    values = searches.history(searched, objective).set_index("number")["value"]
    parts = []
    for path, along in searches.ranges(searched).items():
        has = searched.trials[searched.trials[path].notna()]
        found = searches.outcomes(has, place=along.places(has[path]), value=values.reindex(has["number"]))
        parts.append(found.assign(parameter=path))
    return pd.concat(parts, ignore_index=True)


def draw(
    data: pd.DataFrame,
    paths: dict[str, searches.Range],
    objective: Objective,
    known: Metric | None = None,
) -> Figure:
    """`data` is `slices`."""
    across = min(3, len(paths))
    lines = [list(paths.values())[start : start + across] for start in range(0, len(paths), across)]
    fig = style.new_figure(0.5 + sum(2.2 if any(map(settings.upright, line)) else 1.6 for line in lines))
    ends = short(list(paths))
    view = settings.View(data["value"], objective, known)
    panels = fig.subplots(len(lines), across, sharey=True, squeeze=False).ravel()
    for i, (ax, (path, along)) in enumerate(zip(panels, paths.items(), strict=False)):
        mine = data[data["parameter"] == path]
        x = mine["place"]
        if along.labels or along.whole:
            x = x + (0.5 if along.labels else 0.25) * settings.scattered(mine["number"])
        at = (f"{path}={along.said(place)}" for place in mine["place"])
        words = map("\n".join, zip(at, settings.valued(objective, mine["value"]), strict=True))
        settings.scatter(ax, x, view.places(mine["value"]), mine, words)
        settings.path_axis(ax, "x", along, most=3)
        view.apply(ax, label=i % across == 0)
        ax.set_title("\n".join(wrapped(ends[path], 18)), size=style.SMALL)
    for ax in panels[len(paths) :]:
        ax.remove()
    settings.legend(fig, *panels[: len(paths)])
    return fig
