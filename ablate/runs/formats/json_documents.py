"""JSON documents as people write results: records in a list, in columns, or under names of variants and seeds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ablate.base.errors import Invalid, listed
from ablate.base.once import TwiceError, put_once
from ablate.report.words import message
from ablate.runs.formats.json_columns import columns_of, notes_on_index, rows_of
from ablate.runs.formats.level_names import (
    FOLD,
    LEVEL,
    STEP,
    Keys,
    are_seeds,
    are_statistics,
    column_of_words,
    names_of_tasks,
    numbers_of_names,
    seeds_in,
)
from ablate.runs.options import AnalysisOptions
from ablate.runs.summary_words import ERRORS, MEANS, SPREADS, metric_and_word, statistic_word

_PLACE = "place"
"""What numbers the objects of a list that stands under names."""


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
    columns = columns_of(document, options.baseline)
    if columns:
        return Records(rows_of(columns), notes=notes_on_index(document, columns))
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
        tasks = names_of_tasks(records)
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
        if "variant" not in columns or "metric" in columns or are_seeds(values):
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
        if self.options.metric and "variant" in columns and are_statistics(values):
            self._add_summary(values, keys)
            return
        numbered = numbers_of_names(values, keys)
        if "variant" not in columns and self.options.baseline in values:
            column = "variant"
        elif numbered is not None:
            column, numbers = numbered
            for number, name in numbers.items():
                self.add(values[name], (*keys, (column, number)))
            self.passed_over |= dict.fromkeys(name for name in values if name not in numbers.values())
            return
        elif "seed" not in columns and are_seeds(values):
            for seed, below in seeds_in(values).items():
                self.add(below, (*keys, ("seed", seed)))
            return
        elif self.options.metric in values and "metric" not in columns:
            column = "metric"
        else:
            column = column_of_words(values) or f"{LEVEL}{len(keys)}"
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
        is_of_run = {"seed", _PLACE, STEP, FOLD} & {*dict(keys)}
        if is_of_run or isinstance(values[mean], list) or are_seeds(values[mean]):
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
