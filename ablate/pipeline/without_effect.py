"""The variants of a user's own code whose first runs have the numbers of the baseline's: their flags do nothing."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING

from ablate.analysis.further_runs import Place
from ablate.core.metric import FREE
from ablate.core.same_numbers import numbers_of
from ablate.core.trial import Cell
from ablate.core.undeclared import undeclared_of

if TYPE_CHECKING:
    from ablate.core.record import Record
    from ablate.study.study import Study

FIRST_PAIRS = 2
"""The seeds under which a variant is compared with the baseline before the others are trained."""
_MOST_EXAMPLES = 20_000
"""Two runs that differ may well get as many of so many examples right, twice."""
_MANY_NUMBERS = 6
"""So many numbers that differ between seeds are not equal by chance, however coarse."""
_ROUNDING = 1e-12
"""What a share may miss by rounding."""


def without_effect(study: Study, cells: Iterable[Cell], records: Mapping[str, Record]) -> set[Place]:
    """Returns where a variant has the baseline's numbers under each seed, in every digit and hardly by chance.

    cells: those of the first seeds.
    """
    baseline = study.variants[0].name
    variants = compared_variants(study)
    runs: dict[Place, dict[int, Record]] = {}
    for cell in cells:
        record = records.get(cell.id)
        if cell.judged and record is not None and record.status == "completed":
            runs.setdefault((cell.variant, cell.task), {})[cell.seed] = record
    places: set[Place] = set()
    for (variant, task), of_variant in runs.items():
        of_baseline = runs.get((baseline, task), {})
        if variant in variants and _are_same(of_variant, of_baseline) and _are_telling(of_baseline.values()):
            places.add((variant, task))
    return places


def in_all_tasks(places: Collection[Place], tasks: Sequence[str]) -> set[Place]:
    """Returns the places of the variants that are there on every task: one that has an effect on another is left."""
    return {(variant, task) for variant, task in places if all((variant, other) in places for other in tasks)}


def compared_variants(study: Study) -> set[str]:
    """Returns the variants of a study that are compared with its baseline; a placebo is not."""
    return {variant.name for variant in study.variants[1:] if not variant.placebo}


def _are_same(runs: Mapping[int, Record], others: Mapping[int, Record]) -> bool:
    """Returns whether the runs of two variants are trainings of their own, with the same numbers under each seed."""
    if len(runs) < FIRST_PAIRS or runs.keys() != others.keys():
        return False
    pairs = [(record, others[seed]) for seed, record in runs.items()]
    return all(one.id != other.id and _are_identical(one, other) for one, other in pairs)


def _are_identical(one: Record, other: Record) -> bool:
    """Returns whether two runs have the same numbers in every digit, with those that their study does not declare."""
    numbers = numbers_of(one)
    return bool(numbers) and numbers == numbers_of(other) and _undeclared(one) == _undeclared(other)


def _undeclared(record: Record) -> Mapping[str, Sequence[tuple[int, float]]]:
    """Returns name → step and value of the numbers that the study of a record does not declare."""
    points: dict[str, list[tuple[int, float]]] = {}
    for name, curve in undeclared_of(record).items():
        if not name.endswith(FREE):
            pairs = zip(curve.steps.tolist(), curve.values.tolist(), strict=True)
            points[name] = [(step, value) for step, value in pairs if not math.isnan(value)]
    return points


def _are_telling(runs: Iterable[Record]) -> bool:
    """Returns whether equal numbers in another variant would hardly be chance: six or more, or one that is no share.

    Only those that differ between seeds count: a number of parameters is as large in every run.
    """
    values: set[float] = set()
    for one, other in pairwise(map(numbers_of, runs)):
        for place in one.keys() & other.keys():
            if one[place] != other[place]:
                values |= {one[place], other[place]}
    return len(values) >= _MANY_NUMBERS or any(not _may_be_share(value) for value in values)


def _may_be_share(value: float) -> bool:
    """Returns whether a number, or its decimals, may be the share of some of a few thousand examples."""
    if value == 0:
        return True
    fraction = abs(value) / 10.0 ** math.ceil(math.log10(abs(value)))
    share = Fraction(fraction).limit_denominator(_MOST_EXAMPLES)
    return abs(float(share) - fraction) < _ROUNDING
