"""How long each run that exists trained: the last of its steps, or what a column such as `epochs_trained` says."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

import pandas as pd

from ablate.analysis.length_names import counts_training, sets_length
from ablate.analysis.run_lengths import unequal_runs, usual_lengths
from ablate.analysis.treatments import REACHED
from ablate.runs.cells import number_in
from ablate.runs.histories import ROW

_MOST = 2 / 3
_Lengths = dict[str, dict[str, dict[int, float]]]
"""Variant → task → seed → how long the run trained."""


@dataclass(frozen=True)
class LengthColumn:
    """A column that says how long each run trained."""

    name: str
    values: pd.Series
    """Place of a run → its length; NaN where it says none."""
    is_of_steps: bool
    """Whether it is the last of its steps; else a number of the run, which may mean something else."""

    def only_of(self, places: Collection[str]) -> LengthColumn:
        """Returns the column of the runs at some places alone."""
        return replace(self, values=self.values[self.values.index.isin([*places])])


@dataclass(frozen=True)
class UnequallyTrained:
    """How long runs trained, where not all of them trained for the same length."""

    column: str = ""
    """What they are counted in; empty where all are the same, or not known."""
    lengths: _Lengths = field(default_factory=dict)


def last_steps(table: pd.DataFrame, run: Sequence[str], step: str) -> LengthColumn:
    """Returns the last step of the run of each row; `run`: the columns that tell runs apart."""
    steps = table[step].map(number_in)
    last = steps.groupby([table[name] for name in run]).transform("max")
    return LengthColumn(step, last, is_of_steps=step != ROW)


def columns_of_length(table: pd.DataFrame, others: Sequence[str]) -> list[LengthColumn]:
    """Returns those of some columns of a table of one row a run that say how long it trained, by name and cells."""
    columns = []
    for name in others:
        if not counts_training(name):
            continue
        values = table[name].map(number_in)
        if ((table[name] == "") | (values >= 0)).all() and values.notna().any():
            columns.append(LengthColumn(name, values, is_of_steps=False))
    return columns


def shared_lengths(others: pd.DataFrame, variants: pd.Series) -> dict[str, dict[str, str]]:
    """Returns variant → column → how long all its runs trained, where the column has the name of a length.

    others: columns of a table of one row a run. variants: the variant of each row.
    """
    lengths: dict[str, dict[str, str]] = {}
    for name in others:
        if not sets_length(str(name)):
            continue
        for variant, values in others[name].groupby(variants):
            if (values != "").all() and values.nunique() == 1:
                lengths.setdefault(str(variant), {})[str(name)] = str(values.iloc[0])
    return lengths


def unequally_trained(columns: Sequence[LengthColumn], trials: pd.DataFrame) -> UnequallyTrained:
    """Returns the lengths of runs by the first column that shows unequal training of runs, or else of variants.

    trials: the runs that count by what they measured: id, variant, task, seed.
    """
    by_column = {column.name: _by_task(column, trials) for column in columns}
    if not trials.empty:
        for differs in (_has_unequal_runs, _has_unequal_variants):
            for name, tasks in by_column.items():
                if any(differs(of_task) for of_task in tasks.values()):
                    return UnequallyTrained(name, _by_variant(tasks))
    return UnequallyTrained()


def _by_task(column: LengthColumn, trials: pd.DataFrame) -> dict[str, dict[str, dict[int, float]]]:
    """Returns task → variant → seed → length, of tasks on which the column says how long runs trained."""
    lengths = trials["id"].map(column.values)
    tasks: dict[str, dict[str, dict[int, float]]] = {}
    for row, length in zip(trials.to_dict("records"), lengths, strict=True):
        if math.isfinite(length):
            tasks.setdefault(row["task"], {}).setdefault(row["variant"], {})[row["seed"]] = float(length)
    return tasks if column.is_of_steps or _are_mostly_alike(tasks) else {}


def _are_mostly_alike(tasks: Mapping[str, Mapping[str, Mapping[int, float]]]) -> bool:
    """Returns whether the numbers of most runs are those of others of their variant, so that they are lengths.

    The epoch of the best checkpoint, and the iterations until something converged, differ from run to run.
    """
    num_runs = 0
    num_alike = 0
    for of_task in tasks.values():
        for lengths in of_task.values():
            if len(lengths) > 1:
                num_runs += len(lengths)
                num_alike += max(Counter(lengths.values()).values())
    return num_runs > 0 and num_alike >= _MOST * num_runs


def _has_unequal_runs(of_task: Mapping[str, Mapping[int, float]]) -> bool:
    return bool(unequal_runs(of_task, ""))


def _has_unequal_variants(of_task: Mapping[str, Mapping[int, float]]) -> bool:
    values = [usual.value for usual in usual_lengths(of_task).values()]
    return len(values) > 1 and min(values) < (1 - REACHED) * max(values)


def _by_variant(tasks: Mapping[str, Mapping[str, dict[int, float]]]) -> _Lengths:
    lengths: _Lengths = {}
    for task, of_task in tasks.items():
        for variant, of_variant in of_task.items():
            lengths.setdefault(variant, {})[task] = of_variant
    return lengths
