"""The path from the baseline to a variant, one change a step."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from ablate.analysis.steps import path_of, steps
from ablate.core.facts import Facts
from ablate.core.short_names import level_name
from ablate.report.draw import style
from ablate.report.draw.hover import tell
from ablate.report.palette import colour
from ablate.report.section import Block, Heading, Material, Picture, Section, Text, by_task
from ablate.report.tables import (
    Column,
    Row,
    Table,
    count,
    difference,
    in_lines,
    rows_of,
    significant,
    text,
)


class AblationPath(Section):
    """For each task a table and a figure."""

    place = 55
    title = "The path"
    open = True

    def applies(self, material: Material) -> bool:
        return len(path_of(material.facts)) > 1

    def blocks(self, material: Material) -> Iterator[Block]:
        facts, found = material.facts, steps(material.evidence)
        yield Text(
            "Each step adds the change that did best on validation data of tuning seeds, which judge nothing here. "
            "Every configuration was then trained on the seeds of the study. What a step adds depends on the steps "
            "before it, and is exploratory.",
            aside=True,
        )
        verdicts = {
            (row.task, row.variant): row.verdict
            for row in material.comparisons.itertuples()
            if row.metric == facts.metric
        }
        for task, end, of in by_task(facts):
            mine = found[found["task"] == task.name]
            if not len(mine):
                continue
            if of:
                yield Heading(f"The path{of}")
            data = mine.assign(label=[_change(facts, row) for row in rows_of(mine)])
            caption = (
                f"The mean paired difference in {facts.metric} from the baseline after each step, with its 95 % "
                "interval; up is better."
            )
            alt = f"The difference from the baseline over {len(data)} steps of the path{of}."
            yield Picture(f"path{end}", f"The path{of}", caption, alt, data, figure, (facts.metric,))
            yield _table(data, verdicts, facts.metric)


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


def _table(data: pd.DataFrame, verdicts: Mapping[tuple[str, str], str], metric: str) -> Table:
    columns = [
        Column("step", "Step"),
        Column("change", "Adds", words=True),
        Column("mean", metric, True),
        Column("difference", "From the step before [95 %]", True),
        Column("total", "From the baseline [95 %]", True),
        Column("verdict_total", "Planned verdict", words=True),
        Column("n", "Seeds", True),
    ]
    cells = [
        {
            "step": count(row["step"]),
            "change": text(row["label"]),
            "change title": text(row["variant"]),
            "mean": significant(row["mean"]),
            "difference": difference(row["diff"], row["ci_low"], row["ci_high"]),
            "total": difference(row["total"], row["total_low"], row["total_high"]),
            "verdict_total": verdicts.get((row["task"], row["variant"]), ""),
            "n": count(row["n"]),
        }
        for row in rows_of(data)
    ]
    return Table(columns, cells, "The steps of the path, in their order", "trials.parquet")
