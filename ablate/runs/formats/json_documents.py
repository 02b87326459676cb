"""JSON documents as people write results: records in a list, in columns, or under names of variants and seeds."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ablate.base.errors import Invalid, listed
from ablate.base.once import TwiceError, put_once
from ablate.core.data_parts import RANKS
from ablate.report.words import message
from ablate.runs.options import AnalysisOptions
from ablate.runs.settings import is_seed
from ablate.runs.summary_words import ERRORS, MEANS, SPREADS, metric_and_word, statistic_word

SEED = re.compile(r"(?:(?:seed|s|run|rep|trial)[ _=-]?)?(\d+)", re.IGNORECASE)
"""A name of a seed: `0`, `seed 0`, `run_0`."""
_PLACE = "place"
"""What numbers the objects of a list that stands under names."""
_STEP, _FOLD, _SPLIT, _CHECKPOINT = "step", "fold", "split", "checkpoint"
_NUMBERED = {
    _STEP: re.compile(r"(?:step|epoch|iter|iteration|update|checkpoint|ckpt)[ _=-]?(\d+)", re.IGNORECASE),
    _FOLD: re.compile(r"(?:fold|split|cv)[ _=-]?(\d+)", re.IGNORECASE),
}
"""Column → a name that has its number."""
_OF_NUMBERS = {
    _STEP: ("steps", "epochs", "iters", "iterations", "updates", "checkpoints", "ckpts"),
    _FOLD: ("folds", "splits", "cv"),
}
"""Column → the names, in small letters, under which its numbers stand."""
_CHECKPOINTS = ("best", "last", "final")
_LEVEL = "level "
"""What the names of levels that are neither variants, seeds nor metrics begin with."""
Keys = tuple[tuple[str, str], ...]
"""Column → value, of the names under which a record stands."""


@dataclass(frozen=True)
class Records:
    """The records of a document, each a run or several, and what stands around them."""

    objects: Sequence[object]
    beside: Mapping[str, Sequence[object]] = field(default_factory=dict)
    """Lists of plain values that stand above the records, and may number the values of lists in these."""
    passed_over: Sequence[str] = ()
    """The names of objects and lists beside the records."""
    are_of_seeds: bool = False
    """Whether the name of their file, or of what holds them, says that lists in them have a value for each seed."""
    shared: Mapping[str, object] = field(default_factory=dict)
    """The plain values beside the records, which hold for all of them."""
    notes: Sequence[str] = ()
    """Sentences on what was taken for what."""


def records_of(document: object, options: AnalysisOptions) -> Records:
    """Returns the records of a document.

    These are those of its only list of objects, those of columns as pandas writes them, or what stands under the names
    of variants, of which the baseline is one. Of another object that has an object for each name, such as
    `{"a": {"acc": 0.9}}`, the names become the column `name`.
    """
    if isinstance(document, list):
        return Records(document)
    if not isinstance(document, dict):
        return Records([document])
    beside = dict(plain_lists(document))
    lists = _lists_of_objects(document)
    has_names = has_name(document, options.baseline)
    if len(lists) == 1 and not has_names:
        (name,) = lists
        return _records_in_list(document, name, lists[name], options.metric)
    if has_names:
        named = _NamedRecords(options, has_metric=has_name(document, options.metric.partition(".")[0]))
        named.add(document, ())
        return Records(named.objects(), beside, [*named.passed_over], notes=[*named.notes])
    columns = _columns_of(document, options.baseline)
    if columns:
        index = [
            name for name in columns if name not in _texts(document.get("columns")) and "data" in document
        ]
        return Records(_rows_of(columns), notes=_notes_on_index(columns, index))
    if len(document) > 1 and all(isinstance(value, dict) for value in document.values()):
        column = "name" if all("name" not in value for value in document.values()) else "key"
        return Records([{column: name, **value} for name, value in document.items()])
    return Records([document])


def _records_in_list(
    document: Mapping[str, object], name: str, records: Sequence[object], metric: str
) -> Records:
    """Returns the records of the list of a name, or the document itself where it alone has the judged metric."""
    is_of_document = not isinstance(value_at(document, metric), dict | list | None)
    if metric and is_of_document and all(value_at(record, metric) is None for record in records):
        kept = {key: value for key, value in document.items() if key != name}
        return Records([kept], passed_over=[name])
    shared: dict[str, object] = {}
    passed_over = _others(document, name)
    for key, value in document.items():
        if isinstance(value, dict | list):
            continue
        if _names_statistic(key):
            passed_over.append(key)
        else:
            shared[key] = value
    return Records(records, dict(plain_lists(document)), passed_over, shared=shared)


def _names_statistic(name: str) -> bool:
    """Returns whether a name says that its number sums up others: `mean_acc`, `acc_std`, `n`."""
    return metric_and_word(name)[1] != ""


def plain_lists(document: Mapping[str, object]) -> Iterator[tuple[str, list[object]]]:
    """Yields the name of each list of plain values in an object, and the list."""
    for name, value in document.items():
        if isinstance(value, list) and value and not any(isinstance(each, dict | list) for each in value):
            yield name, value


def has_name(document: object, name: str) -> bool:
    """Returns whether an object, or one within it, has a name; an empty name is none."""
    if not name or not isinstance(document, dict):
        return False
    return name in document or any(has_name(value, name) for value in document.values())


def seeds_in(values: object) -> dict[str, object]:
    """Returns seed → value, of an object whose names are all those of seeds; else nothing.

    Raises `TwiceError` for one seed under two names, as `s0` and `seed_0` are.
    """
    if not isinstance(values, dict) or not _are_seeds(values):
        return {}
    of_seeds: dict[str, object] = {}
    for name, value in values.items():
        match = SEED.fullmatch(name)
        put_once(of_seeds, match[1] if match else name, value, said=name)
    return of_seeds


def value_at(values: object, name: str) -> object:
    """Returns what stands under a dotted name in nested objects; None where nothing does."""
    if not isinstance(values, dict):
        return None
    if name in values:
        return values[name]
    for place, mark in enumerate(name):
        if mark == "." and name[:place] in values:
            return value_at(values[name[:place]], name[place + 1 :])
    return None


def _others(document: Mapping[str, object], runs: str) -> list[str]:
    """Returns the names of objects and lists of objects that stand beside the list of runs in a document."""
    values = {name: value for name, value in document.items() if name != runs and value}
    return [name for name, value in values.items() if isinstance(value, dict | list)]


def _lists_of_objects(document: Mapping[str, object]) -> dict[str, list[object]]:
    lists = {name: value for name, value in document.items() if isinstance(value, list) and value}
    return {name: value for name, value in lists.items() if all(isinstance(each, dict) for each in value)}


def _are_seeds(names: Mapping[str, object]) -> bool:
    return len(names) > 0 and all(SEED.fullmatch(name) for name in names)


@dataclass
class _NamedRecords:
    """The records of objects within objects, whose names are variants, seeds, metrics or tasks, in any order."""

    options: AnalysisOptions
    has_metric: bool
    """Whether the judged metric is one of the names."""
    records: dict[Keys, dict[str, object]] = field(default_factory=dict)
    passed_over: dict[str, None] = field(default_factory=dict)
    notes: dict[str, None] = field(default_factory=dict)

    def add(self, values: object, keys: Keys) -> None:
        """Adds the records of values that stand under names. Raises `TwiceError`."""
        if isinstance(values, list) and values and all(isinstance(each, dict) for each in values):
            for place, record in enumerate(values):
                self._put((*keys, (_PLACE, str(place))), record)
        elif not isinstance(values, dict):
            metric = dict(keys).get("metric", self.options.metric or "value")
            self._put(_without_metric(keys), {metric: values})
        elif self._is_record(values, keys):
            self._put(keys, values)
        else:
            self._add_below(values, keys)

    def objects(self) -> list[dict[str, object]]:
        """Returns the records with their names, without names that all share.

        What stands beside records, such as the number of parameters, is none.
        """
        above = set()
        for keys in self.records:
            above |= {keys[:length] for length in range(len(keys))}
        records = {keys: record for keys, record in self.records.items() if keys not in above}
        tasks = _names_of_tasks(records)
        objects: list[dict[str, object]] = []
        for keys, record in records.items():
            for column, name in keys:
                if str(record.get(column, name)) != name:
                    raise TwiceError(f"{'.'.join(name for _, name in keys)}.{column}")
            names = {tasks.get(column, column): name for column, name in keys if column != _PLACE}
            objects.append({**record, **{column: name for column, name in names.items() if column}})
        return objects

    def _is_record(self, values: Mapping[str, object], keys: Keys) -> bool:
        """Returns whether an object has the metrics of a run, or of several, of one variant."""
        columns = dict(keys)
        if "variant" not in columns or "metric" in columns or _are_seeds(values):
            return False
        metric = self.options.metric
        if self.has_metric and metric:
            value = value_at(values, metric)
            is_below = isinstance(value, dict) or (
                value is None and has_name(values, metric.partition(".")[0])
            )
            return not is_below and (
                value is not None or not any(isinstance(v, dict) for v in values.values())
            )
        return not metric and not all(isinstance(value, dict | list) for value in values.values())

    def _add_below(self, values: Mapping[str, object], keys: Keys) -> None:
        """Adds what stands under each name of an object, whose names are of one kind."""
        columns = dict(keys)
        if self.options.metric and "variant" in columns and _are_statistics(values):
            self._add_summary(values, keys)
            return
        numbered = _numbers_of_names(values, keys)
        if "variant" not in columns and self.options.baseline in values:
            column = "variant"
        elif numbered is not None:
            column, numbers = numbered
            for number, name in numbers.items():
                self.add(values[name], (*keys, (column, number)))
            self.passed_over |= dict.fromkeys(name for name in values if name not in numbers.values())
            return
        elif "seed" not in columns and _are_seeds(values):
            for seed, below in seeds_in(values).items():
                self.add(below, (*keys, ("seed", seed)))
            return
        elif self.options.metric in values and "metric" not in columns:
            column = "metric"
        else:
            column = _column_of_words(values) or f"{_LEVEL}{len(keys)}"
        for name, below in values.items():
            if self._leads_to_records(below, column, columns):
                self.add(below, (*keys, (column, name)))
            else:
                self.passed_over[name] = None

    def _add_summary(self, values: Mapping[str, object], keys: Keys) -> None:
        """Adds what statistics say: of one run its mean, and of several runs their mean, deviation and number.

        Raises `Invalid` for statistics without a mean.
        """
        metric = dict(keys).get("metric", self.options.metric)
        means = [name for name in values if statistic_word(name) in MEANS]
        if len(means) != 1:
            rule = f"has statistics of {metric} that are no tasks, and not one mean among them"
            hint = f"Name what is judged: --metric {metric}.{next(iter(values))}"
            raise Invalid("RUNS", rule, listed(values), hint=hint)
        (mean,) = means
        others = [name for name in values if name != mean]
        is_of_run = {"seed", _PLACE, _STEP, _FOLD} & {*dict(keys)}
        if is_of_run or isinstance(values[mean], list) or _are_seeds_below(values[mean]):
            self.notes[message("analyse.mean_of_run", metric, others)] = None
            self.add(values[mean], keys)
            return
        for name, value in values.items():
            number = value_at(value, metric) if isinstance(value, dict) else value
            word = statistic_word(name)
            column = "n" if word in ("n", "count") else f"{metric}_{word}"
            if word in (*MEANS, *SPREADS, *ERRORS, "n", "count"):
                self._put(_without_metric(keys), {column: number})
            else:
                self.passed_over[name] = None

    def _leads_to_records(self, values: object, column: str, columns: Mapping[str, str]) -> bool:
        """Returns whether what stands under a name has runs of a variant below it.

        columns: the columns of the names above it.
        """
        if "variant" not in columns and column != "variant":
            return has_name(values, self.options.baseline)
        if column == "metric" or not self.has_metric or "metric" in columns:
            return True
        metric = self.options.metric.partition(".")[0]
        return isinstance(values, list) or has_name(values, metric)

    def _put(self, keys: Keys, record: Mapping[str, object]) -> None:
        """Adds the values of a record that stands under names. Raises `TwiceError`."""
        for name, value in record.items():
            said = ".".join([*(key for _, key in keys), name])
            put_once(self.records.setdefault(keys, {}), name, value, said=said)


def _without_metric(keys: Keys) -> Keys:
    return tuple((column, name) for column, name in keys if column != "metric")


def _are_statistics(values: Mapping[str, object]) -> bool:
    """Returns whether the names of an object are all those of statistics: a mean, or a spread, with others beside."""
    words = [statistic_word(name) for name in values]
    has_telling = any(word in (*MEANS, *SPREADS, *ERRORS, "median", "min", "max") for word in words)
    return len(words) > 1 and all(words) and has_telling


def _are_seeds_below(values: object) -> bool:
    return isinstance(values, dict) and _are_seeds(values)


def _numbers_of_names(values: Mapping[str, object], keys: Keys) -> tuple[str, dict[str, str]] | None:
    """Returns `step` or `fold`, and number → its name, where the names of an object number these; else None.

    Names such as `best` and `last` beside the numbers of several steps have none. Raises `TwiceError`.
    """
    column_above, above = keys[-1] if keys else ("", "")
    for column, pattern in _NUMBERED.items():
        has_own_name = column_above.startswith(_LEVEL) and above.lower() in _OF_NUMBERS[column]
        numbers: dict[str, str] = {}
        for name in values:
            match = pattern.fullmatch(name)
            number = match[1] if match else name
            if match or (has_own_name and name.isdecimal()):
                put_once(numbers, number, name, said=name)
        others = {name.lower() for name in values if name not in numbers.values()}
        if numbers and (not others or (len(numbers) > 1 and others <= {*_CHECKPOINTS})):
            return column, numbers
    return None


def _column_of_words(values: Mapping[str, object]) -> str:
    """Returns the column of names that are no tasks: parts of data, or the best and the last checkpoint; else none."""
    names = {name.lower() for name in values}
    for column, words in ((_SPLIT, RANKS), (_CHECKPOINT, _CHECKPOINTS)):
        if len(names) > 1 and names <= {*words}:
            return column
    return ""


def _names_of_tasks(records: Collection[Keys]) -> dict[str, str]:
    """Returns level of names → the column that it becomes: `task`, then `task_2`; empty where all records share one."""
    values: dict[str, set[str]] = {}
    for keys in records:
        for column, name in keys:
            if column.startswith(_LEVEL):
                values.setdefault(column, set()).add(name)
    columns = dict.fromkeys(values, "")
    varying = [level for level, names in values.items() if len(names) > 1]
    for number, level in enumerate(varying, start=1):
        columns[level] = "task" if number == 1 else f"task_{number}"
    return columns


def _columns_of(document: Mapping[str, object], baseline: str) -> dict[str, list[object]]:
    """Returns column → cells of a document that pandas has written by columns; nothing of another one.

    A column has the baseline as a cell.
    """
    columns: dict[str, list[object]] = {}
    names, rows = document.get("columns"), document.get("data")
    if isinstance(names, list) and isinstance(rows, list):
        is_table = all(isinstance(row, list) and len(row) == len(names) for row in rows)
        if is_table:
            for at, name in enumerate(names):
                put_once(columns, str(name), [row[at] for row in rows])
            columns = {**_index_of(document.get("index"), len(rows)), **columns}
        return columns
    for name, cells in document.items():
        if isinstance(cells, dict):
            columns[name] = list(cells.values())
        elif isinstance(cells, list):
            columns[name] = cells
        else:
            return {}
    lengths = {len(cells) for cells in columns.values()}
    indices = {tuple(cells) for cells in document.values() if isinstance(cells, dict)}
    has_baseline = any(baseline in cells for cells in columns.values())
    if len(lengths) > 1 or len(indices) > 1 or not has_baseline:
        return {}
    _refuse_square(columns)
    return columns


def _refuse_square(columns: Mapping[str, Sequence[object]]) -> None:
    """Raises `Invalid` for as many lists as their length beside seeds: the lists may be those of variants or seeds."""
    for name, cells in columns.items():
        lengths = {len(cell) if isinstance(cell, list) else 0 for cell in cells}
        seeds = [other for other in columns if is_seed(other) and _are_distinct(columns[other], len(cells))]
        if lengths == {len(cells)} and seeds:
            rule = f"has a square array {name!r}, and does not say whether {seeds[0]} number its rows or its columns"
            hint = 'Write a list for each variant: {"base": {"seeds": [0, 1], "acc": [0.7, 0.8]}, "wide": …}'
            raise Invalid("RUNS", rule, f"{len(cells)} × {len(cells)}", hint=hint)


def _are_distinct(cells: Sequence[object], size: int) -> bool:
    """Returns whether as many plain values are all others."""
    are_plain = not any(isinstance(cell, list | dict) for cell in cells)
    return are_plain and len({*map(str, cells)}) == len(cells) == size


def _index_of(index: object, num_rows: int) -> dict[str, list[object]]:
    """Returns level → its cells, of an index that does more than number the rows, named as pandas names it."""
    if not isinstance(index, list) or len(index) != num_rows or index == [*range(num_rows)]:
        return {}
    levels = {len(label) if isinstance(label, list) else 0 for label in index}
    if levels == {0}:
        return {"index": index}
    if len(levels) > 1:
        return {}
    return {f"level_{level}": [label[level] for label in index] for level in range(levels.pop())}


def _texts(values: object) -> list[str]:
    return [str(value) for value in values] if isinstance(values, list) else []


def _notes_on_index(columns: Mapping[str, Sequence[object]], index: Sequence[str]) -> list[str]:
    """Returns what to say of levels of an index whose numbers come again, where no column is called seed."""
    if any(is_seed(name) for name in columns):
        return []
    numbering = []
    for name in index:
        cells = columns[name]
        if all(isinstance(cell, int) for cell in cells) and len({*map(str, cells)}) < len(cells):
            numbering.append(name)
    return [message("analyse.index_of_runs", name) for name in numbering]


def _rows_of(columns: Mapping[str, Sequence[object]]) -> list[dict[str, object]]:
    rows = zip(*columns.values(), strict=True)
    return [dict(zip(columns, row, strict=True)) for row in rows]
