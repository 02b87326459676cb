"""A DataFrame of pandas as runs: what `ablate.analyse` is given in Python."""

from __future__ import annotations

import numpy as np
import pandas as pd

from ablate.base.errors import Invalid, listed
from ablate.base.once import refusing_twice
from ablate.report.words import message
from ablate.runs.cells import cleaned
from ablate.runs.formats.shapes import shaped
from ablate.runs.formats.tables import ReadTable
from ablate.runs.options import AnalysisOptions
from ablate.runs.reader import RunsFound
from ablate.runs.summary_words import is_summary_label


def runs_in_frame(frame: pd.DataFrame, options: AnalysisOptions) -> RunsFound:
    """Returns the runs of a DataFrame of any shape that a file may have. Raises `Invalid`.

    Named levels of the index are columns. Numbers keep all their digits. NaN and None are missing values, as pandas
    has them: a run that diverged has infinity, or says so in a column `status`.
    """
    if any(name is not None for name in frame.index.names):
        taken = [str(name) for name in frame.index.names if name in frame.columns]
        if taken:
            raise Invalid("runs", "has a level of the index with the name of a column", listed(taken))
        frame = frame.reset_index()
    labels = pd.Series([*map(str, frame.index)], dtype=str)
    is_summary = is_summary_label(labels)
    notes = []
    if is_summary.any():
        notes.append(message("analyse.summary_rows", int(is_summary.sum()), labels[is_summary].tolist()))
    frame = frame[~is_summary.to_numpy()]
    names = [_name_of(name) for name in frame.columns]
    repeated = [name for name in dict.fromkeys(names) if names.count(name) > 1]
    if repeated:
        raise Invalid("runs", "must have a name for each column, and none twice", listed(repeated))
    places = [f"row {label}" for label in (frame.index if frame.index.is_unique else range(len(frame)))]
    columns = {name: _cells(frame.iloc[:, place]) for place, name in enumerate(names)}
    clean = cleaned(pd.DataFrame(columns, places, dtype=object), ",", options.baseline)
    read = ReadTable(clean.table, "a DataFrame", [*notes, *clean.notes], clean.percent)
    with refusing_twice("runs", "a DataFrame"):
        return shaped(read, options)


def _name_of(column: object) -> str:
    """Returns the name of a column, that of several levels joined by dots; a level may be empty."""
    levels = column if isinstance(column, tuple) else (column,)
    return ".".join(str(level) for level in levels if level != "")


def _cells(column: pd.Series) -> list[object]:
    """Returns the cells of a column, empty text for a missing value.

    Whole numbers that a missing value has made floats are whole.
    """
    is_missing = column.isna().tolist()
    cells = [cell.item() if isinstance(cell, np.generic) else cell for cell in column.tolist()]
    numbers = [cell for cell, missing in zip(cells, is_missing, strict=True) if not missing]
    are_whole = any(is_missing) and all(isinstance(cell, float) and cell.is_integer() for cell in numbers)
    present: list[object] = []
    for cell, missing in zip(cells, is_missing, strict=True):
        if missing:
            present.append("")
        else:
            present.append(int(cell) if are_whole else cell)
    return present
