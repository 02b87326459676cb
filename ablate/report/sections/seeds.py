"""Every run of every variant, joined to the baseline's run of the same seed."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd
import seaborn
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from ablate.core.evidence import Evidence
from ablate.core.facts import BASELINE
from ablate.core.metric import Metric
from ablate.report.draw.hover import named, short, tell
from ablate.report.draw.marks import edge_arrow, references, views
from ablate.report.draw.rows import axes, placed, write_right
from ablate.report.entries import Entry, entries
from ablate.report.palette import colour
from ablate.report.section import Block, Material, Picture, Section, by_task

OFFSET = 0.2
"Of the baseline's runs above, and of the variant's below, the middle of a row."
RUNS = {"baseline": "soft", "variant": "blue"}


class Seeds(Section):
    """A figure a task."""

    place = 700
    title = "Every seed"
    inside = "each run beside the baseline’s run of the same seed"

    def blocks(self, material: Material) -> Iterator[Block]:
        facts = material.facts
        caption = (
            f"Every run's {facts.metric}. A line joins the two runs of one seed, which share their data and the "
            "initial values they have in common. Upright bars are means."
        )
        for task, end, of in by_task(facts):
            data = seeds(material.evidence, task.name)
            runs = int(data["value"].notna().sum())
            if facts.metric in task.metrics and (runs or data["baseline"].notna().any()):
                alt = f"The {facts.metric} of {runs} runs{of}, each joined to the baseline's run of the same seed."
                options = facts.metric, task.metrics[facts.metric]
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
    base, value = data["baseline"], data["value"]
    both = pd.concat([base, value])
    rows = data.groupby("variant", sort=False)[["baseline", "value"]]
    always = (base.min(), base.max()) if base.notna().any() else (both.min(), both.max())
    limits = views(rows.min().min(axis=1), rows.max().max(axis=1), always, known)
    result, found = axes(labels, limits, metric, pitch=0.3)
    y = data["variant"].map(heights).astype(float)
    runs = pd.concat(
        [
            data.assign(run="baseline", x=base, y=y - OFFSET, words=BASELINE),
            data.assign(
                run="variant", x=value, y=y + OFFSET, words=list(map(named, data["label"], data["variant"]))
            ),
        ]
    )
    if set(data["variant"]) == {BASELINE}:
        runs = runs[runs["run"] == "baseline"]
    pairs = np.stack([np.column_stack([base, y - OFFSET]), np.column_stack([value, y + OFFSET])], axis=1)
    runs = runs[runs["x"].notna()]
    words = [
        f"{name}\nseed {seed}: {metric} {short(x)}"
        for name, seed, x in zip(runs["words"], runs["seed"], runs["x"], strict=True)
    ]
    for ax in found:
        _view(ax, runs, pairs, known)
        tell(ax, runs["x"], runs["y"], words)
    lost = data[value.isna() & (data["status"] != "missing")]
    counted = lost.groupby("variant", sort=False)["status"].agg(
        lambda status: "\n".join(f"{n} {name}" for name, n in status.value_counts(sort=False).items())
    )
    write_right(found[-1], {heights[variant]: words for variant, words in counted.items()}, colour("purple"))
    handles = [
        Line2D([], [], ls="", marker="o", ms=4, color=colour(RUNS[run]), label=run)
        for run in runs["run"].unique()
    ]
    handles.append(Line2D([], [], ls="", marker="|", ms=8, mew=1.6, color=colour("ink"), label="mean"))
    result.legend(handles=handles, loc="outside upper left", ncols=3)
    return result


def _view(ax: Axes, runs: pd.DataFrame, pairs: np.ndarray, known: Metric) -> None:
    low, high = ax.get_xlim()
    ax.add_collection(
        LineCollection(list(pairs), colors=colour("line"), linewidths=0.7, zorder=1), autolim=False
    )
    palette = {run: colour(name) for run, name in RUNS.items()}
    seaborn.scatterplot(
        runs, x="x", y="y", hue="run", palette=palette, s=14, linewidth=0.4, legend=False, zorder=3, ax=ax
    )
    means = runs.groupby("y")["x"].mean()
    ax.plot(means, means.index, "|", ms=8, mew=1.6, color=colour("ink"), zorder=4)
    ax.set(xlabel="", ylabel="", xlim=(low, high))
    for row in runs[~runs["x"].between(low, high)].drop_duplicates(["y"]).itertuples():
        edge_arrow(ax, row.x, "x", row.y, palette[row.run])
    references(ax, known, "x")
