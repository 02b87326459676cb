"""Every run: learning curves, and each seed beside the baseline of the same seed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ablate.core.facts import BASELINE, Evidence
from ablate.core.metric import Metric, validated
from ablate.report.draw import style
from ablate.report.draw.marks import (
    axes,
    largest,
    padded,
    placed,
    references,
    views,
    write_right,
)
from ablate.report.draw.panels import Entry, Look, entries, left_out, lines, multiples, panels
from ablate.report.draw.style import colour
from ablate.report.section import Block, Material, Picture, Section, by_task, slug
from ablate.report.words import say

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MAX_POINTS = 120  # Steps that a curve is drawn with; a longer one is averaged over equal windows.


class Curves(
    Section,
    place=900,
    title="Learning curves",
    inside="the metric on validation data and the training loss, by step",
):
    """A figure a task and metric."""

    def blocks(self, material: Material) -> Iterator[Block]:
        evidence, facts = material.evidence, material.facts
        shown = panels(facts)
        for task, end, of in by_task(facts):
            for metric in curve_metrics(evidence) if facts.metric in task.metrics else ():
                data = curves(evidence, task.name, metric)
                if data.empty:
                    continue
                label, broken = metric.replace("_", " "), bool((data["status"] != "completed").any())
                known = task.metrics[facts.metric] if metric.endswith(facts.metric) else None
                yield Picture(
                    f"{slug(metric)}{end}",
                    f"{label.capitalize()}{of}",
                    say("figures.curves", label, broken, left_out(facts, shown)),
                    say("figures.curves_alt", label, of, len(shown)),
                    data,
                    draw_curves,
                    (shown, label, known),
                )


def curve_metrics(evidence: Evidence) -> list[str]:
    """The curves to draw: the primary metric (on validation data, if it was measured) and the training loss."""
    present, metric = set(evidence.curves["metric"]), evidence.facts.metric
    primary = [name for name in (validated(metric), metric) if name in present]
    return [*primary[:1], *({"train_loss"} & present)]


def curves(evidence: Evidence, task: str, metric: str) -> pd.DataFrame:
    """One row a trial and step with a finite value: id, variant, seed, status, step, value."""
    trials = evidence.trials.loc[evidence.trials["task"] == task, ["id", "variant", "seed", "status"]]
    long = trials.merge(evidence.curves[evidence.curves["metric"] == metric], on="id").drop(columns="metric")
    long = long[np.isfinite(long["value"].astype(float))]
    width = -(-long["step"].nunique() // MAX_POINTS)
    if width > 1:
        # A window is drawn at its last step, so that no curve begins before it was measured.
        window = (long["step"].rank(method="dense") - 1) // width
        long = long.assign(step=long.groupby(window)["step"].transform("max"))
        long = long.groupby([*trials.columns, "step"], as_index=False)["value"].mean()
    return long


def means(data: pd.DataFrame) -> pd.DataFrame:
    """One row a variant and step: variant, step, mean, low, high (the extremes over seeds).

    Over completed trials only, so that a mean never changes because a run has stopped.
    """
    runs = data[data["status"] == "completed"].groupby(["variant", "step"])["value"]
    return runs.agg(mean="mean", low="min", high="max").reset_index()


def draw_curves(
    data: pd.DataFrame, shown: Mapping[str, Sequence[Entry]], label: str, known: Metric | None = None
) -> Figure:
    """In each panel the baseline and the levels of one factor. `data` is what `curves` returns.

    A line is the mean over seeds in the band of their extremes; a run that did not complete ends in a cross.
    """
    average, broken = means(data), data[data["status"] != "completed"]
    completed = data[data["status"] == "completed"]
    # Of the completed trials, so that one that left the numbers does not flatten the others.
    values = (completed if len(completed) else data)["value"].astype(float)
    bottom, top = values.min(), values.max()
    log = bottom > 0 and top > 30 * bottom
    limits = (0.8 * bottom, 1.25 * top) if log else padded(bottom, top, known=known)

    def draw(ax: Axes, of: dict[str, Look]) -> None:
        lines(ax, average, of, "step", "mean")
        for (variant, _), run in broken[broken["variant"].isin(of)].groupby(["variant", "seed"]):
            shade, end = of[variant].colour, run.iloc[-1]
            ax.plot(run["step"], run["value"], color=shade, lw=0.7, ls=(0, (2, 1.5)))
            last = np.clip(end["value"], *limits)
            ax.plot(end["step"], last, "X", ms=5, color=shade, mec="white", mew=0.4, clip_on=False)
        if known:
            references(ax, known, "y")

    axis = {"yscale": "log" if log else "linear", "ylim": limits}
    return multiples(shown, set(data["variant"]), draw, ("step", label), axis)


OFFSET = 0.2  # Of the baseline's runs above, and of the variant's below, the middle of a row.
# Column → its name, colour, and place in a row.
RUNS = {"baseline": (BASELINE, "soft", -OFFSET), "value": ("variant", "blue", OFFSET)}


class Seeds(
    Section, place=700, title="Every seed", inside="each run beside the baseline’s run of the same seed"
):
    """A figure a task."""

    def blocks(self, material: Material) -> Iterator[Block]:
        metric = material.facts.metric
        for task, end, of in by_task(material.facts):
            data = seeds(material.evidence, task.name)
            runs = int(data["value"].notna().sum())
            if metric in task.metrics and (runs or data["baseline"].notna().any()):
                data, left = largest(data, data["value"] - data["baseline"])
                yield Picture(
                    f"seeds{end}",
                    f"{self.title}{of}",
                    say("figures.seeds", metric, left, material.facts.given),
                    say("figures.seeds_alt", metric, runs, of),
                    data,
                    draw_seeds,
                    (metric, task.metrics[metric]),
                )


def seeds(evidence: Evidence, task: str) -> pd.DataFrame:
    """One row a variant and seed that it was asked for: variant, label, seed, baseline, value, status.

    `baseline` and `value` are the primary metric of the pair, NaN where a trial has none; `status` is the
    variant's, `missing` where the trial has not run.
    """
    facts = evidence.facts
    trials = evidence.trials[evidence.trials["task"] == task]
    found = trials[["variant", "seed", "status"]].assign(
        value=pd.to_numeric(trials[facts.column], errors="coerce").astype(float).where(np.isfinite)
    )
    baseline = found[found["variant"] == BASELINE].set_index("seed")["value"]
    planned = [
        (entry.variant, entry.label, seed)
        for entry in entries(facts) or [Entry(BASELINE, BASELINE, BASELINE)]
        for seed in facts.seeds_of(entry.variant, task)
    ]
    data = pd.DataFrame(planned, columns=["variant", "label", "seed"]).merge(
        found, "left", ["variant", "seed"]
    )
    return data.assign(baseline=data["seed"].map(baseline), status=data["status"].fillna("missing"))


def draw_seeds(data: pd.DataFrame, metric: str, known: Metric) -> Figure:
    """Every run as a point: the baseline's above, the variant's below, a line joining the two of one seed.

    `data` is what `seeds` returns. Runs without a value are counted at the right. Where a few rows dwarf the rest, a
    second axis looks closer.
    """
    from matplotlib.collections import LineCollection

    heights, labels = placed(data)
    data = data.assign(y=data["variant"].map(heights))
    rows = data.groupby("variant", sort=False)[["baseline", "value"]]
    base = data["baseline"] if data["baseline"].notna().any() else data["value"]
    limits = views(rows.min().min(axis=1), rows.max().max(axis=1), (base.min(), base.max()), known)
    figure, found = axes(labels, limits, metric, pitch=0.3)
    alone = set(data["variant"]) == {BASELINE}
    handles = [style.handle("mean", ls="", marker="|", ms=8, mew=1.6, color=colour("ink"))]
    for run, (name, shade, offset) in list(RUNS.items())[: 1 if alone else 2]:
        handles.append(style.handle(name, ls="", marker="o", ms=4, color=colour(shade)))
        runs = data[data[run].notna()].assign(at=data["y"] + offset)
        means = runs.groupby("at")[run].mean()
        for ax in found:
            ax.scatter(runs[run], runs["at"], s=14, color=colour(shade), ec="white", lw=0.4, zorder=3)
            ax.plot(means, means.index, "|", ms=8, mew=1.6, color=colour("ink"), zorder=4)
    pairs = np.stack([data[["baseline", "y"]] - [0, OFFSET], data[["value", "y"]] + [0, OFFSET]], axis=1)
    for ax, view in zip(found, limits, strict=True):
        ax.add_collection(
            LineCollection(list(pairs), colors=colour("line"), linewidths=0.7, zorder=1), autolim=False
        )
        ax.set(xlim=view)
        references(ax, known, "x")
    lost = data[data["value"].isna() & (data["status"] != "missing")]
    counts = lost.groupby(["y", "status"]).size().reset_index(name="n")
    said = (counts["n"].astype(str) + " " + counts["status"]).groupby(counts["y"]).agg("\n".join)
    write_right(found[-1], said.to_dict(), colour("purple"))
    style.legend(figure, handles)
    return figure
