"""The primary metric against what a variant costs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ablate.analysis.paired import mean_interval
from ablate.analysis.runs import Runs
from ablate.base import wording
from ablate.core.facts import BASELINE, Evidence
from ablate.core.feature import features
from ablate.core.metric import Metric, undominated
from ablate.report.draw import style
from ablate.report.draw.marks import plain, ticks, unit_label
from ablate.report.draw.style import DOTTED, LEVELS, colour
from ablate.report.section import Block, Material, Picture, Section, by_task
from ablate.report.verdicts import names_of
from ablate.report.words import in_lines, is_true, rows_of, say

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

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
