"""Columns of a table of one's own that hold numbers but for a few words, which make names of all of them.

The task `table` reads a column as numbers where all its cells are. One word in a target of numbers makes each of its
numbers a label, and the study judges a classification; one in a given column makes each number a category.
"""

import math
from collections.abc import Iterator, Sequence

from ablate.base.datafile import DataFile
from ablate.base.errors import shown
from ablate.base.registry import PartConfig
from ablate.base.wording import counted
from ablate.tasks.files import Table, kept_per_file, read_table
from ablate.tasks.table import MAX_CATEGORIES, MAX_NUMBERS_AS_LABELS, Columns

MAX_SHARE = 0.1
"""The largest share of words in a column that is likely one of numbers."""


def mixed_columns(task: PartConfig) -> Sequence[str]:
    """Returns a sentence for each column whose numbers a table task reads as labels or categories because of a few
    words among them; [] for any other task.

    Raises `Invalid` for a file that cannot be read.
    """
    return _sentences(task.file, task) if isinstance(task, Columns.Config) else []


@kept_per_file
def _sentences(file: DataFile, task: Columns.Config) -> list[str]:
    """Returns the sentences on the target and on the given columns of a table task, kept until the file changes."""
    return [*_on_target(read_table(file), task), *_on_columns(read_table(file), task)]


def _on_target(table: Table, task: Columns.Config) -> Iterator[str]:
    """Yields a sentence where a target of numbers is read as labels because of a few words; no sentence where the
    config gives `predict`.
    """
    if task.predict is not None:
        return
    word = _first_word(table, task.target, has_gaps=False)
    if word:
        yield (
            f"{word}; therefore each number is read as a label, and the task is a classification. Correct the "
            "cell, or state that you mean labels: predict: label"
        )


def _on_columns(table: Table, task: Columns.Config) -> Iterator[str]:
    """Yields a sentence for each given column of numbers that is read as categories because of a few words, leaving out
    the columns listed in `categorical`.
    """
    others = [name for name in table.columns if name != task.target]
    for name in task.columns or others:
        if name in task.categorical:
            continue
        word = _first_word(table, name, has_gaps=True)
        if word:
            yield (
                f"{word}; therefore its numbers are read as categories, of which only the {MAX_CATEGORIES} most "
                f"frequent are kept apart. Empty the cell, or state that you mean categories: categorical: [{name}]"
            )


def _first_word(table: Table, name: str, *, has_gaps: bool) -> str:
    """Returns a clause that counts the numbers and the words of the column `name`, and names the first word; empty text
    unless the column holds many numbers and a few words.

    Empty without words, with more of them than `MAX_SHARE` of the filled cells, or with at most `MAX_NUMBERS_AS_LABELS`
    different numbers. has_gaps: whether `nan` stands for a number that is missing; else it is a word too.
    """
    filled = [(place, cell) for place, cell in zip(table.places, table.columns[name], strict=True) if cell]
    words = [(place, cell) for place, cell in filled if not _is_number(cell, has_gaps=has_gaps)]
    word_cells = {cell for _, cell in words}
    numbers = {cell for _, cell in filled if cell not in word_cells}
    if not words or len(words) > MAX_SHARE * len(filled) or len(numbers) <= MAX_NUMBERS_AS_LABELS:
        return ""
    place, cell = words[0]
    return (
        f"{name} of {table.file.written} holds {counted(len(filled) - len(words), 'number')} and "
        f"{counted(len(words), 'word')}, the first in {place}, {shown(cell)}"
    )


def _is_number(cell: str, *, has_gaps: bool) -> bool:
    """Returns whether a cell is a finite number or, with `has_gaps`, also nan or infinite; False for an empty cell."""
    try:
        return math.isfinite(float(cell)) or has_gaps
    except ValueError:
        return False
