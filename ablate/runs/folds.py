"""Runs that are the folds of one cross-validation, as the call or the name of a column says."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace

import pandas as pd

from ablate.base.numerals import whole_in
from ablate.core.replication import RunName
from ablate.report.words import message
from ablate.runs.ends.statuses import have_results
from ablate.runs.roles import RunColumns
from ablate.runs.seeds_in_names import whole_seeds
from ablate.runs.settings import is_fold, is_outcome


def run_name_of(columns: RunColumns) -> RunName:
    """Returns the word for one run of a variant, by the call or by the column that numbers it."""
    roles, options = columns.roles, columns.options
    if "seed" not in roles:
        return "run"
    named = [name for role, name in options.columns if role == "seed"]
    return "fold" if any(map(is_fold, [*roles["seed"], *named, options.seed])) else "seed"


def fold_columns(columns: RunColumns) -> list[str]:
    """Returns the columns with no role that tell folds apart."""
    taken = {*itertools.chain(*columns.roles.values()), *columns.options.metrics()}
    return [name for name in varying_folds(columns.table) if name not in taken]


def varying_folds(table: pd.DataFrame) -> list[str]:
    """Returns the columns that have the names of folds, and not the same fold in all rows."""
    names = [str(name) for name in table if is_fold(str(name)) and not is_outcome(str(name))]
    return [name for name in names if table[name].nunique() > 1]


def with_folds(columns: RunColumns, ends: pd.Series, notes: list[str]) -> RunColumns:
    """Returns the columns with folds as seeds, where one column has each fold once at most for a variant; notes it.

    They stay as they are where seeds tell runs apart, or the call takes runs for replicates. A seed that all runs
    share, and that the call does not name, tells none apart.
    columns: of a table with one row a run, or an example of one. ends: how the run of each row ended.
    """
    seeds = columns.roles.get("seed", ())
    is_named = bool(columns.options.seed) or "seed" in columns.options.named_roles
    has_seeds = bool(seeds) and (is_named or any(columns.table[name].nunique() > 1 for name in seeds))
    if has_seeds or columns.options.replicates:
        return columns
    ended = columns.table[have_results(ends)]
    roles = columns.roles
    run = [*roles["variant"], *roles.get("task", ()), *roles.get("example", ())]
    names = [name for name in fold_columns(columns) if _are_once(ended, name, run)]
    if len(names) != 1:
        return columns
    notes.append(message("analyse.folds", names[0]))
    return replace(columns, roles={**roles, "seed": names})


def _are_once(runs: pd.DataFrame, name: str, run: Sequence[str]) -> bool:
    """Returns whether a column has whole numbers, each once at most for each of `run`."""
    are_whole = all(whole_in(text) is not None for text in whole_seeds(runs[name].astype(str)))
    return are_whole and not runs.duplicated([*run, name]).any()
