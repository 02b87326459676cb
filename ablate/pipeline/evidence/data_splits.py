"""Divisions of the data of tasks, read from the digests in the records of their runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from ablate.core.data_statement import EACH_SEED, FIXED, NOT_STATED, Split
from ablate.core.facts import BASELINE, TaskFacts
from ablate.core.record import Record
from ablate.core.trial import Cell

_PARTS = ("train", "validation")


def with_splits(
    tasks: Sequence[TaskFacts], cells: Iterable[Cell], records: Mapping[str, Record]
) -> list[TaskFacts]:
    """Returns the facts of tasks with the split of their training and validation data filled in."""
    digests_of: dict[str, dict[int, tuple[str, ...]]] = {task.name: {} for task in tasks}
    for cell in cells:
        record = records.get(cell.id)
        if cell.variant != BASELINE or not cell.judged or record is None or cell.task not in digests_of:
            continue
        digests = tuple(record.data[part] for part in _PARTS if part in record.data)
        if len(digests) == len(_PARTS):
            digests_of[cell.task][cell.seed] = digests
    return [replace(task, split=_split_of(digests_of[task.name])) for task in tasks]


def _split_of(digests: Mapping[int, tuple[str, ...]]) -> Split:
    """Returns whether all seeds share a division or each has its own; `not_stated` for one seed, or a mixture.

    digests: seed → the digests of its parts.
    """
    distinct = set(digests.values())
    if len(digests) < 2:
        return NOT_STATED
    if len(distinct) == 1:
        return FIXED
    return EACH_SEED if len(distinct) == len(digests) else NOT_STATED
