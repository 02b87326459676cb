"""The path from the baseline to a variant, one change a step."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from ablate.analysis.compare import path_of, steps
from ablate.core.facts import Facts
from ablate.core.short_names import level_name
from ablate.report.draw import style
from ablate.report.draw.hover import tell
from ablate.report.palette import colour
from ablate.report.section import Block, Material, Picture, Section, Text, by_task
from ablate.report.tables import (
    Column,
    Row,
    Table,
    count,
    difference,
    in_lines,
    rows_of,
    significant,
    tabulated,
)
from ablate.report.words import say


class AblationPath(Section):
    """For each task a table and a figure."""

    place = 55
    title = "The path"
    open = True

    def applies(self, material: Material) -> bool:
        return len(path_of(material.facts)) > 1

    def blocks(self, material: Material) -> Iterator[Block]:
        facts, found = material.facts, steps(material.evidence)
        yield Text(say("figures.path_guide"), aside=True)
        for task, end, of in by_task(facts):
            mine = found[found["task"] == task.name]
            if not len(mine):
                continue
            data = mine.assign(label=[_change(facts, row) for row in rows_of(mine)])
            caption, alt = say("figures.path", facts.metric), say("figures.path_alt", len(data), of)
            yield Picture(f"path{end}", f"{self.title}{of}", caption, alt, data, figure, (facts.metric,))
            yield _table(data, facts.metric)


def figure(data: pd.DataFrame, metric: str) -> Figure:
    """The difference from the baseline after each step; `data` is of `analysis.steps`, with a `label` a step."""
    result = style.new_figure(2.8)
    ax = result.subplots()
    x = [0, *data["step"]]
    ax.axhline(0.0, color=colour("line"), lw=0.8, zorder=0)
    ax.plot(x, [0.0, *data["total"]], marker="o", ms=4, color=colour("blue"))
    ax.vlines(data["step"], data["total_low"], data["total_high"], color=colour("blue"), lw=1.4)
    width = max(8, 66 // len(x))
    ax.set_xticks(x, ["baseline", *(in_lines(f"+ {label}", width, 4) for label in data["label"])])
    ax.set_xlim(-0.4, len(data) + 0.4)
    ax.yaxis.set_major_locator(MaxNLocator(6))
    ax.set_ylabel(f"difference in {metric}, up is better")
    words = [
        f"{row['variant']}\n{difference(row['total'], row['total_low'], row['total_high'])}"
        for row in rows_of(data)
    ]
    tell(ax, data["step"], data["total"], words)
    return result


def _change(facts: Facts, row: Row) -> str:
    level = next(variant for variant in facts.variants if variant.name == row["variant"]).changes[row["path"]]
    return facts.labels.get(f"{row['path']}={level}") or level_name(row["path"], level)


def _table(data: pd.DataFrame, metric: str) -> Table:
    columns = [
        Column("step", "Step", show=lambda row: count(row["step"])),
        Column("label", "Adds", words=True),
        Column("mean", metric, True, show=lambda row: significant(row["mean"])),
        Column("diff", "From the step before [95 %]", True, show=lambda row: _difference(row, "diff", "ci")),
        Column(
            "total", "From the baseline [95 %]", True, show=lambda row: _difference(row, "total", "total")
        ),
        Column("n", "Seeds", True, show=lambda row: count(row["n"])),
    ]
    return tabulated(columns, rows_of(data), say("cost.path_table"), "trials.parquet")


def _difference(row: Row, value: str, bounds: str) -> str:
    return difference(row[value], row[f"{bounds}_low"], row[f"{bounds}_high"])
