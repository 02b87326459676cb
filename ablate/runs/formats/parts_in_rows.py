"""Rows of a run that speak of other data, not of other steps: a row a task, a data set, a split, a fold.

A column tells such rows apart where rows of one step, or without steps, have other values of a metric, and it is called
as these columns are, or its texts tell all rows of the step apart. Remarks, times and statuses tell nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import groupby

import pandas as pd

from ablate.core.data_parts import FOLD_COLUMNS, PART_COLUMNS, RANKS, TASK_COLUMNS
from ablate.runs.cells import BLANK, are_flags, is_number
from ablate.runs.ends.statuses import STATUSES
from ablate.runs.filters import named_columns
from ablate.runs.options import AnalysisOptions
from ablate.runs.roles import STEPS
from ablate.runs.settings import is_outcome, is_remark, is_seed, tells_rows_apart, words_of

Row = Mapping[str, str]
_MESSAGES = words_of("message msg text info level logger")
"""Names of columns with words about a row."""


def are_tasks(name: str, values: Collection[str]) -> bool:
    """Returns whether a column has tasks, by its name; the split of one task is none."""
    return name.lower() in TASK_COLUMNS and not any(value.lower() in RANKS for value in values)


def part_columns(files: Sequence[Sequence[Row]], options: AnalysisOptions) -> list[str]:
    """Returns the columns that tell apart the rows of a run which are no steps, and those that the call names.

    files: the rows of each file.
    """
    names: dict[str, None] = {}
    named_in_call = options.named_columns
    for rows in files:
        candidates = _candidates(rows, options) if len(rows) > 1 else []
        if not candidates:
            continue
        in_call = named_in_call | {*named_columns(pd.DataFrame(columns=candidates), options.where)}
        names |= dict.fromkeys(name for name in candidates if name in in_call)
        steps = _steps_of(rows)
        for metric in judged(rows, options):
            names |= dict.fromkeys(_columns_that_part(rows, steps, candidates, metric))
    return [*names]


def judged(rows: Sequence[Row], options: AnalysisOptions) -> list[str]:
    """Returns the metrics of rows that the call judges; without any, those that look like results."""
    names: dict[str, None] = {}
    for row in rows:
        names |= dict.fromkeys(name for name, value in row.items() if is_number(value))
    if options.metric:
        return [name for name in (options.metric, *options.also) if name in names]
    return [name for name in names if is_outcome(name)]


def _candidates(rows: Sequence[Row], options: AnalysisOptions) -> list[str]:
    """Returns the columns of several values that may tell rows apart."""
    taken = {options.metric, *options.also}
    values_of: dict[str, dict[str, None]] = {}
    for row in rows:
        for name, value in row.items():
            if value not in BLANK:
                values_of.setdefault(name, {})[value] = None
    candidates = []
    for name, values in values_of.items():
        is_other = name in taken or name.lower() in (*STEPS, *STATUSES) or is_seed(name)
        if len(values) > 1 and not is_other and _may_part(name, [*values]):
            candidates.append(name)
    return candidates


def _may_part(name: str, values: Sequence[str]) -> bool:
    has_number = any(map(is_number, values))
    if _has_name_of_part(name):
        return name.lower() in FOLD_COLUMNS or not has_number
    texts = pd.Series(values)
    if has_number or are_flags(texts) or is_remark(name) or name.lower() in _MESSAGES:
        return False
    return tells_rows_apart(name, texts)


def _has_name_of_part(name: str) -> bool:
    return name.lower() in PART_COLUMNS


def _columns_that_part(
    rows: Sequence[Row], steps: Sequence[str], candidates: Sequence[str], metric: str
) -> list[str]:
    """Returns the candidates that tell rows of other data apart, by one metric.

    One with the name of a part does so where it differs between rows of a step that differ in the metric, or takes
    turns from row to row; any other where it differs so, and all candidates together tell the rows of
    each such step apart.
    """
    measured: list[Row] = []
    by_step: dict[str, list[Row]] = {}
    for step, row in zip(steps, rows, strict=True):
        if row.get(metric, "") not in BLANK:
            measured.append(row)
            by_step.setdefault(step, []).append(row)
    disputed = [of_step for of_step in by_step.values() if len({row[metric] for row in of_step}) > 1]
    parting = []
    for name in candidates:
        is_told = any(len({row.get(name, "") for row in of_step}) > 1 for of_step in disputed)
        if _has_name_of_part(name):
            is_part = is_told or _alternates(measured, name)
        else:
            is_part = is_told and all(_are_unique(of_step, candidates) for of_step in disputed)
        if is_part:
            parting.append(name)
    return parting


def _steps_of(rows: Sequence[Row]) -> list[str]:
    """Returns the steps of each row as one text; a row without any has those of the row before it."""
    steps: list[str] = []
    before = ""
    for row in rows:
        numbers = [value for name, value in row.items() if name.lower() in STEPS and value != ""]
        before = " ".join(numbers) or before
        steps.append(before)
    return steps


def _alternates(rows: Sequence[Row], name: str) -> bool:
    """Returns whether the values of a column take turns from row to row, as those of a phase of training do not."""
    values = [row.get(name, "") for row in rows]
    num_blocks = sum(1 for _ in groupby(values))
    return num_blocks > len({*values})


def _are_unique(rows: Sequence[Row], candidates: Sequence[str]) -> bool:
    """Returns whether no two rows have the same values in all candidates."""
    return len({tuple(row.get(name, "") for name in candidates) for row in rows}) == len(rows)


def labels_of(rows: Sequence[Row], columns: Sequence[str], options: AnalysisOptions) -> list[Row | None]:
    """Returns what tells each row from those of other parts; None of a row that belongs to all parts.

    A row that says nothing of its part belongs to all, unless it has a metric that is judged.
    """
    metrics = judged(rows, options)
    labels: list[Row | None] = []
    for row in rows:
        label = {name: row.get(name, "") for name in columns}
        is_judged = any(row.get(name, "") != "" for name in metrics)
        labels.append(label if is_judged or any(label.values()) else None)
    return labels


def without_columns(rows: Sequence[Row], columns: Sequence[str]) -> Sequence[Row]:
    """Returns rows without some of their columns."""
    if not columns:
        return rows
    return [{name: value for name, value in row.items() if name not in columns} for row in rows]
