"""Parallel coordinates of a sweep: where the best settings lie."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from ablate.core.search_table import Objective, SearchTable
from ablate.report import searches
from ablate.report.draw import hover, settings, style
from ablate.report.palette import colour
from ablate.report.section import Block, Material, Picture, Section
from ablate.report.tables import short, shortened, wrapped

BEST = 0.1
MIN_BEST, MAX_BEST = 3, 20
"Of all settings with a value, the best tenth is highlighted, at least and at most so many."
ABSENT = -0.09
"Where a line passes an axis of which its setting has no value, as a share of the axis."


class SweepParallel(searches.OfSweep, Section):
    """One figure, for the first objective."""

    place = 560
    title = "Parallel coordinates"
    inside = "every setting as a line across the searched paths"

    def blocks(self, material: Material) -> Iterator[Block]:
        searched = searches.table(material)
        objective = searched.facts.objectives[0]
        data, words = parallel(searched, objective), searches.named(objective)
        if len(data) < 2:
            return
        gap = data[searched.paths].isna().any(axis=None)
        none = " A line that passes at “none” does not have the path." if gap else ""
        yield Picture(
            "sweep-parallel",
            self.title,
            f"A line for each setting, from its value on each path down to its {words}. In colour: the best "
            f"{int(data['best'].sum())} of {len(data)}.{none}",
            f"Parallel coordinates of {len(data)} settings over {len(searched.paths)} paths and {words}.",
            data,
            draw,
            (searches.ranges(searched), words),
        )


def parallel(searched: SearchTable, objective: Objective) -> pd.DataFrame:
    """One row per setting with a value, the worst first: number, status, value, best, chosen, shares.

    A share, in a column for each path, is how far along its range the setting lies, from 0 to 1; NaN where it does not
    have the path.
    """
    up, found = objective.direction == "max", searches.judged(searched, objective.name)
    found = found.sort_values(objective.name, ascending=up, kind="stable")
    best = np.arange(len(found))[::-1] < np.clip(math.ceil(BEST * len(found)), MIN_BEST, MAX_BEST)
    ranges = searches.ranges(searched)
    shares = {path: along.shares(along.places(found[path])) for path, along in ranges.items()}
    return searches.outcomes(found, value=found[objective.name].astype(float), best=best).assign(**shares)


def draw(data: pd.DataFrame, paths: dict[str, searches.Range], words: str) -> Figure:
    """The axes lie below each other, so that paths and choices can be read. `data` is `parallel`."""
    low, high = data["value"].min(), data["value"].max()
    value = searches.Range(low, high) if low < high else searches.Range(low - 1, high + 1)
    axes, rows = {**paths, words: value}, np.arange(len(paths) + 1)
    shares = data[list(paths)].assign(value=value.shares(data["value"].to_numpy())).fillna(ABSENT).to_numpy()
    fig = style.new_figure(0.6 + 0.44 * len(axes))
    ax = fig.subplots()
    chosen = (data["chosen"] != "").to_numpy()
    best = data["best"].to_numpy() & ~chosen
    looks: dict[str, tuple[np.ndarray, dict[str, Any]]] = {
        "winner": (chosen, {"color": colour("orange"), "linewidth": 1.6, "zorder": 4}),
        "best settings": (best, {"color": colour("blue"), "linewidth": 1.0, "zorder": 3}),
        "other settings": (~best & ~chosen, {"color": colour("line"), "linewidth": 0.5, "zorder": 1}),
    }
    for label, (mine, look) in looks.items():
        if mine.any():
            ax.plot(shares[mine].T, rows, label=[label, *[""] * (mine.sum() - 1)], clip_on=False, **look)
    told = [f"{words} {hover.short(value)}" for value in data["value"]]
    for row, share in enumerate(shares.T):
        settings.tell_settings(ax, share, pd.Series(np.full(len(data), row)), data, told)
    ax.hlines(rows, 0, 1, color=colour("soft"), linewidth=0.8, zorder=5)
    paper: dict[str, Any] = {"facecolor": colour("paper"), "edgecolor": "none", "pad": 0.6, "alpha": 0.8}
    for row, along in enumerate(axes.values()):
        ticks = settings.ticks(along.low, along.high, log=along.log, whole=along.whole)
        at = np.arange(len(along.labels)) if along.labels else np.array(ticks)
        labels = [shortened(label, max(3, 44 // len(at))) for label in along.labels]
        marks = list(zip(along.shares(at), labels or map(settings.tick_label, ticks), strict=True))
        if ABSENT in shares[:, row]:
            marks.append((ABSENT, "none"))
        ax.plot([share for share, _ in marks], [row] * len(marks), "|", color=colour("soft"), zorder=5)
        for share, label in marks:
            look = {"ha": "center", "va": "top", "size": style.SMALL - 0.5, "zorder": 6, "bbox": paper}
            ax.annotate(label, (share, row), (0, -3.5), textcoords="offset points", **look)
    ends = short(list(paths))
    ax.set_yticks(rows, ["\n".join(wrapped(ends.get(path, path), 22)) for path in axes])
    ax.get_yticklabels()[-1].set_fontweight("bold")
    ax.set(xticks=[], ylim=(len(paths) + 0.35, -0.1))
    ax.tick_params("y", length=0)
    ax.spines[:].set_visible(False)
    settings.legend(fig, ax)
    return fig
