"""The results of a paper: means with their spread, differences and verdicts, each table of one kind of mean.

A row of a variant has the mean and the standard deviation of its runs. A row of a main effect has the mean of a level
over the other factors, which is no run's: the cells of such a design have a table of their own.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from ablate.base import wording
from ablate.core.facts import BASELINE, StudyFacts, TaskFacts
from ablate.core.spelling import as_sentence, spelled
from ablate.report.dependence import dependence_sentence, is_main_effect
from ablate.report.figures.facets import figure_names
from ablate.report.section import ReportData
from ablate.report.verdicts import (
    better_word,
    compared_with,
    direction_of,
    family,
    is_share,
    level_of,
    names_of,
    num_pairs,
    own_direction,
    planned_rows,
    row_name,
)
from ablate.report.words import (
    NOTHING,
    Column,
    Row,
    Table,
    decimals,
    fixed,
    from_to,
    message,
    number,
    rows_of,
    tabulated,
    text,
)

RESULTS = "results"
CELLS = "cells"
"""The table of the cells of a design whose results are main effects."""
MEAN = "mean"
"""The column of the mean of each variant."""
Bold = Mapping[str, str]
"""The first cell of a row → the column of the cell in bold."""


def result_tables(
    report_data: ReportData, task: TaskFacts, *, percent: bool
) -> Iterator[tuple[str, Table, Bold]]:
    """Yields the names and the tables of the results of a task, and the best mean, in bold.

    percent: whether shares are in percent.
    """
    facts = report_data.facts
    rows = [row for row in planned_rows(report_data.comparisons) if row["task"] == task.name]
    scale = 100.0 if percent and is_share(task.metrics[facts.metric]) else 1.0
    main_effects = [row for row in rows if is_main_effect(row, facts)]
    if not main_effects:
        yield RESULTS, *_variants(report_data, task, rows, scale)
        return
    yield RESULTS, _main_effects(report_data, task, main_effects, scale), {}
    variants = [row for row in rows if not is_main_effect(row, facts)]
    yield CELLS, _cells(report_data, task, variants, scale), {}


def _variants(
    report_data: ReportData, task: TaskFacts, rows: Sequence[Row], scale: float
) -> tuple[Table, Bold]:
    """Returns the means of a task with their spread, the differences and the verdicts; and the best mean, in bold."""
    facts = report_data.facts
    names = names_of(facts)
    means = _means(report_data, task)

    table_rows: list[dict[str, Any]] = []
    if BASELINE in means.index and all(row["baseline"] == BASELINE for row in rows):
        table_rows.append({"variant": names.get(BASELINE, BASELINE), **_mean_of(means, BASELINE, scale)})
    for row in rows:
        mean = _mean_of(means, text(row["variant"]), scale)
        table_rows.append({"variant": row_name(row, names), **mean, **_judged(row, facts, scale)})
    columns = [Column("variant", "Variant"), _mean_column(facts, scale), *_judged_columns(rows)]
    bold = _best(rows, task.metrics[facts.metric].direction == "max", names)
    seeds = num_pairs(rows, facts)
    caption = f"{_caption_of_means(facts, task, seeds)}{_caption_of_differences(rows, facts, scale)}"
    if bold:
        caption = f"{caption} {message('paper.bold')}"
    return tabulated(columns, table_rows, caption), bold


def _cells(report_data: ReportData, task: TaskFacts, rows: Sequence[Row], scale: float) -> Table:
    """Returns the means of every variant of a crossed design, the baseline's first, with their spread.

    rows: the comparisons of variants that were planned beside its main effects: of a placebo, or of one named by hand.
    """
    facts = report_data.facts
    names = figure_names(facts)
    means = _means(report_data, task)
    judged = {text(row["variant"]): _judged(row, facts, scale) for row in rows}
    table_rows: list[dict[str, Any]] = []
    for variant in facts.variants:
        mean = _mean_of(means, variant.name, scale)
        table_rows.append({"variant": names[variant.name], **mean, **judged.get(variant.name, {})})
    columns = [Column("variant", "Cell"), _mean_column(facts, scale)]
    caption = _caption_of_means(facts, task, from_to(int(count) for count in means["count"]))
    if rows:
        columns += _judged_columns(rows)
        caption += _caption_of_differences(rows, facts, scale)
    return tabulated(columns, table_rows, caption)


def _main_effects(report_data: ReportData, task: TaskFacts, rows: Sequence[Row], scale: float) -> Table:
    """Returns the means of each level and of the baseline's, over the other factors, with differences and verdicts."""
    facts = report_data.facts
    names = names_of(facts)
    table_rows: list[dict[str, Any]] = []
    for row in rows:
        means = {}
        for side in ("variant", "baseline"):
            mean = number(row[f"mean_{side}"])
            places = decimals(scale * row["ci_low"], scale * row["ci_high"])
            means[f"mean_{side}"] = fixed(None if mean is None else scale * mean, places)
        levels = {"level": row_name(row, names), "against": names.get(row["baseline"], row["baseline"])}
        table_rows.append({**levels, **means, **_judged(row, facts, scale)})
    metric = _mean_column(facts, scale).heading
    columns = [
        Column("level", "Level"),
        Column("mean_variant", metric, True),
        Column("against", "Baseline’s level"),
        Column("mean_baseline", metric, True),
        *_judged_columns(rows),
    ]
    better = better_word(task.metrics[facts.metric].direction)
    seeds = num_pairs(rows, facts)
    means_in_words = message(
        "paper.marginal_means", facts.metric, task.name_for_readers, better, seeds, facts.unit
    )
    caption = f"{means_in_words}{_caption_of_differences(rows, facts, scale)}"
    dependence = dependence_sentence(
        rows_of(report_data.table("interactions")), task, facts, names, scale=scale
    )
    return tabulated(columns, table_rows, f"{caption} {dependence}".strip())


def _mean_column(facts: StudyFacts, scale: float) -> Column:
    """Returns the column of the mean of each variant."""
    unit = " (%)" if scale != 1.0 else ""
    return Column(MEAN, f"{as_sentence(spelled(facts.metric))}{unit}", True)


def _judged_columns(rows: Sequence[Row]) -> list[Column]:
    """Returns the columns of differences and verdicts."""
    return [Column("difference", f"Difference [{level_of(rows)}]", True), Column("verdict", "Verdict")]


def _judged(row: Row, facts: StudyFacts, scale: float) -> dict[str, str]:
    """Returns the difference of a row, with its interval, in the direction of the metric, and its verdict."""
    turned = own_direction(row, direction_of(facts, row["task"], facts.metric))
    ends = [turned[name] for name in ("diff", "ci_low", "ci_high")]
    difference, low, high = [None if number(end) is None else scale * end for end in ends]
    return {"difference": _difference(difference, low, high), "verdict": text(row["verdict"])}


def _caption_of_means(facts: StudyFacts, task: TaskFacts, seeds: str) -> str:
    """Returns the start of the caption of the means of variants."""
    better = better_word(task.metrics[facts.metric].direction)
    return message("paper.means", facts.metric, task.name_for_readers, better, seeds, facts.unit)


def _caption_of_differences(rows: Sequence[Row], facts: StudyFacts, scale: float) -> str:
    """Returns the rest of a caption: what differences and verdicts are."""
    against = compared_with(facts) or "the other variant"
    if is_main_effect(rows[0], facts):
        against = message("paper.baseline_level")
    members = family(rows, len(facts.looks) or 1)
    differences = message(
        "paper.differences",
        against,
        message("paper.paired") if facts.has_seeds else "",
        level_of(rows),
        members if members > 1 else 0,
    )
    if facts.margin is None:
        verdicts = message("paper.verdicts")
    else:
        verdicts = message("paper.verdicts_with_margin", scale * facts.margin)
    return f"{differences} {verdicts}"


def _means(report_data: ReportData, task: TaskFacts) -> pd.DataFrame:
    """Returns mean and standard deviation of the judged metric and the count, by variant, over runs with a value."""
    facts = report_data.facts
    trials = report_data.evidence.trials
    runs = trials[trials["task"] == task.name]
    values = pd.to_numeric(runs[facts.column], errors="coerce").astype(float)
    values = values.where(np.isfinite(values))
    return values.groupby(runs["variant"]).agg(["mean", "std", "count"])


def _mean_of(means: pd.DataFrame, variant: str, scale: float) -> dict[str, str]:
    """Returns `95.8 ± 1.0` for a variant; nothing for one without runs."""
    if variant not in means.index:
        return {MEAN: NOTHING}
    mean, spread = (scale * means.loc[variant, name] for name in ("mean", "std"))
    if np.isnan(mean):
        return {MEAN: NOTHING}
    places = wording.decimals(spread)
    shown = wording.number(mean, places)
    return {MEAN: shown if np.isnan(spread) else f"{shown} ± {wording.number(spread, places)}"}


def _difference(difference: float | None, low: float | None, high: float | None) -> str:
    """Returns `+2.0 [0.6, 3.4]`; nothing where there is no difference."""
    if difference is None:
        return NOTHING
    if low is None or high is None:
        return wording.plus(difference, 3)
    places = wording.decimals((high - low) / 2)
    ends = f"[{wording.number(low, places)}, {wording.number(high, places)}]"
    return f"{wording.plus(difference, places)} {ends}"


def _best(rows: Sequence[Row], more_is_better: bool, names: Mapping[str, str]) -> dict[str, str]:
    """Returns the row of the best mean: that of a variant that is better than the baseline, or the baseline's own.

    The baseline's is the best that a verdict supports where every variant is worse; nothing where neither is so.
    """
    better = [row for row in rows if row["verdict"] == "better" and row["baseline"] == BASELINE]
    if better:
        sign = 1.0 if more_is_better else -1.0
        best = max(better, key=lambda row: sign * float(row["mean_variant"]))
        return {row_name(best, names): MEAN}
    if rows and all(row["verdict"] == "worse" and row["baseline"] == BASELINE for row in rows):
        return {names.get(BASELINE, BASELINE): MEAN}
    return {}
