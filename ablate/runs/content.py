"""Runs known again by what they are, whatever a call asks of them and wherever they lie: digests of rows, of files.

Rows and files are the same where all that they hold is: names of variants, settings, numbers. Rounded accuracies of two
studies that have nothing in common are often equal, row for row, so that as many rows must be shared as chance does not
share. Where columns or variants were renamed, columns added, or fractions turned into percent, no row is the same, and
the numbers tell, as far as they have digits enough.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Protocol

import numpy as np
import pandas as pd
from scipy import special

from ablate.analysis.equal_values import Codes, chance_of_equal, pooled_sd
from ablate.analysis.grid import grid_step
from ablate.analysis.paired import Floats
from ablate.base.files import digest_of, digest_of_data, digest_of_file
from ablate.runs.cells import is_number, number_in

MOST_KEPT = 400
"""The most digests of one analysis that are kept: the smallest, which two tables that share rows share too."""
LEAST_SHARED = 2
"""The fewest digests by which two analyses are of the same runs."""
_RARE = 0.005
"""The probability of as many equal rows below which chance is no reason."""
_DENSE = 0.05
"""The share of the steps of a grid that are taken, above which other runs have the same numbers by chance."""
_DIGITS = 9
"""The decimals of the first digit of a number that count."""


def digests_of_rows(table: pd.DataFrame) -> list[str]:
    """Returns the distinct digests of the rows of a table of text, sorted.

    Numbers count by their value, empty cells not at all, and columns by their names, in any order.
    """
    return sorted({*_digest_of_each_row(table)})


def digest_of_judged(rows: pd.DataFrame, *, has_seeds: bool) -> str:
    """Returns the digest of what is judged of a table of runs, the same whatever columns stand beside it.

    rows: as those of `RunTable`.
    """
    places = ["id"] if has_seeds else ["id", "seed"]  # Without seeds, `seed` numbers the rows as they stand.
    counting = rows["ended"].map(lambda ending: ending.what_counts)
    judged = rows.drop(columns=places).assign(ended=counting)
    return digest_of_data(sorted(_digest_of_each_row(judged)))[:16]


def _digest_of_each_row(table: pd.DataFrame) -> list[str]:
    """Returns the digest of each row of a table, in the order of the rows."""
    sums = np.zeros(len(table), dtype=np.uint64)
    for place, name in enumerate(table.columns):
        codes, cells = pd.factorize(table.iloc[:, place].astype(str))
        values = np.array([_number_of(str(name), str(cell)) for cell in cells], dtype=np.uint64)
        sums += values[codes]
    return [f"{int(total):016x}" for total in sums]


def digest_of_files(files: Iterable[Path]) -> str:
    """Returns the digest of the contents of the files of one run, in their order. Raises `AblateError`."""
    return digest_of_data([digest_of_file(str(file)) for file in files])[:16]


def sample_of(content: Iterable[str]) -> list[str]:
    """Returns the smallest of the digests of a table's runs, which stand for all of them."""
    return sorted({*content})[:MOST_KEPT]


class Content(Protocol):
    """What the runs of one analysis are known by."""

    @property
    def runs(self) -> Sequence[str]:
        """A sample of the digests of its rows or files."""

    @property
    def row_chance(self) -> float:
        """The probability that a row is equal to that of other runs with the same names and seeds."""

    @property
    def numbers(self) -> Sequence[str]:
        """A sample of the digests of its measured numbers."""


def share_runs(one: Content, other: Content) -> bool:
    """Returns whether the runs of two analyses are the same, or some of them are, by more than chance."""
    return _share_rows(one, other) or _share_numbers(one, other)


def _share_rows(one: Content, other: Content) -> bool:
    """Returns whether two analyses have all rows in common, or more of them than chance makes equal."""
    num_shared = len({*one.runs} & {*other.runs})
    num_rows = min(len(one.runs), len(other.runs))
    if num_shared < min(LEAST_SHARED, num_rows):
        return False
    if {*one.runs} == {*other.runs}:
        return True
    chance = max(one.row_chance, other.row_chance)
    return float(special.betainc(num_shared, num_rows - num_shared + 1, chance)) < _RARE


def _share_numbers(one: Content, other: Content) -> bool:
    """Returns whether two analyses have half of the numbers of either in common."""
    num_shared = len({*one.numbers} & {*other.numbers})
    return num_shared >= max(LEAST_SHARED, min(len(one.numbers), len(other.numbers)) / 2)


def digests_of_numbers(table: pd.DataFrame) -> list[str]:
    """Returns a sample of the digests of the numbers in a table of text that are too fine to be equal by chance.

    Numbers count by their digits, without a column, a sign or a power of ten: fractions are the same as percent.
    """
    digests: set[str] = set()
    for values in _measured(table).values():
        distinct = np.unique(np.abs(values[values != 0]))
        if len(distinct) * grid_step(values) <= _DENSE * float(np.ptp(values)):
            digests |= digests_of_values(distinct)
    return sample_of(digests)


def digests_of_values(values: Floats) -> set[str]:
    """Returns the digests of finite numbers by their digits."""
    distinct = np.unique(np.abs(values[values != 0]))
    exponents = np.floor(np.log10(distinct))
    digits = np.rint(distinct / 10**exponents * 10.0**_DIGITS).astype(np.int64)
    return {f"{int(number):016x}" for number in pd.util.hash_array(digits)}


def row_chance(table: pd.DataFrame) -> float:
    """Returns the probability that a row equals, by chance, a row of other runs with the same names and seeds.

    Runs are taken as normal; see `equal_values`. Of several numbers the finest counts alone, since they depend on one
    another. Of standard deviations, the smallest within the groups of any column is taken. Whole numbers, such as seeds
    and counts, may be equal in all runs.
    """
    chance = 1.0
    labels = _labels(table)
    for place, values in _measured(table).items():
        if len(values) < len(table):
            continue
        groups = [codes for label, codes in labels.items() if label != place]
        sd = min((pooled_sd(values, codes) for codes in groups), default=float(values.std()))
        if sd > 0:
            chance = min(chance, float(chance_of_equal(grid_step(values), sd)))
    return chance


def _measured(table: pd.DataFrame) -> dict[int, Floats]:
    """Returns place of a column → its finite numbers, of columns that hold several fractions, and not settings."""
    measured = {}
    for place in range(table.shape[1]):
        numbers = pd.to_numeric(table.iloc[:, place].astype(str), errors="coerce").to_numpy(float)
        values = numbers[np.isfinite(numbers)]
        if len(values) and not np.equal(values, np.rint(values)).all() and np.ptp(values) > 0:
            measured[place] = values
    return measured


def _labels(table: pd.DataFrame) -> dict[int, Codes]:
    """Returns place of a column → its codes, of columns that group the rows, two a group on average at least."""
    labels = {}
    for place in range(table.shape[1]):
        codes, names = pd.factorize(table.iloc[:, place].astype(str))
        if 1 <= len(names) <= len(table) / 2:
            labels[place] = codes
    return labels


def _number_of(name: str, cell: str) -> int:
    """Returns a number that stands for a cell and its column; 0 for an empty cell."""
    text = cell.strip()
    if not text:
        return 0
    if is_number(text):
        text = repr(float(number_in(text)))
    return int(digest_of(f"{name}={text}".encode())[:16], 16)
