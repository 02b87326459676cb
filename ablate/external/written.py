"""The files of numbers that a trial writes below its folder: CSV, JSON and JSON lines, as objects by name."""

from __future__ import annotations

import csv
import io
import json
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from ablate.base.errors import AblateError
from ablate.base.files import NotReadableError, read_plain
from ablate.base.text import printable
from ablate.core.data_parts import PART_COLUMNS, RANKS

MAX_FILE = 64_000_000
"""Bytes of a file of numbers."""
MAX_DIGITS = 300
"""Of a whole number that a float holds."""
LINES = (".jsonl", ".ndjson")
TABLES = {".csv": ",", ".tsv": "\t"}
SUFFIXES = (".json", *LINES, *TABLES)
STEPS = ("step", "global_step", "iteration", "iter", "epoch")
"""Keys that may give the step of an object, the first that it has."""


def files_below(folder: Path) -> list[list[Path]]:
    """Returns the files of numbers below a folder, those of the folder itself first, then those of each depth.

    Splits of the data that lie at several depths, such as `train/` and `eval/test/`, begin at one: neither hides the
    other.
    """
    found: list[tuple[str, int, Path]] = []
    starts: dict[str, int] = {}
    for parent, folders, names in os.walk(folder):
        folders.sort()
        parts = Path(parent).relative_to(folder).parts
        depth = len(parts)
        split = next((part.lower() for part in parts if part.lower() in RANKS), "")
        # What is no file is refused when it is read; beside the copy of a script lie links to the files of the study.
        names = (
            [*names, *folders]
            if depth == 0
            else [name for name in names if not os.path.islink(f"{parent}/{name}")]
        )
        files = [Path(parent, name) for name in sorted(names) if name.lower().endswith(SUFFIXES)]
        found += [(split, depth, file) for file in files]
        if files and split:
            starts[split] = min(depth, starts.get(split, depth))
    first = min(starts.values(), default=0)
    by_depth: dict[int, list[Path]] = {0: []}
    for split, depth, file in found:
        by_depth.setdefault(depth - starts.get(split, first) + first, []).append(file)
    return [by_depth[depth] for depth in sorted(by_depth)]


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
    text = content.decode(json.detect_encoding(content), errors="replace")
    for part in (line for line in text.split("\n") if line.strip()) if suffix in LINES else (text,):
        value = parsed(part, printable(file.name), names)
        for each in value if isinstance(value, list) else [value]:
            if isinstance(each, dict):
                yield each


def _rows(content: bytes, separator: str) -> Iterator[dict[str, str]]:
    """Yields the rows of a table with a header, each without its empty cells."""
    table = csv.reader(
        io.StringIO(content.decode("utf-8-sig", errors="replace"), newline=""), delimiter=separator
    )
    header = next(table, [])
    for row in table:
        yield {name.strip(): cell.strip() for name, cell in zip(header, row, strict=False) if cell.strip()}


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


def places_of(metric: str, folder: Path) -> list[str]:
    """Returns where the files below a folder have a number that may be a metric: `eval.f1 in results.json`."""
    leaf = metric.rpartition(".")[2].rpartition("/")[2].lower()
    places: dict[str, None] = {}
    for file in chain.from_iterable(files_below(folder)):
        with suppress(AblateError, OSError):
            for entry in objects_of(file, content_of(file), ()):
                for name in _numbers(entry):
                    if leaf in name.lower():
                        places[f"{printable(name)} in {printable(os.path.relpath(file, folder))}"] = None
    return list(places)


def _numbers(entry: Mapping[str, Any], prefix: str = "") -> Iterator[str]:
    """Yields the dotted names of the numbers of an object."""
    for name, value in entry.items():
        if isinstance(value, Mapping):
            yield from _numbers(value, f"{prefix}{name}.")
        elif is_number(value):
            yield f"{prefix}{name}"


def is_number(value: object) -> bool:
    """Returns whether a value is a number, or a text of one."""
    try:
        return not isinstance(value, bool) and value is not None and math.isfinite(float(value))  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return False


def _whole_number(digits: str) -> float:
    """Returns a whole number of JSON; of a number beyond all floats an infinite one, as of `1e999`."""
    return int(digits) if len(digits) <= MAX_DIGITS else float(digits)
