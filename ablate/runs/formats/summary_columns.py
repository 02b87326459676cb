"""Columns of means beside their spreads, in a table of one row a variant: `acc_mean, acc_std, n_seeds`, `91.0 ± 0.4`.

Both ways of writing them become `MeanColumns`. Whether rows are means of several runs, or single runs beside which the
spread of their own episodes stands, is not told here: `runs.means` does.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import pandas as pd

from ablate.base.errors import Problem, listed
from ablate.runs.cells import MISSING, is_number, is_spread_of_last_digits, mean_and_spread
from ablate.runs.formats.tables import ReadTable
from ablate.runs.mean_columns import Kind, MeanColumns
from ablate.runs.options import AnalysisOptions
from ablate.runs.settings import in_one_form_each, is_outcome
from ablate.runs.summary_words import (
    COUNTS,
    ERRORS,
    INTERVALS,
    MEANS,
    SPREADS,
    VARIANCES,
    is_count,
    metric_and_word,
    statistic_word,
)

_BARE_SPREADS = frozenset({*SPREADS, *ERRORS} - {"sigma", "deviation", "se"})
"""Words that name the spread of runs where a column is called so and no more: `sigma` may be a setting."""
_COUNT_AT_END = re.compile(
    rf"(.+?)[_ ./-](?:{'|'.join(sorted(COUNTS, key=len, reverse=True))})", re.IGNORECASE
)
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
_MARK_OF_SPREAD = re.compile(r"±|\+/?-|\\pm|\(")
"""What stands between the mean and the spread of a cell."""
_BESIDE_KIND = re.compile(
    r"_(?:mean|average|avg|and|in|percent|1|(?:over_)?(?:\d+_)?(?:seeds|runs)|(?:over|of|n)_\d+)(?=_)"
)
_CI_IN_HEADER = re.compile(r"(?:\d\d_)?(?:ci_?\d*|cis|conf_int|confidence(?:_intervals?)?)")
_AFTER_NAME = re.compile(r"\s*(?:[(\[±,]|\+/?-|\\pm).*$")
"""What follows the name of a metric in a header: ` (mean ± SE)`."""
_NO_INTERVALS = (
    "has intervals, of which the level or the kind is not known, and no standard deviation beside them"
)
_LEAST = 0.5
"""The least share of the cells of a column that are what it holds: of others each is told by its line."""
Counts = Mapping[str, pd.Series]
"""What says over how many runs means are, a column or a header → its cells."""


def with_mean_columns(read: ReadTable, options: AnalysisOptions) -> tuple[ReadTable, list[MeanColumns]]:
    """Returns a table with plain means in cells that had spreads too, and the means that have spreads beside them."""
    beside = _means_beside_spreads(read, options)
    table = read.table
    in_cells = [str(name) for name in table if _holds_means_with_spreads(table[name], options.baseline)]
    numbers = {name: _count_in_name(name) for name in in_cells}
    names = _without_counts(in_cells, [*map(str, table)])
    found: list[MeanColumns] = []
    means: dict[str, pd.Series] = {}
    for name in in_cells:
        shared = {*numbers.values()} - {""}
        number = numbers[name] or (next(iter(shared)) if len(shared) == 1 else "")
        counts = _counts_of(table, _AFTER_NAME.sub("", name), options)
        has_own = bool(numbers[name]) or not counts
        if number and has_own:
            counts = {**counts, name: pd.Series(number, table.index)}
        found.append(_of_cells(names[name], name, table[name], counts))
        means[names[name]] = table[name].map(lambda text: _parts_of(text)[0])
    if not in_cells:
        return read, beside
    table = table.rename(columns=names).assign(**means)
    return replace(read, table=table), [*found, *beside]


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


# Means with their spreads in one cell


def _holds_means_with_spreads(cells: pd.Series, baseline: str) -> bool:
    """Returns whether most cells of a column that have a value are `MEAN ± SPREAD`, and none is the baseline."""
    if not cells.str.contains(_MARK_OF_SPREAD).any():
        return False
    present = cells[(cells != "") & ~cells.str.lower().isin(MISSING)]
    if present.empty or (baseline and (present == baseline).any()):
        return False
    return bool(present.map(lambda text: mean_and_spread(text) is not None).mean() >= _LEAST)


def _parts_of(text: str) -> tuple[str, str]:
    """Returns the mean and the spread of a cell, each as text: none of a missing value, no spread of another text."""
    if text.lower() in MISSING:
        return "", ""
    return mean_and_spread(text) or (text, "")


def _count_in_name(name: str) -> str:
    """Returns the number of runs in a name, `Acc (%, 5 seeds)`; empty where there is none."""
    match = _COUNT_IN_NAME.search(name)
    return "" if match is None else match[1] or match[2]


def _without_counts(names: Sequence[str], taken: Sequence[str]) -> dict[str, str]:
    """Returns name → the same without a number of runs, where no column says that and no other has the shorter name."""
    shorter: dict[str, str] = {}
    for name in names:
        plain = re.sub(r"\s*[(\[]\s*[)\]]", "", _COUNT_IN_NAME.sub("", name, count=1)).strip()
        shorter[name] = plain
    has_count = any(map(is_count, taken))
    changed = [name for name in names if shorter[name] != name]
    is_taken = len({*shorter.values()}) < len(names) or any(shorter[name] in taken for name in changed)
    return {name: name for name in names} if has_count or is_taken else shorter


def _of_cells(metric: str, name: str, cells: pd.Series, counts: Counts) -> MeanColumns:
    """Returns the means of a column of `MEAN ± SPREAD`."""
    kind = kind_of_header(name)
    mistake = (
        _mistake_of_cells(name, cells) or _mistake_of_kind(kind, name) or _mistake_of_counts(counts, metric)
    )
    count = next(iter(counts), "")
    return MeanColumns(
        metric=metric,
        mean=metric,
        spread=metric,
        kind=kind,
        count=count,
        spreads=cells.map(lambda text: _parts_of(text)[1]).to_dict(),
        counts=counts[count].to_dict() if count else {},
        mistake=mistake,
    )


def _mistake_of_cells(name: str, cells: pd.Series) -> Problem | None:
    """Returns what is unclear in cells of `MEAN ± SPREAD`: an error of the last digits, or a unit."""
    means = cells[cells.map(lambda text: mean_and_spread(text) is not None)]
    unclear = means[means.map(is_spread_of_last_digits)]
    if len(unclear):
        rule = "may have an error of its last digits in brackets, or a deviation"
        source = f"{unclear.index[0]}: {name}"
        return Problem(rule, given=unclear.iloc[0], hint="Write 91.2 ± 0.4", source=source)
    has_sign = means.str.contains("%")
    is_half = has_sign & ~means.str.contains(r"%[\s)$]*$")
    if is_half.any():
        rule = "has a percent sign after its mean and none after its deviation"
        source = f"{means[is_half].index[0]}: {name}"
        return Problem(rule, given=means[is_half].iloc[0], hint="Write 91.2 ± 0.4%", source=source)
    if has_sign.any() and not has_sign.all():
        given = [means[has_sign].iloc[0], means[~has_sign].iloc[0]]
        hint = "Write all with the sign, or all without"
        return Problem(f"has numbers with and without % in {name}", ("RUNS",), given, hint=hint)
    return None


# Means and spreads in columns of their own


@dataclass(frozen=True)
class _Words:
    """The columns of a table by what their names say of a metric."""

    means: Mapping[str, str]
    """Metric → the column of its means."""
    spreads: Mapping[str, Mapping[Kind, str]]
    """Metric → kind of spread → its column; an empty metric of a column that is called `std` and no more."""


def _means_beside_spreads(read: ReadTable, options: AnalysisOptions) -> list[MeanColumns]:
    """Returns the metrics that are known by a column of means and one of their spread."""
    table = read.table
    words = _words_of(table)
    found = []
    for metric, spreads in words.spreads.items():
        kind = next(kind for kind in _KINDS if kind in spreads)
        means = _means_of(table, words, metric, spreads[kind], options)
        counts = _counts_of(table, metric, options)
        for mean in means:
            columns = _of_columns(read, metric, mean=mean, spread=spreads[kind], kind=kind, counts=counts)
            if len(means) > 1:
                rule = f"has deviations in {spreads[kind]}, and does not say of which means they are"
                hint = f"Call the column {mean}_{spreads[kind]}"
                columns = replace(columns, mistake=Problem(rule, ("RUNS",), listed(means), hint=hint))
            found.append(columns)
    return found


def _means_of(
    table: pd.DataFrame, words: _Words, metric: str, spread: str, options: AnalysisOptions
) -> list[str]:
    """Returns the columns of means of which a column may have the spread, one where its name says which.

    metric: that of the spread; empty where its column is called `std` and no more.
    """
    if metric in words.means:
        return [words.means[metric]]
    if not _counts_of(table, metric, options):
        return []
    if metric:
        return [metric] if metric in table else []
    return _outcomes(table, words, options.metric) if statistic_word(spread) in _BARE_SPREADS else []


def _words_of(table: pd.DataFrame) -> _Words:
    """Returns the columns of a table that hold means or spreads, by their names."""
    means: dict[str, str] = {}
    spreads: dict[str, dict[Kind, str]] = {}
    for name in map(str, table):
        metric, word = metric_and_word(name)
        kinds = [kind for kind, words in _KINDS.items() if word in words]
        is_told = word in MEANS or bool(kinds)
        if not is_told or not _holds_numbers(table[name]):
            continue
        if word in MEANS:
            means.setdefault(metric, name)
        else:
            spreads.setdefault(metric, {})[kinds[0]] = name
    return _Words(means, spreads)


def _outcomes(table: pd.DataFrame, words: _Words, asked: str) -> list[str]:
    """Returns the columns of numbers that are outcomes, or the metric of the call, and have no spread of their own."""
    taken = {*words.means.values(), *words.spreads}
    for spreads in words.spreads.values():
        taken |= {*spreads.values()}
    names = [name for name in map(str, table) if name not in taken and _holds_numbers(table[name])]
    return [name for name in names if name == asked or (is_outcome(name) and not is_count(name))]


def _of_columns(
    read: ReadTable, metric: str, *, mean: str, spread: str, kind: Kind, counts: Counts
) -> MeanColumns:
    """Returns the means of a metric that has a column of means and one of their spread."""
    table = read.table
    is_taken = metric in table and metric != mean
    name = mean if is_taken or not metric else metric
    mistake = _mistake_of_kind(kind, spread) or _mistake_of_counts(counts, name)
    marked = [column for column in (mean, spread) if column in read.percent]
    if len(marked) == 1:
        rule = f"must have percent signs in both of {mean} and {spread}, or in neither"
        hint = "Write means and deviations in one unit"
        mistake = Problem(rule, ("RUNS",), f"in {marked[0]} alone", hint=hint)
    count = next(iter(counts), "")
    return MeanColumns(
        metric=name,
        mean=mean,
        spread=spread,
        kind=kind,
        count=count,
        spreads=table[spread].to_dict(),
        counts=counts[count].to_dict() if count else {},
        mistake=mistake,
    )


def _holds_numbers(cells: pd.Series) -> bool:
    """Returns whether most cells of a column that have a value are numbers."""
    present = cells[cells != ""]
    return len(present) > 0 and bool(present.map(is_number).mean() >= _LEAST)


# Numbers of runs, and what is unclear


def _counts_of(table: pd.DataFrame, metric: str, options: AnalysisOptions) -> Counts:
    """Returns the columns that say over how many runs the means of a metric are: its own, else those of all.

    A column that the call names is a setting, a seed or a metric, and says none.
    """
    names = [name for name in map(str, table) if name not in options.named_columns]
    own = [name for name in names if metric and not is_count(name) and _metric_of_count(name) == metric]
    return {name: table[name] for name in own or filter(is_count, names)}


def _metric_of_count(name: str) -> str:
    """Returns the metric of which a column has the number of runs: `acc` of `acc_n`, `n_acc`; empty of another."""
    at_end = _COUNT_AT_END.fullmatch(name)
    if at_end is not None:
        return at_end[1]
    metric, word = metric_and_word(name)
    return metric if word in ("count", "n") else ""


def _mistake_of_counts(counts: Counts, metric: str) -> Problem | None:
    """Returns that two columns say otherwise over how many runs the means of a metric are; None where none do."""
    first, *others = counts or [""]
    for other in others:
        if (in_one_form_each(counts[first]) != in_one_form_each(counts[other])).any():
            rule = f"says twice over how many runs the means of {metric} are, and not the same"
            return Problem(rule, ("RUNS",), listed([first, other]), hint="Keep the number of runs alone")
    return None


def _mistake_of_kind(kind: Kind, name: str) -> Problem | None:
    """Returns that a column has intervals, of which no deviation is known; None where it has not."""
    if kind != "interval":
        return None
    hint = "Add a column with the standard deviation of the runs"
    return Problem(_NO_INTERVALS, ("RUNS",), name, hint=hint)
