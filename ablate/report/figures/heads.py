"""Attention as heat maps, a panel a head."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ablate.report.figures.theme import SMALL, figure_width, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLOUR_MAP = "viridis"  # Perceptually uniform, and readable in grey and by every eye.
ACROSS = 8  # Heads beside one another.
MAX_SIZE = 1.1  # Inches of a panel: a few heads leave the right side empty rather than grow.


def attention_maps(data: pd.DataFrame, top: float) -> Figure:
    """Draws the weights of one variant, a line of panels a layer; queries go down and keys across.

    `data` has a row a layer and head: layer, head (from 1), weights (T_q, T_k). `top` is the weight of the last colour.
    """
    import seaborn

    lines = []
    for _, heads in data.groupby("layer", sort=False):
        lines += [heads.iloc[start : start + ACROSS] for start in range(0, len(heads), ACROSS)]
    across = max(len(line) for line in lines)
    size = min(MAX_SIZE, (figure_width() - 0.8) / across)
    aspects = [min(2.5, max(0.25, np.divide(*line["weights"].iloc[0].shape))) for line in lines]
    figure = new_figure(sum(size * aspect + 0.26 for aspect in aspects) + 0.2)
    grid = figure.subplots(len(lines), across, squeeze=False, height_ratios=aspects)
    for panels, line, aspect in zip(grid, lines, aspects, strict=True):
        for ax in panels:
            ax.set(box_aspect=aspect, visible=False)
        for ax, head, weights in zip(panels, line["head"], line["weights"], strict=False):
            seaborn.heatmap(
                weights, vmin=0.0, vmax=top, cmap=COLOUR_MAP, cbar=False, ax=ax,
                xticklabels=False, yticklabels=False, rasterized=True,
            )  # fmt: skip
            ax.set(visible=True, xlabel=f"head {head}")
        panels[0].set(title=line["layer"].iloc[0], ylabel="query")
    bar = figure.colorbar(grid[0, 0].collections[0], ax=grid, fraction=0.05, aspect=30)
    bar.outline.set_visible(False)
    bar.set_label("attention weight (across: keys)", size=SMALL)
    return figure
