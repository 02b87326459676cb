"""How fast each variant is beside the baseline, how much memory a step takes, and how both grow with the size."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd

from ablate.core.derived import STEP_MEMORY
from ablate.core.facts import BASELINE, StudyFacts
from ablate.core.speed_facts import SpeedFacts
from ablate.report.figures.scaling import Measure, growth
from ablate.report.figures.speed import speed_ratios
from ablate.report.section import Block, Folded, Picture, ReportData, Section, Text, by_task
from ablate.report.tables.speed_tables import (
    CALLS,
    HEADS,
    MEASURES,
    are_of_runs,
    beyond,
    brief_tables,
    call_shown,
    floor_words,
    floors,
    in_units,
    measures_of,
    only,
    own,
    ratio,
    replicates_of,
    size_name,
    speed_table,
    with_interval,
)
from ablate.report.tables.verdicts import Names, names_of, row_name, variant_column
from ablate.report.words import NOTHING, Column, Row, Table, fixed, message, paragraph, rows_of, tabulated

MAX_CURVES = 8
"""The variants of a figure of growth, the baseline included."""
MAX_SLOPES = 4
"""The slopes that the answer names, that of the baseline included."""
ROUNDING = 1e-9
"""A gap between intervals that processors may make by rounding."""


class Speed(Section, title="Speed", inside="the time and the memory of each variant", needs_trials=False):
    """A table of the call that matters most, at the study's own size; the others are folded."""

    def applies(self, report_data: ReportData) -> bool:
        return len(report_data.table("speed")) > 0

    def answers(self, report_data: ReportData) -> list[str]:
        rows = own(rows_of(report_data.table("speed")))
        names = names_of(report_data.facts)
        call = call_shown(rows)
        tasks = report_data.facts.tasks
        sentences = []
        for task in tasks:
            where = task.name if len(tasks) > 1 else ""
            decided = [row for row in only(rows, call, task.name) if beyond(row)]
            decided.sort(key=lambda row: -abs(math.log(row["ratio"])))
            if decided:
                ratios = [message("speed.times", ratio(row), names[row["variant"]]) for row in decided]
                sentences.append(message("speed.answer", where, MEASURES[call], ratios))
            else:
                sentences.append(message("speed.no_difference", where, MEASURES[call]))
        return sentences

    def findings(self, report_data: ReportData) -> list[str]:
        rows = rows_of(report_data.table("speed"))
        speed = report_data.facts.of(SpeedFacts)
        if speed is None or max(floors(rows).values(), default=0) <= speed.margin:
            return []
        return [floor_words(rows)]

    def blocks(self, report_data: ReportData) -> Iterator[Block]:
        rows = own(rows_of(report_data.table("speed")))
        names = names_of(report_data.facts)
        first = call_shown(rows)
        yield from _ratio_pictures(rows, names, first, report_data)
        yield from brief_tables(rows, names)
        guide = message("speed.guide_of_runs" if are_of_runs(rows) else "speed.guide")
        yield Text(paragraph(floor_words(rows), guide), aside=True)
        other_calls = {*CALLS} - {first}
        others = dict.fromkeys((row["task"], row["metric"]) for row in rows if row["metric"] in other_calls)
        tables = [speed_table(rows, names, call, task) for task, call in others]
        if tables:
            yield Folded(message("speed.more"), tables)


def _ratio_pictures(
    rows: Sequence[Row], names: Names, call: str, report_data: ReportData
) -> Iterator[Picture]:
    """Yields the figure of the ratios of a call on each task, at the size that the study trains."""
    for task, end, of in by_task(report_data.facts):
        timed = [row for row in only(rows, call, task.name) if row["variant"] != row["baseline"]]
        data = pd.DataFrame(
            {
                "label": row_name(row, names),
                "value": float(row["ratio"]),
                "low": float(row["ci_low"]),
                "high": float(row["ci_high"]),
                "told": f"×{row['ratio']:.3g}",
            }
            for row in timed
        )
        if data.empty or data["value"].isna().any():
            continue
        slack = max(float(row["slack"]) for row in timed)
        yield Picture(
            f"speed{end}",
            f"Time of {MEASURES[call]}{of}",
            message("speed.ratios_caption", MEASURES[call], slack, replicates_of(rows)),
            message("speed.ratios_alt", MEASURES[call], len(data), of),
            data,
            speed_ratios,
            (f"time of {MEASURES[call]} over the baseline’s, left is faster", slack),
        )


class Scaling(Section, title="Scaling", inside="how time and memory grow with the size", needs_trials=False):
    """A figure a task, and the slopes."""

    def applies(self, report_data: ReportData) -> bool:
        return len(report_data.table("scaling")) > 0

    def answers(self, report_data: ReportData) -> list[str]:
        """Returns the slope of the baseline, and those whose intervals do not meet its own."""
        facts = report_data.facts
        rows = rows_of(report_data.table("scaling"))
        names = names_of(facts)
        call = call_shown(rows)
        sentences = []
        for base in only(rows, call):
            if base["variant"] != BASELINE:
                continue
            apart = [row for row in only(rows, call, base["task"]) if _gap(row, base) > ROUNDING]
            if apart:
                slopes = [base, *apart]
                code = "speed.grows_and_more" if len(slopes) > MAX_SLOPES else "speed.grows"
                powers = [
                    message("speed.power", fixed(row["slope"], 2), names[row["variant"]])
                    for row in slopes[:MAX_SLOPES]
                ]
                where = base["task"] if len(facts.tasks) > 1 else ""
                sentences.append(message(code, where, MEASURES[call], size_name(facts), powers))
        return sentences

    def blocks(self, report_data: ReportData) -> Iterator[Block]:
        facts = report_data.facts
        size = size_name(facts)
        slopes = rows_of(report_data.table("scaling"))
        for task, end, of in by_task(facts):
            data, left = by_size(report_data.table("speed"), task.name)
            if len(data):
                caption = message(
                    "speed.scaling_caption", size, replicates_of(slopes), STEP_MEMORY in measures_of(slopes)
                )
                if left:
                    caption = paragraph(caption, message("speed.left_out", left))
                yield Picture(
                    f"scaling{end}",
                    f"{self.title}{of}",
                    caption,
                    message("speed.scaling_alt", size, of),
                    data,
                    growth,
                    (measures(), _names_in_order(facts, data), size),
                )
                yield slope_table([row for row in slopes if row["task"] == task.name], names_of(facts), size)


def _gap(a: Row, b: Row) -> float:
    """Returns the distance between two intervals; below 0 where they meet."""
    return float(max(a["ci_low"] - b["ci_high"], b["ci_low"] - a["ci_high"]))


def measures() -> dict[str, Measure]:
    """Returns what is measured, by metric, in the order of its panels."""
    return {metric: Measure(HEADS[metric], in_units(metric)) for metric in MEASURES}


def _names_in_order(facts: StudyFacts, data: pd.DataFrame) -> dict[str, str]:
    """Returns the variants of a frame in the order of the study, by their names for readers."""
    names = {**names_of(facts), BASELINE: BASELINE}
    shown = set(data["variant"])
    return {variant.name: names[variant.name] for variant in facts.variants if variant.name in shown}


def slope_table(rows: Sequence[Row], names: Names, size: str) -> Table:
    """Returns the slopes of one task: a row a variant and a column a call, and one for memory."""
    measured = measures_of(rows)
    row_by_variant: dict[str, dict[str, str]] = {}
    for row in rows:
        variant = row["variant"]
        cells = row_by_variant.setdefault(variant, {"variant": variant, **dict.fromkeys(measured, NOTHING)})
        cells[row["metric"]] = with_interval(row["slope"], row["ci_low"], row["ci_high"])
    columns = [variant_column(names)]
    columns += [Column(metric, HEADS[metric], True) for metric in measured]
    return tabulated(columns, [*row_by_variant.values()], message("speed.slopes", size), "scaling.csv")


def by_size(speeds: pd.DataFrame, task: str) -> tuple[pd.DataFrame, int]:
    """Returns the value of each variant by size and metric, those furthest from the baseline where there are many.

    Columns: variant, metric, size, value. Also, how many variants are left out.
    """
    sized = speeds[(speeds["task"] == task) & speeds["size"].notna()]
    sized = sized.drop_duplicates(["variant", "metric", "size"]).sort_values("size", kind="stable")
    distances = np.log(sized["ratio"].astype(float)).abs().groupby(sized["variant"]).max()
    order = distances.drop(BASELINE, errors="ignore").sort_values(ascending=False).index
    has_sizes = sized.groupby("metric")["size"].transform("nunique") > 1
    is_shown = sized["variant"].isin([BASELINE, *order[: MAX_CURVES - 1]])
    shown = sized[has_sizes & is_shown].reset_index(drop=True)
    shown = shown[["variant", "metric", "size"]].assign(value=shown["value_variant"].astype(float))
    return shown, max(0, len(order) - MAX_CURVES + 1)
