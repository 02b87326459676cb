"""Tables in which a run has a row for each of its steps, and what says so.

A column called `step` alone says nothing: a table of runs may have one too, with the last step of each. Rows are the
steps of one run where the format, the call or an id of the run says so, or where rows of one variant, task and seed
differ in nothing but the step and measured values.
"""

from __future__ import annotations

import itertools
import shlex
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal, assert_never

import pandas as pd

from ablate.base.errors import Invalid, listed
from ablate.report.words import message
from ablate.runs.cells import number_in
from ablate.runs.reader import RunsFound
from ablate.runs.roles import STEPS, RunColumns, plain_name
from ablate.runs.settings import settings_within
from ablate.runs.shared_ids import IDS, NAMES, shared_id
from ablate.runs.times import times_in

_RUN = ("variant", "task", "seed", "example")
"""The roles that tell runs, and examples of runs, apart."""
ROW = "row"
"""What numbers the rows of a run that has no column of steps."""

Reason = Literal["format", "id", "times", "call", "column", "equal"]
"""What says that rows are the steps of one run."""


@dataclass(frozen=True)
class Steps:
    """How a table has the steps of its runs."""

    column: str
    """The column that numbers the steps of a run."""
    run_columns: Sequence[str]
    """The columns that tell runs apart."""
    reason: Reason
    differing: Sequence[str] = ()
    """The columns in which rows of one run differ although its settings should not."""
    are_times: bool = False
    """Whether the column has the times of rows, which only give their order."""

    def in_words(self, num_rows: int, num_kept: int) -> str:
        """Returns the sentence on why rows are steps, and how many of them count; empty where the format says it."""
        match self.reason:
            case "format":
                return ""
            case "id":
                return message("analyse.steps_by_id", self.run_columns, num_rows, num_kept)
            case "times":
                return message("analyse.steps_by_times", self.run_columns, self.column, num_rows, num_kept)
            case "call" | "column":
                option = "--at" if self.reason == "call" else f"--column step {self.column}"
                return message(
                    "analyse.steps_by_call", option, self.run_columns, num_rows, num_kept, self.differing
                )
            case "equal":
                return message(
                    "analyse.steps_by_equal_rows", self.run_columns, self.column, num_rows, num_kept
                )
            case _:
                assert_never(self.reason)


def steps_in(columns: RunColumns, found: RunsFound, metrics: Collection[str]) -> Steps | None:
    """Returns how rows of a table are the steps of runs; None where each row is a run, or an example of one.

    Raises `Invalid` for a call that asks for a step of runs that have none, and for rows that may be either.
    """
    table, roles, options = columns.table, columns.roles, columns.options
    run = [*itertools.chain(*(roles[role] for role in ("run", *_RUN) if role in roles))]
    _refuse_parts(columns, found.parts, run)
    if "step" in roles:
        return _steps_of_role(columns, run, metrics)
    taken = {*itertools.chain(*roles.values()), *metrics}
    named = [str(name) for name in table if str(name).lower() in STEPS and name not in taken]
    named = sorted(named, key=lambda name: STEPS.index(name.lower()))
    naming = _naming_columns(table, taken)
    if not named:
        return _rows_in_order(columns, found, run, naming)
    with_ids = [name for name in naming if plain_name(name) in IDS]
    ids = [name for name in with_ids if _is_of_one_run_each(table[name], table[run])]
    run += naming
    are_runs = found.rows_are_runs or not table.duplicated(run).any()
    if ids and not are_runs:
        return Steps(_step_of(table, run, named) or named[0], run, "id")

    step = None if are_runs else _step_of(table, run, named)
    if step is None:
        if options.at:
            _refuse_no_steps(table, run, named, options.at)
        return None
    differing = settings_within(table, run, [name for name in table if name not in {*taken, *naming, *named}])
    if options.at:
        return Steps(step, run, "call", differing)
    is_shared = _is_shared(table, run, step)
    is_rising = _is_rising(table, run, step)
    if not differing:
        is_told = is_shared and _have_several_rows(table, run) and (is_rising or "seed" in roles)
        return Steps(step, run, "equal") if is_told else None
    if "seed" not in roles and is_shared and is_rising and not options.replicates:
        rule = f"has rows of one {' and '.join(run)} that may be steps of one run, by {step}, or runs of their own"
        hint = "--at last takes them for steps; --replicates for runs, which nothing pairs"
        raise Invalid("RUNS", rule, f"they differ in {listed(differing)}", hint=hint)
    return None


def _refuse_parts(columns: RunColumns, parts: Sequence[str], run: Sequence[str]) -> None:
    """Raises `Invalid` for rows of one run that speak of other data, which the call does not tell apart."""
    table = columns.table
    of_runs = table.groupby([*run], sort=False)
    left = [name for name in parts if name not in run and (of_runs[name].nunique() > 1).any()]
    if not left:
        return
    first = left[0]
    values = {name: table[name].drop_duplicates().tolist()[:4] for name in left}
    ways = [f"--where {shlex.quote(f'{first}={values[first][0]}')} keeps the rows of one"]
    tasks = [*columns.roles.get("task", ()), *left]
    ways.append(f"--column condition {shlex.quote(','.join(tasks))} makes each a condition")
    rule = f"has several rows for one step of a run, which differ in {listed(left)}"
    raise Invalid("RUNS", rule, values, hint=f"Say which count: {'; '.join(ways)}")


def _steps_of_role(columns: RunColumns, run: Sequence[str], metrics: Collection[str]) -> Steps:
    """Returns the steps of the column that the format or the call names."""
    table, roles = columns.table, columns.roles
    name = roles["step"][0]
    if "step" not in columns.options.named_roles:
        return Steps(name, run, "format")
    used = {*itertools.chain(*roles.values()), *metrics}
    return Steps(
        name, run, "column", settings_within(table, run, [other for other in table if other not in used])
    )


def _naming_columns(table: pd.DataFrame, taken: Collection[str]) -> list[str]:
    """Returns the columns that tell runs apart by ids or names, by what they are called."""
    named = [str(name) for name in table if plain_name(name) in (*IDS, *NAMES) and name not in taken]
    return [name for name in named if not _numbers_rows(table[name])]


def _rows_in_order(
    columns: RunColumns, found: RunsFound, run: Sequence[str], naming: Sequence[str]
) -> Steps | None:
    """Returns how rows that nothing numbers are rows of one run, by its id or seed; None where each row is a run.

    Where the call asks for a step, their times give their order, or else their places do. Where it does not, times do
    if a variant has several ids: one alone may be a name of the variant. Raises `Invalid` for a call that asks for a
    step of rows that are runs.
    """
    table, roles, options = columns.table, columns.roles, columns.options
    shared = shared_id(columns, found)
    ids = [] if shared is None else [shared.name]
    names = [*dict.fromkeys([*run, *naming, *ids])]
    is_told = shared is not None or "seed" in roles
    are_runs = found.rows_are_runs or not is_told or not table.duplicated(names).any()
    if are_runs and options.at:
        hint = "Where one numbers the steps under another name: --column step NAME"
        raise Invalid(
            "--at", "needs a column with the steps, of which each run has several", options.at, hint=hint
        )
    if are_runs:
        return None

    taken = {*itertools.chain(*roles.values()), *options.metrics(), *names}
    times = times_in(table, names, taken)
    differing = settings_within(table, names, [name for name in table if name not in {*taken, times}])
    if options.at:
        return Steps(times or ROW, names, "call", differing, are_times=times is not None)
    has_several = bool(table[names].drop_duplicates().duplicated([*run]).any())
    if shared is None or not shared.is_of_runs or not has_several or times is None or differing:
        return None
    return Steps(times, names, "times", are_times=True)


def _refuse_no_steps(table: pd.DataFrame, run: Sequence[str], named: Sequence[str], at: str) -> None:
    """Raises `Invalid` for a call that asks for a step of rows that are runs."""
    repeated = table[table.duplicated([*run, named[0]], keep=False)]
    if repeated.empty:
        rule = "needs runs that have several rows, one for each step"
        raise Invalid("--at", rule, at, hint="Without --at each row is a run")
    one, other, *_ = repeated.sort_values([*run, named[0]], kind="stable").index
    rule = f"finds one {named[0]} twice: {one} and {other} are of the same {', '.join(run)}"
    hint = (
        "Name the column that tells the runs apart, as by --column variant A,B; where these are rows of one run, "
        f"such as one that was resumed, --column step {shlex.quote(named[0])} takes the later"
    )
    raise Invalid("--at", rule, at, hint=hint)


def _step_of(table: pd.DataFrame, run: Sequence[str], named: Sequence[str]) -> str | None:
    """Returns the first column of steps of which no run has a value twice."""
    return next((name for name in named if not table.duplicated([*run, name]).any()), None)


def _numbers_rows(column: pd.Series) -> bool:
    """Returns whether a column counts the rows of the table, by one from row to row."""
    numbers = column.map(number_in)
    return bool(len(numbers) > 1 and (numbers.diff().iloc[1:] == 1).all())


def _is_of_one_run_each(ids: pd.Series, run: pd.DataFrame) -> bool:
    """Returns whether each row has an id, and none stands beside two variants, tasks or seeds."""
    pairs = run.assign(_id=ids).drop_duplicates()
    return bool((ids != "").all() and pairs["_id"].is_unique)


def _runs(table: pd.DataFrame, run: Sequence[str]) -> pd.Series:
    """Returns the number of the run of each row."""
    return table.groupby([*run], sort=False).ngroup()


def _have_several_rows(table: pd.DataFrame, run: Sequence[str]) -> bool:
    """Returns whether most runs have several rows: a few that do are runs that were run again."""
    return bool((_runs(table, run).value_counts() > 1).mean() > 0.5)


def _is_shared(table: pd.DataFrame, run: Sequence[str], step: str) -> bool:
    """Returns whether most steps are those of another run too."""
    numbers = table[step].map(number_in)
    return bool((numbers.map(numbers.value_counts()) > 1).mean() > 0.5)


def _is_rising(table: pd.DataFrame, run: Sequence[str], step: str) -> bool:
    """Returns whether the steps of each run rise from row to row."""
    by_run = table[step].map(number_in).groupby(_runs(table, run), sort=False)
    return bool(by_run.apply(lambda of_run: of_run.is_monotonic_increasing).all())
