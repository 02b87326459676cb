"""Columns of means beside columns of their deviations, in a table of one row a variant: summaries of several runs.

`acc_mean, acc_std, n_seeds` become one column `acc` of `MEAN ± SD`. A standard error is turned into a deviation by the
number of runs; an interval is refused, since its level and its kind are not known.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, assert_never

import pandas as pd

from ablate.base.errors import Invalid, listed
from ablate.base.numerals import whole_in
from ablate.report.words import message
from ablate.runs.cells import is_number, mean_and_spread, number_in
from ablate.runs.formats.tables import ReadTable
from ablate.runs.settings import is_seed
from ablate.runs.summary_words import (
    ERRORS,
    INTERVALS,
    MEANS,
    SPREADS,
    VARIANCES,
    statistic_word,
    word_at_end,
)

Kind = Literal["deviation", "error", "variance", "interval"]
COUNTS = ("n", "n_seeds", "num_seeds", "seeds", "n_runs", "num_runs", "runs", "count", "n_trials", "repeats")
"""Names of columns that say over how many runs a mean was taken."""
_AT_START = re.compile(r"([A-Za-z]+)[_ ./](.+)")
_COUNT_IN_NAME = re.compile(r"[\s,]*\b(?:n\s*=\s*(\d+)|(\d+)\s*(?:seeds|runs|trials|repeats|repetitions))\b")
_KINDS: Mapping[Kind, Sequence[str]] = {
    "deviation": SPREADS,
    "error": ERRORS,
    "variance": VARIANCES,
    "interval": INTERVALS,
}
"""How a spread may be given, the most useful first → its words."""
_IN_HEADER = re.compile(r"[(\[]([^)\]]+)[)\]]|(?:±|\+/?-|\\pm)\s*([^()\[\]]+)|[,;_]\s*([^,;()\[\]]+)$")
"""The parts of a header in which it may say what stands after ±: `acc (mean ± SE)`, `acc ± SE`, `acc, SE`."""
_BESIDE_KIND = re.compile(
    r"_(?:mean|average|avg|and|in|percent|1|(?:over_)?(?:\d+_)?(?:seeds|runs)|(?:over|of|n)_\d+)(?=_)"
)
_CI_IN_HEADER = re.compile(r"(?:\d\d_)?(?:ci_?\d*|cis|conf_int|confidence(?:_intervals?)?)")
_NO_INTERVALS = (
    "has intervals, of which the level or the kind is not known, and no standard deviation beside them"
)
_DEVIATION_HINT = "Add a column with the standard deviation of the runs"


@dataclass(frozen=True)
class MeanColumns:
    """A metric that is known by a column of means and one of their spread."""

    metric: str
    """What both columns name: `acc` of `acc_mean` and `acc_std`."""
    mean: str
    spread: str
    kind: Kind
    count: str
    """The column with the number of runs; empty where there is none."""


def joined_summaries(read: ReadTable, metric: str) -> ReadTable:
    """Returns a table with one column of `MEAN ± SD` for each mean and its spread, where rows are summaries of runs.

    Raises `Invalid` where the metric of the call is a spread, or a mean of which the number of runs is not known.
    """
    table = read.table
    columns = _mean_columns(table)
    if not columns or not _are_summaries(table):
        return read
    _refuse_spread(columns, metric)
    asked = [each for each in columns if metric in (each.metric, each.mean)]
    if metric and not asked:
        return read
    count = next((each.count for each in asked or columns if each.count), "")
    if not count:
        _refuse_uncounted(asked)
        return read
    _refuse_intervals(asked)
    is_by_mean = any(each.mean == metric for each in asked)
    joined = {}
    for each in columns:
        if each.kind != "interval":
            joined[each.mean if is_by_mean else each.metric] = _joined(table, each, count)
    errors = [each.spread for each in columns if each.kind == "error"]
    notes = [*read.notes, message("analyse.standard_errors", errors)] if errors else read.notes
    taken = {name for each in columns for name in (each.mean, each.spread, each.count)} - {count}
    kept = table.drop(columns=[name for name in table if name in taken])
    return replace(read, table=kept.rename(columns={count: COUNTS[0]}).assign(**joined), notes=notes)


def with_counts_of_names(read: ReadTable, summaries: Sequence[str]) -> tuple[ReadTable, list[str]]:
    """Returns a table in which the number of runs in a name, `Acc (%, 5 seeds)`, has a column, and the new names."""
    names: dict[str, str] = {}
    counts = set()
    for name in summaries:
        match = _COUNT_IN_NAME.search(name)
        if match is not None:
            counts.add(match[1] or match[2])
            names[name] = re.sub(r"\s*[(\[]\s*[)\]]", "", name.replace(match[0], "")).strip()
    has_count = any(str(name).lower() in COUNTS for name in read.table)
    if len(counts) != 1 or has_count or {*names.values()} & {*read.table}:
        return read, [*summaries]
    table = read.table.rename(columns=names).assign(**{COUNTS[0]: counts.pop()})
    return replace(read, table=table), [names.get(name, name) for name in summaries]


def kind_of_header(name: str) -> Kind:
    """Returns what a column of `MEAN ± SPREAD` has, as its header says; deviations where that is silent."""
    for parts in _IN_HEADER.findall(name):
        words = "_" + re.sub(r"[^a-z0-9]+", "_", "".join(parts).lower().replace(".", "")).strip("_") + "_"
        kind = _BESIDE_KIND.sub("", words).strip("_")
        if kind in ERRORS:
            return "error"
        multiple = re.fullmatch(r"\d+_(.+)", kind)
        if _CI_IN_HEADER.fullmatch(kind) or (multiple and multiple[1] in (*ERRORS, *SPREADS)):
            return "interval"
    return "deviation"


def with_deviations(read: ReadTable, summaries: Sequence[str], count: str, metric: str) -> ReadTable:
    """Returns a table in which columns of `MEAN ± ERROR`, as their headers say, have the deviations instead.

    count: the column with the number of runs. metric: that of the call. Raises `Invalid` where that has intervals.
    """
    kinds = {name: kind_of_header(name) for name in summaries}
    for name, kind in kinds.items():
        if kind == "interval" and (name == metric or metric not in read.table):
            raise Invalid("RUNS", _NO_INTERVALS, name, hint=_DEVIATION_HINT)
    errors = [name for name, kind in kinds.items() if kind == "error"]
    if not errors:
        return read
    converted = {name: _with_deviation(read.table[name], read.table[count]) for name in errors}
    notes = [*read.notes, message("analyse.standard_errors", errors)]
    return replace(read, table=read.table.assign(**converted), notes=notes)


def _with_deviation(cells: pd.Series, counts: pd.Series) -> list[str]:
    """Returns `MEAN ± SD` for each cell of `MEAN ± ERROR` over so many runs."""
    converted = []
    for cell, count in zip(cells, counts, strict=True):
        found = mean_and_spread(cell)
        number = whole_in(count)
        if found is None or number is None:
            converted.append(cell)
            continue
        mean, error = found
        converted.append(f"{mean} ± {_deviation(error, 'error', number)}")
    return converted


def _mean_columns(table: pd.DataFrame) -> list[MeanColumns]:
    """Returns the metrics that are known by a column of means and one of their spread."""
    means: dict[str, str] = {}
    spreads: dict[str, dict[Kind, str]] = {}
    counts: dict[str, str] = {}
    for name in map(str, table):
        if not _holds_numbers(table[name]):
            continue
        metric, word = _metric_and_word(name)
        kinds = [kind for kind, words in _KINDS.items() if word in words]
        if word in MEANS:
            means.setdefault(metric, name)
        elif kinds:
            spreads.setdefault(metric, {})[kinds[0]] = name
        elif word in ("count", "n"):
            counts.setdefault(metric, name)
    of_all = next((str(name) for name in table if str(name).lower() in COUNTS), "")
    found = []
    for metric, of_metric in spreads.items():
        mean = means.get(metric) or (metric if metric in table and of_all else "")
        kind = next((kind for kind in _KINDS if kind in of_metric), None)
        if mean and kind is not None:
            count = counts.get(metric, of_all)
            found.append(MeanColumns(metric or mean, mean, of_metric[kind], kind, count))
    return found


def _metric_and_word(name: str) -> tuple[str, str]:
    """Returns what a column is about and its statistic: `acc`, `std` of `acc_std`, `std_acc`; no metric of `std`."""
    if statistic_word(name):
        return "", statistic_word(name)
    at_end = word_at_end(name)
    if at_end is not None:
        return at_end
    at_start = _AT_START.fullmatch(name)
    return (at_start[2], statistic_word(at_start[1])) if at_start else (name, "")


def _holds_numbers(cells: pd.Series) -> bool:
    present = cells[cells != ""]
    return len(present) > 0 and bool(present.map(is_number).all())


def _are_summaries(table: pd.DataFrame) -> bool:
    """Returns whether each row may be a summary of runs: none says its seed or example, and no two have one name."""
    names = [str(name) for name in table]
    seeds = [name for name in names if is_seed(name) and name.lower() not in COUNTS]
    texts = [name for name in names if not _holds_numbers(table[name])]
    if seeds or "example" in map(str.lower, names) or not texts:
        return False
    return not table.duplicated(texts).any()


def _joined(table: pd.DataFrame, columns: MeanColumns, count: str) -> list[str]:
    """Returns `MEAN ± SD` for each row; empty where it has no mean."""
    cells = []
    for place, row in table.iterrows():
        mean, spread = row[columns.mean], row[columns.spread]
        number = whole_in(row[count])
        if mean == "" or spread == "":
            cells.append("")
            continue
        if number is None:
            raise Invalid(f"{place}: {count}", "must be a whole number of runs", row[count])
        cells.append(f"{mean} ± {_deviation(spread, columns.kind, number)}")
    return cells


def _deviation(spread: str, kind: Kind, number: int) -> str:
    """Returns the standard deviation of so many runs from what a cell says of their spread."""
    match kind:
        case "deviation":
            return spread
        case "error":
            return repr(number_in(spread) * number**0.5)
        case "variance":
            return repr(number_in(spread) ** 0.5)
        case "interval":
            raise AssertionError(kind)
        case _:
            assert_never(kind)


def _refuse_spread(columns: Sequence[MeanColumns], metric: str) -> None:
    """Raises `Invalid` where the metric of a call is a spread over runs."""
    for each in columns:
        if metric == each.spread:
            raise Invalid(
                "--metric", "is a spread over runs, and no metric", metric, hint=f"Name {each.metric}"
            )


def _refuse_uncounted(asked: Sequence[MeanColumns]) -> None:
    """Raises `Invalid` for means of which the number of runs is not known."""
    if asked:
        given = listed([f"{each.mean} with {each.spread}" for each in asked])
        rule = f"has means with deviations, {given}, and must say over how many runs each was taken"
        raise Invalid("RUNS", rule, hint="Add a column `n` with the number of runs")


def _refuse_intervals(asked: Sequence[MeanColumns]) -> None:
    """Raises `Invalid` for means with intervals, of which no deviation is known."""
    for each in asked:
        if each.kind == "interval":
            raise Invalid("RUNS", _NO_INTERVALS, each.spread, hint=_DEVIATION_HINT)
