"""Learning curves."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, NullLocator

from ablate.base.wording import exact
from ablate.core.evidence import Evidence
from ablate.core.metric import Metric
from ablate.report.draw.hover import named, tell
from ablate.report.draw.marks import Limits, ends, padded, references
from ablate.report.draw.panels import Look, lines, multiples
from ablate.report.entries import Entry, left_out, panels
from ablate.report.section import Block, Material, Picture, Section, by_task, slug
from ablate.report.words import say

MAX_POINTS = 120
"Steps that a curve is drawn with; a longer one is averaged over equal windows."


class Curves(Section):
    """A figure a task and metric."""

    place = 900
    title = "Learning curves"
    inside = "the metric on validation data and the training loss, by step"

    def blocks(self, material: Material) -> Iterator[Block]:
        evidence, facts = material.evidence, material.facts
        shown = panels(facts, material.comparisons)
        for task, end, of in by_task(facts):
            for metric in curve_metrics(evidence) if facts.metric in task.metrics else ():
                data, broken = curves(evidence, task.name, metric), broken_curves(evidence, task.name, metric)
                if data.empty and broken.empty:
                    continue
                label = metric.replace("_", " ")
                caption = say("figures.curves", label, len(broken) > 0, left_out(facts, shown))
                alt = say("figures.curves_alt", label, of, len(shown))
                known = task.metrics[facts.metric] if metric.endswith(facts.metric) else None
                title, options = f"{label.capitalize()}{of}", (broken, shown, label, known)
                yield Picture(f"{slug(metric)}{end}", title, caption, alt, data, figure, options)


def curve_metrics(evidence: Evidence) -> list[str]:
    """The curves to draw: the primary metric (on validation data, if it was measured) and the training loss."""
    present = set(evidence.curves["metric"])
    primary = [
        name for name in (f"validation_{evidence.facts.metric}", evidence.facts.metric) if name in present
    ]
    return [*primary[:1], *({"train_loss"} & present)]


def curves(evidence: Evidence, task: str, metric: str) -> pd.DataFrame:
    """One row a variant and step: variant, step, mean, low, high (the extremes over seeds), n.

    Over completed trials only, so that a mean never changes because a run has stopped.
    """
    long = _values(evidence, task, metric)
    runs = long[long["status"] == "completed"].groupby(["variant", "step"], sort=True)["value"]
    return runs.agg(mean="mean", low="min", high="max", n="count").reset_index()


def broken_curves(evidence: Evidence, task: str, metric: str) -> pd.DataFrame:
    """One row a step of each trial that did not complete, up to its last finite value.

    Columns: variant, seed, step, value.
    """
    long = _values(evidence, task, metric)
    return long[long["status"] != "completed"][["variant", "seed", "step", "value"]].reset_index(drop=True)


def _values(evidence: Evidence, task: str, metric: str) -> pd.DataFrame:
    trials = evidence.trials.loc[evidence.trials["task"] == task, ["id", "variant", "seed", "status"]]
    long = evidence.curves[evidence.curves["metric"] == metric].merge(trials, on="id")
    long = long[np.isfinite(long["value"].astype(float))]
    distinct = np.unique(long["step"])
    if len(distinct) > MAX_POINTS:
        width = -(-len(distinct) // MAX_POINTS)
        window = np.searchsorted(distinct, long["step"]) // width
        # A window is drawn at its last step, so that no curve begins before it was measured.
        last = distinct[np.minimum((window + 1) * width, len(distinct)) - 1]
        keys = ["id", "variant", "seed", "status", "step"]
        long = long.assign(step=last).groupby(keys, sort=True, as_index=False)["value"].mean()
    return long


def figure(
    data: pd.DataFrame,
    broken: pd.DataFrame,
    shown: Mapping[str, Sequence[Entry]],
    label: str,
    known: Metric | None = None,
) -> Figure:
    """In each panel the baseline and the levels of one factor.

    `data` is what `curves` returns, `broken` is what `broken_curves` returns. A line is the mean over seeds, its band
    reaches from the lowest seed to the highest; a run that did not complete ends in a cross.
    """
    limits, scale = _limits(data, broken, known)

    def draw(ax: Axes, of: dict[str, Look]) -> None:
        ax.set(yscale=scale)
        lines(ax, data, of, "step", "mean")
        _broken(ax, broken, of, limits)
        ax.set(ylim=limits)
        ax.xaxis.set_major_locator(MaxNLocator(4, integer=True))
        if scale == "log":
            ax.yaxis.set_major_formatter(lambda value, _: exact(value))
            ax.yaxis.set_minor_locator(NullLocator())
        if known:
            references(ax, known, "y")

    return multiples(shown, {*data["variant"], *broken["variant"]}, draw, "step", label)


def _limits(data: pd.DataFrame, broken: pd.DataFrame, known: Metric | None) -> tuple[Limits, str]:
    """The range of the completed trials, so that one that left the numbers does not flatten the others."""
    low, high = (data["low"], data["high"]) if len(data) else (broken["value"], broken["value"])
    bottom, top = float(low.min()), float(high.max())
    if bottom > 0 and top > 30 * bottom:
        start, end = map(float, np.exp(padded(np.log(bottom), np.log(top))))
        most = ends(known)[1] if known else math.inf
        return (start, min(end, 1.01 * max(top, most))), "log"
    return padded(bottom, top, known=known), "linear"


def _broken(ax: Axes, broken: pd.DataFrame, of: Mapping[str, Look], limits: Limits) -> None:
    for (variant, seed), run in broken[broken["variant"].isin(of)].groupby(["variant", "seed"]):
        shade = of[variant].colour
        ax.plot(run["step"], run["value"], color=shade, lw=0.7, ls=(0, (2, 1.5)))
        last = run["value"].clip(*limits).iloc[-1]
        ax.plot(run["step"].iloc[-1], last, "X", ms=5, color=shade, mec="white", mew=0.4, clip_on=False)
        words = f"{named(of[variant].label, variant)}\nseed {seed}: did not complete after step {run['step'].iloc[-1]}"
        tell(ax, run["step"].iloc[-1:], [last], [words])
