"""The metric of each variant against its cost."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import NullLocator

from ablate.analysis.paired import mean_interval
from ablate.analysis.runs import Runs
from ablate.base import wording
from ablate.core.evidence import Evidence
from ablate.core.facts import BASELINE
from ablate.core.feature import features
from ablate.core.metric import Metric, undominated
from ablate.report.draw import style
from ablate.report.draw.marks import (
    ends,
    padded,
    spread,
    ticks,
    unit_label,
    verdict_handles,
    verdicts,
    views,
)
from ablate.report.draw.style import named, short, tell
from ablate.report.palette import DOTTED, EXPLORATORY, MARKS, colour
from ablate.report.section import Block, Material, Picture, Section, by_task
from ablate.report.tables import in_lines, is_true, rows_of
from ablate.report.verdicts import names_of
from ablate.report.words import say

SIZES = {"parameters": "parameters", "flops": "forward FLOPs an example"}
"Column → the label of its axis."
RING: dict[str, Any] = {"ls": "", "marker": "o", "ms": 8, "mfc": "none", "mec": colour("ink"), "mew": 0.9}
"How a variant of the Pareto front is marked."
LABEL, LABEL_GAP, MAX_LABELS = 26, 0.13, 20
"Characters of the name of a variant, inches from one to the next, and the most that are named."


def measured() -> dict[str, tuple[str, Callable[[float], str]]]:
    """Costs that were measured: the label of the axis, and how a value is said. Their panels show the Pareto front."""
    return {cost: of for feature in features() for cost, of in feature.costs().items()}


def labels() -> dict[str, str]:
    """Column → the label of its axis."""
    return SIZES | {cost: label for cost, (label, _) in measured().items()}


class Cost(Section):
    """A figure a task, with a panel a cost."""

    place = 800
    title = "Against cost"
    inside = "the mean of each variant against what it costs"

    def blocks(self, material: Material) -> Iterator[Block]:
        metric = material.facts.metric
        for task, end, of in by_task(material.facts):
            data = tradeoff(material.evidence, material.comparisons, task.name, material.tables)
            costs = varying(data)
            if metric in task.metrics and len(data) > 1 and costs:
                against = [labels()[cost] for cost in costs]
                caption = say("figures.cost", metric, against, bool({*costs} & {*measured()}))
                alt = say("figures.cost_alt", metric, len(data), of, against)
                options = metric, task.metrics[metric]
                yield Picture(f"cost{end}", f"{self.title}{of}", caption, alt, data, figure, options)


def tradeoff(
    evidence: Evidence, comparisons: pd.DataFrame, task: str, tables: Mapping[str, pd.DataFrame]
) -> pd.DataFrame:
    """One row a variant with completed runs, the baseline first, placebos left out.

    Columns: variant, label, verdict (its mark), the costs (NaN where unknown; those of `tables` at the study's own
    size), n, mean, low and high: mean of the primary metric over the completed runs, in its own units, with its
    marginal 95 % t interval (NaN for one run).
    """
    facts, names = evidence.facts, names_of(evidence.facts)
    mine = rows_of(comparisons[(comparisons["task"] == task) & (comparisons["metric"] == facts.metric)])
    judged = {row["variant"]: EXPLORATORY if is_true(row["exploratory"]) else row["verdict"] for row in mine}
    of_features = [
        row for f in features() if f.costs() and f.name in tables for row in rows_of(tables[f.name])
    ]
    own = [row for row in of_features if is_true(row["own"]) and row["task"] == task]
    known = {(row["variant"], row["metric"]): row["value_variant"] for row in own}
    sides = {side.variant: side for side in Runs(evidence).sides() if side.task.name == task}
    rows = []
    for variant in facts.variants:
        values = sides[variant.name].values(facts.metric)
        values = np.sort(values[~np.isnan(values)])
        if len(values) and not variant.placebo:
            mean, (low, high) = mean_interval(values)
            costs = {"parameters": variant.parameters.get(task), "flops": variant.flops.get(task)}
            costs |= {cost: known.get((variant.name, cost)) for cost in measured()}
            mark = judged.get(variant.name, BASELINE if variant.name == BASELINE else EXPLORATORY)
            place = {"variant": variant.name, "label": names[variant.name], "verdict": mark}
            rows.append(place | costs | {"n": len(values), "mean": mean, "low": low, "high": high})
    columns = ["variant", "label", "verdict", *labels(), "n", "mean", "low", "high"]
    found = pd.DataFrame(rows, columns=columns)
    return found.astype(dict.fromkeys((*labels(), "mean", "low", "high"), float))


def front(data: pd.DataFrame, cost: str, known: Metric) -> list[bool]:
    """Whether no other row is as good in mean and cost and better in one."""
    good = data["mean"] if known.direction == "max" else -data["mean"]
    return [bool(on) for on in undominated(np.column_stack([good, -data[cost]]))]


def varying(data: pd.DataFrame) -> list[str]:
    """The costs in which the variants of `tradeoff` differ."""
    return [cost for cost in labels() if cost in data and data[cost].nunique() > 1]


def figure(data: pd.DataFrame, metric: str, known: Metric) -> Figure:
    """Mean of the primary metric against each cost that varies, one panel each, with the names at the right.

    `data` is what `tradeoff` returns. Where a few means dwarf the rest, they are arrows at the edge.
    """
    costs = varying(data)
    lows, highs = data["low"].fillna(data["mean"]), data["high"].fillna(data["mean"])
    # An interval may reach further than any value does, a mean not.
    least, most = ends(known)
    lows, highs = lows.clip(min(least, data["mean"].min())), highs.clip(upper=max(most, data["mean"].max()))
    limits = views(lows, highs, (float(lows.iloc[0]), float(highs.iloc[0])), known)[-1]
    height = max(1.9, min(len(data), MAX_LABELS) * LABEL_GAP + 0.2)
    result = style.new_figure(len(costs) * (height + 0.4) + 0.4)
    better = "" if known.direction == "max" else ", less is better"
    for ax, cost in zip(result.subplots(len(costs), squeeze=False)[:, 0], costs, strict=True):
        here = data[data[cost].notna()]
        ax.set(ylim=limits, xlabel=labels()[cost], ylabel=f"{metric}{better}")
        on = front(here, cost, known) if cost in measured() else [False] * len(here)
        _panel(ax, here.assign(front=on), cost, metric, LABEL_GAP / height)
    handles = [
        *verdict_handles(data["verdict"]),
        Line2D([], [], color=colour("soft"), lw=0.8, label="95 % interval"),
    ]
    handles += [Line2D([], [], label="Pareto front", **RING)] if {*costs} & {*measured()} else []
    style.legend(result, handles)
    return result


def _panel(ax: Axes, data: pd.DataFrame, cost: str, metric: str, gap: float) -> None:
    """One cost, against `metric`; `gap` is that between names, as a share of the height."""
    values, (low, high) = data[cost], ax.get_ylim()
    log = values.min() > 0 and values.max() > 20 * values.min()
    span = np.log([values.min(), values.max()]) if log else [values.min(), values.max()]
    limits = padded(float(span[0]), float(span[1]), 0.12)
    ax.set(xscale="log" if log else "linear", xlim=np.exp(limits) if log else limits)
    _, shown = measured().get(cost, ("", lambda value: wording.compact(value, 6)))
    at = ticks(*ax.get_xlim(), log=log)
    ax.set_xticks(at, [unit_label(value, shown) for value in at])
    ax.xaxis.set_minor_locator(NullLocator())
    # Points of variants of equal cost are moved apart sideways.
    scale = ax.transScale + ax.transLimits
    wanted = [scale.transform((value, low))[0] for value in values]
    across = spread(wanted, min(0.032, 0.96 / max(1, len(data) - 1)), 0.02, 0.98)
    data = data.assign(x=[scale.inverted().transform((x, 0.0))[0] for x in across])
    ax.axhline(data["mean"].iloc[0], color=colour("soft"), lw=0.7, ls=DOTTED)
    verdicts(ax, data, "x", "mean", "y", ("low", "high", 0.8))
    ringed = data[data["front"] & data["mean"].between(low, high)]
    ax.plot(ringed["x"], ringed["mean"], zorder=5, **RING)
    words = [
        f"{named(row.label, row.variant)}\n{metric} {_interval(row.mean, row.low, row.high)}\n{shown(value)}"
        for row, value in zip(data.itertuples(), values, strict=True)
    ]
    tell(ax, data["x"], data["mean"], words)
    far = (data["mean"] - data["mean"].iloc[0]).abs().sort_values(ascending=False, kind="stable")
    labelled = data.loc[sorted({data.index[0], *far.index[: MAX_LABELS - 1]})]
    heights = ((labelled["mean"].clip(low, high) - low) / (high - low)).to_numpy()
    for row, from_y, y in zip(labelled.itertuples(), heights, spread(heights, gap, 0.02, 0.98), strict=True):
        name = in_lines(row.label, LABEL, 1)
        said = name if low <= row.mean <= high else f"{name} {wording.number(row.mean, 2)}"
        ax.text(
            1.08,
            y,
            said,
            transform=ax.transAxes,
            va="center",
            size=6.5,
            color=colour(MARKS[row.verdict].colour),
        )
        way = [scale.transform((row.x, low))[0], 1.0, 1.06], [from_y, from_y, y]
        ax.plot(*way, transform=ax.transAxes, color=colour("line"), lw=0.4, clip_on=False, zorder=0)


def _interval(mean: float, low: float, high: float) -> str:
    """`.968 [.961, .974]`; of one run the mean alone."""
    return short(mean) if math.isnan(low) else f"{short(mean)} [{short(low)}, {short(high)}]"
