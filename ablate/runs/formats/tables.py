"""Files of tables: text in columns, JSON, JSON lines and parquet, as pandas reads them; every cell is text."""

from __future__ import annotations

import csv
import gzip
import io
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pandas as pd

from ablate.base.errors import Invalid, listed
from ablate.base.files import NotReadableError, read_plain
from ablate.base.once import TwiceError, loads, put_once
from ablate.base.text import first_line
from ablate.report.words import message
from ablate.runs.cells import as_text, cleaned, is_cut
from ablate.runs.formats.flat_objects import cells_of
from ablate.runs.formats.json_documents import Records, records_of, value_at
from ablate.runs.formats.json_summaries import runs_of_document
from ablate.runs.formats.lists_in_records import unfolded
from ablate.runs.formats.text_tables import lines_of_table
from ablate.runs.options import AnalysisOptions
from ablate.runs.roles import NAMES_OF_VARIANTS, STEPS
from ablate.runs.settings import is_seed
from ablate.runs.summary_words import is_summary_label

NO_OPTIONS = AnalysisOptions()
_MAX_BYTES = 2**30
_GZIP = b"\x1f\x8b"
_AS_CSV = "Save the table as CSV in UTF-8"
_MEANS_AS_CSV = (
    f"{_AS_CSV}, with means, deviations and numbers of runs in columns such as acc_mean, acc_std and n"
)
_NO_TABLES = {
    b"PK\x03\x04": ("a spreadsheet or another archive", _AS_CSV),
    b"\xd0\xcf\x11\xe0": ("a spreadsheet", _AS_CSV),
    b"\x93NUMPY": ("an array of NumPy", _AS_CSV),
    b"\x80": ("a pickle, which is never read, since it may run code", _AS_CSV),
    b"%PDF": ("a PDF", _MEANS_AS_CSV),
    b"\\documentclass": ("a text in LaTeX", _MEANS_AS_CSV),
    b"\\begin{": ("a table in LaTeX", _MEANS_AS_CSV),
    b"<!DOCTYPE": ("a page of HTML", _AS_CSV),
    b"<html": ("a page of HTML", _AS_CSV),
}
"""How files begin that hold tables in a format that is not read → what they are, and what to do."""
_NO_JSON = {".yaml": "YAML", ".yml": "YAML", ".toml": "TOML"}
"""Endings of files whose names of variants, seeds and metrics stand within one another, as in JSON → what they are."""
_OF_NOTEBOOK = {"cells", "nbformat"}
_MAX_CELLS = 20_000_000
_ROWS_AT_ONCE = 4096
"""The rows of a parquet file that are unpacked before their size is looked at."""


@dataclass(frozen=True)
class ReadTable:
    """A table as its file has it. The index says where each row stands; a cell without a value is empty text."""

    table: pd.DataFrame
    kind: str
    """What the file is, in words: `a table`, `JSON lines`."""
    notes: list[str] = field(default_factory=list)
    percent: Sequence[str] = ()
    """The columns whose percent signs were left out."""
    shared: Mapping[str, str] = field(default_factory=dict)
    """The plain values that stand in a document beside its list of runs, and hold for all of them."""


def read_table_file(path: Path, options: AnalysisOptions = NO_OPTIONS) -> ReadTable:
    """Returns the table of a file, which is told by its content. Raises `Invalid`.

    options: those of the call, by which names and values are told apart.
    """
    try:
        content = read_plain(path, _MAX_BYTES)
    except NotReadableError as error:
        raise Invalid("RUNS", str(error), str(path)) from None
    if content.startswith(_GZIP):
        content = _unpacked(path, content)
    if content.startswith(b"PAR1"):
        return _from_parquet(path, content, options.baseline)
    for beginning, (what, remedy) in _NO_TABLES.items():
        if content.lstrip()[: len(beginning)] == beginning:
            raise Invalid("RUNS", f"is {what}", str(path), hint=remedy)
    text = _text_of(path, content)
    if not text.strip():
        raise Invalid("RUNS", "is empty", str(path))
    if text.lstrip()[0] in "[{":
        return _from_json(path, text, options)
    if path.suffix.lower() in _NO_JSON:
        hint = "Save it as JSON, with the same names within one another"
        raise Invalid("RUNS", f"is {_NO_JSON[path.suffix.lower()]}", str(path), hint=hint)
    return _from_columns(path, text, options.baseline)


def _unpacked(path: Path, content: bytes) -> bytes:
    """Returns what gzip has compressed. Raises `Invalid`."""
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(content)) as file:
            unpacked = file.read(_MAX_BYTES + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise Invalid("RUNS", f"cannot be unpacked: {first_line(error)}", str(path)) from None
    if len(unpacked) > _MAX_BYTES:
        raise Invalid("RUNS", f"unpacks to more than {_MAX_BYTES:,} bytes", str(path))
    return unpacked


def _text_of(path: Path, content: bytes) -> str:
    """Returns the text of a file, in UTF-8, or in UTF-16 where a byte order mark says so. Raises `Invalid`."""
    encoding = "utf-16" if content[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    try:
        return content.decode(encoding).replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError as error:
        line = 1 + content.count(b"\n", 0, error.start)
        rule = f"is neither text in UTF-8 nor parquet: line {line} has the byte 0x{content[error.start]:02x}"
        raise Invalid("RUNS", rule, str(path), hint="Save the table as CSV in UTF-8") from None


def _from_columns(path: Path, text: str, baseline: str) -> ReadTable:
    """Returns a table of text whose first line that is no comment names the columns. Raises `Invalid`."""
    lines = lines_of_table(str(path), text)
    kept = lines.numbered
    notes = [*lines.notes]
    rows = _rows(path, kept, lines.delimiter)
    if not text.endswith("\n") and is_cut(rows[-1][-1], [row[-1] for row in rows[1:-1]]):
        notes.append(message("analyse.cut_number", f"{path}, line {kept[-1][0]}", rows[-1][-1]))
        rows = _without_cut_number(rows)
    names = [name.strip() for name in rows[0]]
    _check_header(path, names)
    # A cell in quotation marks may take several lines, so that rows and lines differ.
    is_a_line_each = len(rows) == len(kept)
    places = [
        f"{path}, line {kept[row][0]}" if is_a_line_each else f"{path}, row {row}"
        for row in range(1, len(rows))
    ]
    table = pd.DataFrame(rows[1:], index=places, columns=names, dtype=str)
    if names[0] in ("", "Unnamed: 0"):
        labels = table.iloc[:, 0]
        is_summary = is_summary_label(labels)
        table = table.loc[~is_summary].iloc[:, 1:]
        if is_summary.any():
            notes.append(message("analyse.summary_rows", int(is_summary.sum()), labels[is_summary].tolist()))
        notes.append(message("analyse.index_column"))
    clean = cleaned(table, lines.delimiter, baseline)
    return ReadTable(clean.table, "a table", [*notes, *clean.notes], clean.percent)


def _rows(path: Path, numbered: Sequence[tuple[int, str]], delimiter: str) -> list[list[str]]:
    """Returns the cells of each row of lines with their numbers, as many as the header has. Raises `Invalid`."""
    rows: list[list[str]] = []
    lines = [line for _, line in numbered]
    csv.field_size_limit(_MAX_BYTES)
    # Marks inside of a cell belong to it: `"tuned" lr`. An open one would take the lines below it for its cell.
    are_closed = all(line.count('"') % 2 == 0 for line in lines)
    for quoting in (csv.QUOTE_MINIMAL, csv.QUOTE_NONE):
        try:
            rows = list(csv.reader(lines, delimiter=delimiter, quoting=quoting, strict=True))
        except csv.Error as error:
            if quoting == csv.QUOTE_MINIMAL and are_closed:
                continue
            raise Invalid("RUNS", f"is no table: {error}", str(path)) from None
        break
    width = len(rows[0])
    # Spreadsheets end lines with empty cells.
    rows = [row[:width] if not any(row[width:]) else row for row in rows]
    for number, row in enumerate(rows):
        if len(row) != width:
            place = f"line {numbered[number][0]}" if len(rows) == len(lines) else f"row {number}"
            rule = f"has {len(row)} cells, and the header has {width}"
            raise Invalid(f"{path}, {place}", rule, listed(map(repr, row), 6))
    return _without_empty_ends(rows)


def _without_empty_ends(rows: list[list[str]]) -> list[list[str]]:
    """Returns rows without the last columns that have neither a name nor a cell."""
    width = len(rows[0])
    while width > 1 and not any(row[width - 1].strip() for row in rows):
        width -= 1
    return [row[:width] for row in rows]


def _without_cut_number(rows: list[list[str]]) -> list[list[str]]:
    """Returns rows without the last one, where it is a step after others; else without its last number."""
    is_history = any(name.strip().lower() in STEPS for name in rows[0])
    if is_history and len(rows) > 2:
        return rows[:-1]
    return [*rows[:-1], [*rows[-1][:-1], ""]]


def _check_header(path: Path, names: list[str]) -> None:
    """Raises `Invalid` for a header that lacks a name, but for the first, or has one twice."""
    repeated = [name for name in dict.fromkeys(names) if names.count(name) > 1]
    if "" in names[1:] or repeated:
        rule = "must have a header that names each column, and none twice"
        hint = "Of several lines of headers make one, such as acc.base"
        raise Invalid("RUNS", rule, listed(map(repr, names)), hint=hint)


def _from_parquet(path: Path, content: bytes, baseline: str) -> ReadTable:
    """Returns the table of a parquet file. Raises `Invalid`."""
    import pyarrow.parquet  # Readers of text need not wait for it.

    try:
        file = pyarrow.parquet.ParquetFile(io.BytesIO(content))
        num_cells = file.metadata.num_rows * file.metadata.num_columns
        if num_cells > _MAX_CELLS:
            raise Invalid(
                "RUNS", f"has {num_cells:,} cells, of which at most {_MAX_CELLS:,} are read", str(path)
            )
        batches = []
        num_bytes = 0
        for batch in file.iter_batches(_ROWS_AT_ONCE):
            batches.append(batch)
            num_bytes += batch.nbytes
            if num_bytes > _MAX_BYTES:
                raise Invalid("RUNS", f"unpacks to more than {_MAX_BYTES:,} bytes", str(path))
        found = pyarrow.Table.from_batches(batches, file.schema_arrow)
    except (pyarrow.ArrowException, OSError) as error:
        raise Invalid(
            "RUNS", f"is no parquet file that can be read: {first_line(error)}", str(path)
        ) from None
    columns: dict[str, list[object]] = {}
    for name, cells in zip(found.column_names, found.columns, strict=True):
        put_once(columns, name, cells.to_pylist())
    places = [f"{path}, row {row + 1}" for row in range(found.num_rows)]
    clean = cleaned(pd.DataFrame(columns, places, dtype=object), "", baseline)
    return ReadTable(clean.table, "a parquet file", clean.notes, clean.percent)


def _from_json(path: Path, text: str, options: AnalysisOptions) -> ReadTable:
    """Returns the objects of JSON lines, or of one document, a row each; nested keys are joined by dots.

    Raises `Invalid`.
    """
    notes: list[str] = []
    shared: dict[str, str] = {}
    try:
        document = loads(text)
    except TwiceError:
        raise
    except (ValueError, RecursionError):
        kind = "JSON lines"
        places, objects = _objects_in_lines(path, text)
        places, objects = _with_first_line(places, objects, options.metric)
        records = Records(objects)
    else:
        kind = "JSON"
        if isinstance(document, dict) and document.keys() >= _OF_NOTEBOOK:
            hint = 'Let a cell write its table, as frame.to_csv("runs.csv"), or judge it: ablate.analyse(frame, …)'
            raise Invalid("RUNS", "is a notebook", str(path), hint=hint)
        found = runs_of_document(document, options.baseline)
        notes += [message("analyse.summary_keys", [*found.left_out])] if found.left_out else []
        records = records_of(found.document, options)
        says_seeds = is_seed(path.stem) or is_seed(found.name)
        records = replace(records, beside={**found.beside, **records.beside}, are_of_seeds=says_seeds)
        notes += records.notes
        beside = [name for name in records.passed_over if name not in records.beside]
        notes += [message("analyse.passed_over_beside", beside)] if beside else []
        shared = {name: as_text(value) for name, value in records.shared.items()}
        places = [f"{path}, object {number}" for number in range(1, len(records.objects) + 1)]
    wrong = [place for place, each in zip(places, records.objects, strict=True) if not isinstance(each, dict)]
    if wrong or not records.objects:
        rule = 'must hold an object for each run, such as {"variant": "a", "seed": 0, "acc": 0.9}'
        raise Invalid("RUNS", rule, listed(wrong, 3) if wrong else "none")
    runs = unfolded(records, places, options)
    clean = cleaned(cells_of(runs.rows, runs.places), "", options.baseline)
    return ReadTable(clean.table, kind, [*notes, *runs.notes, *clean.notes], clean.percent, shared)


def _with_first_line(places: list[str], objects: list[object], metric: str) -> tuple[list[str], list[object]]:
    """Returns the lines below one that alone says the seed or variant of all, each with what that line says."""
    first, *others = objects
    if not others or not isinstance(first, dict) or value_at(first, metric) is not None:
        return places, objects
    names: set[str] = set()
    for each in others:
        names |= {*each} if isinstance(each, dict) else set()
    own = {name: value for name, value in first.items() if name not in names}
    if not any(is_seed(name) or name in NAMES_OF_VARIANTS for name in own):
        return places, objects
    return places[1:], [{**own, **each} if isinstance(each, dict) else each for each in others]


def _objects_in_lines(path: Path, text: str) -> tuple[list[str], list[object]]:
    """Returns the places of the lines of a text that are not blank, and the JSON of each. Raises `Invalid`."""
    places = []
    objects = []
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            objects.append(loads(line))
        except TwiceError as error:
            raise Invalid(f"{path}, line {number}", str(error)) from None
        except (ValueError, RecursionError) as error:
            rule = f"is neither JSON nor JSON lines: line {number}: {first_line(error)}"
            raise Invalid("RUNS", rule, line[:60]) from None
        places.append(f"{path}, line {number}")
    return places, objects
