"""The rows of a file in which a run keeps its results: a history, or its end; CSV, JSON or JSON lines."""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from ablate.base.errors import Invalid
from ablate.base.files import NotReadableError, read_plain
from ablate.base.once import TwiceError, loads
from ablate.base.text import first_line
from ablate.core.ending import UNKNOWN, Ending
from ablate.runs.cells import are_plain, as_text, cleaned, is_number
from ablate.runs.ends.statuses import STATUSES, ending_of_fields
from ablate.runs.formats.flat_objects import cells_of, flat_row
from ablate.runs.formats.runs_in_records import runs_by_seed
from ablate.runs.formats.tables import read_table_file
from ablate.runs.roles import STEPS
from ablate.runs.run_tree import PROGRESS
from ablate.runs.settings import is_seed

_MAX_BYTES = 2**28
_MAX_DEPTH = 40
_OF_TABLES = (".csv", ".tsv")
_SETTINGS = re.compile(r"(?:config|args|hparams|hyperparameters|hyperparams|params)\.(.+)")
"""A setting that stands beside results, as Ray Tune repeats it."""
_Points = tuple[list[object], list[object]]
"""The steps of a metric, and its value at each of them."""
_NAMES_OF_POINTS = (("steps", "values"), ("x", "y"))
"""The names of the steps and of the values of a metric: those of Sacred, and those of ClearML."""


@dataclass(frozen=True)
class MetricRows:
    """What a file says of a run."""

    rows: Sequence[Mapping[str, str]]
    """Column → value as text of each row, in the order of the file."""
    end: Mapping[str, str] = field(default_factory=dict)
    """Values of the whole run that stand beside the rows."""
    notes: Sequence[str] = ()
    ended: Ending = UNKNOWN
    """How the run ended, as far as the end of a log says so."""
    of_seeds: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Seed → its values, of a file that has several runs inside; values that all share are the end."""

    def under(self, part: str) -> MetricRows:
        """Returns the same with the name of a part of the data, such as `test/`, before the names of metrics."""
        return self.mapped(functools.partial(_under, part)) if part else self

    def mapped(self, change: Callable[[Mapping[str, str]], Mapping[str, str]]) -> MetricRows:
        """Returns the same with each of its rows changed: those of steps, of the whole run, and of each seed."""
        of_seeds = {seed: change(values) for seed, values in self.of_seeds.items()}
        rows = [change(row) for row in self.rows]
        return replace(self, rows=rows, end=change(self.end), of_seeds=of_seeds)


def _under(part: str, row: Mapping[str, str]) -> dict[str, str]:
    return {name if name.lower() in STEPS else part + name: value for name, value in row.items()}


def rows_of(file: Path, metric: str = "") -> MetricRows:
    """Returns the rows of a file, none of an empty one. Raises `Invalid` with the path of the file.

    metric: the one that is judged, as far as the call names it.
    """
    try:
        content = read_plain(file, _MAX_BYTES)
    except NotReadableError as error:
        raise Invalid("", f"{file}: {error}") from None
    if not content.strip():
        return MetricRows([])
    if file.suffix.lower() in _OF_TABLES or file.name == PROGRESS:
        return _rows_of_table(file)
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise Invalid("", f"{file}: is no text in UTF-8") from None
    return _rows_of_json(file, text, metric)


def _rows_of_table(file: Path) -> MetricRows:
    """Returns the rows of a table. Raises `Invalid`."""
    try:
        read = read_table_file(file)
    except Invalid as error:
        raise Invalid.many(
            replace(problem, path=(), source=str(file)) for problem in error.problems
        ) from None
    return MetricRows(read.table.to_dict("records"), notes=read.notes)


def _rows_of_json(file: Path, text: str, metric: str) -> MetricRows:
    """Returns the rows of a document, of JSON lines, or of the runs that a document has inside. Raises `Invalid`."""
    try:
        try:
            document = loads(text)
        except TwiceError as error:
            raise Invalid("", f"{file}: {error}") from None
        except ValueError:
            lines = [line for line in text.split("\n") if line.strip()]
            if len(lines) < 2:
                raise
            document = [loads(line) for line in lines]
        if _depth(document) > _MAX_DEPTH:
            raise RecursionError
    except RecursionError:
        raise Invalid("", f"{file}: is nested too deeply") from None
    except ValueError as error:
        raise Invalid("", f"{file}: is neither JSON nor JSON lines: {first_line(error)}") from None
    within = runs_by_seed(document, metric)
    if within is not None:
        return _rows_of_seeds(file, *within)
    objects, end = _history_in(document)
    if not all(isinstance(each, dict) for each in objects):
        raise Invalid(
            "", f'{file}: must hold an object, or one for each step, such as {{"step": 1, "acc": 0.9}}'
        )
    rows, notes = _texts(objects, [f"{file}, object {number}" for number in range(1, len(objects) + 1)])
    (beside,), notes_beside = _texts([end], [str(file)])
    return MetricRows(rows, beside, [*notes, *notes_beside])


def _texts(objects: Sequence[object], places: Sequence[str]) -> tuple[list[dict[str, str]], list[str]]:
    """Returns the cells of nested objects as text, a row each, and what was taken for what. Raises `Invalid`."""
    rows = [flat_row(nested, place) for nested, place in zip(objects, places, strict=True)]
    if all(are_plain(row.values()) for row in rows):
        names = dict.fromkeys(itertools.chain(*rows))
        return [{name: as_text(row.get(name, "")) for name in names} for row in rows], []
    clean = cleaned(cells_of(rows, places), ",")
    return clean.table.to_dict("records"), clean.notes


def _rows_of_seeds(
    file: Path, runs: Mapping[str, Mapping[str, object]], rest: Mapping[str, object]
) -> MetricRows:
    """Returns the values of each seed, and what stands beside them in the file. Raises `Invalid`."""
    rows, notes = _texts([*runs.values()], [f"{file}, seed {seed}" for seed in runs])
    (beside,), notes_beside = _texts([rest], [str(file)])
    end = {name: value for name, value in beside.items() if name not in rows[0]}
    of_seeds = dict(zip(runs, rows, strict=True))
    return MetricRows([], end, [*notes, *notes_beside], of_seeds=of_seeds)


def _depth(document: object) -> int:
    """Returns how many objects and lists stand inside one another, up to one too many."""
    level = [document]
    for depth in range(_MAX_DEPTH + 1):
        below: list[object] = []
        for value in level:
            if isinstance(value, dict):
                below += value.values()
            elif isinstance(value, list):
                below += value
        level = below
        if not level:
            return depth
    return _MAX_DEPTH + 1


def _history_in(document: object) -> tuple[list[object], dict[str, object]]:
    """Returns an object for each step, and what stands beside them.

    Steps are the objects of a list, those of the only list of an object, those under whole numbers, the places in
    lists of one length, a list a metric, as Keras has them, or the lists of steps beside values of Sacred and ClearML.
    """
    if isinstance(document, list):
        return document, {}
    if not isinstance(document, dict):
        return [document], {}
    series = _series_in(document)
    if series:
        return _by_steps(series), {}
    lists = {name: value for name, value in document.items() if isinstance(value, list) and value}
    of_objects = [name for name, value in lists.items() if all(isinstance(each, dict) for each in value)]
    beside = {name: value for name, value in document.items() if name not in lists}
    if len(of_objects) == 1:
        return lists[of_objects[0]], beside
    if document and all(name.isdecimal() and isinstance(value, dict) for name, value in document.items()):
        return [{"step": int(name), **value} for name, value in document.items()], {}
    lengths = {len(value) for value in lists.values()}
    if lists and not of_objects and len(lengths) == 1:
        length = lengths.pop()
        return [{name: value[place] for name, value in lists.items()} for place in range(length)], beside
    return [document], {}


def _series_in(values: Mapping[str, object], prefix: str = "") -> dict[str, _Points] | None:
    """Returns the points under each dotted name of nested objects; None where anything else stands among them."""
    series: dict[str, _Points] = {}
    for name, value in values.items():
        if not isinstance(value, dict) or not value:
            return None
        points = _points_of(value)
        if points is not None:
            series[f"{prefix}{name}"] = points
            continue
        below = _series_in(value, f"{prefix}{name}.")
        if below is None:
            return None
        series |= below
    return series


def _points_of(value: Mapping[str, object]) -> _Points | None:
    """Returns the steps of an object and as many values; None of another object."""
    for name_of_steps, name_of_values in _NAMES_OF_POINTS:
        steps, values = value.get(name_of_steps), value.get(name_of_values)
        if isinstance(steps, list) and isinstance(values, list) and len(steps) == len(values):
            return steps, values
    return None


def _by_steps(series: Mapping[str, _Points]) -> list[object]:
    """Returns an object for each value of each metric, with its step."""
    rows: list[object] = []
    for name, (steps, values) in series.items():
        for step, value in zip(steps, values, strict=True):
            rows.append({"step": step, name: value})
    return rows


def settings_beside(rows: Sequence[Mapping[str, str]]) -> dict[str, str]:
    """Returns the settings that stand among results: those under a name such as `config`, seeds, and words.

    A word is a setting where it is the same in all rows.
    """
    values: dict[str, set[str]] = {}
    for row in rows:
        for name, value in row.items():
            values.setdefault(name, set()).add(value)
    settings = {}
    for name, of_rows in values.items():
        value = next(iter(of_rows))
        match = _SETTINGS.fullmatch(name)
        if len(of_rows) > 1 or value == "" or name.lower() in STATUSES:
            continue
        if match is not None:
            settings[match[1]] = value
        elif is_seed(name) or not is_number(value):
            settings[name] = value
    return settings


def numbers_in(rows: Sequence[Mapping[str, str]]) -> list[dict[str, str]]:
    """Returns the values of columns that hold a number in some row, without settings.

    Text among numbers stays: where it is judged, it is a mistake.
    """
    measured = set()
    for row in rows:
        measured |= {name for name, value in row.items() if is_number(value)}
    measured = {name for name in measured if not _SETTINGS.fullmatch(name)}
    numbers = []
    for row in rows:
        numbers.append({name: value for name, value in row.items() if name in measured and value != ""})
    return numbers


def ending_in(rows: Sequence[Mapping[str, str]], end: Mapping[str, str]) -> Ending:
    """Returns what the last row, or what stands beside the rows, says of the end of a run.

    Rows are searched from the last for one that says anything.
    """
    for fields in (end, *reversed(rows)):
        ending = ending_of_fields(fields, "")
        if ending.kind != "unknown":
            return ending
    return UNKNOWN
