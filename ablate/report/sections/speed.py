"""How fast each variant is beside the baseline, how much memory a step takes, and how both grow with the size."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd

from ablate.core.facts import BASELINE, StudyFacts
from ablate.core.speed_facts import SpeedFacts
from ablate.report.figures.scaling import Measure, growth
from ablate.report.figures.speed import speed_ratios
from ablate.report.section import Block, Folded, Picture, ReportData, Section, Text, by_task
from ablate.report.speed_tables import (
    CALLS,
    HEADS,
    MEASURES,
    beyond,
    brief_tables,
    call_shown,
    floor_words,
    floors,
    in_units,
    only,
    own,
    ratio,
    size_name,
    speed_table,
    with_interval,
)
from ablate.report.verdicts import Names, names_of, row_name, variant_column
from ablate.report.words import NOTHING, Column, Row, Table, fixed, message, rows_of, tabulated

MAX_CURVES = 8  # Variants of a figure of growth, the baseline included.


class Speed(Section, title="Speed", inside="the time and the memory of each variant", needs_trials=False):
    """A table of the call that matters most, at the study's own size; the others are folded."""

    def applies(self, report_data: ReportData) -> bool:
        return len(report_data.table("speed")) > 0

    def answers(self, report_data: ReportData) -> list[str]:
        rows, names = own(rows_of(report_data.table("speed"))), names_of(report_data.facts)
        call, tasks, found = call_shown(rows), report_data.facts.tasks, []
        for task in tasks:
            decided = [row for row in only(rows, call, task.name) if beyond(row)]
            decided.sort(key=lambda row: -abs(math.log(row["ratio"])))
            ratios = [message("speed.times", ratio(row), names[row["variant"]]) for row in decided]
            found.append(message("speed.answer", task.name if len(tasks) > 1 else "", MEASURES[call], ratios))
        return found

    def findings(self, report_data: ReportData) -> list[str]:
        rows, speed = rows_of(report_data.table("speed")), SpeedFacts.of(report_data.facts)
        return [floor_words(rows)] if speed and max(floors(rows).values(), default=0) > speed.margin else []

    def blocks(self, report_data: ReportData) -> Iterator[Block]:
        rows, names = own(rows_of(report_data.table("speed"))), names_of(report_data.facts)
        first = call_shown(rows)
        yield from _ratio_pictures(rows, names, first, report_data)
        yield from brief_tables(rows, names)
        yield Text(f"{floor_words(rows)} {message('speed.guide')}".strip(), aside=True)
        others = dict.fromkeys(
            (row["task"], row["metric"]) for row in rows if row["metric"] in {*CALLS} - {first}
        )
        if found := [speed_table(rows, names, call, task) for task, call in others]:
            yield Folded(message("speed.more"), found)


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
            message("speed.ratios_caption", MEASURES[call], slack),
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
        """The slope of the baseline, and those whose intervals do not meet its own."""
        rows, names, found = rows_of(report_data.table("scaling")), names_of(report_data.facts), []
        call, size = call_shown(rows), size_name(report_data.facts)
        for base in (row for row in only(rows, call) if row["variant"] == BASELINE):
            apart = [
                row
                for row in only(rows, call, base["task"])
                # By more than processors differ in rounding.
                if max(row["ci_low"] - base["ci_high"], base["ci_low"] - row["ci_high"]) > 1e-9
            ]
            powers = [(fixed(row["slope"], 2), names[row["variant"]]) for row in (base, *apart)]
            task = base["task"] if len(report_data.facts.tasks) > 1 else ""
            found += [message("speed.grows", task, MEASURES[call], size, powers)] if apart else []
        return found

    def blocks(self, report_data: ReportData) -> Iterator[Block]:
        facts, size = report_data.facts, size_name(report_data.facts)
        slopes = rows_of(report_data.table("scaling"))
        for task, end, of in by_task(facts):
            data, left = by_size(report_data.table("speed"), task.name)
            if len(data):
                yield Picture(
                    f"scaling{end}",
                    f"{self.title}{of}",
                    message("speed.scaling_caption", size, left),
                    message("speed.scaling_alt", size, of),
                    data,
                    growth,
                    (measures(), _names_in_order(facts, data), size),
                )
                yield slope_table([row for row in slopes if row["task"] == task.name], names_of(facts), size)


def measures() -> dict[str, Measure]:
    """Returns what is measured, by metric, in the order of its panels."""
    return {metric: Measure(HEADS[metric], in_units(metric)) for metric in MEASURES}


def _names_in_order(facts: StudyFacts, data: pd.DataFrame) -> dict[str, str]:
    """Returns the variants of a frame in the order of the study, by their names for readers."""
    names = {**names_of(facts), BASELINE: BASELINE}
    shown = set(data["variant"])
    return {variant.name: names[variant.name] for variant in facts.variants if variant.name in shown}


def slope_table(rows: Sequence[Row], names: Names, size: str) -> Table:
    """Of one task: a row a variant and a column a call, and one for memory."""
    cells: dict[str, dict[str, str]] = {}
    for row in rows:
        said = with_interval(row["slope"], row["ci_low"], row["ci_high"])
        cells.setdefault(row["variant"], dict.fromkeys(MEASURES, NOTHING))[row["metric"]] = said
    columns = [variant_column(names), *(Column(m, HEADS[m], True) for m in MEASURES)]
    return tabulated(
        columns,
        [{"variant": variant, **found} for variant, found in cells.items()],
        message("speed.slopes", size),
        "scaling.csv",
    )


def by_size(speeds: pd.DataFrame, task: str) -> tuple[pd.DataFrame, int]:
    """The value of each variant by size and metric, those furthest from the baseline where there are many.

    Columns: variant, metric, size, value. Also, how many variants are left out.
    """
    mine = speeds[(speeds["task"] == task) & speeds["size"].notna()]
    mine = mine.drop_duplicates(["variant", "metric", "size"]).sort_values("size", kind="stable")
    far = np.log(mine["ratio"].astype(float)).abs().groupby(mine["variant"]).max()
    order = far.drop(BASELINE, errors="ignore").sort_values(ascending=False).index
    grown = mine.groupby("metric")["size"].transform("nunique") > 1
    shown = mine[grown & mine["variant"].isin([BASELINE, *order[: MAX_CURVES - 1]])].reset_index(drop=True)
    shown = shown[["variant", "metric", "size"]].assign(value=shown["value_variant"].astype(float))
    return shown, max(0, len(order) - MAX_CURVES + 1)
