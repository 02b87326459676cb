"""JSON documents as people write results: a list of runs, columns, or values under names of variants and seeds."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ablate.base.errors import Invalid
from ablate.base.once import TwiceError, put_once
from ablate.runs.options import AnalysisOptions

SEED = re.compile(r"(?:(?:seed|s|run|rep|trial)[ _=-]?)?(\d+)", re.IGNORECASE)
"""A name of a seed: `0`, `seed 0`, `run_0`."""
PLACE = "place"
"""The column that numbers the values of a list."""
Keys = tuple[tuple[str, str], ...]
"""Column → value, of the names under which a value stands."""


def objects_of(document: object, options: AnalysisOptions) -> Sequence[object]:
    """Returns an object for each run of a document. Raises `Invalid` for lists of values that may be anything.

    These are those of its only list, of the only key that has a list of objects, of columns as pandas writes them, or
    what stands under the names of variants, of which the baseline is one. Of another object that has an object for each
    name, such as `{"a": {"acc": 0.9}}`, the names become the column `name`.
    """
    if isinstance(document, list):
        return document
    if not isinstance(document, dict):
        return [document]
    lists = _lists_of_objects(document)
    if len(lists) == 1:
        return next(iter(lists.values()))
    if _has_names_of_variants(document, options):
        nested = _NestedRuns(options)
        nested.add(document, ())
        return nested.objects()
    columns = _columns_of(document, options.baseline)
    if columns:
        return _rows_of(columns)
    if len(document) > 1 and all(isinstance(value, dict) for value in document.values()):
        column = "name" if all("name" not in value for value in document.values()) else "key"
        return [{column: name, **value} for name, value in document.items()]
    return [document]


def passed_over(document: object) -> list[str]:
    """Returns the names of objects and lists that stand beside the only list of runs in a document."""
    if not isinstance(document, dict) or len(_lists_of_objects(document)) != 1:
        return []
    (runs,) = _lists_of_objects(document)
    return [
        name for name, value in document.items() if name != runs and isinstance(value, (dict, list)) and value
    ]


def _lists_of_objects(document: Mapping[str, object]) -> dict[str, list[object]]:
    lists = {name: value for name, value in document.items() if isinstance(value, list) and value}
    return {name: value for name, value in lists.items() if all(isinstance(each, dict) for each in value)}


def _has_names_of_variants(document: Mapping[str, object], options: AnalysisOptions) -> bool:
    """Returns whether the baseline is a name in an object, or in each object within it, with several runs below it."""
    baseline = options.baseline
    if baseline in document:
        below = document[baseline]
        if isinstance(below, dict):
            of_metric = below.get(options.metric)
            has_runs = isinstance(of_metric, list) or (isinstance(of_metric, dict) and _are_seeds(of_metric))
            return (has_runs or _are_seeds(below)) and all(
                isinstance(each, dict) for each in document.values()
            )
        return isinstance(below, list)
    parts = list(document.values())
    return len(parts) > 0 and all(isinstance(part, dict) and baseline in part for part in parts)


def _are_seeds(names: Mapping[str, object]) -> bool:
    return len(names) > 0 and all(SEED.fullmatch(name) for name in names)


@dataclass
class _NestedRuns:
    """The runs of objects within objects, whose names are variants, seeds, metrics, or tasks above the variants."""

    options: AnalysisOptions
    runs: dict[Keys, dict[str, object]] = field(default_factory=dict)
    beside: list[tuple[Keys, str, Sequence[object]]] = field(default_factory=list)
    """Lists of other metrics than the judged one: the names under which they stand, the metric, the values."""

    def add(self, values: object, keys: Keys) -> None:
        """Adds the runs of values that stand under names. Raises `Invalid`."""
        columns = dict(keys)
        if isinstance(values, list):
            self._add_list(values, keys)
        elif not isinstance(values, dict):
            metric = columns.get("metric", self.options.metric or "value")
            run = tuple((column, name) for column, name in keys if column != "metric")
            self._put(run, metric, values)
        elif "variant" not in columns:
            self._add_below(
                values, keys, "variant" if self.options.baseline in values else self._outer(values)
            )
        elif "seed" not in columns and _are_seeds(values):
            for name, below in values.items():
                match = SEED.fullmatch(name)
                self.add(below, (*keys, ("seed", match[1] if match else name)))
        elif "metric" not in columns:
            self._add_below(values, keys, "metric")
        else:
            run = tuple((column, name) for column, name in keys if column != "metric")
            self._put(run, columns["metric"], values)

    def objects(self) -> list[dict[str, object]]:
        """Returns an object for each run, with its names and values.

        What stands beside a list of runs, such as the number of parameters, is none of a run.
        """
        listed_runs = {run[:-1] for run in self.runs if run and run[-1][0] == PLACE}
        for run, metric, values in self.beside:
            if run in self.runs:
                self._put(run, metric, values)
            for place, value in enumerate(values):
                of_place = (*run, (PLACE, str(place)))
                if of_place in self.runs:
                    self._put(of_place, metric, value)
        objects: list[dict[str, object]] = []
        for run, of_run in self.runs.items():
            if run in listed_runs:
                continue
            for column, name in run:
                if str(of_run.get(column, name)) != name:
                    raise TwiceError(f"{'.'.join(name for _, name in run)}.{column}")
            objects.append({**of_run, **dict(run)})
        return objects

    def _put(self, run: Keys, metric: str, value: object) -> None:
        """Adds a value of a run. Raises `TwiceError` where another name of it has one, as `s0` and `seed_0` do."""
        said = ".".join([*(name for _, name in run), metric])
        put_once(self.runs.setdefault(run, {}), metric, value, said=said)

    def _outer(self, values: Mapping[str, object]) -> str:
        return "metric" if self.options.metric in values else "task"

    def _add_below(self, values: Mapping[str, object], keys: Keys, column: str) -> None:
        for name, below in values.items():
            self.add(below, (*keys, (column, name)))

    def _add_list(self, values: Sequence[object], keys: Keys) -> None:
        """Adds a run for each value of a list, if these or the call say what its places are. Raises `Invalid`."""
        columns = dict(keys)
        is_told = (
            self.options.replicates or self.options.seed == PLACE or ("seed", PLACE) in self.options.columns
        )
        have_seeds = all(isinstance(value, dict) and "seed" in value for value in values)
        if self.options.metric and columns.get("metric", self.options.metric) != self.options.metric:
            run = tuple((column, name) for column, name in keys if column != "metric")
            self.beside.append((run, columns["metric"], values))
            return
        if not is_told and not have_seeds:
            where = ".".join(name for _, name in keys)
            ways = (
                f"--seed {PLACE} takes them for seeds, so that values at one place are a pair; --replicates takes "
                f"each value for a run that nothing pairs; for steps of one run, write an object a step"
            )
            raise Invalid(
                "RUNS", f"has a list of values, and does not say what its places are: {where}", hint=ways
            )
        for place, value in enumerate(values):
            number = str(value) if isinstance(value, list) else value  # A list of lists is none of runs.
            self.add(number, (*keys, (PLACE, str(place))))


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
    return columns if len(lengths) == 1 and len(indices) < 2 and has_baseline else {}


def _rows_of(columns: Mapping[str, Sequence[object]]) -> list[dict[str, object]]:
    rows = zip(*columns.values(), strict=True)
    return [dict(zip(columns, row, strict=True)) for row in rows]
