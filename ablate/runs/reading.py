"""Runs that exist, as a table with one meaning a column: read, and checked.

A row is a run, or an example of a run; the index says where it was read. What is wrong raises `AblateError`. Rows are
left out, each time with a note: by readers (comments, empty cells, files without results, runs of ablate that are not
final), then here by `rows_where` (`--where`) and `rows_at` (steps), then in `checking` (runs that another run of the
same seed replaces), and last those of runs that did not end well, with their pairs.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import pandas as pd

from ablate.analysis.treatments import is_length
from ablate.base.errors import Gather, Invalid
from ablate.base.wording import counted
from ablate.core.ending import UNKNOWN
from ablate.core.facts import NAMELESS_TASK
from ablate.report.words import message
from ablate.runs.filters import rows_where
from ablate.runs.options import AnalysisOptions
from ablate.runs.reader import RunsFound
from ablate.runs.roles import (
    RunColumns,
    check_columns,
    columns_of,
    guesses_in_words,
    joined_column,
    step_column,
)
from ablate.runs.seeds_in_names import whole_seeds
from ablate.runs.settings import differing_between, is_fold, is_seed, refuse_settings, settings_of
from ablate.runs.sources import find_runs
from ablate.runs.statuses import ends_of, is_kept, unclear_columns, worse
from ablate.runs.steps import LAST, rows_at

KEY = ["variant", "task", "seed"]
RUN = (*KEY, "example")
"""The roles that tell runs, and examples of runs, apart."""


@dataclass(frozen=True)
class RunTable:
    """The rows of RUNS.

    Columns: id, variant, task, seed, example, ended (an `Ending`), source where it was asked for, and the metrics.
    """

    rows: pd.DataFrame
    options: AnalysisOptions = field(default_factory=AnalysisOptions)
    """The options of the call, with what it left to be guessed."""
    kind: str = "a table"
    """What was read, in words."""
    has_seeds: bool = True
    """Whether a column has the seeds; otherwise `seed` numbers the rows, so that no two runs are a pair."""
    notes: Sequence[str] = ()
    """Sentences on what the options did to the rows."""
    lengths: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Variant → column with the length of training → its value, where all runs of the variant share one."""
    differing: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Column → variant → the value of all its runs, of columns that differ between variants."""
    seeds: Sequence[str] = ()
    """The columns that hold the seeds."""
    kept: Sequence[str] = ()
    """The ids of runs whose status says that a loop has kept the change."""
    are_summaries: bool = False
    """Whether each variant is known by a mean and a standard deviation over its runs."""


def read(runs: str, options: AnalysisOptions) -> RunTable:
    """Returns the rows of RUNS, a path or the name of an experiment, by their roles. Raises `AblateError`."""
    return by_roles(find_runs(runs, options), options)


def by_roles(found: RunsFound, options: AnalysisOptions) -> RunTable:
    """Returns the rows of runs by the roles of their columns, one row a run or an example. Raises `AblateError`."""
    with Gather() as at:
        at.refuse(found.table.empty, "RUNS", "has no runs", hint="Give a table with one row per run")
    options.check_names()
    columns = columns_of(found, options)
    table, roles, options = columns.table, columns.roles, columns.options
    metrics = [*options.metrics()]
    check_columns(columns, metrics)
    notes = [*guesses_in_words(columns), *found.notes]
    ends = _ends(found, columns)
    kept = _kept_rows(columns, ends, notes)
    kept = _one_row_each(replace(columns, table=kept), notes)
    unclear = unclear_columns(kept, {*itertools.chain(*roles.values()), *metrics})
    notes += [message("analyse.other_status", name) for name in unclear]
    settings = _differing_settings(kept, roles, [*metrics, *found.metrics, *unclear])
    if settings and not options.replicates:
        refuse_settings(kept, roles, settings)
    if settings:
        notes.append(message("analyse.replicates", settings))
    if "seed" not in roles:
        notes += [message("analyse.other_seed", name) for name in table if is_seed(name)]
        notes += [message("analyse.folds_as_runs", name) for name in _folds(kept, roles)]
    rows = _rows(kept, roles, metrics).assign(ended=ends[kept.index])
    used = {*itertools.chain(*roles.values()), *metrics, *found.metrics}
    others = kept.drop(columns=[*used & {*kept}])
    lengths = _lengths(others, rows["variant"])
    columns_of_length = {*itertools.chain(*lengths.values())}
    return RunTable(
        rows,
        options,
        kind=found.kind,
        has_seeds="seed" in roles,
        notes=notes,
        lengths=lengths,
        differing=differing_between(others.drop(columns=[*columns_of_length]), rows["variant"]),
        seeds=roles.get("seed", ()),
        kept=rows.loc[is_kept(kept, roles.get("status", ())), "id"].tolist(),
        are_summaries=found.are_summaries,
    )


def _ends(found: RunsFound, columns: RunColumns) -> pd.Series:
    """Returns how the run of each row ended, by what the call names, or else by columns and what the format keeps.

    Raises `Invalid`.
    """
    ends = ends_of(columns.table, columns.roles.get("status", ()))
    is_named = any(role == "status" for role, _ in columns.options.column)
    if is_named or not found.endings:
        return ends
    beside = [found.endings.get(place, UNKNOWN) for place in columns.table.index]
    return pd.Series([worse(*pair) for pair in zip(beside, ends, strict=True)], ends.index, dtype=object)


def _kept_rows(columns: RunColumns, ends: pd.Series, notes: list[str]) -> pd.DataFrame:
    """Returns the rows that `--where` keeps, and notes how many it leaves out."""
    table = columns.table
    conditions = columns.options.where
    kept = rows_where(table, conditions)
    if len(kept) < len(table):
        notes.append(message("analyse.kept_rows", conditions, len(kept), len(table)))
        lost = _left_out_by(table, kept, ends, columns.roles.get("status", ()))
        if lost:
            notes.append(message("analyse.filtered", lost))
    return kept


def _one_row_each(columns: RunColumns, notes: list[str]) -> pd.DataFrame:
    """Returns the row of each run that counts where a run has one for each step, and notes which that is.

    Raises `Invalid` for a call that asks for a step of runs that have none.
    """
    roles, options = columns.roles, columns.options
    step = step_column(columns)
    if step is None:
        if options.at:
            raise Invalid("--at", "needs a column with the steps, of which each run has several", options.at)
        return columns.table
    run = roles.get("run") or [*itertools.chain(*(roles[role] for role in RUN if role in roles))]
    kept, sentence = rows_at(columns.table, run, step, options.at or LAST, options.directions)
    notes.append(sentence)
    return kept


def _rows(kept: pd.DataFrame, roles: Mapping[str, Sequence[str]], metrics: Sequence[str]) -> pd.DataFrame:
    """Returns the rows with a column for each role, of the same name, and the metrics."""
    roles_of_cells = {role: names for role, names in roles.items() if role not in ("step", "run", "status")}
    cells = {role: joined_column(kept, names) for role, names in roles_of_cells.items()}
    if "seed" in cells:
        cells["seed"] = whole_seeds(cells["seed"])
    # Without seeds no two runs are a pair; two models that were evaluated once are.
    seeds: object = 0 if "example" in roles else range(1, len(kept) + 1)
    defaults = {"id": kept.index, "task": NAMELESS_TASK, "seed": seeds, "example": "all"}
    measured = {name: kept[name] for name in metrics}
    return pd.DataFrame(defaults, kept.index).assign(**cells, **measured)


def shape_of(table: RunTable) -> str:
    """Returns the number of runs in words, with those of variants and seeds: `60 runs, 15 × 4 seeds; 1 crashed`."""
    runs = table.rows.drop_duplicates([*KEY, "id"] if (table.rows["example"] == "all").all() else KEY)
    num_variants = runs["variant"].nunique()
    counts = runs.groupby("variant").size()
    words = [counted(len(runs), "run"), counted(num_variants, "variant")]
    if counts.nunique() == 1 and table.has_seeds:
        words = [counted(len(runs), "run"), f"{num_variants} × {counted(int(counts.iloc[0]), 'seed')}"]
    if (table.rows["example"] != "all").any():
        words.append(counted(len(table.rows), "row"))
    lost = [ending.why or ending.kind for ending in runs["ended"] if ending.counts != "its number"]
    ends = [f"{count} {end}" for end, count in sorted(Counter(lost).items())]
    return "; ".join(filter(None, [", ".join(words), ", ".join(ends)]))


def _folds(table: pd.DataFrame, roles: Mapping[str, Sequence[str]]) -> list[str]:
    """Returns the columns with no role that tell folds apart."""
    taken = {*itertools.chain(*roles.values())}
    names = [str(name) for name in table if is_fold(str(name)) and name not in taken]
    return [name for name in names if table[name].nunique() > 1]


def _left_out_by(table: pd.DataFrame, kept: pd.DataFrame, ends: pd.Series, statuses: Sequence[str]) -> int:
    """Returns how many runs without a result conditions on their status have left out."""
    left = table.drop(kept.index)
    is_by_status = pd.Series(False, left.index)
    for name in statuses:
        is_by_status |= ~left[name].isin(kept[name])
    return sum(ending.counts != "its number" for ending in ends[left.index[is_by_status]])


def _lengths(others: pd.DataFrame, variants: pd.Series) -> dict[str, dict[str, str]]:
    """Returns variant → column → how long all its runs trained, where the column has the name of a length."""
    lengths: dict[str, dict[str, str]] = {}
    for name in others:
        if not is_length(str(name)):
            continue
        for variant, values in others[name].groupby(variants):
            if (values != "").all() and values.nunique() == 1:
                lengths.setdefault(str(variant), {})[str(name)] = str(values.iloc[0])
    return lengths


def _differing_settings(
    table: pd.DataFrame, columns: Mapping[str, Sequence[str]], metrics: Sequence[str]
) -> list[str]:
    """Returns the columns in which runs of one variant differ, and that are settings."""
    taken = {*itertools.chain(*columns.values())}
    group = [*columns["variant"], *columns.get("task", ())]
    seed = next(iter(columns.get("seed", ())), None)
    others = [name for name in table if name not in taken and name not in metrics]
    if "example" not in columns:
        return settings_of(table, group, seed, others)
    run = group if seed is None else [*group, seed]
    runs = table[~table[run].astype(str).duplicated()]
    if not runs.duplicated(group).any():
        return []
    # What differs between the examples of a run is no setting of the run.
    counts = table.astype(str).groupby(run, sort=False)[others].nunique()
    others = [name for name in others if counts[name].max() <= 1]
    return settings_of(runs, group, seed, others)
