"""The settings of a sweep in the plane of the two most important numbers, over the values between them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import seaborn
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.tri import Triangulation
from scipy.spatial import Delaunay, QhullError

from ablate.core.search_table import Objective, Parameter, SearchTable
from ablate.report import searches
from ablate.report.draw import settings, style
from ablate.report.palette import colour
from ablate.report.section import Block, Material, Picture, Section
from ablate.report.tables import short

MIN_SURFACE = 10
"Completed settings below which nothing is drawn between the points."


class SweepContour(searches.OfSweep, Section):
    """One figure, for the first objective."""

    place = 570
    title = "The two most important numbers"
    inside = "every setting in their plane"

    def blocks(self, material: Material) -> Iterator[Block]:
        searched = searches.table(material)
        objective, paths = searched.facts.objectives[0], numbers(searched, material.importances)
        if len(paths) < 2:
            return
        x, y = paths[:2]
        data = plane(searched, objective, x, y)
        if data.empty:
            return
        ranges = searches.Range.of(searched, x), searches.Range.of(searched, y)
        mesh = triangles(data, *ranges)
        known = len(searches.ranked(material.importances, objective.name)) > 0
        which = "two most important numbers by fANOVA" if known else "first two numbers of the space"
        near = searches.in_view(data["value"], objective).all()
        far = "" if near else " The arrow of the key includes values far worse than the rest."
        yield Picture(
            "sweep-contour",
            self.title,
            f"The settings in the plane of the {which}; their colour is the {searches.named(objective)}.{far} "
            f"{_between(data, ranges, mesh)}",
            f"{len(data)} settings in the plane of {x.path} and {y.path}.",
            data,
            draw,
            ({x.path: ranges[0], y.path: ranges[1]}, objective, mesh),
        )


def _between(
    data: pd.DataFrame, ranges: tuple[searches.Range, searches.Range], mesh: np.ndarray | None
) -> str:
    if mesh is not None:
        return (
            "Between the points, values are interpolated over the nearest three, beyond them nothing is shown; the "
            "other paths vary as well, so that this is a guide to the eye."
        )
    if any(along.whole or along.stepped for along in ranges):
        return (
            "Nothing is drawn between the points: a whole number or a step has nothing beside it. Points of one whole "
            "number are spread a little around it."
        )
    done = int((data["status"] == "completed").sum())
    return f"Nothing is drawn between the points, of which {done} completed: too few, or on one line."


def numbers(searched: SearchTable, importances: pd.DataFrame | None) -> list[Parameter]:
    """The searched numbers, the most important for the first objective first, those not judged last."""
    order = list(searches.ranked(importances, searched.facts.objectives[0].name)["parameter"].unique())
    found = [
        p for p in searched.facts.parameters if p.kind != "choice" and searched.trials[p.path].nunique() > 1
    ]
    return sorted(found, key=lambda p: (order.index(p.path) if p.path in order else len(order), bool(p.when)))


def plane(searched: SearchTable, objective: Objective, x: Parameter, y: Parameter) -> pd.DataFrame:
    """One row per setting that has both paths and a value: number, status, x, y, value, chosen."""
    found = searches.judged(searched, objective.name).dropna(subset=[x.path, y.path])
    columns = {name: found[path].astype(float) for name, path in (("x", x.path), ("y", y.path))}
    return searches.outcomes(found, **columns, value=found[objective.name].astype(float))


def triangles(points: pd.DataFrame, x: searches.Range, y: searches.Range) -> np.ndarray | None:
    """The triangles (n × 3, rows of the completed `points`) of Delaunay between neighbours, on axes of equal length.

    None where a path is of whole numbers or steps, which have nothing between them; where fewer than
    MIN_SURFACE settings completed; or where all lie on a line. Beyond the outermost points there are no triangles, so
    that nothing is extrapolated.
    """
    done = points[points["status"] == "completed"]
    if any(along.whole or along.stepped for along in (x, y)) or len(done) < MIN_SURFACE:
        return None
    places = [along.shares(done[name].to_numpy()) for name, along in (("x", x), ("y", y))]
    try:
        return np.asarray(Delaunay(np.column_stack(places)).simplices)
    except QhullError:
        return None


def draw(
    data: pd.DataFrame,
    paths: dict[str, searches.Range],
    objective: Objective,
    mesh: np.ndarray | None,
) -> Figure:
    """`data` is `plane`, `mesh` its `triangles`."""
    fig = style.new_figure(2.8)
    ax = fig.subplots()
    for which, along in zip("xy", paths.values(), strict=True):
        if along.whole:
            data = data.assign(**{which: data[which] + 0.25 * settings.scattered(data["number"])})
    inside = searches.in_view(data["value"], objective)
    up = objective.direction == "max"
    low, high = data.loc[inside, "value"].agg(["min", "max"])
    colours = seaborn.color_palette("crest" if up else "crest_r", as_cmap=True)
    values = ScalarMappable(Normalize(low, high), colours)
    done = data[data["status"] == "completed"]
    if mesh is not None:
        levels = sorted({low, *settings.ticks(low, high, most=8), high})
        surface = Triangulation(done["x"], done["y"], mesh), done["value"].clip(low, high)
        ax.tricontourf(*surface, levels=levels, cmap=colours, norm=values.norm, alpha=0.6, zorder=1)
    for status, (marker, _) in settings.MARKS.items():
        mine = data[data["status"] == status]
        if len(mine):
            shades: Any = values.to_rgba(mine["value"])
            look: dict[str, Any] = {"linewidths": 0.5, "edgecolors": colour("ink"), "zorder": 3}
            ax.scatter(mine["x"], mine["y"], 24, shades, marker=marker, label=status, **look)
    settings.ring(ax, data["x"], data["y"], data)
    settings.tell_settings(ax, data["x"], data["y"], data, settings.valued(objective, data["value"]))
    ends = short(list(paths))
    for which, (path, along) in zip("xy", paths.items(), strict=True):
        settings.path_axis(ax, which, along)
        ax.set(**{f"{which}label": ends[path]})
    extend = "neither" if inside.all() else "min" if up else "max"
    fig.colorbar(values, ax=ax, label=settings.directed(objective), extend=extend)
    settings.legend(fig, ax)
    return fig
