"""The files of numbers that a trial writes below its folder, as objects by name: CSV, JSON, JSON lines, event files."""

from __future__ import annotations

import csv
import io
import json
import math
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from ablate.base.errors import AblateError
from ablate.base.event_files import Scalars, add_scalars, is_event_file, scalars_of
from ablate.base.files import NotReadableError, read_plain
from ablate.base.numerals import number_in
from ablate.base.text import printable
from ablate.core.data_parts import PART_COLUMNS, RANKS

MAX_FILE = 64_000_000
"""Bytes of a file of numbers."""
MAX_DIGITS = 300
"""Of a whole number that a float holds."""
LINES = (".jsonl", ".ndjson")
TABLES = {".csv": ",", ".tsv": "\t"}
SUFFIXES = (".json", *LINES, *TABLES)
_DECIMAL_COMMA = re.compile(r"^(-?\d+),(\d+)$")
STEPS = ("step", "global_step", "iteration", "iter", "epoch")
"""Keys that may give the step of an object, the first that it has."""


def files_below(folder: Path) -> list[list[Path]]:
    """Returns the files of numbers below a folder, those of the folder itself first, then those of each depth.

    Splits of the data that lie at several depths, such as `train/` and `eval/test/`, begin at one: neither hides the
    other. A file is of the first split that its path names.
    """
    found: list[tuple[str, int, Path]] = []
    top_of_split: dict[str, int] = {}
    for parent, folders, names in os.walk(folder):
        folders.sort()
        parts = Path(parent).relative_to(folder).parts
        depth = len(parts)
        split = next((part.lower() for part in parts if part.lower() in RANKS), "")
        # At the top, what is no file is refused when it is read. Below, links lead to files of the study.
        names = (
            [*names, *folders]
            if depth == 0
            else [name for name in names if not os.path.islink(f"{parent}/{name}")]
        )
        files = [Path(parent, name) for name in sorted(names) if _has_numbers(name)]
        found += [(split, depth, file) for file in files]
        if files and split:
            top_of_split[split] = min(depth, top_of_split.get(split, depth))
    top = min(top_of_split.values(), default=0)
    by_depth: dict[int, list[Path]] = {0: []}
    for split, depth, file in found:
        by_depth.setdefault(depth - top_of_split.get(split, top) + top, []).append(file)
    return [by_depth[depth] for depth in sorted(by_depth)]


def _has_numbers(name: str) -> bool:
    """Returns whether a file has numbers that are read, by its name."""
    return name.lower().endswith(SUFFIXES) or is_event_file(name)


def mentions(content: bytes, names: Sequence[str]) -> bool:
    """Returns whether a content has the last part of one of these names: `f1` of `test.f1`."""
    return any(name.rpartition(".")[2].encode() in content for name in names)


def content_of(file: Path) -> bytes:
    """Returns the content of a file. Raises `AblateError`."""
    try:
        return read_plain(file, MAX_FILE)
    except NotReadableError as error:
        raise AblateError(f"{printable(file.name)} {error}") from None


def objects_of(file: Path, content: bytes, names: Sequence[str]) -> Iterator[Mapping[str, Any]]:
    """Yields the objects of a file: its rows, its lines or itself, and of a list each of its objects.

    names: those of which an object may have one value alone. Raises `AblateError`, also for two values of one at one
    step of which a column such as `split` says that they are of several parts of the data.
    """
    seen: dict[tuple[str, str], _Value] = {}
    for entry in _objects_in(file, content, names):
        _refuse_other_part(entry, names, seen, printable(file.name))
        yield entry


@dataclass(frozen=True)
class _Value:
    """A value of a metric, with the part of the data that it is of."""

    value: object
    part: Mapping[str, object]

    def __str__(self) -> str:
        said = ", ".join(f"{name}={printable(str(part))}" for name, part in self.part.items())
        return f"{printable(str(self.value))} with {said}"


def _refuse_other_part(
    entry: Mapping[str, Any], names: Sequence[str], seen: dict[tuple[str, str], _Value], source: str
) -> None:
    """Adds the values of an object to those seen, and raises `AblateError` for one of another part at the same step."""
    part = {
        name: value for name, value in entry.items() if name.lower() in PART_COLUMNS and name not in names
    }
    if not part:
        return
    step = " ".join(str(entry[name]) for name in STEPS if name in entry)
    for name in names:
        value = value_at(entry, name)
        if value is None or name in STEPS:
            continue
        read = _Value(value, part)
        before = seen.setdefault((name, step), read)
        if before.part.keys() == part.keys() and before.part != part and before.value != value:
            raise AblateError(
                f"{name} has two values in {source} at one step: {before}, and {read}; write the one that counts under "
                "a name of its own, or in a file without the other"
            )


def _objects_in(file: Path, content: bytes, names: Sequence[str]) -> Iterator[Mapping[str, Any]]:
    """Yields the objects of a file. Raises `AblateError`."""
    suffix = file.suffix.lower()
    if suffix in TABLES:
        yield from _rows(content, TABLES[suffix])
        return
    documents = _documents(content, suffix)
    for document in documents:
        value = parsed(document, printable(file.name), names)
        for each in value if isinstance(value, list) else [value]:
            if isinstance(each, dict):
                is_line = suffix in LINES or len(documents) > 1
                yield each if is_line else without_columns(each, _is_of_history(file.stem))


def _documents(content: bytes, suffix: str) -> list[str]:
    """Returns the texts of JSON in a file: its lines, also where it is named `.json`, or the whole file."""
    text = content.decode(json.detect_encoding(content), errors="replace")
    lines = [line for line in text.split("\n") if line.strip()]
    if suffix in LINES:
        return lines
    with suppress(ValueError, RecursionError):
        # As the `result.json` of Ray Tune.
        if len(lines) > 1 and isinstance(json.loads(lines[0]), dict):
            return lines
    return [text]


def histories_of(file: Path, content: bytes) -> Iterator[Mapping[str, Any]]:
    """Yields the rows of the histories in an object of JSON, such as the `log_history` of Hugging Face.

    A history is a list of objects with a step, or lists of numbers under names, one of them the steps; that of Keras
    has none, and is known by its name. Raises `AblateError`.
    """
    suffix = file.suffix.lower()
    documents = _documents(content, suffix) if suffix == ".json" else []
    document = parsed(documents[0], printable(file.name), ()) if len(documents) == 1 else None
    if not isinstance(document, dict):
        return
    yield from _rows_of_columns(document, _is_of_history(file.stem))
    for value in document.values():
        rows = value if isinstance(value, list) else ()
        for row in rows:
            if isinstance(row, dict) and _step_column(row):
                yield row


def without_columns(entry: Mapping[str, Any], is_history: bool) -> dict[str, Any]:
    """Returns an object without the lists that are columns of a history, at any depth."""
    columns = _columns(entry, is_history)
    plain: dict[str, Any] = {}
    for name, value in entry.items():
        if name not in columns:
            is_section = isinstance(value, Mapping)
            plain[name] = without_columns(value, is_history or _is_of_history(name)) if is_section else value
    return plain


def _rows_of_columns(
    entry: Mapping[str, Any], is_history: bool, prefix: str = ""
) -> Iterator[dict[str, Any]]:
    """Yields the values of the columns of histories, each with its step, under dotted names and under their own."""
    columns = _columns(entry, is_history)
    steps = columns.get(_step_column(columns), [])
    for name, values in columns.items():
        for index, value in enumerate(values):
            step = steps[index] if len(steps) == len(values) else index + 1
            if value is not None:
                yield {STEPS[0]: step, name: value, f"{prefix}{name}": value}
    for name, value in entry.items():
        if isinstance(value, Mapping):
            yield from _rows_of_columns(value, is_history or _is_of_history(name), f"{prefix}{name}.")


def _columns(entry: Mapping[str, Any], is_history: bool) -> dict[str, list[Any]]:
    """Returns name → values of the lists of numbers of an object that is a history; else nothing."""
    columns: dict[str, list[Any]] = {}
    for name, value in entry.items():
        if isinstance(value, list) and value and all(item is None or is_number(item) for item in value):
            columns[name] = value
    return columns if is_history or _step_column(columns) else {}


def _step_column(names: Iterable[str]) -> str:
    """Returns the one of some names that gives steps; empty where none does."""
    return next((name for name in STEPS if name in names), "")


def _is_of_history(name: str) -> bool:
    """Returns whether a name is that of a history."""
    return "history" in name.lower()


def scalars_below(files: Sequence[Path], folder: Path) -> Scalars:
    """Returns the scalars of event files, under their names and, in folders, under `validation/loss`, too.

    Raises `Invalid`.
    """
    by_folder: dict[Path, Scalars] = {}
    for file in files:
        add_scalars(by_folder.setdefault(file.parent, {}), scalars_of(file, {}))
    scalars: Scalars = {}
    for place, of_folder in by_folder.items():
        for name, values in of_folder.items():
            scalars.setdefault(name, values)
            if place != folder:
                scalars[f"{place.name}/{name}"] = values
    return scalars


def _rows(content: bytes, separator: str) -> Iterator[dict[str, str]]:
    """Yields the rows of a table with a header, each without its empty cells."""
    lines = content.decode("utf-8-sig", errors="replace").splitlines(keepends=True)
    while lines and lines[0].startswith("#"):
        del lines[0]
    head = lines[0] if lines else ""
    has_commas = separator == "," and ";" in head and "," not in head
    table = csv.reader(io.StringIO("".join(lines), newline=""), delimiter=";" if has_commas else separator)
    header = next(table, [])
    for row in table:
        cells = [cell.strip() for cell in row]
        if has_commas:
            cells = [_DECIMAL_COMMA.sub(r"\1.\2", cell) for cell in cells]
        yield {name.strip(): cell for name, cell in zip(header, cells, strict=False) if cell}


def parsed(text: str, source: str, names: Sequence[str]) -> Any:
    """Returns the value of a text of JSON. Raises `AblateError` for no JSON, and for two values of one of the names."""

    def object_of(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        known = [name for name, _ in pairs if name in names]
        if len(known) > len({*known}):
            raise ValueError("a name has two values in one object")
        return dict(pairs)

    try:
        return json.loads(text, parse_int=_whole_number, object_pairs_hook=object_of)
    except (ValueError, RecursionError) as error:
        raise AblateError(f"{source} cannot be read as JSON: {error}") from None


def value_at(found: Mapping[str, Any], name: str) -> object:
    """Returns the value of a name: of the key, or by its dots of keys within one another; None where there is none."""
    if name in found:
        return found[name]
    value: object = found
    for key in name.split("."):
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def places_of(metric: str, folder: Path, files: Iterable[Path]) -> list[str]:
    """Returns where files below a folder have a number that may be a metric: `eval.f1 in results.json`."""
    leaf = metric.rpartition(".")[2].rpartition("/")[2].lower()
    places: dict[str, None] = {}
    for file in files:
        with suppress(AblateError, OSError, ImportError):
            for name in _names_in(file):
                if leaf in name.lower():
                    places[f"{printable(name)} in {printable(os.path.relpath(file, folder))}"] = None
    return list(places)


def _names_in(file: Path) -> Iterator[str]:
    """Yields the names of the numbers of a file; of what is none nothing. Raises `AblateError`."""
    if is_event_file(file.name):
        for _, name, _ in scalars_of(file, {}):
            yield name
    elif _has_numbers(file.name):
        content = content_of(file)
        for entry in chain(objects_of(file, content, ()), histories_of(file, content)):
            yield from _numbers(entry)


def _numbers(entry: Mapping[str, Any], prefix: str = "") -> Iterator[str]:
    """Yields the dotted names of the numbers of an object."""
    for name, value in entry.items():
        if isinstance(value, Mapping):
            yield from _numbers(value, f"{prefix}{name}.")
        elif is_number(value):
            yield f"{prefix}{name}"


def is_number(value: object) -> bool:
    """Returns whether a value is a number, or a text of one."""
    if isinstance(value, str):
        return number_in(value.removesuffix("%")) is not None
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _whole_number(digits: str) -> float:
    """Returns a whole number of JSON; of a number beyond all floats an infinite one, as of `1e999`."""
    return int(digits) if len(digits) <= MAX_DIGITS else float(digits)
