"""The tables of a paper: means and differences of each variant, hyperparameters, verdicts, speed and claims."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from ablate.base import wording
from ablate.base.text import word
from ablate.core.facts import BASELINE, StudyFacts, TaskFacts
from ablate.core.spelling import as_sentence, spelled
from ablate.report.claim_tables import claim_table
from ablate.report.section import ReportData
from ablate.report.speed_tables import brief_tables
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
    verdict_tables,
)
from ablate.report.words import (
    NOTHING,
    Column,
    Row,
    Table,
    message,
    number,
    rows_of,
    tabulated,
    text,
)

RESULTS = "results"
HYPERPARAMETERS = "hyperparameters"
MEAN = "mean"
"""The column of the mean of each variant."""


@dataclass(frozen=True)
class PaperTable:
    """A table of a paper."""

    name: str
    """The stem of its file."""
    table: Table
    bold: Mapping[str, str] = field(default_factory=dict)
    """The first cell of a row → the column of the cell in bold."""


def paper_tables(
    report_data: ReportData, settings: Mapping[str, Any], *, percent: bool
) -> Iterator[PaperTable]:
    """Yields results and comparisons, numbered from the second task on, hyperparameters, speed and claims.

    settings: the resolved sections of the baseline; empty where they are not known. percent: whether the shares of
    `results` are in percent.
    """
    facts = report_data.facts
    rows = planned_rows(report_data.comparisons)
    judged_tasks = [task for task in facts.tasks if any(row["task"] == task.name for row in rows)]
    results = [_results(report_data, task, percent=percent) for task in judged_tasks]
    for i, (table, bold) in enumerate(results, start=1):
        yield PaperTable(_numbered(RESULTS, i), table, bold)
    for i, table in enumerate(verdict_tables(report_data.comparisons, facts), start=1):
        yield PaperTable(_numbered("comparisons", i), table)
    if settings:
        yield PaperTable(HYPERPARAMETERS, _hyperparameters(facts, settings))
    for i, table in enumerate(brief_tables(rows_of(report_data.table("speed")), names_of(facts)), start=1):
        yield PaperTable(_numbered("speed", i), table)
    if len(report_data.claims):
        yield PaperTable("claims", claim_table(report_data.claims, facts, level_of(rows)))


def _numbered(name: str, number_of_table: int) -> str:
    """Returns the name of a table, with its number from the second on."""
    return name if number_of_table == 1 else f"{name}-{number_of_table}"


# Means and differences


def _results(report_data: ReportData, task: TaskFacts, *, percent: bool) -> tuple[Table, dict[str, str]]:
    """Returns the means of a task with their spread, the differences and the verdicts; and the best mean, in bold."""
    facts = report_data.facts
    metric = task.metrics[facts.metric]
    names = names_of(facts)
    in_percent = percent and is_share(metric)
    scale = 100.0 if in_percent else 1.0
    rows = [row for row in planned_rows(report_data.comparisons) if row["task"] == task.name]
    means = _means(report_data, task)

    table_rows: list[dict[str, Any]] = []
    if BASELINE in means.index and all(row["baseline"] == BASELINE for row in rows):
        table_rows.append({"variant": names.get(BASELINE, BASELINE), **_mean_of(means, BASELINE, scale)})
    for row in rows:
        turned = own_direction(row, direction_of(facts, task.name, facts.metric))
        ends = [turned[name] for name in ("diff", "ci_low", "ci_high")]
        difference, low, high = [None if number(end) is None else scale * end for end in ends]
        table_rows.append(
            {
                "variant": row_name(row, names),
                **_mean_of(means, _cell(row, means), scale),
                "difference": _difference(difference, low, high),
                "verdict": row["verdict"],
            }
        )
    unit = " (%)" if in_percent else ""
    columns = [
        Column("variant", "Variant"),
        Column(MEAN, f"{as_sentence(spelled(facts.metric))}{unit}", True),
        Column("difference", f"Difference [{level_of(rows)}]", True),
        Column("verdict", "Verdict"),
    ]
    bold = _best(rows, metric.direction == "max", names)
    caption = _caption_of_results(rows, facts, task, scale=scale)
    if bold:
        caption = f"{caption} {message('paper.bold')}"
    return tabulated(columns, table_rows, caption), bold


def _caption_of_results(rows: Sequence[Row], facts: StudyFacts, task: TaskFacts, *, scale: float) -> str:
    """Returns the caption of the means and differences of a task, which says all that a reader needs."""
    better = better_word(task.metrics[facts.metric].direction)
    seeds = num_pairs(rows, facts)
    means = message("paper.means", facts.metric, task.name_for_readers, better, seeds, facts.unit)
    members = family(rows, len(facts.looks) or 1)
    differences = message(
        "paper.differences",
        compared_with(facts) or "the other variant",
        message("paper.paired") if facts.has_seeds else "",
        level_of(rows),
        members if members > 1 else 0,
    )
    if facts.margin is None:
        verdicts = message("paper.verdicts")
    else:
        verdicts = message("paper.verdicts_with_margin", scale * facts.margin)
    return f"{means}{differences} {verdicts}"


def _means(report_data: ReportData, task: TaskFacts) -> pd.DataFrame:
    """Returns the mean and the standard deviation of the judged metric, by variant, over runs that have a value."""
    facts = report_data.facts
    trials = report_data.evidence.trials
    runs = trials[trials["task"] == task.name]
    values = pd.to_numeric(runs[facts.column], errors="coerce").astype(float)
    values = values.where(np.isfinite(values))
    return values.groupby(runs["variant"]).agg(["mean", "std"])


def _cell(row: Row, means: pd.DataFrame) -> str:
    """Returns the variant of a row; "" of a main effect, whose level may have the name of a cell."""
    return text(row["variant"]) if row["baseline"] in means.index else ""


def _mean_of(means: pd.DataFrame, variant: str, scale: float) -> dict[str, str]:
    """Returns `95.8 ± 1.0` for a variant; nothing for a level of a factorial, which is many."""
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


def _best(rows: list[Row], more_is_better: bool, names: Mapping[str, str]) -> dict[str, str]:
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


# Hyperparameters


def _hyperparameters(facts: StudyFacts, settings: Mapping[str, Any]) -> Table:
    """Returns a row for each setting of the baseline, and what variants have in its place."""
    values = dict(_leaves(settings))
    tuned: dict[str, str] = {}
    for task_settings in facts.variants[0].tuned.values():
        tuned |= task_settings
    names = names_of(facts)
    rows = []
    for path, value in (values | tuned).items():
        others = _others(facts, path, names)
        rows.append(
            {
                "setting": _setting(path),
                "value": value if isinstance(value, str) else word(value),
                "tuned": "yes" if path in tuned else "",
                "variants": others,
            }
        )
    columns = [
        Column("setting", "Setting"),
        Column("value", "Baseline", True),
        Column("tuned", "Tuned"),
        Column("variants", "Variants", words=True),
    ]
    caption = message("paper.tuned_hyperparameters" if tuned else "paper.hyperparameters", facts.study)
    return tabulated(columns, rows, caption)


def _setting(path: str) -> str:
    """Returns a path in words: its last name, and the one before where that is no section."""
    section, *names = path.split(".")
    return as_sentence(" ".join(spelled(name) for name in names[-2:] or [section]))


def _leaves(settings: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    """Yields the path and the value of each setting; a part counts by its name, and what is not given not at all."""
    for key, value in settings.items():
        path = f"{above}.{key}" if above else key
        if isinstance(value, Mapping):
            if "name" in value:
                yield path, value["name"]
            yield from _leaves({name: of for name, of in value.items() if name != "name"}, path)
        elif value is not None and value != []:
            yield path, value


def _others(facts: StudyFacts, path: str, names: Mapping[str, str]) -> str:
    """Returns `none: 0.003` for each variant with another value: a level of the study, or one that was tuned."""
    told = []
    baseline = facts.variants[0].tuned
    for variant in facts.variants[1:]:
        if variant.placebo:
            continue
        label = variant.changes.get(path)
        for task, task_settings in variant.tuned.items():
            if task_settings.get(path) != baseline.get(task, {}).get(path):
                label = task_settings.get(path)
        if label is not None:
            told.append(f"{names.get(variant.name, variant.name)}: {label}")
    return "; ".join(told)
