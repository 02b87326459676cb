"""How a sweep went, in the figures of Optuna on the study that it was."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import matplotlib
import numpy as np
import pandas as pd
from matplotlib import pyplot
from matplotlib.figure import Figure

from ablate.features.search.shown import OfSearch, named, table
from ablate.features.search.table import Objective, SearchTable, with_values
from ablate.report.draw import style
from ablate.report.section import Block, Material, Picture, Section
from ablate.report.tables import short
from ablate.report.words import say
from ablate.search.parts import quiet

FIGURES = {
    "optimization_history": ("history", "History"),
    "param_importances": ("importances", "Importances"),
    "slice": ("slices", "Slices"),
    "parallel_coordinate": ("parallel", "Parallel coordinates"),
    "contour": ("contour", "Contour"),
}
"Optuna's name of a figure → the end of the name of its file, and its title."
LEAST = 8
"Settings with a value below which nothing but their history is drawn."


class SweepFigures(OfSearch, Section):
    """Figures for the first objective that is measured."""

    kind = "sweep"
    place = 520
    title = "How the search went"
    inside = "history, importances, slices, parallel coordinates and contours"

    def blocks(self, material: Material) -> Iterator[Block]:
        searched = table(material)
        every = searched.facts.objectives
        objective = next((o for o in every if o.source != "cost"), every[0])
        data, words = with_values(searched.trials, [objective]), named(objective)
        found = _alone(searched, objective)
        numbers = [p.path for p in found.facts.parameters if p.kind != "choice"]
        numbers = [path for path in numbers if found.trials.loc[data.index, path].nunique() > 1]
        enough = len(data) >= LEAST and data[objective.name].nunique() > 1
        for name, (end, title) in FIGURES.items() if enough else list(FIGURES.items())[: len(data) > 0]:
            if name != "contour" or len(numbers) > 1:
                caption, alt = (
                    say("search.optuna", name, words),
                    say("search.optuna_alt", title, len(data), words),
                )
                yield Picture(
                    f"sweep-{end}", title, caption, alt, data, draw, (found, name, words, numbers[:2])
                )


def _alone(searched: SearchTable, objective: Objective) -> SearchTable:
    """The table as if it had been searched for one objective, with the last parts of the paths for their names."""
    ends = short(searched.paths)
    parameters = [replace(p, path=ends[p.path]) for p in searched.facts.parameters]
    facts = replace(searched.facts, parameters=parameters, objectives=[objective])
    return SearchTable(facts, searched.trials.rename(columns=ends))


def draw(data: pd.DataFrame, searched: SearchTable, name: str, words: str, numbers: list[str]) -> Figure:
    """Optuna's figure `name` of the one search of a sweep, for its one objective; `data` are its settings."""
    import optuna.visualization.matplotlib as drawn

    row = data.iloc[0]
    given: dict[str, Any] = {"params": numbers} if name == "contour" else {}
    with matplotlib.rc_context(), quiet():
        made = getattr(drawn, f"plot_{name}")(
            searched.rebuilt(row["variant"], row["task"]), target_name=words, **given
        )
        fig: Figure = np.ravel(made)[0].figure
        pyplot.close(fig)
    for ax in fig.axes:
        ax.set_title("")
        for text in (ax.xaxis.label, ax.yaxis.label, *ax.texts):
            text.set_fontsize(style.SMALL)
        if name == "slice":
            ax.tick_params("x", rotation=90)
    fig.suptitle("")
    many = len(searched.paths) / 3 if name in ("slice", "parallel_coordinate") else 1
    fig.set_size_inches(style.width() * max(1.0, many), style.width() * 0.7)
    return fig
