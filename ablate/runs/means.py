"""Rows of means: whether each is of several runs, and then over how many and how far these are apart.

Where a seed, an example or a fold tells rows apart, or a variant has several rows, each row is a run, and the spread
beside its mean is of what that run has measured. Else a row is the mean of several runs.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import assert_never

import pandas as pd

from ablate.base.errors import Invalid, Problem
from ablate.base.numerals import whole_in
from ablate.report.words import message
from ablate.runs.cells import BLANK, number_in
from ablate.runs.folds import varying_folds
from ablate.runs.mean_columns import Kind, MeanColumns
from ablate.runs.options import AnalysisOptions
from ablate.runs.reader import RunsFound
from ablate.runs.roles import RunColumns, identifying_columns
from ablate.runs.row_summary import RowSummaries, RowSummary, Spread
from ablate.runs.summary_words import is_count

MAX_RUNS = 10_000
"""The most runs that a mean may be over: a larger number is one of examples, or of steps."""
_WORDS: Mapping[Kind, str] = {
    "deviation": "standard deviation",
    "error": "standard error",
    "variance": "variance",
    "interval": "half of an interval",
}
"""How a spread may be given → what it is called."""


def with_columns_of_means(found: RunsFound, options: AnalysisOptions) -> RunsFound:
    """Returns runs with a column for each mean, under the name of its metric, and without what stands beside it.

    Runs stay as they are where each row is one. Raises `Invalid` where the metric of the call is a spread.
    """
    means = _judgeable_means(found.means, options.metric)
    of_spread = [each for each in found.means if options.metric == each.spread and not each.is_in_cells]
    if not means and not of_spread:
        return replace(found, means=[])
    table = found.table.drop(columns=_columns_beside(found, options))
    columns = identifying_columns(replace(found, table=table), options)
    are_told_apart = not {"seed", "example"}.isdisjoint(columns.roles) or bool(varying_folds(columns.table))
    if are_told_apart or (of_spread and _are_repeated(columns)):
        return _single_runs(found, options.metric)
    if of_spread:
        rule = "is a spread over runs, and no metric"
        raise Invalid("--metric", rule, options.metric, hint=f"Name {of_spread[0].metric}")
    return _joined(found, means, options)


def judged_means(
    columns: RunColumns, means: Sequence[MeanColumns], notes: list[str]
) -> tuple[RunColumns, RowSummaries]:
    """Returns the columns, and place → number of runs and spreads of a row of means; no places where each row is a run.

    A mean without a spread is emptied, which a note says. The number of runs that is shown is that of the main metric.
    Raises `Invalid` for means that cannot be judged.
    """
    metrics = [*columns.options.metrics()]
    judged = {each.metric: each for each in means if each.metric in metrics}
    if metrics[0] not in judged:
        return columns, {}
    if _are_repeated(columns):
        notes.append(message("analyse.means_as_runs", [*judged]))
        return columns, {}
    for name in metrics:
        if name not in judged:
            rule = "has means without deviations, of which none can be judged beside means of several runs"
            raise Invalid("--also", rule, name, hint=f"Add a column {name}_std")
        _refuse_mistakes(judged[name])
    table = columns.table
    spreads = {name: _spreads(each, table[name]) for name, each in judged.items()}
    rows: dict[str, RowSummary] = {}
    for place in table.index:
        count = _num_runs(judged[metrics[0]], place)
        rows[place] = RowSummary(count, {name: of[place] for name, of in spreads.items() if place in of})
    notes += _notes_on(judged)
    table = _without_lone_means(table, spreads, notes)
    return replace(columns, table=table), rows


def _judgeable_means(means: Sequence[MeanColumns], metric: str) -> list[MeanColumns]:
    """Returns the means that a call may judge, as its metric decides.

    Means in cells such as `91.0 ± 0.4` always. Means in a column of their own where the call names one of them, which
    then allows all; where it names no metric, only those that say over how many runs they are.
    """
    is_named = any(metric in (each.metric, each.mean) for each in means if not each.is_in_cells)
    return [each for each in means if each.is_in_cells or is_named or (not metric and each.count)]


def _joined(found: RunsFound, means: Sequence[MeanColumns], options: AnalysisOptions) -> RunsFound:
    """Returns runs with a column for each of these means, named as the call does: by its metric, or as it is."""
    is_by_mean = options.metric in [each.mean for each in means]
    named = [replace(each, metric=each.mean) if is_by_mean else each for each in means]
    columns = {each.metric: found.table[each.mean] for each in named}
    dropped = [*_columns_beside(found, options), *(each.mean for each in means)]
    table = found.table.drop(columns=dropped).assign(**columns)
    return replace(found, table=table, means=named, metrics=[*columns])


def _columns_beside(found: RunsFound, options: AnalysisOptions) -> list[str]:
    """Returns the columns of spreads and of numbers of runs, but for those that the call names."""
    beside = {*itertools.chain(*(each.beside for each in found.means))}
    beside |= {str(name) for name in found.table if is_count(str(name))}
    beside -= options.named_columns
    return [str(name) for name in found.table if name in beside]


def _single_runs(found: RunsFound, metric: str) -> RunsFound:
    """Returns runs of which each row is one, and notes which spreads do not count.

    metric: that of the call, under whose name its means stand.
    """
    named = [each for each in found.means if each.metric == metric and metric not in found.table]
    table = found.table.rename(columns={each.mean: metric for each in named})
    ignored = [each.metric for each in found.means if each.is_in_cells or each in named]
    notes = [*found.notes]
    if ignored:
        notes.append(message("analyse.means_of_one_run", ignored))
    return replace(found, table=table, means=[], notes=notes)


def _are_repeated(columns: RunColumns) -> bool:
    """Returns whether a variant has several rows on one task."""
    roles = columns.roles
    return bool(columns.table.duplicated([*roles["variant"], *roles.get("task", ())]).any())


def _refuse_mistakes(means: MeanColumns) -> None:
    """Raises `Invalid` for means that cannot be judged, or do not say over how many runs they are."""
    if means.mistake is not None:
        raise Invalid.many([means.mistake])
    if not means.count:
        written = means.mean if means.is_in_cells else f"{means.mean} with {means.spread}"
        rule = f"has means with deviations, {written}, and must say over how many runs each was taken"
        raise Invalid("RUNS", rule, hint="Add a column `n` with the number of runs")


def _spreads(means: MeanColumns, cells: pd.Series) -> dict[str, Spread]:
    """Returns place → the deviation of the runs of each row that has a mean and a spread. Raises `Invalid`."""
    spreads = {}
    for place, mean in cells.items():
        written = means.spreads[str(place)]
        if mean in BLANK or written in BLANK:
            continue
        number = number_in(written)
        if not (math.isfinite(number) and number >= 0):
            raise Invalid.many([_no_deviation(means, str(place), written)])
        count = _num_runs(means, str(place))
        spreads[str(place)] = Spread(_deviation(number, means.kind, count), count)
    return spreads


def _deviation(spread: float, kind: Kind, count: int) -> float:
    """Returns the standard deviation of so many runs from their spread."""
    match kind:
        case "deviation":
            return spread
        case "error":
            return float(spread * count**0.5)
        case "variance":
            return float(spread**0.5)
        case "interval":
            raise AssertionError(kind)
        case _:
            assert_never(kind)


def _no_deviation(means: MeanColumns, place: str, written: str) -> Problem:
    """Returns the mistake of a spread that is none."""
    rule = f"must be a {_WORDS[means.kind]}, which is a number, zero or more"
    return Problem(rule, given=written, source=f"{place}: {means.spread}")


def _num_runs(means: MeanColumns, place: str) -> int:
    """Returns over how many runs the mean of a row is. Raises `Invalid`."""
    written = means.counts[place]
    count = whole_in(written)
    if count is None or count < 2:
        raise Invalid(f"{place}: {means.count}", "must be a whole number of runs, two or more", written)
    if count > MAX_RUNS:
        rule = f"must be a number of runs, {MAX_RUNS:,} at most, and not of examples or steps"
        raise Invalid(f"{place}: {means.count}", rule, written)
    return count


def _without_lone_means(
    table: pd.DataFrame, spreads: Mapping[str, Mapping[str, Spread]], notes: list[str]
) -> pd.DataFrame:
    """Returns a table without the means that have no deviation beside them; notes which these are."""
    kept = table.copy()
    for name, of_metric in spreads.items():
        is_lone = table[name].map(_is_finite) & ~table.index.isin([*of_metric])
        if is_lone.any():
            kept[name] = table[name].mask(is_lone, "")
            notes.append(message("analyse.means_alone", name, table.index[is_lone].tolist()))
    return kept


def _is_finite(text: str) -> bool:
    return math.isfinite(number_in(text))


def _notes_on(judged: Mapping[str, MeanColumns]) -> list[str]:
    """Returns the sentences on what the spreads of judged metrics are taken for."""
    errors = [each.spread for each in judged.values() if each.kind == "error"]
    notes = [message("analyse.standard_errors", errors)] if errors else []
    deviations: dict[str, list[str]] = {}
    for name, each in judged.items():
        if each.kind != "error" or not each.is_in_cells:
            deviations.setdefault(each.count, []).append(name)
    return [*notes, *(message("analyse.summaries", names, count) for count, names in deviations.items())]
