"""Lists inside records, unfolded: a row for each value of a list, or for each run that a record has inside.

A record is one object of a document. Lists of one length in a record unfold together. Seeds beside a list number its
values, and so do steps; where a record has a seed of its own, a list in it is the history of one run. Values that
nothing numbers are runs that nothing pairs, unless they look like steps.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from ablate.base.errors import Invalid
from ablate.base.numerals import whole_in
from ablate.base.once import put_once
from ablate.report.words import message
from ablate.runs.formats.flat_objects import flat_row
from ablate.runs.formats.json_documents import SEED, Records, plain_lists, seeds_in, value_at
from ablate.runs.formats.run_names import SEED_IN_NAME
from ablate.runs.options import AnalysisOptions
from ablate.runs.roles import STEPS
from ablate.runs.settings import is_seed
from ablate.runs.summary_words import statistic_word, word_at_end

PLACE = "place"
"""The column that numbers the values of a list, where the call names it."""
_STEP, _SEED, _TASK = "step", "seed", "task"
_TREND = 2.0
"""The trend of lists over their places, in standard deviations, above which they may be steps of one run."""
_FEWEST = 2
"""The fewest runs and tasks of an array that nothing names."""
_CLEARLY_TASKS, _CLEARLY_RUNS = 0.001, 0.01
"""The chance of differences between means below which they are those of tasks, and above which those of runs."""
Row = dict[str, object]


@dataclass
class UnfoldedRecords:
    """The rows of records, flat, with their places and with sentences on what was unfolded."""

    rows: list[Row] = field(default_factory=list)
    places: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class _Axis:
    """What numbers or names the places of a list."""

    column: str
    """The column of its labels; empty where nothing numbers the places."""
    labels: Sequence[object]


@dataclass(frozen=True)
class _UnfoldedList:
    """A list of the judged metric in one record, and what its places are."""

    place: str
    row: Row
    name: str
    axes: Sequence[_Axis]

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
    for record, place in zip(records.objects, places, strict=True):
        for of_run, nested in _runs_within(record, place, options, summaries):
            row = flat_row(nested, of_run)
            found = _list_in(row, of_run, records, options)
            if found is None:
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
    return runs


# Runs inside a record


def runs_by_seed(
    record: object, metric: str
) -> tuple[dict[str, Mapping[str, object]], dict[str, object]] | None:
    """Returns seed → the values of its run inside a record, and the rest of the record; None where it has none.

    They stand under a name that speaks of seeds, since numbers may be steps. Raises `TwiceError`.
    """
    within = _first_runs(record, record, metric) if isinstance(record, dict) else None
    if within is None or not isinstance(record, dict):
        return None
    path, runs = within
    of_seeds: dict[str, Mapping[str, object]] = {}
    for label, run in runs:
        if _SEED in run:
            put_once(
                of_seeds,
                str(run[_SEED]),
                {name: value for name, value in run.items() if name != _SEED},
                said=label,
            )
    below = record
    for name in path:
        below = below[name]
    are_marked = isinstance(below, dict) and not any(name.isdecimal() for name in below)
    if len(of_seeds) < len(runs) or not (is_seed(path[-1]) or are_marked or isinstance(below, list)):
        return None
    return of_seeds, _without(record, path)


def _runs_within(
    record: object, place: str, options: AnalysisOptions, summaries: dict[str, None]
) -> Iterator[tuple[str, object]]:
    """Yields the place and values of each run that a record has inside; the record itself where it has none.

    Those values of the record that its runs have too are added to the summaries.
    """
    within = _first_runs(record, record, options.metric) if isinstance(record, dict) else None
    if within is None or not isinstance(record, dict):
        yield place, record
        return
    path, runs = within
    rest = _without(record, path)
    for label, run in runs:
        shared = [name for name in rest if name in run and name != _SEED and rest[name] != run[name]]
        summaries |= dict.fromkeys(shared)
        yield f"{place}, {label}", {**rest, **run}


def _first_runs(
    record: Mapping[str, object], values: Mapping[str, object], metric: str
) -> tuple[tuple[str, ...], list[tuple[str, Mapping[str, object]]]] | None:
    """Returns the names under which a record has runs inside, and these by their labels; None where it has none.

    values: the record, or an object within it.
    """
    if _has_own_seed(record):
        return None
    for name, value in values.items():
        runs = _runs_by_seed(name, value, metric) or _runs_in_list(record, value, metric)
        if runs:
            return (name,), runs
        below = _first_runs(record, value, metric) if isinstance(value, dict) else None
        if below is not None:
            return (name, *below[0]), below[1]
    return None


def _runs_by_seed(name: str, value: object, metric: str) -> list[tuple[str, Mapping[str, object]]]:
    """Returns the runs of an object whose names are seeds: objects with the metric, or its values alone."""
    runs: list[tuple[str, Mapping[str, object]]] = []
    for seed, of_seed in seeds_in(value).items():
        if isinstance(of_seed, dict) and (not metric or value_at(of_seed, metric) is not None):
            run = of_seed
        elif metric and not isinstance(of_seed, dict | list) and (name == metric or is_seed(name)):
            run = {metric: of_seed}
        else:
            return []
        runs.append((f"seed {seed}", {**run, _SEED: seed}))
    return runs


def _runs_in_list(
    record: Mapping[str, object], value: object, metric: str
) -> list[tuple[str, Mapping[str, object]]]:
    """Returns the runs of a list of objects which have the metric, and seeds where the record has the metric too."""
    if not isinstance(value, list) or not metric:
        return []
    runs: list[tuple[str, Mapping[str, object]]] = []
    for number, run in enumerate(value, start=1):
        if isinstance(run, dict):
            runs.append((f"run {number}", run))
    have_metric = [value_at(run, metric) is not None for _, run in runs]
    is_own = value_at(record, metric) is not None and not all(_has_own_seed(run) for _, run in runs)
    return runs if runs and len(runs) == len(value) and all(have_metric) and not is_own else []


def _has_own_seed(record: Mapping[str, object]) -> bool:
    """Returns whether a record has one seed."""
    return any(is_seed(name) and not isinstance(value, dict | list) for name, value in record.items())


def _without(values: Mapping[str, object], path: Sequence[str]) -> dict[str, object]:
    """Returns nested objects without what stands under the last of the names."""
    name, *below = path
    rest = {key: value for key, value in values.items() if key != name}
    inner = values[name]
    return {**rest, name: _without(inner, below)} if below and isinstance(inner, dict) else rest


# Lists of values


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
        axis = _axis_of(name, len(values), row, lists, options, are_of_seeds=records.are_of_seeds)
        return _UnfoldedList(place, row, name, [axis])
    lengths = {len(value) if isinstance(value, list) else -1 for value in values}
    if len(lengths) > 1 or not lengths - {0}:
        return None
    sizes = (len(values), lengths.pop())
    return _UnfoldedList(place, row, name, _axes_of_array(f"{place}: {name}", values, sizes, lists))


def _named_in(row: Row, metric: str) -> str:
    """Returns the metric in a row, or its only column that ends so: `results.acc` of `acc`."""
    if not metric or metric in row:
        return metric
    names = [name for name in row if name.endswith(f".{metric}")]
    return names[0] if len(names) == 1 else metric


def _only_list(row: Row, beside: Mapping[str, Sequence[object]]) -> str:
    """Returns the list that is judged where the call names no metric: the only one, or one as long as its seeds."""
    lists = {
        name: value for name, value in plain_lists(row) if not is_seed(name) and _singular(name) not in STEPS
    }
    return (
        next(iter(lists)) if len(lists) == 1 and (beside or len(lists) < len(dict(plain_lists(row)))) else ""
    )


def _axis_of(
    name: str,
    size: int,
    row: Row,
    lists: Mapping[str, Sequence[object]],
    options: AnalysisOptions,
    *,
    are_of_seeds: bool,
) -> _Axis:
    """Returns what the places of a list of values are: steps, seeds, places for which the call asks, or nothing."""
    numbers = [*range(1, size + 1)]
    others = {other: values for other, values in lists.items() if other != name and len(values) == size}
    for other, values in others.items():
        if _singular(other) in STEPS:
            return _Axis(_singular(other), values)
    if _has_own_seed(row):
        return _Axis(_STEP, numbers)
    seeds = _seeds_among(others)
    if seeds:
        return _Axis(_SEED, seeds)
    is_told = PLACE in (options.seed, *(column for role, column in options.columns if role == _SEED))
    if is_told:
        return _Axis(PLACE, [number - 1 for number in numbers])
    return _Axis(_SEED if are_of_seeds or is_seed(name) else "", numbers)


def _axes_of_array(
    place: str, values: Sequence[object], sizes: tuple[int, int], lists: Mapping[str, Sequence[object]]
) -> list[_Axis]:
    """Returns what the places of a list of lists are: one axis has the runs, the other the tasks.

    Where neither is named, tasks are the places whose means differ by more than chance. Raises `Invalid`.
    """
    is_square = sizes[0] == sizes[1]
    seeds = [_seeds_among(_of_length(lists, size)) for size in sizes]
    tasks = [_names_among(_of_length(lists, size)) for size in sizes]
    if is_square or (seeds[0] and seeds[1]) or (tasks[0] and tasks[1]):
        runs = None
    elif any(seeds):
        runs = 0 if seeds[0] else 1
    elif any(tasks):
        runs = 1 if tasks[0] else 0
    else:
        runs = _axis_of_runs(values)
    if runs is None:
        raise _unclear_array(place)
    numbers = [str(number) for number in range(1, sizes[1 - runs] + 1)]
    of_runs = _Axis(_SEED if seeds[runs] else "", seeds[runs] or [*range(sizes[runs])])
    of_tasks = _Axis(_TASK, tasks[1 - runs] or numbers)
    return [of_runs, of_tasks] if runs == 0 else [of_tasks, of_runs]


def _unclear_array(place: str) -> Invalid:
    rule = "has a list of lists, and does not say which are runs and which are tasks"
    return Invalid(
        "RUNS", rule, place, hint='Write the names of the tasks beside it, as "tasks": ["pan", "mail"]'
    )


def _axis_of_runs(values: Sequence[object]) -> int | None:
    """Returns the axis of an array along which means differ no more than by chance, where they do along the other."""
    array = np.array([[_number(value) for value in row] for row in values if isinstance(row, list)])
    if min(array.shape) < _FEWEST or not np.isfinite(array).all():
        return None
    chances = [_chance_of_means(array), _chance_of_means(array.T)]
    for runs, tasks in ((0, 1), (1, 0)):
        if chances[tasks] < _CLEARLY_TASKS and chances[runs] > _CLEARLY_RUNS:
            return runs
    return None


def _chance_of_means(array: NDArray[np.float64]) -> float:
    """Returns how likely the means of rows differ as much as they do by chance (two-way analysis of variance).

    Where nothing is left beside the means of rows and columns, any difference is clear.
    """
    rows, columns = array.shape
    of_rows, of_columns = array.mean(axis=1, keepdims=True), array.mean(axis=0, keepdims=True)
    left = ((array - of_rows - of_columns + array.mean()) ** 2).sum() / ((rows - 1) * (columns - 1))
    between = columns * float(of_rows.var(ddof=1))
    return (
        float(stats.f.sf(between / left, rows - 1, (rows - 1) * (columns - 1)))
        if left
        else float(between == 0)
    )


def _of_length(lists: Mapping[str, Sequence[object]], size: int) -> dict[str, Sequence[object]]:
    return {name: values for name, values in lists.items() if len(values) == size}


def _seeds_among(lists: Mapping[str, Sequence[object]]) -> list[str]:
    """Returns the seeds that a list beside others has: a list called so, or texts that each name one."""
    for name, values in lists.items():
        texts = [str(value) for value in values]
        if is_seed(name):
            seeds = [match[1] for match in map(SEED.fullmatch, texts) if match is not None]
        else:
            seeds = _seeds_in_names(texts)
        if len(seeds) == len(texts) == len({*seeds}) and all(whole_in(seed) is not None for seed in seeds):
            return seeds
    return []


def _seeds_in_names(texts: Sequence[str]) -> list[str]:
    """Returns the only seed in each text, such as `results_seed7.json`; none of a text that has none."""
    found = [SEED_IN_NAME.findall(text) for text in texts]
    return [seeds[0] for seeds in found if len(seeds) == 1]


def _names_among(lists: Mapping[str, Sequence[object]]) -> list[str]:
    """Returns the names that a list beside others has: distinct words, none of which is a number."""
    for values in lists.values():
        texts = [value for value in values if isinstance(value, str) and math.isnan(_number(value))]
        if len(texts) == len(values) == len({*texts}):
            return texts
    return []


def _singular(name: str) -> str:
    return name.lower().rpartition(".")[2].removesuffix("s")


def _number(value: object) -> float:
    try:
        return float(str(value))
    except ValueError:
        return math.nan


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


def _numbered(axis: _Axis, label: object) -> Row:
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
        raise _unclear_array(f"{lists[0].place}: {lists[0].name}")
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
    numbers = [_number(value) for value in found.values]
    mean = sum(numbers) / len(numbers)
    beside = [_number(found.row[name]) for name in _statistics_of(found)]
    return any(math.isclose(value, mean, rel_tol=1e-4) for value in beside)


def _trend(lists: Sequence[Sequence[object]]) -> float:
    """Returns how far values rise over the places of their lists, in standard deviations (Mann 1945; Kendall 1948)."""
    score, variance = 0, 0.0
    for values in lists:
        numbers = [_number(value) for value in values]
        size = len(numbers)
        for one, other in combinations(numbers, 2):
            score += (other > one) - (other < one)
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
