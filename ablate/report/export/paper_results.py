"""The results of a paper: means with their spread, differences and verdicts, each table of one kind of mean.

A row of a variant has the mean and the standard deviation of its runs. A row of a main effect has the mean of a level
over the other factors, which is no run's: the cells of such a design have a table of their own.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from ablate.analysis.summaries import summaries_of
from ablate.base import wording
from ablate.core.facts import BASELINE, StudyFacts, TaskFacts
from ablate.core.rows import frame_of_rows
from ablate.core.spelling import as_sentence, spelled
from ablate.core.summary import Summary
from ablate.report.figures.facets import figure_names
from ablate.report.section import ReportData
from ablate.report.sentences.dependence import dependence_sentence, is_main_effect
from ablate.report.sentences.levels import family, family_in_words, level_of
from ablate.report.sentences.margin_words import margin_words
from ablate.report.sentences.replication_words import replication_words
from ablate.report.sentences.verdict_words import EQUIVALENT, apart_from_zero
from ablate.report.tables.directions import better_word, direction_of, is_share, own_direction
from ablate.report.tables.verdicts import (
    compared_with,
    difference_of,
    names_of,
    num_pairs,
    planned_rows,
    row_name,
)
from ablate.report.words import (
    NOTHING,
    Column,
    Row,
    Table,
    count,
    decimals,
    decimals_beside_0,
    decimals_of,
    fixed,
    from_to,
    message,
    number,
    paragraph,
    rows_of,
    tabulated,
    text,
)

RESULTS = "results"
CELLS = "cells"
"""The table of the cells of a design whose results are main effects."""
MEAN = "mean"
"""The column of the mean of each variant."""
NUM_RUNS = "runs"
"""The column of the runs that the mean of a variant is over."""
PAIRS = "pairs"
"""The column of the pairs, or runs of each side, that a difference rests on."""
ENDS = ("diff", "ci_low", "ci_high")
"""The columns of a difference and its interval."""
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


def means_by_condition(report_data: ReportData, *, percent: bool) -> Table:
    """Returns the mean of each variant in each condition with its spread: a row a condition and a column a variant."""
    facts = report_data.facts
    tasks = [task for task in facts.tasks if facts.metric in task.metrics]
    names = figure_names(facts)
    are_shares = all(is_share(task.metrics[facts.metric]) for task in tasks)
    scale = 100.0 if percent and are_shares else 1.0
    table_rows = []
    runs: list[int] = []
    for task in tasks:
        means = _means(report_data, task)
        runs += [int(count) for count in means["count"]]
        table_row = {"condition": task.name}
        for place, variant in enumerate(facts.variants):
            table_row[f"c{place}"] = _mean_of(means, variant.name, scale)[MEAN]
        table_rows.append(table_row)
    columns = [Column("condition", "Condition")]
    columns += [Column(f"c{place}", names[v.name], True) for place, v in enumerate(facts.variants)]
    better = better_word(tasks[0].metrics[facts.metric].direction)
    caption = message("paper.means", facts.metric, "", better, from_to(runs), facts.replication.run_name)
    if scale != 1.0:
        caption += f" {message('paper.in_percent')}"
    return tabulated(columns, table_rows, caption)


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
    columns = [Column("variant", "Variant"), *_mean_columns(facts, scale), *_judged_columns(rows, table_rows)]
    bold = _best(rows, task.metrics[facts.metric].direction == "max", names)
    differences = _caption_of_differences(report_data, task, rows, scale)
    caption = f"{_caption_of_means(facts, task, table_rows)}{differences}"
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
    columns = [Column("variant", "Cell"), *_mean_columns(facts, scale)]
    caption = _caption_of_means(facts, task, table_rows)
    if rows:
        columns += _judged_columns(rows, table_rows)
        caption += _caption_of_differences(report_data, task, rows, scale)
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
    metric = _heading_of_means(facts, scale)
    columns = [
        Column("level", "Level"),
        Column("mean_variant", metric, True),
        Column("against", "Baseline’s level"),
        Column("mean_baseline", metric, True),
        *_judged_columns(rows, table_rows),
    ]
    better = better_word(task.metrics[facts.metric].direction)
    seeds = num_pairs(rows)
    means_in_words = message(
        "paper.marginal_means", facts.metric, task.name_for_readers, better, seeds, facts.replication.run_name
    )
    caption = f"{means_in_words}{_caption_of_differences(report_data, task, rows, scale)}"
    dependence = dependence_sentence(
        rows_of(report_data.table("interactions")), task, facts, names, scale=scale
    )
    return tabulated(columns, table_rows, f"{caption} {dependence}".strip())


def _heading_of_means(facts: StudyFacts, scale: float) -> str:
    """Returns the heading of the means of the metric."""
    unit = " (%)" if scale != 1.0 else ""
    return f"{as_sentence(spelled(facts.metric))}{unit}"


def _mean_columns(facts: StudyFacts, scale: float) -> list[Column]:
    """Returns the columns of the mean of each variant and, where they differ, of the runs that it is over."""
    return [
        Column(MEAN, _heading_of_means(facts, scale), True),
        Column(NUM_RUNS, "n", True, varying=True),
    ]


def _judged_columns(rows: Sequence[Row], table_rows: Sequence[Mapping[str, Any]]) -> list[Column]:
    """Returns the columns of differences and verdicts.

    Between them that of the pairs, where some row has other pairs than the runs of its mean or, without these, than
    another row.
    """
    judged = [row for row in table_rows if PAIRS in row]
    if all(NUM_RUNS in row for row in judged):
        is_shown = any(row[PAIRS] != row[NUM_RUNS] for row in judged)
    else:
        is_shown = len({row[PAIRS] for row in judged}) > 1
    columns = [Column("difference", f"Difference [{level_of(rows)}]", True)]
    if is_shown:
        columns.append(Column(PAIRS, "n of difference", True))
    return [*columns, Column("verdict", "Verdict")]


def _judged(row: Row, facts: StudyFacts, scale: float) -> dict[str, str]:
    """Returns the difference of a row, with its interval, in the direction of the metric, its pairs and its verdict."""
    difference, low, high = _scaled_ends(
        own_direction(row, direction_of(facts, row["task"], facts.metric)), scale
    )
    if number(row.get("solved_variant")) is None:
        shown = _difference(difference, low, high)
    else:
        shown = difference_of(row, direction_of(facts, row["task"], facts.metric))
    return {"difference": shown, PAIRS: count(row["n"]), "verdict": text(row["verdict"])}


def _scaled_ends(row: Row, scale: float) -> list[float | None]:
    """Returns the difference of a row and the ends of its interval, times `scale`."""
    ends = [number(row[name]) for name in ENDS]
    return [None if end is None else scale * end for end in ends]


def _caption_of_means(facts: StudyFacts, task: TaskFacts, table_rows: Sequence[Mapping[str, Any]]) -> str:
    """Returns the start of the caption of the means of variants."""
    better = better_word(task.metrics[facts.metric].direction)
    seeds = from_to(int(row[NUM_RUNS]) for row in table_rows if row.get(NUM_RUNS))
    return message(
        "paper.means", facts.metric, task.name_for_readers, better, seeds, facts.replication.run_name
    )


def _caption_of_differences(
    report_data: ReportData, task: TaskFacts, rows: Sequence[Row], scale: float
) -> str:
    """Returns the rest of a caption: what differences and verdicts are."""
    facts = report_data.facts
    against = compared_with(facts) or "the other variant"
    if is_main_effect(rows[0], facts):
        against = message("paper.baseline_level")
    num_comparisons = len(planned_rows(report_data.comparisons))
    size = family(rows, len(facts.plan.looks))
    paired = replication_words(facts.replication).paired
    differences = message(
        "paper.differences",
        against,
        message(paired) if paired else "",
        level_of(rows),
        family_in_words(num_comparisons, size) if size > 1 else "",
    )
    is_rated = any(number(row.get("solved_variant")) is not None for row in rows)
    rated = message("paper.rated", facts.replication.run_name) if is_rated else ""
    if facts.margin is None:
        verdicts = message("paper.verdicts", rated)
    else:
        verdicts = message("paper.verdicts_with_margin", scale * facts.margin, rated)
    apart = _equivalent_apart_from_zero(rows, facts, scale)
    notes = [message("paper.equivalent_but", apart)] if apart else []
    if any(row["verdict"] == EQUIVALENT for row in rows):
        notes.append(margin_words(report_data, task))
    return paragraph(differences, verdicts, *notes)


def _equivalent_apart_from_zero(rows: Sequence[Row], facts: StudyFacts, scale: float) -> list[str]:
    """Returns the variants that are equivalent although their intervals exclude 0, each with its difference."""
    names = names_of(facts)
    told = []
    for row in rows:
        scaled = dict(zip(ENDS, _scaled_ends(row, scale), strict=True))
        apart = apart_from_zero(scaled) if row["verdict"] == EQUIVALENT else ""
        if apart:
            told.append(f"{row_name(row, names)} ({apart})")
    return told


def _means(report_data: ReportData, task: TaskFacts) -> pd.DataFrame:
    """Returns mean and standard deviation of the judged metric and the count, by variant, over runs with a value."""
    facts = report_data.facts
    if not facts.replication.has_runs:
        rows = frame_of_rows(summaries_of(report_data.evidence), Summary)
        is_judged = (rows["task"] == task.name) & (rows["metric"] == facts.metric)
        named = rows[is_judged].rename(columns={"sd": "std", "n": "count"})
        return named.set_index("variant")[["mean", "std", "count"]]
    trials = report_data.evidence.trials
    runs = trials[trials["task"] == task.name]
    values = pd.to_numeric(runs[facts.column], errors="coerce").astype(float)
    values = values.where(np.isfinite(values))
    return values.groupby(runs["variant"]).agg(["mean", "std", "count"])


def _mean_of(means: pd.DataFrame, variant: str, scale: float) -> dict[str, str]:
    """Returns `95.8 ± 1.0` for a variant, and the runs that it is over; nothing for one without runs."""
    if variant not in means.index:
        return {MEAN: NOTHING}
    mean, spread = (scale * means.loc[variant, name] for name in ("mean", "std"))
    if np.isnan(mean):
        return {MEAN: NOTHING}
    places = decimals_of(mean, spread)
    shown = wording.number(mean, places)
    runs = count(means.loc[variant, "count"])
    return {
        MEAN: shown if np.isnan(spread) else f"{shown} ± {wording.number(spread, places)}",
        NUM_RUNS: runs,
    }


def _difference(difference: float | None, low: float | None, high: float | None) -> str:
    """Returns `+2.0 [0.6, 3.4]`; nothing where there is no difference."""
    if difference is None:
        return NOTHING
    if low is None or high is None:
        return wording.plus(difference, 3)
    places = decimals_beside_0(low, high)
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
