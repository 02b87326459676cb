"""The paired difference from the baseline over training steps: whether "worse" is "slower"."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from ablate.analysis.learning import trajectory
from ablate.report.draw.panels import Look, lines, multiples
from ablate.report.entries import Entry, left_out, panels
from ablate.report.palette import colour
from ablate.report.section import Block, Material, Picture, Section, by_task
from ablate.report.words import say


class OverSteps(Section):
    """A figure a task."""

    place = 650
    title = "Difference over training steps"
    inside = "whether a variant is worse or only slower"

    def blocks(self, material: Material) -> Iterator[Block]:
        facts, found = material.facts, trajectory(material.evidence)
        shown = panels(facts, material.comparisons)
        for task, end, of in by_task(facts):
            data = found[found["task"] == task.name]
            if shown and data["step"].nunique() > 1:
                caption = say("figures.over_steps", facts.metric, facts.margin, left_out(facts, shown))
                alt = say("figures.over_steps_alt", of, len(shown))
                known = task.metrics.get(facts.metric)
                options = shown, facts.metric, facts.margin, known.span if known else None
                yield Picture(f"over-steps{end}", f"{self.title}{of}", caption, alt, data, figure, options)


def figure(
    data: pd.DataFrame,
    shown: Mapping[str, Sequence[Entry]],
    metric: str,
    margin: float | None,
    span: float | None = None,
) -> Figure:
    """In each panel the levels of one factor; `data` is what `trajectory` returns, of one task.

    `span` is the largest difference that the metric can show, at which intervals are cut.
    """
    if span is not None:
        reach = max(span, data["diff"].abs().max())
        data = data.assign(low=data["low"].clip(-reach), high=data["high"].clip(upper=reach))

    def draw(ax: Axes, of: dict[str, Look]) -> None:
        if margin:
            ax.axhspan(-margin, margin, color=colour("band"), lw=0, zorder=0)
        ax.axhline(0.0, color=colour("ink"), lw=0.8, zorder=1)
        lines(ax, data, of, "step", "diff")
        ax.xaxis.set_major_locator(MaxNLocator(4, integer=True))

    return multiples(shown, set(data["variant"]), draw, "step", f"difference in {metric}")
