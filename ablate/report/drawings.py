"""Which figures a report has, with what is said about them."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pandas as pd

from ablate.base import wording
from ablate.core.evidence import Evidence
from ablate.core.facts import Facts
from ablate.report import figure_data, figures, style, tradeoff

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FIGURES = "figures"
"The folder of the pictures, beside the page."


@dataclass(frozen=True)
class Drawing:
    """One figure of the page; `draw` makes it in a given width."""

    name: str
    "Of its file, and in front of its identifiers."
    title: str
    caption: str
    alt: str
    draw: Callable[[float], Figure]
    section: str = ""
    "The heading that it shares with the drawings beside it, below which its title is a subheading."
    legend: str = ""
    "What is said once of all drawings of its section."

    @property
    def file(self) -> str:
        """The path of its picture, beside the page."""
        return f"{FIGURES}/{self.name}.png"


def figures_of(evidence: Evidence, comparisons: pd.DataFrame, width: float = style.WIDE) -> dict[str, Figure]:
    """The figures of the report by name, `width` inches wide, to show in a notebook or to save.

    `comparisons` is what `analysis.compare` makes of `evidence`.
    """
    found = {}
    with style.context():
        for drawing in plan_drawings(evidence, comparisons):
            figure = found[drawing.name] = drawing.draw(width)
            figure.set_facecolor(style.colour("paper"))
            # Ticks are made when a figure is first drawn, by the settings of that moment.
            figure.draw_without_rendering()
    return found


def plan_drawings(evidence: Evidence, comparisons: pd.DataFrame) -> list[Drawing]:
    """The figures that the evidence has the data for, task by task."""
    facts = evidence.facts
    several = len(facts.tasks) > 1
    result = []
    for i, task in enumerate(facts.tasks):
        if facts.metric not in task.metrics:
            continue
        end = f"-{i + 1}-{slug(task.name)}" if several else ""
        of = f" on {task.name}" if several else ""
        result += _forest(facts, comparisons, task.name, end, of)
        result += _seeds(evidence, task.name, end, of)
        result += _tradeoff(evidence, comparisons, task.name, end, of)
        result += _curves(evidence, task.name, end, of)
    return result


def _forest(facts: Facts, comparisons: pd.DataFrame, task: str, end: str, of: str) -> list[Drawing]:
    data = figure_data.forest(facts, comparisons, task)
    if data["diff"].isna().all():
        return []
    verdicts = [
        f"{n} {verdict}" for verdict, n in data.loc[~data["placebo"], "verdict"].value_counts().items()
    ]
    margin = f" The band is the margin, ±{wording.exact(facts.margin)}." if facts.margin else ""
    floor = " Dotted: the interval of the placebo, the noise floor." if data["placebo"].any() else ""
    caption = (
        f"Mean paired difference in {facts.metric} from the baseline over seeds, right of zero is better. Thick: "
        f"95 % interval; thin: Bonferroni interval of the family, cut at the edge of the axis.{margin}{floor} "
        "Where a few differences dwarf the rest, the right axis looks closer, and an arrow points to what it "
        "leaves out."
    )
    alt = f"Forest plot of {len(data)} differences from the baseline in {facts.metric}{of}: {', '.join(verdicts)}."
    draw = functools.partial(figures.forest, data, facts.metric, facts.margin)
    return [Drawing(f"forest{end}", f"Differences from the baseline{of}", caption, alt, draw)]


def _seeds(evidence: Evidence, task: str, end: str, of: str) -> list[Drawing]:
    facts = evidence.facts
    data = figure_data.seeds(evidence, task)
    if data[["baseline", "value"]].isna().all(axis=None):
        return []
    caption = (
        f"Every run's {facts.metric}. A line joins the two runs of one seed, which share their data and the "
        "initial values they have in common. Upright bars are means."
    )
    runs = int(data["value"].notna().sum())
    alt = f"The {facts.metric} of {runs} runs{of}, each joined to the baseline's run of the same seed."
    draw = functools.partial(figures.seeds, data, facts.metric, figure_data.metric_facts(facts, task))
    return [Drawing(f"seeds{end}", f"Every seed{of}", caption, alt, draw)]


def _tradeoff(evidence: Evidence, comparisons: pd.DataFrame, task: str, end: str, of: str) -> list[Drawing]:
    facts = evidence.facts
    data = figure_data.tradeoff(evidence, comparisons, task)
    costs = tradeoff.varying(data)
    if len(data) < 2 or not costs:
        return []
    against = wording.joined([tradeoff.COSTS[cost] for cost in costs])
    left_out = f" Of {len(data)}, the {tradeoff.MAX_LABELS} furthest from the baseline are named."
    caption = (
        f"Mean {facts.metric} of each variant's completed runs, with its own 95 % interval, against {against}. The "
        "verdicts rest on the paired differences, not on whether these intervals overlap. Points of almost equal "
        "cost are moved apart sideways; an arrow at the edge points to a mean outside, which it gives. FLOPs are "
        "those of the matrix products of a forward pass on one example; a step of training takes about three times "
        "as many for each example of its batch. Speed is another matter: it is never read off training runs."
        f"{left_out if len(data) > tradeoff.MAX_LABELS else ''}"
    )
    alt = f"The mean {facts.metric} of {len(data)} variants{of} against {against}."
    draw = functools.partial(tradeoff.figure, data, facts.metric, figure_data.metric_facts(facts, task))
    title = f"{facts.metric.capitalize()} against cost{of}"
    return [Drawing(f"cost{end}", title, caption, alt, draw)]


def _curves(evidence: Evidence, task: str, end: str, of: str) -> list[Drawing]:
    facts = evidence.facts
    panels = figure_data.panels(facts)
    result = []
    for metric in figure_data.curve_metrics(evidence):
        data = figure_data.curves(evidence, task, metric)
        broken = figure_data.broken_curves(evidence, task, metric)
        if data.empty and broken.empty:
            continue
        label = metric.replace("_", " ")
        crosses = " A thin line that ends in a cross is a run that did not complete." if len(broken) else ""
        caption = (
            f"{label.capitalize()} by step. Line: mean over the seeds that completed; band: from the lowest seed "
            f"to the highest.{crosses}"
        )
        alt = f"{label.capitalize()} by training step{of}, the baseline and the levels of {len(panels)} factors."
        known = figure_data.metric_facts(facts, task) if metric.endswith(facts.metric) else None
        draw = functools.partial(figures.curves, data, broken, panels, label, known)
        result.append(Drawing(f"{slug(metric)}{end}", f"{label.capitalize()}{of}", caption, alt, draw))
    return result


def slug(name: str) -> str:
    """A name as part of the name of a file."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:40] or "x"
