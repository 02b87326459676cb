"""Comparisons of the numbers of two trainings, without those that measure time and memory."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from ablate.core.metric import FREE
from ablate.core.record import Record
from ablate.core.undeclared import undeclared_of

RunRecords = Mapping[tuple[str, str, int], Record]
"""Variant, task and seed → the record of the run."""


def distance(one: Record, other: Record) -> float:
    """Returns the largest difference of any number of two runs, at their ends and on their curves.

    Infinite where one lacks some of the other's numbers.
    """
    numbers = _numbers(one)
    others = _numbers(other)
    if numbers.keys() != others.keys():
        return math.inf
    return max((abs(value - others[place]) for place, value in numbers.items()), default=0.0)


def are_identical(one: Record, other: Record) -> bool:
    """Returns whether two runs have the same numbers in every digit, with those that their study does not declare."""
    numbers = _numbers(one)
    return bool(numbers) and numbers == _numbers(other) and _undeclared(one) == _undeclared(other)


def have_same_numbers(one: Mapping[str, float | None], other: Mapping[str, float | None]) -> bool:
    """Returns whether the metrics at the ends of two trainings agree, of those that both have.

    A row of a report has no curves, and none of the metrics that it does not judge: hence no `distance`.
    """
    shared = [name for name in one if name in other and not name.endswith(FREE)]
    return all(one[name] == other[name] for name in shared)


def numbers_in(row: Mapping[str, Any]) -> dict[str, float | None]:
    """Returns the numbers in the row of a trial; None for one without a value, as records have it."""
    numbers: dict[str, float | None] = {}
    for name, value in row.items():
        if value is None or isinstance(value, float):
            numbers[name] = None if value is None or math.isnan(value) else value
    return numbers


def _undeclared(record: Record) -> Mapping[str, Sequence[tuple[int, float]]]:
    """Returns name → step and value of the numbers that the study of a record does not declare."""
    points: dict[str, list[tuple[int, float]]] = {}
    for name, curve in undeclared_of(record).items():
        if not name.endswith(FREE):
            pairs = zip(curve.steps.tolist(), curve.values.tolist(), strict=True)
            points[name] = [(step, value) for step, value in pairs if not math.isnan(value)]
    return points


def _numbers(record: Record) -> Mapping[tuple[str, int], float]:
    """Returns metric and step → value, without missing values.

    The value at the end of the run is at step −1.
    """
    values: dict[tuple[str, int], float | None] = {}
    for name, value in record.metrics.items():
        if not name.endswith(FREE):
            values[name, -1] = value
    for name, curve in record.curves.items():
        for step, value in zip(curve.steps.tolist(), curve.values.tolist(), strict=True):
            values[name, step] = value
    return {place: value for place, value in values.items() if value is not None and not math.isnan(value)}
