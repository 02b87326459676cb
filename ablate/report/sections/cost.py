"""The metric of each variant against its cost."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import NullLocator

from ablate.analysis.power import ALPHA
from ablate.analysis.runs import Runs
from ablate.analysis.student import t_interval
from ablate.base import wording
from ablate.core.evidence import Evidence
from ablate.core.facts import BASELINE, Facts
from ablate.core.metric import Metric
from ablate.core.search_table import undominated
from ablate.core.short_names import short_names
from ablate.core.speed import SpeedFacts
from ablate.report.draw import style
from ablate.report.draw.hover import named, short, tell
from ablate.report.draw.marks import MARKS, Limits, closer, ends, padded, spread, verdict_handles, verdicts
from ablate.report.draw.settings import ticks, unit_label
from ablate.report.palette import DOTTED, colour
from ablate.report.section import Block, Material, Picture, Section, by_task
from ablate.report.tables import rows_of, shortened, text
from ablate.report.timing import MEMORY, STEP, own

COSTS = {
    "parameters": "parameters",
    "flops": "forward FLOPs an example",
    STEP: "time of a training step",
    MEMORY: "peak memory of a training step",
}
"Column → the label of its axis."
UNITS: dict[str, Callable[[float], str]] = {
    STEP: wording.seconds,
    MEMORY: lambda size: wording.size(round(size)),
}
"Of those that were measured: how a value is said. Their panels show the Pareto front."
MAX_LABELS = 20
"Variants that a panel names: those whose mean is furthest from the baseline's."
MOST = 0.6
"Share of the variants that a view must show to leave the others out."
RING: dict[str, Any] = {"ls": "", "marker": "o", "ms": 8, "mfc": "none", "mec": colour("ink"), "mew": 0.9}
"How a variant of the Pareto front is marked."
LABEL = 26
"Characters of the name of a variant."
LABEL_GAP = 0.13
"Inches from one name to the next."


class Cost(Section):
    """A figure a task, with a panel a cost."""

    place = 800
    title = "Against cost"
    inside = "the mean of each variant against what it costs"

    def heading(self, material: Material) -> str:
        return f"{material.facts.metric.capitalize()} against cost"

    def blocks(self, material: Material) -> Iterator[Block]:
        facts = material.facts
        for task, end, of in by_task(facts):
            data = tradeoff(material.evidence, material.comparisons, task.name, material.speeds)
            costs = varying(data)
            if facts.metric in task.metrics and len(data) > 1 and costs:
                against = wording.joined([COSTS[cost] for cost in costs])
                alt = f"The mean {facts.metric} of {len(data)} variants{of} against {against}."
                title, caption = f"{self.heading(material)}{of}", _caption(data, facts, against)
                options = facts.metric, task.metrics[facts.metric]
                yield Picture(f"cost{end}", title, caption, alt, data, figure, options)


def _caption(data: pd.DataFrame, facts: Facts, against: str) -> str:
    left_out = f" Of {len(data)}, the {MAX_LABELS} furthest from the baseline are named."
    return (
        f"Mean {facts.metric} of each variant's completed runs, with its own 95 % interval over seeds, against "
        f"{against}. The "
        "verdicts rest on the paired differences, not on whether these intervals overlap. Points of almost equal "
        "cost are moved apart sideways; an arrow at the edge points to a mean outside, which it gives. FLOPs are "
        "those of the matrix products of a forward pass on one example; a step of training takes about three times "
        f"as many for each example of its batch. {_of_speed(data, facts)}"
        f"{left_out if len(data) > MAX_LABELS else ''}"
    )


def _of_speed(data: pd.DataFrame, facts: Facts) -> str:
    """Where time and memory come from, and what the ring is."""
    if not {STEP, MEMORY} & {*varying(data)}:
        return "Speed is another matter: it is never read off training runs."
    processes = (
        f"{speed.processes} processes of their own"
        if (speed := SpeedFacts.of(facts))
        else "processes of their own"
    )
    return (
        f"Time and memory of a step are not read off training runs: they were measured in {processes}, one after the "
        "other. A ring: on the Pareto front, by these means no other variant is as good on both and better on one."
    )


def tradeoff(
    evidence: Evidence, comparisons: pd.DataFrame, task: str, speeds: pd.DataFrame | None = None
) -> pd.DataFrame:
    """One row a variant with completed runs, the baseline first, placebos left out.

    Columns: variant, label, verdict (empty for the baseline), the costs (NaN where unknown; those of `speeds` at the
    study's own size), n, mean, low and high: mean of the primary metric over the completed runs, in its own units, with
    its marginal 95 % t interval (NaN for one run).
    """
    facts, names = evidence.facts, short_names(evidence.facts)
    mine = comparisons[(comparisons["task"] == task) & (comparisons["metric"] == facts.metric)]
    judged = dict(zip(mine["variant"], mine["verdict"], strict=True))
    rows, measured = [], _measured(speeds, task)
    sides = {side.variant: side for side in Runs(evidence).sides() if side.task.name == task}
    for variant in facts.variants:
        values = sides[variant.name].values(facts.metric)
        values = np.sort(values[~np.isnan(values)])
        if variant.placebo or not len(values):
            continue
        n, low, high = len(values), math.nan, math.nan
        if n > 1:
            low, high = t_interval(
                float(values.mean()), float(values.std(ddof=1)) / math.sqrt(n), n - 1, ALPHA
            )
        rows.append(
            {
                "variant": variant.name,
                "label": names[variant.name],
                "verdict": judged.get(variant.name, ""),
                "parameters": variant.parameters.get(task),
                "flops": variant.flops.get(task),
                **{cost: measured.get((variant.name, cost)) for cost in UNITS},
                "n": n,
                "mean": values.mean(),
                "low": low,
                "high": high,
            }
        )
    columns = ["variant", "label", "verdict", *COSTS, "n", "mean", "low", "high"]
    found = pd.DataFrame(rows, columns=columns)
    return found.astype(dict.fromkeys((*COSTS, "mean", "low", "high"), float))


def _measured(speeds: pd.DataFrame | None, task: str) -> dict[tuple[str, str], float]:
    """By variant and cost."""
    rows = [] if speeds is None else own(rows_of(speeds))
    return {
        (row["variant"], row["metric"]): row["value_variant"]
        for row in rows
        if row["task"] == task and row["metric"] in UNITS
    }


def front(data: pd.DataFrame, cost: str, known: Metric) -> list[bool]:
    """Whether no other row is as good in mean and cost and better in one."""
    good = data["mean"] if known.direction == "max" else -data["mean"]
    return [bool(on) for on in undominated(np.column_stack([good, -data[cost]]))]


def varying(data: pd.DataFrame) -> list[str]:
    """The costs in which the variants of `tradeoff` differ."""
    return [cost for cost in COSTS if cost in data and data[cost].nunique() > 1]


def figure(data: pd.DataFrame, metric: str, known: Metric) -> Figure:
    """Mean of the primary metric against each cost that varies, one panel each, with the names at the right.

    `data` is what `tradeoff` returns. Where a few means dwarf the rest, they are arrows at the edge.
    """
    data = data.assign(verdict=data["verdict"].where(data["variant"] != BASELINE, BASELINE))
    costs, limits = varying(data), _limits(data, known)
    height = max(1.9, min(len(data), MAX_LABELS) * LABEL_GAP + 0.2)
    result = style.new_figure(len(costs) * (height + 0.4) + 0.4)
    better = "" if known.direction == "max" else ", less is better"
    for ax, cost in zip(result.subplots(len(costs), squeeze=False)[:, 0], costs, strict=True):
        ax.set(ylim=limits)
        here = data[data[cost].notna()]
        on = front(here, cost, known) if cost in UNITS else [False] * len(here)
        _panel(ax, here.assign(front=on), cost, metric, LABEL_GAP / height)
        ax.set(xlabel=COSTS[cost], ylabel=f"{metric}{better}")
    interval = Line2D([], [], color=colour("soft"), lw=0.8, label="95 % interval")
    fronts = [Line2D([], [], label="Pareto front", **RING)] if {*costs} & {*UNITS} else []
    handles = [*verdict_handles(data["verdict"]), interval, *fronts]
    result.legend(handles=handles, loc="outside upper left", ncols=4)
    return result


def _limits(data: pd.DataFrame, known: Metric) -> Limits:
    """Limits that hold every interval or, where a few means dwarf the rest, those of the rest."""
    lows, highs = data["low"].fillna(data["mean"]), data["high"].fillna(data["mean"])
    # An interval may reach further than any value does, a mean not.
    least, most = ends(known)
    lows, highs = lows.clip(min(least, data["mean"].min())), highs.clip(upper=max(most, data["mean"].max()))
    low, high = float(lows.min()), float(highs.max())
    near = closer(lows, highs, (float(lows.iloc[0]), float(highs.iloc[0])))
    if near and data["mean"].between(*near).mean() >= MOST:
        low, high = near
    return padded(low, high, 0.08, known)


def _panel(ax: Axes, data: pd.DataFrame, cost: str, measured: str, gap: float) -> None:
    """One cost of `measured`; `gap` is that between names, as a share of the height."""
    low, high = ax.get_ylim()
    values = data[cost]
    log = values.min() > 0 and values.max() > 20 * values.min()
    if log:
        ax.set(xscale="log", xlim=np.exp(padded(np.log(values.min()), np.log(values.max()), 0.12)))
    else:
        ax.set(xlim=padded(values.min(), values.max(), 0.12))
    say = UNITS.get(cost, lambda value: wording.compact(value, 6))
    at = ticks(*ax.get_xlim(), log=log)
    ax.set_xticks(at, [unit_label(value, say) for value in at])
    ax.xaxis.set_minor_locator(NullLocator())
    scale = ax.transScale + ax.transLimits
    # Points of variants of equal cost are moved apart sideways.
    wanted = [scale.transform((value, low))[0] for value in values]
    across = spread(wanted, min(0.032, 0.96 / max(1, len(data) - 1)), 0.02, 0.98)
    data = data.assign(x=[scale.inverted().transform((x, 0.0))[0] for x in across])

    ax.axhline(data["mean"].where(data["variant"] == BASELINE).max(), color=colour("soft"), lw=0.7, ls=DOTTED)
    verdicts(ax, data, "x", "mean", "y", ("low", "high", 0.8))
    ringed = data[data["front"] & data["mean"].between(low, high)]
    ax.plot(ringed["x"], ringed["mean"], zorder=5, **RING)
    say = UNITS.get(cost, wording.compact)
    words = (
        f"{named(row.label, row.variant)}\n{measured} {_interval(row.mean, row.low, row.high)}\n"
        f"{say(value)} {COSTS[cost]}{', on the Pareto front' * bool(row.front)}"
        for row, value in zip(data.itertuples(), values, strict=True)
    )
    tell(ax, data["x"], data["mean"], words)

    far = (data["mean"] - data["mean"].iloc[0]).abs().sort_values(ascending=False, kind="stable")
    labelled = data.loc[sorted({data.index[0], *far.index[: MAX_LABELS - 1]})]
    heights = ((labelled["mean"].clip(low, high) - low) / (high - low)).to_numpy()
    places = spread(heights, gap, 0.02, 0.98)
    for row, from_y, y in zip(labelled.itertuples(), heights, places, strict=True):
        name = shortened(text(row.label), LABEL)
        said = name if low <= row.mean <= high else f"{name} {wording.number(row.mean, 2)}"
        shade = colour(MARKS[row.verdict].colour)
        ax.text(1.08, y, said, transform=ax.transAxes, va="center", size=6.5, color=shade)
        way = [scale.transform((row.x, low))[0], 1.0, 1.06], [from_y, from_y, y]
        ax.plot(*way, transform=ax.transAxes, color=colour("line"), lw=0.4, clip_on=False, zorder=0)


def _interval(mean: float, low: float, high: float) -> str:
    """`.968 [.961, .974]`; of one run the mean alone."""
    return short(mean) if math.isnan(low) else f"{short(mean)} [{short(low)}, {short(high)}]"
