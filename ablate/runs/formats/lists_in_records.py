"""Lists inside records, unfolded: a row for each value of a list, or for each run that a record has inside.

A record is one object of a document. Lists of one length in a record unfold together. Seeds beside a list number its
values, and so do steps; where a record has a seed of its own, a list in it is the history of one run. Values that
nothing numbers are runs that nothing pairs, unless they look like steps.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from ablate.base.errors import Invalid
from ablate.report.words import message
from ablate.runs.cells import as_text, number_in
from ablate.runs.formats.axes import (
    PLACE,
    Axis,
    Row,
    axes_of_array,
    axis_of,
    unclear_array,
)
from ablate.runs.formats.flat_objects import flat_row
from ablate.runs.formats.json_documents import Records, plain_lists
from ablate.runs.formats.level_names import singular
from ablate.runs.formats.runs_in_records import runs_within
from ablate.runs.options import AnalysisOptions
from ablate.runs.roles import STEPS
from ablate.runs.settings import is_seed
from ablate.runs.summary_words import statistic_word, word_at_end

_STEP, _SEED, _TASK = "step", "seed", "task"
_TREND = 2.0
"""The trend of lists over their places, in standard deviations, above which they may be steps of one run."""


@dataclass
class UnfoldedRecords:
    """The rows of records, flat, with their places and with sentences on what was unfolded."""

    rows: list[Row] = field(default_factory=list)
    places: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class _UnfoldedList:
    """A list of the judged metric in one record, and what its places are."""

    place: str
    row: Row
    name: str
    axes: Sequence[Axis]

    @property
    def values(self) -> Sequence[object]:
        """The values of the list, which are lists where there are two axes."""
        values = self.row[self.name]
        return values if isinstance(values, list) else []

    @property
    def is_unnumbered(self) -> bool:
        """Whether nothing numbers the runs."""
        return any(not axis.column for axis in self.axes)


def unfolded(records: Records, places: Sequence[str], options: AnalysisOptions) -> UnfoldedRecords:
    """Returns a row for each run, or step of a run, of records. Raises `Invalid` for lists that may be anything."""
    runs = UnfoldedRecords()
    summaries: dict[str, None] = {}
    lists: list[_UnfoldedList] = []
    passed_over: dict[str, None] = {}
    for record, place in zip(records.objects, places, strict=True):
        for of_run, nested in runs_within(record, place, options, summaries):
            row = flat_row(nested, of_run)
            found = _list_in(row, of_run, records, options)
            if found is None:
                passed_over |= dict.fromkeys(_lists_with(options.metric, row))
                runs.rows.append(row)
                runs.places.append(of_run)
                continue
            lists.append(found)
            for label, value in _rows_of_list(found, summaries):
                runs.rows.append(value)
                runs.places.append(f"{of_run}, {label}")
    _refuse_unclear([each for each in lists if each.is_unnumbered], options)
    runs.notes += _notes_on(lists)
    if summaries:
        runs.notes.append(message("analyse.summary_keys", [*summaries]))
    if passed_over:
        runs.notes.append(message("analyse.passed_over_within", [*passed_over]))
    return runs


def _lists_with(metric: str, row: Row) -> list[str]:
    """Returns the lists in a row of which an object, at any depth, has the metric: they may be runs."""
    last = metric.rpartition(".")[2]
    return [name for name, value in row.items() if isinstance(value, list) and last and _holds(value, last)]


def _holds(values: object, name: str) -> bool:
    """Returns whether an object within some values, at any depth, has a name."""
    if isinstance(values, list):
        return any(_holds(value, name) for value in values)
    if not isinstance(values, dict):
        return False
    return name in values or any(_holds(value, name) for value in values.values())


def _list_in(row: Row, place: str, records: Records, options: AnalysisOptions) -> _UnfoldedList | None:
    """Returns the list of the judged metric in a row, with what its places are; None where it has none.

    Raises `Invalid` for a list of lists that nothing names.
    """
    name = _named_in(row, options.metric) or _only_list(row, records.beside)
    values = row.get(name)
    if not isinstance(values, list) or not values or any(isinstance(value, dict) for value in values):
        return None
    lists = {**records.beside, **dict(plain_lists(row))}
    if not any(isinstance(value, list) for value in values):
        axis = axis_of(name, len(values), row, lists, options, are_of_seeds=records.are_of_seeds)
        return _UnfoldedList(place, row, name, [axis])
    lengths = {len(value) if isinstance(value, list) else -1 for value in values}
    if len(lengths) > 1 or not lengths - {0}:
        return None
    sizes = (len(values), lengths.pop())
    return _UnfoldedList(place, row, name, axes_of_array(f"{place}: {name}", values, sizes, lists))


def _named_in(row: Row, metric: str) -> str:
    """Returns the metric in a row, or its only column that ends so: `results.acc` of `acc`."""
    if not metric or metric in row:
        return metric
    names = [name for name in row if name.endswith(f".{metric}")]
    return names[0] if len(names) == 1 else metric


def _only_list(row: Row, beside: Mapping[str, Sequence[object]]) -> str:
    """Returns the list that is judged where the call names no metric: the only one, or one as long as its seeds."""
    lists = {
        name: value for name, value in plain_lists(row) if not is_seed(name) and singular(name) not in STEPS
    }
    return (
        next(iter(lists)) if len(lists) == 1 and (beside or len(lists) < len(dict(plain_lists(row)))) else ""
    )


def _rows_of_list(found: _UnfoldedList, summaries: dict[str, None]) -> Iterator[tuple[str, Row]]:
    """Yields the label and row of each value of a list; adds statistics of the list to the summaries."""
    of_list = [*_statistics_of(found)]
    summaries |= dict.fromkeys(of_list)
    sizes = _shape(found.values)
    together = [name for name, value in found.row.items() if _shape(value) == sizes]
    used = {name for name in found.row if name not in together and name not in of_list}
    shared = {name: found.row[name] for name in found.row if name in used}
    for first, label in enumerate(found.axes[0].labels):
        numbered = _numbered(found.axes[0], label)
        said = f"{found.axes[0].column or PLACE} {label}"
        values = {name: _at(found.row[name], first) for name in together}
        if len(found.axes) == 1:
            yield said, {**shared, **values, **numbered}
            continue
        for second, inner in enumerate(found.axes[1].labels):
            within = {name: _at(value, second) for name, value in values.items()}
            inner_said = f"{found.axes[1].column or PLACE} {inner}"
            yield f"{said}, {inner_said}", {**shared, **within, **numbered, **_numbered(found.axes[1], inner)}


def _numbered(axis: Axis, label: object) -> Row:
    return {axis.column: label} if axis.column else {}


def _at(values: object, place: int) -> object:
    return values[place] if isinstance(values, list) else values


def _shape(values: object) -> tuple[int, ...]:
    """Returns the lengths of a list, and of the lists of one length in it; nothing of another value."""
    if not isinstance(values, list):
        return ()
    inner = {_shape(value) for value in values}
    return (len(values), *(inner.pop() if len(inner) == 1 else ()))


def _statistics_of(found: _UnfoldedList) -> Iterator[str]:
    """Yields the names of numbers beside a list that are called by a statistic of it: `mean`, `acc_std`."""
    metric = found.name.rpartition(".")[2]
    for name, value in found.row.items():
        last = name.rpartition(".")[2]
        at_end = word_at_end(last)
        is_of_metric = at_end is not None and at_end[0] == metric
        if not isinstance(value, list | str) and (statistic_word(last) or is_of_metric):
            yield name


# What is unclear, and what is said


def _refuse_unclear(lists: Sequence[_UnfoldedList], options: AnalysisOptions) -> None:
    """Raises `Invalid` for lists that nothing numbers where these may be steps of runs."""
    if len({tuple(axis.column for axis in each.axes) for each in lists if len(each.axes) > 1}) > 1:
        raise unclear_array(f"{lists[0].place}: {lists[0].name}")
    if not lists or options.replicates:
        return
    names = [
        tuple((name, value) for name, value in each.row.items() if isinstance(value, str)) for each in lists
    ]
    flat = [each for each in lists if len(each.axes) == 1 and not _has_own_mean(each)]
    is_repeated = len({*names}) < len(names)
    if not is_repeated and abs(_trend([each.values for each in flat])) < _TREND:
        return
    rule = "has lists whose values may be steps of one run"
    if is_repeated:
        rule = "has lists in several records that nothing tells apart, whose values may be runs, or steps of runs"
    ways = (
        f"--replicates takes each value for a run that nothing pairs; --seed {PLACE} takes places for seeds, so that "
        'values at one place are a pair; for steps of one run, write "steps" of the same length beside it'
    )
    raise Invalid("RUNS", rule, f"{lists[0].place}: {lists[0].name}", hint=ways)


def _has_own_mean(found: _UnfoldedList) -> bool:
    """Returns whether the mean of a list stands beside it, as beside the samples of a benchmark."""
    numbers = [number_in(as_text(value)) for value in found.values]
    mean = sum(numbers) / len(numbers)
    beside = [number_in(as_text(found.row[name])) for name in _statistics_of(found)]
    return any(math.isclose(value, mean, rel_tol=1e-4) for value in beside)


def _trend(lists: Sequence[Sequence[object]]) -> float:
    """Returns how far values rise over the places of their lists, in standard deviations (Mann 1945; Kendall 1948)."""
    score, variance = 0, 0.0
    for values in lists:
        numbers = np.array([number_in(as_text(value)) for value in values])
        size = len(numbers)
        for place, number in enumerate(numbers):
            later = numbers[place + 1 :]
            score += int((later > number).sum()) - int((later < number).sum())
        variance += size * (size - 1) * (2 * size + 5) / 18
    return score / math.sqrt(variance) if variance else 0.0


def _notes_on(lists: Sequence[_UnfoldedList]) -> list[str]:
    """Returns the sentences on what the values of lists were taken for."""
    notes: dict[str, None] = {}
    for each in lists:
        columns = [axis.column for axis in each.axes]
        if _TASK in columns:
            notes[message("analyse.arrays", each.name, "seed" if _SEED in columns else "run")] = None
        elif columns == [""]:
            notes[message("analyse.lists_of_runs", each.name, PLACE)] = None
        else:
            notes[message("analyse.lists", each.name, columns[0])] = None
    return [*notes]
