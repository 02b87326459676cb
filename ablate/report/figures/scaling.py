"""How time and memory grow with the size of the input."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pandas as pd

from ablate.core.facts import BASELINE
from ablate.report.figures.facets import LEGEND_ROW, draw_legend, line_styles, new_grid
from ablate.report.figures.scales import mark_round, mark_values
from ablate.report.figures.theme import SMALL, figure_width

if TYPE_CHECKING:
    from matplotlib.figure import Figure

HEIGHT = 1.5  # Inches of a panel.


@dataclass(frozen=True)
class Measure:
    """What was measured: the title of its panel, and how a value is said."""

    title: str
    say: Callable[[float], str]


def growth(
    data: pd.DataFrame, measures: Mapping[str, Measure], names: Mapping[str, str], size: str
) -> Figure:
    """Draws what each variant takes by size, a panel a measure, on logarithmic axes.

    `data` has a row a variant, metric and size: variant, metric, size, value. `measures` are those of its metrics, and
    `names` the variants in order, the baseline first, by their names for readers.
    """
    import seaborn

    shown = {metric: measure for metric, measure in measures.items() if metric in set(data["metric"])}
    styles = line_styles([variant for variant in names if variant != BASELINE])
    across = min(2, len(shown))
    grid = new_grid(data, "metric", list(shown), across, sharey=False)
    grid.map_dataframe(
        seaborn.lineplot,
        x="size",
        y="value",
        hue="variant",
        style="variant",
        hue_order=list(names),
        style_order=list(names),
        palette={variant: styles[variant].colour for variant in names},
        dashes={variant: styles[variant].dashes for variant in names},
        estimator=None,
        marker="o",
        markersize=3.5,
        legend=False,
    )
    rows = draw_legend(grid.figure, styles, names)
    grid.set(xscale="log", yscale="log")
    grid.set_axis_labels("", "")
    for metric, ax in grid.axes_dict.items():
        values = data.loc[data["metric"] == metric, "value"].astype(float)
        mark_round(ax.yaxis, (float(values.min()), float(values.max())), shown[metric].say)
        ax.set_title(shown[metric].title)
        mark_values(ax, sorted(set(data["size"])))
    grid.figure.set_size_inches(figure_width(), -(-len(shown) // across) * HEIGHT + rows * LEGEND_ROW + 0.3)
    grid.figure.set_layout_engine("constrained")
    grid.figure.supxlabel(f"{size}, log scale", size=SMALL)
    return grid.figure
