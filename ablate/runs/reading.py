"""Runs that exist, as a table with one meaning a column: read, and checked.

A row is a run, or an example of a run; the index says where it was read. What is wrong raises `AblateError`. Rows are
left out, each time with a note: by readers (comments, empty cells, files without results, runs of ablate that are not
final), then here by `rows_where` (`--where`) and `rows_at` (steps), then in `checking` (runs that another run of the
same seed replaces), and last those of runs that did not end well, with their pairs.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

import pandas as pd

from ablate.base.errors import Gather
from ablate.core.ending import UNKNOWN
from ablate.core.facts import NAMELESS_TASK
from ablate.core.replication import RunName
from ablate.report.words import message
from ablate.runs.cells import NO_VALUE, are_flags, number_of_flag
from ablate.runs.content import digests_of_numbers, digests_of_rows, row_chance
from ablate.runs.ends.statuses import (
    doubtful_columns,
    ends_of,
    have_results,
    is_kept,
    more_telling,
    unclear_columns,
)
from ablate.runs.ends.unended import unended
from ablate.runs.examples_as_runs import refuse_examples_as_runs
from ablate.runs.filters import chosen_by_metric, left_out_unequally, rows_where
from ablate.runs.folds import fold_columns, run_name_of, with_folds
from ablate.runs.histories import Steps, steps_in
from ablate.runs.looks.calls import call_of
from ablate.runs.looks.kept_runs import KeptRuns, kept_runs
from ablate.runs.means import judged_means, with_columns_of_means
from ablate.runs.options import AnalysisOptions
from ablate.runs.own_best import own_best
from ablate.runs.reader import RunsFound
from ablate.runs.roles import (
    CONDITION_NUMBERS,
    STEPS,
    RunColumns,
    check_columns,
    columns_of,
    guesses_in_words,
    joined_column,
)
from ablate.runs.row_summary import RowSummaries, with_spreads
from ablate.runs.seeds_in_names import whole_seeds
from ablate.runs.settings import differing_between, is_seed, refuse_settings, settings_of
from ablate.runs.shared_ids import rows_of_one_run
from ablate.runs.sources import find_runs
from ablate.runs.steps import LAST, STEP, is_at_one_step, rows_at
from ablate.runs.steps_as_seeds import refuse_steps_as_seeds
from ablate.runs.summaries_beside import summaries_beside
from ablate.runs.trained_lengths import LengthColumn, columns_of_length, last_steps, shared_lengths
from ablate.runs.visible import visible_options, visible_runs

KEY = ["variant", "task", "seed"]
CellsByCondition = Mapping[str, Sequence[str]]
"""Condition → the different cells that a column has in its rows."""


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
    run_name: RunName = "seed"
    """The word for one run; of a `run`, `seed` numbers the rows, so that no two are a pair."""
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
    content: Sequence[str] = ()
    """A digest of each run or row that was read, the same whatever the call asks of it."""
    row_chance: float = 0.0
    """The probability that a row is equal to that of other runs, named alike."""
    numbers: Sequence[str] = ()
    """Digests of measured numbers, the same whatever they are called."""
    call: Mapping[str, str] = field(default_factory=dict)
    """What the call asks of the runs: option → its value, with what was guessed."""
    length_columns: Sequence[LengthColumn] = ()
    """The columns that say how long each run trained, likely ones first."""
    summaries: RowSummaries = field(default_factory=dict)
    """Id of a row → what it says beside its means, where runs are known by mean and deviation alone."""
    kept_runs: KeptRuns | None = None
    """How many of the variants and seeds the call keeps; None of a table that was made otherwise."""
    condition_columns: Sequence[str] = ()
    """The columns that hold the conditions, which are tasks in the rows."""
    condition_cells: Mapping[str, CellsByCondition] = field(default_factory=dict)
    """`scale` or `along`, where the call names its column → condition → the different cells of its runs there."""

    @property
    def has_seeds(self) -> bool:
        """True where a column says the seed, or the fold, of each run."""
        return self.run_name != "run"

    @property
    def are_summaries(self) -> bool:
        """True where each variant is known by a mean and a standard deviation over its runs."""
        return bool(self.summaries)

    @property
    def judged_rows(self) -> pd.DataFrame:
        """The rows with all numbers that are judged."""
        return with_spreads(self.rows, self.summaries) if self.summaries else self.rows


def read(runs: str, options: AnalysisOptions) -> RunTable:
    """Returns the rows of RUNS, a path or the name of an experiment, by their roles. Raises `AblateError`."""
    return by_roles(find_runs(runs, options), options)


def by_roles(found: RunsFound, options: AnalysisOptions) -> RunTable:
    """Returns the rows of runs by the roles of their columns, one row a run or an example. Raises `AblateError`."""
    with Gather() as at:
        at.refuse(found.table.empty, "RUNS", "has no runs", hint="Give a table with one row per run")
    options = visible_options(options)
    found = with_columns_of_means(visible_runs(found), options)
    columns = _checked_columns(found, options)
    metrics = [*columns.options.metrics()]
    notes = [*guesses_in_words(columns), *found.notes]
    columns = _with_numbers_for_flags(columns, metrics, notes)
    notes += own_best(columns.table, columns.options)
    ends = _ends(found, columns)
    filtered = _kept_rows(columns, ends, notes)
    counts = kept_runs(columns, filtered, {*metrics, *found.metrics})
    kept, steps = _one_row_each(replace(columns, table=filtered), ends[filtered.index], found, notes)
    columns, summaries = judged_means(replace(columns, table=kept), found.means, notes)
    columns = with_folds(columns, ends[kept.index], notes)
    kept = columns.table
    notes += _notes_on_rows(columns, ends[kept.index], found, steps)
    roles = columns.roles
    rows = _rows(kept, roles, metrics).assign(ended=ends[kept.index])
    used = {*itertools.chain(*roles.values()), *metrics, *found.metrics}
    unused = kept.drop(columns=[*used & {*kept}])
    notes += [message("analyse.second_column", name, first) for name, first in _second_columns(unused, used)]
    lengths = shared_lengths(unused, rows["variant"])
    names_of_lengths = {*itertools.chain(*lengths.values())}
    return RunTable(
        rows,
        columns.options,
        kind="a table of means with deviations" if summaries else found.kind,
        run_name=run_name_of(columns),
        notes=notes,
        lengths=lengths,
        differing=differing_between(unused.drop(columns=[*names_of_lengths]), rows["variant"]),
        seeds=roles.get("seed", ()),
        kept=rows.loc[is_kept(kept, roles.get("status", ())), "id"].tolist(),
        content=found.content or digests_of_rows(found.table),
        row_chance=row_chance(found.table),
        numbers=digests_of_numbers(found.table),
        call=call_of(columns.options, roles),
        length_columns=_length_columns(found, replace(columns, table=filtered), kept, steps),
        summaries=summaries,
        kept_runs=counts,
        condition_columns=roles.get("task", ()),
        condition_cells=_condition_cells(kept, roles, rows["task"].astype(str).str.strip()),
    )


def _checked_columns(found: RunsFound, options: AnalysisOptions) -> RunColumns:
    """Returns the columns of runs by their roles, with the options that they complete. Raises `AblateError`."""
    options = options.or_declared(found.declared)
    options.check_names()
    columns = columns_of(found, options)
    check_columns(columns, [*columns.options.metrics()])
    refuse_steps_as_seeds(columns)
    refuse_examples_as_runs(columns)
    return columns


def _with_numbers_for_flags(columns: RunColumns, metrics: Sequence[str], notes: list[str]) -> RunColumns:
    """Returns the columns with 1 and 0 for the true and false of metrics, and notes which metrics those are."""
    table = columns.table
    flags = [name for name in metrics if are_flags(table[name])]
    if not flags:
        return columns
    notes.append(message("analyse.flags", flags))
    return replace(columns, table=table.assign(**{name: table[name].map(number_of_flag) for name in flags}))


def _notes_on_rows(columns: RunColumns, ends: pd.Series, found: RunsFound, steps: Steps | None) -> list[str]:
    """Returns what to say of columns without a role that may hold the ends, settings, seeds or ids of runs.

    columns: of a table with one row a run. ends: how the run of each row ended. Raises `Invalid` for rows that are no
    replicates.
    """
    kept = columns.table
    metrics = [*columns.options.metrics()]
    used = {*itertools.chain(*columns.roles.values()), *metrics}
    unclear = unclear_columns(kept, used)
    doubtful = doubtful_columns(kept, {*used, *unclear})
    notes = [message("analyse.other_status", name) for name in [*unclear, *doubtful]]
    notes += unended(kept, ends, metrics[0], used)
    notes += _notes_on_settings(columns, [*metrics, *found.metrics, *unclear], steps)
    if steps is None:
        notes += rows_of_one_run(columns, found)
    return notes


def _notes_on_settings(columns: RunColumns, measured: Sequence[str], steps: Steps | None) -> list[str]:
    """Returns what to say of settings in which runs of one variant differ, and of columns that may be seeds.

    columns: of a table with one row a run. Raises `Invalid` for such settings where the call does not allow them.
    """
    kept, roles = columns.table, columns.roles
    settings = _differing_settings(kept, roles, measured)
    numbering = [name for name in kept if str(name).lower() in STEPS]
    others = [name for name in settings if name not in numbering]
    if others or steps is not None or "seed" in roles:
        settings = others  # A step is a setting only where nothing else tells runs apart.
    if settings and not columns.options.replicates:
        refuse_settings(kept, roles, settings, has_steps=bool(numbering) and steps is None)
    notes = [message("analyse.replicates", settings)] if settings else []
    if "seed" not in roles:
        notes += [message("analyse.other_seed", name) for name in kept if is_seed(str(name))]
        notes += [message("analyse.folds_as_runs", name) for name in fold_columns(columns)]
    return notes


def _ends(found: RunsFound, columns: RunColumns) -> pd.Series:
    """Returns how the run of each row ended, by what the call names, or else by columns and what the format keeps.

    Raises `Invalid`.
    """
    ends = ends_of(columns.table, columns.roles.get("status", ()))
    if "status" in columns.options.named_roles or not found.endings:
        return ends
    beside = [found.endings.get(place, UNKNOWN) for place in columns.table.index]
    return pd.Series(
        [more_telling(*pair) for pair in zip(beside, ends, strict=True)], ends.index, dtype=object
    )


def _kept_rows(columns: RunColumns, ends: pd.Series, notes: list[str]) -> pd.DataFrame:
    """Returns the rows that `--where` keeps, and notes how many it leaves out."""
    table = columns.table
    conditions = columns.options.where
    notes += chosen_by_metric(conditions, columns.options.metric)
    kept = rows_where(table, conditions)
    if len(kept) < len(table):
        notes.append(message("analyse.kept_rows", conditions, len(kept), len(table)))
        notes += left_out_unequally(table, kept, columns.roles["variant"])
        lost = _left_out_by(table, kept, ends, columns.roles.get("status", ()))
        if lost:
            notes.append(message("analyse.filtered", lost))
    return kept


def _one_row_each(
    columns: RunColumns, ends: pd.Series, found: RunsFound, notes: list[str]
) -> tuple[pd.DataFrame, Steps | None]:
    """Returns the row of each run that counts, and its steps where it has one for each; notes which row that is.

    Raises `Invalid` for a call that asks for a step of runs that have none.
    """
    options = columns.options
    metrics = [*dict.fromkeys([*options.metrics(), *found.metrics])]
    steps = steps_in(columns, found, metrics)
    if steps is None:
        return columns.table, None
    table = columns.table
    has_result = have_results(ends)
    chosen = rows_at(table, steps, options.at or LAST, options.directions, metrics, has_result)
    reason = steps.in_words(len(table), len(chosen.table))
    notes += [*filter(None, [reason]), *chosen.notes]
    for metric in options.directions:
        notes += summaries_beside(table, chosen.table, steps, metric)
    return chosen.table, steps


def _length_columns(
    found: RunsFound, columns: RunColumns, kept: pd.DataFrame, steps: Steps | None
) -> list[LengthColumn]:
    """Returns the columns that say how long each run trained; none where runs are compared at one step.

    columns: of the table before one row of each run was kept, which is in `kept`.
    """
    if steps is not None:
        if is_at_one_step(columns.options.at) or steps.are_times or steps.column not in columns.table:
            return []
        of_steps = last_steps(columns.table, steps.run_columns, steps.column)
        return [of_steps.only_of(found.last_steps) if found.last_steps else of_steps]
    taken = {*itertools.chain(*columns.roles.values()), *columns.options.metrics()}
    told = columns_of_length(kept, [str(name) for name in kept if name not in taken])
    if found.last_steps:
        told.insert(0, LengthColumn(STEP, pd.Series(found.last_steps), is_of_steps=True))
    return told


def _rows(kept: pd.DataFrame, roles: Mapping[str, Sequence[str]], metrics: Sequence[str]) -> pd.DataFrame:
    """Returns the rows with a column for each role, of the same name, and the metrics."""
    others = ("step", "run", "status", *CONDITION_NUMBERS)
    roles_of_cells = {role: names for role, names in roles.items() if role not in others}
    cells = {role: joined_column(kept, names) for role, names in roles_of_cells.items()}
    if "seed" in cells:
        cells["seed"] = whole_seeds(cells["seed"])
    # Without seeds no two runs are a pair; two models that were evaluated once are.
    seeds: object = 0 if "example" in roles else range(1, len(kept) + 1)
    defaults = {"id": kept.index, "task": NAMELESS_TASK, "seed": seeds, "example": "all"}
    measured = {name: kept[name].mask(kept[name] == NO_VALUE, "") for name in metrics}
    return pd.DataFrame(defaults, kept.index).assign(**cells, **measured)


def _condition_cells(
    kept: pd.DataFrame, roles: Mapping[str, Sequence[str]], conditions: pd.Series
) -> dict[str, CellsByCondition]:
    """Returns role → condition → the different cells of its column there, but for empty ones.

    conditions: that of each row.
    """
    by_role: dict[str, CellsByCondition] = {}
    for role in CONDITION_NUMBERS:
        for name in roles.get(role, ()):
            groups = kept[name].groupby(conditions, sort=False)
            by_role[role] = {
                str(condition): [cell for cell in cells.unique() if cell] for condition, cells in groups
            }
    return by_role


def _second_columns(unused: pd.DataFrame, used: Collection[str]) -> list[tuple[str, str]]:
    """Returns the columns `acc.1` beside `acc`, which is used: so pandas names a second column called `acc`."""
    names = [(str(name), re.sub(r"\.\d+$", "", str(name))) for name in unused]
    return [(name, first) for name, first in names if first != name and first in used]


def _left_out_by(table: pd.DataFrame, kept: pd.DataFrame, ends: pd.Series, statuses: Sequence[str]) -> int:
    """Returns how many runs without a result conditions on their status have left out."""
    left = table.drop(kept.index)
    is_by_status = pd.Series(False, left.index)
    for name in statuses:
        is_by_status |= ~left[name].isin(kept[name])
    return sum(ending.what_counts != "its number" for ending in ends[left.index[is_by_status]])


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
