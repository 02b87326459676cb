"""Runs known again by what they are, whatever a call asks of them and wherever they lie: digests of rows, of files."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from ablate.base.files import digest_of, digest_of_data, digest_of_file
from ablate.runs.cells import is_number, number_in

MOST_KEPT = 400
"""The most digests of one analysis that are kept: the smallest, which two tables that share rows share too."""
LEAST_SHARED = 2
"""The fewest digests by which two analyses are of the same runs."""


def digests_of_rows(table: pd.DataFrame) -> list[str]:
    """Returns the distinct digests of the rows of a table of text, sorted.

    Numbers count by their value, empty cells not at all, and columns by their names, in any order.
    """
    sums = np.zeros(len(table), dtype=np.uint64)
    for place, name in enumerate(table.columns):
        codes, cells = pd.factorize(table.iloc[:, place].astype(str))
        values = np.array([_number_of(str(name), str(cell)) for cell in cells], dtype=np.uint64)
        sums += values[codes]
    return sorted({f"{int(total):016x}" for total in sums})


def digest_of_files(files: Iterable[Path]) -> str:
    """Returns the digest of the contents of the files of one run, in their order. Raises `AblateError`."""
    return digest_of_data([digest_of_file(str(file)) for file in files])[:16]


def sample_of(content: Iterable[str]) -> list[str]:
    """Returns the smallest of the digests of a table's runs, which stand for all of them."""
    return sorted({*content})[:MOST_KEPT]


def share_runs(one: Sequence[str], other: Sequence[str]) -> bool:
    """Returns whether the runs of two samples are the same, or some of them are."""
    return len({*one} & {*other}) >= min(LEAST_SHARED, len(one), len(other))


def _number_of(name: str, cell: str) -> int:
    """Returns a number that stands for a cell and its column; 0 for an empty cell."""
    text = cell.strip()
    if not text:
        return 0
    if is_number(text):
        text = repr(float(number_in(text)))
    return int(digest_of(f"{name}={text}".encode())[:16], 16)
