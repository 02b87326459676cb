"""The loss of every variant at each learning rate."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import pandas as pd

from ablate.features.stress.grid import rate_curves
from ablate.report.draw import style
from ablate.report.draw.panels import Entry, Look, left_out, lines, multiples, panels, ticked
from ablate.report.section import Block, Material, Picture, Section, by_task
from ablate.report.words import say

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


class Rates(
    Section,
    place=272,
    title="Learning rates",
    inside="the loss of each variant over the grid of learning rates",
):
    """A figure a task."""

    def blocks(self, material: Material) -> Iterator[Block]:
        facts, path = material.facts, next(iter(material.facts.features.get("stress", ())), "")
        every, shown = rate_curves(material.evidence), panels(material.facts)
        name = path.rpartition(".")[2]
        for task, end, of in by_task(facts):
            data = every[every["task"] == task.name].rename(columns={"value": name})
            if len(data):
                yield Picture(
                    f"learning-rates{end}",
                    f"Loss by learning rate{of}",
                    say("figures.rates", path, bool(data["diverged"].any()), left_out(facts, shown)),
                    say("figures.rates_alt", of, len(shown)),
                    data,
                    curves,
                    (shown, name),
                )


def curves(data: pd.DataFrame, shown: Mapping[str, Sequence[Entry]], rate: str) -> Figure:
    """In each panel the baseline and the levels of one factor; `data` is of `rate_curves`, with `rate` for `value`."""

    def draw(ax: Axes, of: dict[str, Look]) -> None:
        lines(ax, data, of, rate, "loss", marker="o", ms=2.5)
        for row in data[(data["diverged"] > 0) & data["variant"].isin(of)].to_dict("records"):
            look, lost = of[row["variant"]], f"{row['diverged']} of {row['n']}"
            place = row[rate], row["loss"]
            ax.plot(*place, "X", ms=5.5, color=look.colour, mec="white", mew=0.4, zorder=4)
            ax.annotate(
                lost,
                place,
                (0, 5),
                textcoords="offset points",
                ha="center",
                size=style.SMALL - 1,
                color=look.colour,
            )

    axis = {"xscale": "log", **ticked(sorted(set(data[rate])))}
    return multiples(shown, set(data["variant"]), draw, (f"{rate}, log scale", "held-out loss"), axis)
