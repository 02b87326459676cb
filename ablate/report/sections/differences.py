"""Differences from the baseline (a forest plot, and over training steps), and the metric against cost."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ablate.analysis.learning import trajectory
from ablate.analysis.paired import mean_interval
from ablate.analysis.runs import Runs
from ablate.base import wording
from ablate.core.facts import BASELINE, Evidence, Facts, TaskFacts
from ablate.core.feature import features
from ablate.core.metric import Metric, undominated
from ablate.report.draw import marks, style
from ablate.report.draw.marks import Limits, plain, ticks, unit_label, views
from ablate.report.draw.panels import Entry, Look, entries, left_out, lines, multiples, panels
from ablate.report.draw.style import DOTTED, EXPLORATORY, LEVELS, MARKS, colour
from ablate.report.section import Block, Material, Picture, Section, by_task
from ablate.report.verdicts import compared_with, level_of, names_of, planned_rows, row_name
from ablate.report.words import (
    difference,
    in_lines,
    is_true,
    rows_of,
    say,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


class Forest(Section, place=50, title="Differences", open=True):
    """A figure a task."""

    def blocks(self, material: Material) -> Iterator[Block]:
        facts, level = material.facts, level_of(planned_rows(material.comparisons))
        for task, end, of in by_task(facts):
            data = forest(facts, material.comparisons, task.name)
            if data["value"].isna().all():
                continue
            counts = data.loc[~data["placebo"], "verdict"].value_counts()
            alt = say("figures.forest_alt", len(data), facts.metric + of, list(counts.items()))
            # Those that were planned before others.
            rank = 2 * data["placebo"] + (data["verdict"] != EXPLORATORY)
            data, left = marks.largest(data, data["value"].abs() + rank * data["value"].abs().max())
            span = _span(facts, task)
            caption = say(
                "figures.forest",
                facts.metric,
                compared_with(facts),
                level if data["low"].notna().any() else "",
                facts.margin,
                bool(data["placebo"].any()),
                len(_views(data, facts.margin, span)) > 1,
                left,
            )
            yield Picture(
                f"forest{end}",
                f"{self.title}{of}",
                caption,
                alt,
                data,
                draw_forest,
                (facts.metric, facts.margin, span),
            )


def forest(facts: Facts, comparisons: pd.DataFrame, task: str) -> pd.DataFrame:
    """One row a comparison on the primary metric of a task, the planned ones first, placebos last.

    Columns: variant, label, placebo, verdict (`exploratory` of what was not planned), value, low, high, told.
    """
    found = comparisons[(comparisons["task"] == task) & (comparisons["metric"] == facts.metric)]
    found = found.rename(columns={"diff": "value", "ci_low": "low", "ci_high": "high"})
    order = {entry.variant: i for i, entry in enumerate(entries(facts))}
    found = found.sort_values("variant", key=lambda names: names.map(order).fillna(-1), kind="stable")
    placebos = [variant.name for variant in facts.variants if variant.placebo]
    ends, names = ["value", "low", "high"], names_of(facts)
    return found.assign(
        label=[row_name(row, names) for row in rows_of(found)],
        placebo=found["variant"].isin(placebos),
        verdict=found["verdict"].mask(found["exploratory"].astype(bool), EXPLORATORY),
        told=[difference(*row) for row in found[ends].to_numpy(float)],
    )[["variant", "label", "placebo", "verdict", *ends, "told"]].astype(dict.fromkeys(ends, float))


def draw_forest(data: pd.DataFrame, metric: str, margin: float | None, span: float | None = None) -> Figure:
    """Paired differences with their intervals, over the margin and the placebo's interval.

    `data` is what `forest` returns, `span` the largest difference that the metric can show. Where a few differences
    dwarf the rest, a second axis looks closer.
    """
    heights, labels = marks.placed(data)
    data, shown = data.assign(y=data["variant"].map(heights)), _views(data, margin, span)
    figure, found = marks.axes(labels, shown, f"difference in {metric}, right is better")
    placebo = data.loc[data["placebo"], ["low", "high"]].dropna().to_numpy(float).ravel()
    for ax, limits in zip(found, shown, strict=True):
        if margin:
            ax.axvspan(-margin, margin, color=colour("band"), lw=0, zorder=0)
        ax.axvline(0.0, color=colour("ink"), lw=0.8, zorder=1)
        for edge in placebo:
            ax.axvline(edge, color=colour("soft"), lw=0.9, ls=DOTTED, zorder=1)
        for verdict, rows in data.groupby("verdict", sort=False):
            mark, shade = MARKS[verdict].marker, colour(MARKS[verdict].colour)
            ax.hlines(rows["y"], rows["low"], rows["high"], color=shade, lw=1.6)
            ax.scatter(rows["value"], rows["y"], s=30, marker=mark, fc=shade, ec="white", lw=0.6, zorder=4)
        ax.set(xlim=limits)
    # A narrow figure, in a column of a paper, leaves them to the table.
    if style.width() >= style.WIDTH:
        marks.write_right(found[-1], dict(zip(data["y"], data["told"], strict=True)), colour("ink"))
    handles = [
        style.handle(name, marker=mark.marker, color=colour(mark.colour), ls="", mec="white", mew=0.6)
        for name, mark in MARKS.items()
        if name in set(data["verdict"])
    ]
    handles += [style.handle("interval", color=colour("soft"), lw=1.6)]
    if margin:
        margins = f"margin ±{wording.exact(margin)}"
        handles += [style.handle(margins, color=colour("band"), lw=7, solid_capstyle="butt")]
    handles += [style.handle("placebo", color=colour("soft"), lw=0.9, ls=DOTTED)] if len(placebo) else []
    style.legend(figure, handles)
    return figure


def _span(facts: Facts, task: TaskFacts) -> float | None:
    """The largest difference that the primary metric can show on a task; None where it has no bounds there."""
    return task.metrics[facts.metric].span if facts.metric in task.metrics else None


def _in_reach(data: pd.DataFrame, of: str, span: float | None) -> pd.DataFrame:
    """`data` with intervals cut at `span`, beyond which no difference can be, or at the largest value of `of`."""
    reach = math.inf if span is None else max(span, data[of].abs().max())
    return data.assign(low=data["low"].clip(-reach), high=data["high"].clip(upper=reach))


def _views(data: pd.DataFrame, margin: float | None, span: float | None) -> list[Limits]:
    """Of the views that show every interval as far as there can be such a difference."""
    # One seed has a difference but no interval.
    ends = _in_reach(data, "value", span)[["low", "high"]].apply(lambda end: end.fillna(data["value"]))
    return views(ends["low"], ends["high"], (-margin, margin) if margin else (0.0, 0.0))


class OverSteps(
    Section,
    place=650,
    title="Difference over training steps",
    inside="whether a variant is worse or only slower",
):
    """A figure a task."""

    def blocks(self, material: Material) -> Iterator[Block]:
        facts, shown = material.facts, panels(material.facts)
        found = trajectory(
            material.evidence, {entry.variant for entries in shown.values() for entry in entries}
        )
        for task, end, of in by_task(facts):
            data = found[found["task"] == task.name]
            if data["step"].nunique() > 1:
                yield Picture(
                    f"over-steps{end}",
                    f"{self.title}{of}",
                    say("figures.over_steps", facts.metric, facts.margin, left_out(facts, shown)),
                    say("figures.over_steps_alt", of, len(shown)),
                    data,
                    draw_over_steps,
                    (shown, facts.metric, facts.margin, _span(facts, task)),
                )


def draw_over_steps(
    data: pd.DataFrame,
    shown: Mapping[str, Sequence[Entry]],
    metric: str,
    margin: float | None,
    span: float | None = None,
) -> Figure:
    """In each panel the levels of one factor; `data` is what `trajectory` returns, of one task.

    `span` is the largest difference that the metric can show, at which intervals are cut.
    """
    data = _in_reach(data, "diff", span)

    def draw(ax: Axes, of: dict[str, Look]) -> None:
        if margin:
            ax.axhspan(-margin, margin, color=colour("band"), lw=0, zorder=0)
        ax.axhline(0.0, color=colour("ink"), lw=0.8, zorder=1)
        lines(ax, data, of, "step", "diff")

    return multiples(shown, set(data["variant"]), draw, ("step", f"difference in {metric}"), {})


SHAPES = ("o", "s", "^", "D")  # Of the points; each takes all colours before the next.
MAX_NAMED, LABEL = 24, 30  # Of more variants none is named; characters of a name.
HEIGHT = 2.0  # Inches of a panel.


def costs() -> dict[str, tuple[str, Callable[[float], str]]]:
    """Column → the label of its axis, and how a value is said."""
    return {
        "parameters": ("parameters", lambda value: wording.compact(value, 6)),
        **{cost: words for feature in features() for cost, words in feature.costs().items()},
    }


class Cost(Section, place=800, title="Against cost", inside="the mean of each variant against what it costs"):
    """A figure a task, with a panel a cost."""

    def blocks(self, material: Material) -> Iterator[Block]:
        metric = material.facts.metric
        for task, end, of in by_task(material.facts):
            data = tradeoff(material.evidence, task.name, material.tables)
            if metric in task.metrics and (shown := varying(data)):
                against = [costs()[cost][0] for cost in shown]
                yield Picture(
                    f"cost{end}",
                    f"{self.title}{of}",
                    say("figures.cost", metric, against),
                    say("figures.cost_alt", metric, len(data), of, against),
                    data,
                    figure,
                    (metric, task.metrics[metric]),
                )


def tradeoff(evidence: Evidence, task: str, tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """One row a variant with completed runs, the baseline first, placebos left out.

    Columns: variant, label, the costs (NaN where unknown; those of `tables` at the study's own size), n, mean, low and
    high: mean of the primary metric over the completed runs, in its own units, with its marginal 95 % t interval (NaN
    for one run).
    """
    facts, names = evidence.facts, names_of(evidence.facts)
    measured = [row for f in features() if f.costs() and f.name in tables for row in rows_of(tables[f.name])]
    known = {
        (row["variant"], row["metric"]): row["value_variant"]
        for row in measured
        if is_true(row["own"]) and row["task"] == task
    }
    known |= {(v.name, "parameters"): v.parameters[task] for v in facts.variants if task in v.parameters}
    placebos = [variant.name for variant in facts.variants if variant.placebo]
    rows = []
    for side in Runs(evidence).sides():
        values = side.values(facts.metric)
        values = np.sort(values[~np.isnan(values)])
        if side.task.name == task and len(values) and side.variant not in placebos:
            mean, (low, high) = mean_interval(values)
            row: dict[str, Any] = {"variant": side.variant, "label": names[side.variant]}
            row |= {cost: known.get((side.variant, cost)) for cost in costs()}
            rows.append(row | {"n": len(values), "mean": mean, "low": low, "high": high})
    found = pd.DataFrame(rows, columns=["variant", "label", *costs(), "n", "mean", "low", "high"])
    return found.astype(dict.fromkeys((*costs(), "mean", "low", "high"), float))


def varying(data: pd.DataFrame) -> list[str]:
    """The costs in which the variants of `tradeoff` differ."""
    return [cost for cost in costs() if cost in data and data[cost].nunique() > 1]


def figure(data: pd.DataFrame, metric: str, known: Metric) -> Figure:
    """Mean of the primary metric against each cost that varies, one panel each. `data` is what `tradeoff` returns."""
    shown = varying(data)
    names = [in_lines(label, LABEL, 1) if len(data) <= MAX_NAMED else "variant" for label in data["label"]]
    data = data.assign(name=[BASELINE, *names[1:]])
    shades = {name: colour(LEVELS[i % len(LEVELS)]) for i, name in enumerate(data["name"].unique())}
    shades[BASELINE] = colour("ink")
    shapes = {name: SHAPES[i // len(LEVELS) % len(SHAPES)] for i, name in enumerate(shades)}
    result = style.new_figure(len(shown) * HEIGHT + 0.15 * len(shades) / 2 + 0.4)
    better = "" if known.direction == "max" else ", less is better"
    for ax, cost in zip(result.subplots(len(shown), squeeze=False)[:, 0], shown, strict=True):
        here = data[data[cost].notna()]
        ax.vlines(here[cost], here["low"], here["high"], color=here["name"].map(shades), lw=0.8)
        for name, of in here.groupby("name", sort=False):
            ax.scatter(
                of[cost], of["mean"], s=28, marker=shapes[name], fc=shades[name], ec="white", lw=0.5, zorder=4
            )
        _axis(ax, here, cost, known)
        ax.set(xlabel=costs()[cost][0], ylabel=f"{metric}{better}")
    style.legend(
        result,
        [style.handle(name, ls="", marker=shapes[name], ms=5, color=shades[name]) for name in shades],
    )
    return result


def _axis(ax: Axes, data: pd.DataFrame, cost: str, known: Metric) -> None:
    """The scale of a cost, the mean of the baseline, and the front: no variant is as good and cheaper, or better."""
    low, high = data[cost].min(), data[cost].max()
    log = low > 0 and high > 20 * low
    ax.set_xscale("log" if log else "linear")
    at = ticks(*ax.get_xlim(), log=log)
    ax.set_xticks(at, [unit_label(value, costs()[cost][1]) for value in at])
    ax.xaxis.minorticks_off()
    ax.yaxis.set_major_formatter(plain)
    ax.axhline(data["mean"].iloc[0], color=colour("soft"), lw=0.7, ls=DOTTED)
    good = data["mean"] if known.direction == "max" else -data["mean"]
    front = data[undominated(np.column_stack([good, -data[cost]]))].sort_values(cost)
    ax.step(front[cost], front["mean"], where="post", color=colour("line"), lw=1.0, zorder=0)
