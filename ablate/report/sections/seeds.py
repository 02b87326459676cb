"""Every run beside the baseline's run of the same seed."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from ablate.core.evidence import Evidence
from ablate.core.facts import BASELINE
from ablate.core.metric import Metric
from ablate.report.draw import style
from ablate.report.draw.hover import named, short, tell
from ablate.report.draw.marks import edge_arrow, references, views
from ablate.report.draw.rows import axes, placed, write_right
from ablate.report.entries import Entry, entries
from ablate.report.palette import colour
from ablate.report.section import Block, Material, Picture, Section, by_task
from ablate.report.words import say

OFFSET = 0.2
"Of the baseline's runs above, and of the variant's below, the middle of a row."
RUNS = {"baseline": ("soft", -OFFSET), "value": ("blue", OFFSET)}
"Column → colour, and place in a row."


class Seeds(Section):
    """A figure a task."""

    place = 700
    title = "Every seed"
    inside = "each run beside the baseline’s run of the same seed"

    def blocks(self, material: Material) -> Iterator[Block]:
        metric = material.facts.metric
        for task, end, of in by_task(material.facts):
            data = seeds(material.evidence, task.name)
            runs = int(data["value"].notna().sum())
            if metric in task.metrics and (runs or data["baseline"].notna().any()):
                caption, alt = say("figures.seeds", metric), say("figures.seeds_alt", metric, runs, of)
                options = metric, task.metrics[metric]
                yield Picture(f"seeds{end}", f"{self.title}{of}", caption, alt, data, figure, options)


def seeds(evidence: Evidence, task: str) -> pd.DataFrame:
    """One row a variant and seed that it was asked for: variant, group, label, placebo, seed, baseline, value, status.

    `baseline` and `value` are the primary metric of the pair, NaN where a trial has none; `status` is the
    variant's, `missing` where the trial has not run.
    """
    facts = evidence.facts
    trials = evidence.trials[evidence.trials["task"] == task]
    values = pd.to_numeric(trials[facts.column], errors="coerce").astype(float).where(np.isfinite)
    found = trials[["variant", "seed", "status"]].assign(value=values)
    baseline = found[found["variant"] == BASELINE].set_index("seed")["value"]
    planned = pd.DataFrame(map(vars, entries(facts) or [Entry(BASELINE, BASELINE, BASELINE)]))
    asked = [(entry, seed) for entry in planned["variant"] for seed in facts.seeds_of(entry, task)]
    data = planned.merge(pd.DataFrame(asked, columns=["variant", "seed"]), "left", "variant")
    data = data.merge(found, "left", ["variant", "seed"])
    data = data.assign(baseline=data["seed"].map(baseline), status=data["status"].fillna("missing"))
    return data[["variant", "group", "label", "placebo", "seed", "baseline", "value", "status"]]


def figure(data: pd.DataFrame, metric: str, known: Metric) -> Figure:
    """Every run as a point: the baseline's above, the variant's below, a line joining the two of one seed.

    `data` is what `seeds` returns. Runs without a value are counted at the right. Where a few rows dwarf the rest, a
    second axis looks closer.
    """
    heights, labels = placed(data)
    data = data.assign(y=data["variant"].map(heights))
    both, rows = data[["baseline", "value"]], data.groupby("variant", sort=False)[["baseline", "value"]]
    base = both["baseline"] if both["baseline"].notna().any() else both["value"]
    limits = views(rows.min().min(axis=1), rows.max().max(axis=1), (base.min(), base.max()), known)
    figure, found = axes(labels, limits, metric, pitch=0.3)
    shown = ["baseline"] if set(data["variant"]) == {BASELINE} else list(RUNS)
    for ax in found:
        pairs = np.stack([data[["baseline", "y"]] - [0, OFFSET], data[["value", "y"]] + [0, OFFSET]], axis=1)
        lines = LineCollection(list(pairs), colors=colour("line"), linewidths=0.7, zorder=1)
        ax.add_collection(lines, autolim=False)
        for run in shown:
            _runs(ax, data, run, metric)
        references(ax, known, "x")
    lost = data[data["value"].isna() & (data["status"] != "missing")]
    counts = {
        heights[str(variant)]: "\n".join(f"{n} {status}" for status, n in of["status"].value_counts().items())
        for variant, of in lost.groupby("variant")
    }
    write_right(found[-1], counts, colour("purple"))
    names = {"baseline": BASELINE, "value": "variant"}
    handles = [
        Line2D([], [], ls="", marker="o", ms=4, color=colour(RUNS[run][0]), label=names[run]) for run in shown
    ]
    handles.append(Line2D([], [], ls="", marker="|", ms=8, mew=1.6, color=colour("ink"), label="mean"))
    style.legend(figure, handles)
    return figure


def _runs(ax: Axes, data: pd.DataFrame, run: str, metric: str) -> None:
    """The runs of one side: a point each, their means, and an arrow where a row has some outside the axes."""
    shade, known = colour(RUNS[run][0]), data[data[run].notna()]
    known = known.assign(x=known[run], y=known["y"] + RUNS[run][1])
    ax.scatter(known["x"], known["y"], s=14, color=shade, ec="white", lw=0.4, zorder=3)
    means = known.groupby("y")["x"].mean()
    ax.plot(means, means.index, "|", ms=8, mew=1.6, color=colour("ink"), zorder=4)
    for row in known[~known["x"].between(*ax.get_xlim())].drop_duplicates("y").itertuples():
        edge_arrow(ax, row.x, "x", row.y, shade)
    names = [BASELINE] * len(known) if run == BASELINE else map(named, known["label"], known["variant"])
    words = (
        f"{name}\nseed {s}: {metric} {short(x)}"
        for name, s, x in zip(names, known["seed"], known["x"], strict=True)
    )
    tell(ax, known["x"], known["y"], words)
