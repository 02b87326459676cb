"""Which task reads a user's file of data, and with which columns."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ablate.base.datafile import DataFile
from ablate.tasks.files import Table, read_rows, read_table

LABELS = ("label", "class", "category", "target", "y")
WORDS = 3  # Mean number of words from which on a column holds texts.


def reading(data: Path, folder: Path, task: str | None) -> tuple[str, Mapping[str, Any]]:
    """The task that a study in `folder` reads the file with, and its parameters; raises `Invalid`.

    Not given, it is `text_pairs` for lines of two texts with a tab between them, `text_classification` or `table` for a
    table with or without a column of texts, and otherwise `text_file`.
    """
    file = DataFile(os.path.abspath(data), os.path.relpath(data, folder))
    given, suffix = {"file": file}, data.suffix.lower()
    found = {".parquet": "table", ".csv": "table", ".tsv": "table"}.get(suffix, "text_file")
    if (
        suffix == ".tsv"
        and (first := next(read_rows(file, "\t"))[1])
        and len(first) == 2
        and not _label(first)
    ):
        found = "text_pairs"
    if (task or found) not in ("table", "text_classification"):
        return task or found, given
    table = read_table(file)
    columns = [*table.columns]
    label = _label(columns) or columns[-1]
    texts = [name for name in columns if name != label and _words(table, name) >= WORDS]
    if task == "table" or (task is None and not texts):
        return "table", {**given, "target": label}
    text = max(texts or columns, key=lambda name: (name != label, _words(table, name)))
    return "text_classification", {**given, "text": text, "label": label}


def _label(names: Sequence[str]) -> str | None:
    return next((name for name in names if name.lower() in LABELS), None)


def _words(table: Table, name: str) -> float:
    cells = table.columns[name][:100]
    return sum(len(cell.split()) for cell in cells) / max(1, len(cells))
