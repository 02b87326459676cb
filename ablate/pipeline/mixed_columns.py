"""Columns of a table of one's own that hold numbers but for a few words, which make names of all of them.

The task `table` reads a column as numbers where all its cells are. One word in a target of numbers makes each of its
numbers a label, and the study judges a classification; one in a given column makes each number a category.
"""

import math
from collections.abc import Iterator, Mapping
from typing import Any

from ablate.base.errors import shown
from ablate.base.wording import counted
from ablate.study.study import Study
from ablate.tasks.files import Table, read_table
from ablate.tasks.table import FEW, MOST

_OPTIONS = {"file", "target", "predict", "columns", "categorical"}
"""The options of the task on which its columns depend."""
MAX_SHARE = 0.1
"""The largest share of words in a column that is likely one of numbers."""


def mixed_columns(study: Study) -> Iterator[tuple[str, str]]:
    """Yields task and sentence for each column of numbers that is read as names, because of the words in it."""
    for task, config in zip(study.tasks, study.variants[0].configs, strict=True):
        section = config.get("task", {})
        # A workload of a plugin may have a task of this name, with other options.
        if isinstance(section, Mapping) and section.get("name") == "table" and section.keys() >= _OPTIONS:
            for sentence in _sentences(section):
                yield task, sentence


def _sentences(section: Mapping[str, Any]) -> Iterator[str]:
    """Yields a sentence on the target of a table, and on each of the columns that are given."""
    table = read_table(section["file"])
    target = section["target"]
    if section["predict"] is None:
        word = _first_word(table, target, has_gaps=False)
        if word:
            yield (
                f"{word}; therefore each number is read as a label, and the task is a classification. Correct the "
                "cell, or state that you mean labels: predict: label"
            )
    others = [name for name in table.columns if name != target]
    for name in section["columns"] or others:
        word = "" if name in section["categorical"] else _first_word(table, name, has_gaps=True)
        if word:
            yield (
                f"{word}; therefore its numbers are read as categories, of which only the {MOST} most frequent are "
                f"kept apart. Empty the cell, or state that you mean categories: categorical: [{name}]"
            )


def _first_word(table: Table, name: str, *, has_gaps: bool) -> str:
    """Returns where the first word stands in a column that otherwise holds numbers; else nothing.

    has_gaps: whether `nan` stands for a number that is missing; else it is a word too.
    """
    filled = [(place, cell) for place, cell in zip(table.places, table.columns[name], strict=True) if cell]
    words = [(place, cell) for place, cell in filled if not _is_number(cell, has_gaps=has_gaps)]
    word_cells = {cell for _, cell in words}
    numbers = {cell for _, cell in filled if cell not in word_cells}
    if not words or len(words) > MAX_SHARE * len(filled) or len(numbers) <= FEW:
        return ""
    place, cell = words[0]
    return (
        f"{name} of {table.file.written} holds {counted(len(filled) - len(words), 'number')} and "
        f"{counted(len(words), 'word')}, the first in {place}, {shown(cell)}"
    )


def _is_number(cell: str, *, has_gaps: bool) -> bool:
    """Returns whether the task reads a cell as a number, or as a gap where a column may have them."""
    try:
        return math.isfinite(float(cell)) or has_gaps
    except ValueError:
        return False
