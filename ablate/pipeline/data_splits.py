"""How the data of a task were divided, by the digests in the records of its runs."""

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
    """Returns the facts of tasks with how their training and validation data were divided."""
    found: dict[str, dict[int, tuple[str, ...]]] = {task.name: {} for task in tasks}
    for cell in cells:
        record = records.get(cell.id)
        if cell.variant != BASELINE or not cell.judged or record is None or cell.task not in found:
            continue
        digests = tuple(record.data[part] for part in _PARTS if part in record.data)
        if len(digests) == len(_PARTS):
            found[cell.task][cell.seed] = digests
    return [replace(task, split=_split_of(found[task.name])) for task in tasks]


def _split_of(digests: Mapping[int, tuple[str, ...]]) -> Split:
    """Returns how data were divided; seed → the digests of its parts."""
    distinct = set(digests.values())
    if len(digests) < 2:
        return NOT_STATED
    if len(distinct) == 1:
        return FIXED
    return EACH_SEED if len(distinct) == len(digests) else NOT_STATED
