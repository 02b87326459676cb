"""How time and memory grow with the size of the input."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pandas as pd

from ablate.core.facts import BASELINE
from ablate.report.figures.facets import (
    LEGEND_ROW,
    draw_legend,
    draw_lines,
    legend_height,
    line_styles,
    mean_lines,
    new_panels,
)
from ablate.report.figures.line_names import MAX_NAMED_LINES, LineEnd, write_names_at_ends
from ablate.report.figures.scales import mark_round, mark_values
from ablate.report.figures.theme import SMALL, new_figure

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
    shown = {metric: measure for metric, measure in measures.items() if metric in set(data["metric"])}
    styles = line_styles([variant for variant in names if variant != BASELINE])
    across = min(2, len(shown))
    legend = names if len(names) > MAX_NAMED_LINES else {}
    figure = new_figure(-(-len(shown) // across) * HEIGHT + legend_height(legend) * LEGEND_ROW + 0.3)
    panels = new_panels(figure, list(shown), across, sharey=False)
    draw_legend(figure, styles, legend)
    for metric, ax in panels.items():
        rows = data[data["metric"] == metric].astype({"value": float})
        ax.set(xscale="log", yscale="log", title=shown[metric].title)
        ends = draw_lines(ax, mean_lines(rows, "size", "value"), styles, "size", marker="o", ms=3.5)
        mark_round(ax.yaxis, (float(rows["value"].min()), float(rows["value"].max())), shown[metric].say)
        mark_values(ax, sorted(set(data["size"])))
        if not legend:
            named = [LineEnd(y, names[variant], styles[variant].colour) for variant, y in ends.items()]
            write_names_at_ends(ax, named, HEIGHT - 0.5)
    figure.supxlabel(f"{size}, log scale", size=SMALL)
    return figure
