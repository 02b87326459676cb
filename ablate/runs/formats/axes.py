"""What the places of a list in a record are: steps, seeds, tasks, or runs that nothing numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from ablate.base.errors import Invalid
from ablate.base.numerals import whole_in
from ablate.runs.cells import as_text, number_in
from ablate.runs.formats.level_names import SEED, singular
from ablate.runs.formats.run_names import SEED_IN_NAME
from ablate.runs.formats.runs_in_records import has_own_seed
from ablate.runs.options import AnalysisOptions
from ablate.runs.roles import STEPS
from ablate.runs.settings import is_seed

PLACE = "place"
"""The column that numbers the values of a list, where the call names it."""
_STEP, _SEED, _TASK = "step", "seed", "task"
_FEWEST = 2
"""The fewest runs and tasks of an array that nothing names."""
_CLEARLY_TASKS, _CLEARLY_RUNS = 0.001, 0.01
"""The chance of differences between means below which they are those of tasks, and above which those of runs."""
Row = dict[str, object]


@dataclass(frozen=True)
class Axis:
    """What numbers or names the places of a list."""

    column: str
    """The column of its labels; empty where nothing numbers the places."""
    labels: Sequence[object]


def axis_of(
    name: str,
    size: int,
    row: Row,
    lists: Mapping[str, Sequence[object]],
    options: AnalysisOptions,
    *,
    are_of_seeds: bool,
) -> Axis:
    """Returns what the places of a list of values are: steps, seeds, places for which the call asks, or nothing."""
    numbers = [*range(1, size + 1)]
    others = {other: values for other, values in lists.items() if other != name and len(values) == size}
    for other, values in others.items():
        if singular(other) in STEPS:
            return Axis(singular(other), values)
    if has_own_seed(row):
        return Axis(_STEP, numbers)
    seeds = _seeds_among(others)
    if seeds:
        return Axis(_SEED, seeds)
    if PLACE in (options.seed, *options.names_of(_SEED)):
        return Axis(PLACE, [number - 1 for number in numbers])
    return Axis(_SEED if are_of_seeds or is_seed(name) else "", numbers)


def axes_of_array(
    place: str, values: Sequence[object], sizes: tuple[int, int], lists: Mapping[str, Sequence[object]]
) -> list[Axis]:
    """Returns the two axes of a list of lists, the outer one first: one of runs, one of tasks.

    A list of seeds decides, then one of names, then means that differ by more than chance, as those of tasks do. Tasks
    without names are numbered. Raises `Invalid` for a square, and where nothing decides, or both axes are named.
    """
    is_square = sizes[0] == sizes[1]
    seeds = [_seeds_among(_of_length(lists, size)) for size in sizes]
    tasks = [_names_among(_of_length(lists, size)) for size in sizes]
    if is_square or (seeds[0] and seeds[1]) or (tasks[0] and tasks[1]):
        runs = None
    elif any(seeds):
        runs = 0 if seeds[0] else 1
    elif any(tasks):
        runs = 1 if tasks[0] else 0
    else:
        runs = _axis_of_runs(values)
    if runs is None:
        raise unclear_array(place, is_square=is_square)
    numbers = [str(number) for number in range(1, sizes[1 - runs] + 1)]
    of_runs = Axis(_SEED if seeds[runs] else "", seeds[runs] or [*range(sizes[runs])])
    of_tasks = Axis(_TASK, tasks[1 - runs] or numbers)
    return [of_runs, of_tasks] if runs == 0 else [of_tasks, of_runs]


def unclear_array(place: str, *, is_square: bool = False) -> Invalid:
    """Returns the refusal of a list of lists at a place, whose runs and tasks nothing tells apart."""
    rule = "has a list of lists, and does not say which are runs and which are tasks"
    hint = 'Write the names of the tasks beside it, as "tasks": ["pan", "mail"]'
    if is_square:
        rule = (
            "has a list of as many lists as their length, so that names beside it do not say which are runs"
        )
        hint = 'Write a list for each variant and task: {"base": {"pan": [0.7, 0.8], "mail": [0.9, 0.6]}, "wide": …}'
    return Invalid("RUNS", rule, place, hint=hint)


def _axis_of_runs(values: Sequence[object]) -> int | None:
    """Returns the axis of an array along which means differ no more than by chance, where they do along the other."""
    array = np.array(
        [[number_in(as_text(value)) for value in row] for row in values if isinstance(row, list)]
    )
    if min(array.shape) < _FEWEST or not np.isfinite(array).all():
        return None
    chances = [_chance_of_means(array), _chance_of_means(array.T)]
    for runs, tasks in ((0, 1), (1, 0)):
        if chances[tasks] < _CLEARLY_TASKS and chances[runs] > _CLEARLY_RUNS:
            return runs
    return None


def _chance_of_means(array: NDArray[np.float64]) -> float:
    """Returns how likely the means of rows differ as much as they do by chance (two-way analysis of variance).

    Where nothing is left beside the means of rows and columns, any difference is clear.
    """
    rows, columns = array.shape
    of_rows, of_columns = array.mean(axis=1, keepdims=True), array.mean(axis=0, keepdims=True)
    left = ((array - of_rows - of_columns + array.mean()) ** 2).sum() / ((rows - 1) * (columns - 1))
    between = columns * float(of_rows.var(ddof=1))
    return (
        float(stats.f.sf(between / left, rows - 1, (rows - 1) * (columns - 1)))
        if left
        else float(between == 0)
    )


def _of_length(lists: Mapping[str, Sequence[object]], size: int) -> dict[str, Sequence[object]]:
    return {name: values for name, values in lists.items() if len(values) == size}


def _seeds_among(lists: Mapping[str, Sequence[object]]) -> list[str]:
    """Returns the seeds that a list beside others has: a list called so, or texts that each name one."""
    for name, values in lists.items():
        texts = [str(value) for value in values]
        if is_seed(name):
            seeds = [match[1] for match in map(SEED.fullmatch, texts) if match is not None]
        else:
            seeds = _seeds_in_names(texts)
        if len(seeds) == len(texts) == len({*seeds}) and all(whole_in(seed) is not None for seed in seeds):
            return seeds
    return []


def _seeds_in_names(texts: Sequence[str]) -> list[str]:
    """Returns the only seed in each text, such as `results_seed7.json`; none of a text that has none."""
    found = [SEED_IN_NAME.findall(text) for text in texts]
    return [seeds[0] for seeds in found if len(seeds) == 1]


def _names_among(lists: Mapping[str, Sequence[object]]) -> list[str]:
    """Returns the names that a list beside others has: distinct words, none of which is a number."""
    for values in lists.values():
        texts = [value for value in values if isinstance(value, str) and math.isnan(number_in(value))]
        if len(texts) == len(values) == len({*texts}):
            return texts
    return []
