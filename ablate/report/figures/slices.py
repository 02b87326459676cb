"""What each setting of a search reached, against the value of each path."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import pandas as pd

from ablate.report.figures.scales import mark_round, mark_values
from ablate.report.figures.theme import SMALL, new_figure
from ablate.report.words import in_lines

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

HEIGHT = 1.9  # Inches of a panel.
EARLY_TO_LATE = "crest"  # Light to dark, in grey and for every eye.


def slices(data: pd.DataFrame, names: Mapping[str, str], log: Sequence[str], label: str) -> Figure:
    """Draws the objective of each setting against the value of each path, later settings darker.

    `data` has a row a setting: number, value, and a column a path of `names`, numbers or labels, missing where it was
    not searched. The paths of `log` were searched on a logarithmic scale.
    """
    import seaborn

    across = min(3, len(names))
    down = -(-len(names) // across)
    figure = new_figure(down * HEIGHT + 0.1)
    panels = figure.subplots(down, across, sharey=True, squeeze=False).ravel()
    for ax, (path, name) in zip(panels, names.items(), strict=False):
        rows = data[data[path].notna()]
        is_number = pd.api.types.is_numeric_dtype(pd.Series(list(rows[path])))
        x = rows[path].astype(float) if is_number else _in_order(rows[path])
        seaborn.scatterplot(
            x=x, y=rows["value"], hue=rows["number"], palette=EARLY_TO_LATE, s=14, legend=False, ax=ax
        )
        ax.set(xlabel=in_lines(name, 60 // across, 1), ylabel="")
        if is_number:
            _scale_numbers(ax, x, path in log)
        else:
            is_wide = x.nunique() > 2 and max(len(label) for label in x) > 4
            ax.tick_params("x", rotation=90 if is_wide else 0)
    for ax in panels[len(names) :]:
        ax.remove()
    figure.supylabel(label, size=SMALL)
    return figure


def _in_order(labels: pd.Series) -> pd.Series:
    """Returns labels as categories: numbers in rising order, then words."""
    known = sorted(
        {str(label) for label in labels}, key=lambda label: (not _is_number(label), _rank(label), label)
    )
    return labels.astype(str).astype(pd.CategoricalDtype(known))


def _is_number(label: str) -> bool:
    """Returns whether a label is that of a number."""
    try:
        float(label)
    except ValueError:
        return False
    return True


def _rank(label: str) -> float:
    """Returns the number that a label is; 0 of a word."""
    return float(label) if _is_number(label) else 0.0


def _scale_numbers(ax: Axes, values: pd.Series, log: bool) -> None:
    """Gives the axis of a numeric path its scale, with the values themselves as ticks where they are few."""
    ax.set_xscale("log" if log else "linear")
    tried = sorted(set(values))
    if len(tried) <= 4:
        mark_values(ax, tried)
    elif log:
        mark_round(ax.xaxis, (tried[0], tried[-1]), most=3)
    else:
        ax.locator_params(axis="x", nbins=3)
