"""The task that reads a user's file of data, and its columns."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ablate.base.datafile import DataFile
from ablate.tasks.files import Table, read_rows, read_table

LABELS = ("label", "class", "category", "target", "y")
WORDS = 3  # Mean number of words from which on a column holds texts.


def reading(data: Path, folder: Path, task: str | None) -> tuple[str, Mapping[str, Any]]:
    """Returns the task that a study in `folder` reads the file with, and its parameters. Raises `Invalid`.

    Not given, it is `text_pairs` for lines of two texts with a tab between them, `text_classification` or `table` for a
    table with or without a column of texts, and otherwise `text_file`.
    """
    file = DataFile(os.path.abspath(data), os.path.relpath(data, folder))
    likely = task or _likely_task(file, data.suffix.lower())
    if likely not in ("table", "text_classification"):
        return likely, {"file": file}

    table = read_table(file)
    columns = [*table.columns]
    label = _label(columns) or columns[-1]
    lengths = {column: _mean_words(table, column) for column in columns}
    has_texts = any(lengths[column] >= WORDS for column in columns if column != label)
    if task == "table" or (task is None and not has_texts):
        return "table", {"file": file, "target": label}
    features = [column for column in columns if column != label]
    text = max(features or columns, key=lambda column: lengths[column])
    return "text_classification", {"file": file, "text": text, "label": label}


def _likely_task(file: DataFile, suffix: str) -> str:
    """Returns the task that reads a file of an ending; any task of a table where that is one."""
    if suffix not in (".parquet", ".csv", ".tsv"):
        return "text_file"
    if suffix == ".tsv":
        _, cells = next(read_rows(file, "\t"))
        if len(cells) == 2 and not _label(cells):
            return "text_pairs"
    return "table"


def _label(names: Sequence[str]) -> str | None:
    """Returns the first column whose name is one of a label."""
    return next((name for name in names if name.lower() in LABELS), None)


def _mean_words(table: Table, column: str) -> float:
    """Returns the mean number of words in the first cells of a column."""
    cells = table.columns[column][:100]
    return sum(len(cell.split()) for cell in cells) / max(1, len(cells))
