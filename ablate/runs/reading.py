"""Runs that exist, as a table with one meaning a column: read, and checked.

A row is a run, or an example of a run; the index says where it was read. What is wrong raises `AblateError`.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from ablate.analysis.treatments import is_length
from ablate.base.errors import Gather, Invalid, Problem, listed, nearest
from ablate.base.numerals import whole_in
from ablate.core.facts import EXAMPLE_COLUMNS, NAMELESS_TASK, frame_of
from ablate.core.metric import Metric
from ablate.report.words import message
from ablate.runs.clusters import with_sources
from ablate.runs.filters import rows_where
from ablate.runs.options import AnalysisOptions
from ablate.runs.settings import differing_between, is_seed, refuse_settings, settings_of
from ablate.runs.sources import read_source
from ablate.runs.statuses import (
    DIVERGED,
    NO_VALUE,
    Ending,
    endings,
    is_kept,
    num_without_result,
    status_column,
)

KEY = ["variant", "task", "seed"]
_JOINED = ("variant", "task")
"""Roles that several columns may have together."""
RULES = {
    "seed": "must be a whole number of at most 64 bits, with all its digits",
    **dict.fromkeys(("variant", "task", "example"), "must not be empty"),
}
NUMBER = "must be a number; nan for a run that diverged; empty for one that failed"
_NO_NUMBER = ("", "nan", "-nan")


@dataclass(frozen=True)
class RunTable:
    """The rows of RUNS.

    Columns: id, variant, task, seed, example, status, source where it was asked for, and the metrics.
    """

    rows: pd.DataFrame
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


def read(runs: str, options: AnalysisOptions) -> RunTable:
    """Returns the rows of RUNS by their roles. Raises `AblateError`."""
    metrics = [*options.metrics()]
    table = read_source(runs, options)
    with Gather() as at:
        at.refuse(
            table.empty,
            "RUNS",
            "has no runs",
            runs,
            hint="Give a table with one row per run, or a folder of samples of lm-eval with this metric",
        )
    columns = _columns(table, options)
    _check_columns(table, columns, metrics, runs)
    kept = rows_where(table, options.where)

    notes = []
    if len(kept) < len(table):
        notes.append(message("analyse.kept_rows", options.where, len(kept), len(table)))
        lost = _left_out_by(table, kept, columns)
        if lost:
            notes.append(message("analyse.filtered", lost))
    settings = _settings(kept, columns, metrics)
    if settings and options.replicates:
        notes.append(message("analyse.replicates", settings))
    elif settings:
        refuse_settings(kept, columns, settings)
    if "seed" not in columns:
        notes += [message("analyse.other_seed", name) for name in table if is_seed(name)]
    roles = {role: _joined(kept, names) for role, names in columns.items()}
    # Without seeds no two runs are a pair; two models that were evaluated once are.
    seeds: object = 0 if "example" in roles else range(1, len(kept) + 1)
    defaults = {"id": kept.index, "task": NAMELESS_TASK, "seed": seeds, "example": "all", "status": ""}
    measured = {name: kept[name] for name in metrics}
    rows = pd.DataFrame(defaults, kept.index).assign(**roles, **measured)
    used = _taken(columns) | {*metrics}
    others = kept.drop(columns=[*used & {*kept}])
    lengths = _lengths(others, rows["variant"])
    columns_of_length: set[str] = set()
    for values in lengths.values():
        columns_of_length |= values.keys()
    return RunTable(
        rows,
        has_seeds="seed" in columns,
        notes=notes,
        lengths=lengths,
        differing=differing_between(others.drop(columns=[*columns_of_length]), rows["variant"]),
        seeds=columns.get("seed", ()),
    )


def _left_out_by(table: pd.DataFrame, kept: pd.DataFrame, columns: Mapping[str, Sequence[str]]) -> int:
    """Returns how many runs without a result conditions on their status have left out."""
    if "status" not in columns:
        return 0
    (status,) = columns["status"]
    left = table.drop(kept.index)[status]
    return num_without_result(left[~left.isin(kept[status])])


def _lengths(others: pd.DataFrame, variants: pd.Series) -> dict[str, dict[str, str]]:
    """Returns variant → column → how long all its runs trained, where the column has the name of a length."""
    lengths: dict[str, dict[str, str]] = {}
    for name in others:
        if not is_length(str(name)):
            continue
        for variant, values in others[name].groupby(variants):
            if values.notna().all() and values.nunique() == 1:
                lengths.setdefault(str(variant), {})[str(name)] = str(values.iloc[0])
    return lengths


def _columns(table: pd.DataFrame, options: AnalysisOptions) -> dict[str, list[str]]:
    """Returns role → its columns: those that the options name, else the one that has the name of the role."""
    columns: dict[str, list[str]] = {}
    for role, name in options.column:
        names = [name] if name in table or role not in _JOINED else name.split(",")
        columns.setdefault(role, []).extend(names)
    columns.setdefault("variant", ["variant"])
    taken = _taken(columns)
    for role in ("task", "seed", "example"):
        if role in table and role not in taken:
            columns.setdefault(role, [role])
    status = status_column(table)
    if status is not None and status not in taken:
        columns.setdefault("status", [status])
    return columns


def _taken(columns: Mapping[str, Sequence[str]]) -> set[str]:
    """Returns the columns that have a role."""
    return {*itertools.chain(*columns.values())}


def _check_columns(
    table: pd.DataFrame, columns: Mapping[str, Sequence[str]], metrics: Sequence[str], runs: str
) -> None:
    """Raises `Invalid` for columns that the table lacks, and for a role that takes one column and has several."""
    with Gather() as at:
        for role, names in columns.items():
            place = f"--column {role}"
            at.refuse(len(names) > 1 and role not in _JOINED, place, "takes one column", listed(names))
            at.refuse(len({*names}) < len(names), place, "must name each column once", listed(names))
            judged = [name for name in names if name in metrics]
            at.refuse(judged, place, "names a metric, which is a result of a run", listed(judged))
        at.refuse(
            "source" in columns and "example" not in columns,
            "--column source",
            "says where each example is from, but RUNS has no column of examples",
            hint="Name their column too: --column example NAME",
        )
        for name in dict.fromkeys([*itertools.chain(*columns.values()), *metrics]):
            at.refuse(
                name not in table,
                "RUNS",
                f"has no column {name!r}",
                runs,
                listed(table.columns),
                nearest(name, table.columns) or "Say which it is: --metric NAME, --column variant NAME",
            )


def _joined(table: pd.DataFrame, names: Sequence[str]) -> pd.Series:
    """Returns a column; of several columns `A=…, B=…` in each row."""
    if len(names) == 1:
        return table[names[0]]
    texts = pd.Series("", table.index)
    for place, name in enumerate(names):
        values = table[name].astype(str).where(table[name].notna(), "").str.strip()
        texts += ", " * bool(place) + f"{name}=" + values
    return texts


def _settings(table: pd.DataFrame, columns: Mapping[str, Sequence[str]], metrics: Sequence[str]) -> list[str]:
    """Returns the columns in which runs of one variant differ, and that are settings."""
    taken = _taken(columns)
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


@dataclass(frozen=True)
class CheckedRuns:
    """The runs of a table, checked."""

    trials: pd.DataFrame
    """A row a run, as `Evidence.trials`, with the reason of a run without a result."""
    examples: pd.DataFrame
    """The metrics of each example, as `Evidence.examples`."""
    reruns: pd.DataFrame
    """The rows of runs that another run of the same seed replaces."""
    kept: Sequence[object] = ()
    """The ids of runs whose status says that a loop has kept the change."""


def checked(table: RunTable, metrics: Mapping[str, Metric]) -> CheckedRuns:
    """Returns the trials and examples of a table of runs. Raises `Invalid`."""
    rows = _typed_rows(table.rows, [*metrics])
    is_replaced = _replaced(rows)
    reruns = rows[is_replaced].drop_duplicates(KEY)
    rows = rows[~is_replaced]
    _refuse_duplicates(rows, table.has_seeds)
    _refuse_other_examples(rows)
    grouped = rows.sort_values("example", kind="stable").groupby(KEY, sort=False)
    # The statuses are in the order of their letters: a run that failed on one example has failed.
    columns = {"id": "first", "status": "max", "reason": "max", **dict.fromkeys(metrics, "mean")}
    trials = grouped.agg(columns).reset_index()
    # A metric that is the same on all examples is of the run.
    varying = [name for name in metrics if grouped[name].nunique().max() > 1]
    # The mean over some examples is not that over all of them, which other runs have.
    has_all = grouped[varying].count().eq(grouped.size(), axis=0).reset_index(drop=True)
    trials[varying] = trials[varying].where(has_all)
    examples: list[tuple[str, str, list[float]]] = []
    for name in varying:
        examples += [
            (run, name, of_run) for run, of_run in zip(trials["id"], grouped[name].agg(list), strict=True)
        ]
    values = frame_of(examples, EXAMPLE_COLUMNS)
    if "source" in rows:
        values = with_sources(values, rows)
    return CheckedRuns(
        trials, values, reruns, kept=table.rows.loc[is_kept(table.rows["status"]), "id"].tolist()
    )


def _typed_rows(rows: pd.DataFrame, metrics: list[str]) -> pd.DataFrame:
    """Returns the rows with numbers as such, and with the status and reason of their runs. Raises `Invalid`.

    A number beside the status of a run without a result does not count.
    """
    texts = rows.astype(str).where(rows.notna(), "").apply(lambda column: column.str.strip())
    by_status = endings(texts["status"])
    is_completed = by_status.map(lambda ending: ending.outcome == "completed")
    numbers = texts[metrics].apply(lambda column: column.map(_number_in).astype(float))
    # As objects: a column of numbers with one that is none is one of floats, which are not exact.
    seeds = pd.Series([whole_in(text) for text in texts["seed"]], texts.index, dtype=object, name="seed")
    is_blank = texts[metrics].apply(lambda column: column.str.lower().isin(_NO_NUMBER))

    is_no_number = numbers[metrics].isna() & ~is_blank
    is_no_number = is_no_number.apply(lambda column: column & is_completed)
    is_empty = texts[["variant", "task", "example"]] == ""
    is_wrong = pd.concat([is_empty, seeds.isna(), is_no_number], axis=1)
    with Gather() as at:
        for name in is_wrong:
            for place, given in texts.loc[is_wrong[name], name].head(8).items():
                at.problems.append(Problem(RULES.get(name, NUMBER), given=given, source=f"{place}: {name}"))

    judged = metrics[0]
    ended = by_status.mask(is_completed & ~np.isfinite(numbers[judged]), DIVERGED)
    ended = ended.mask(is_completed & (texts[judged] == ""), NO_VALUE)
    has_result = ended.map(lambda ending: ending.outcome == "completed")
    numbers[metrics] = numbers[metrics].where(has_result, np.nan)
    return texts.assign(
        **numbers,
        seed=seeds.astype("int64"),
        status=ended.map(lambda ending: ending.outcome),
        reason=ended.map(lambda ending: ending.why),
    )


def _number_in(text: str) -> float:
    """Returns the float that is nearest to the number in a text; NaN where it is none."""
    try:
        return float(text) if text.isascii() and "_" not in text else math.nan
    except ValueError:
        return math.nan


def _replaced(rows: pd.DataFrame) -> pd.Series:
    """Returns whether a row is of a run without a result that another run of the same seed replaces.

    Of several without a result, the last counts.
    """
    key = [*KEY, "example"]
    has_no_result = rows.apply(lambda row: Ending(row["status"], row["reason"]).is_replaceable, axis=1)
    has_result = (~has_no_result).groupby([rows[name] for name in key]).transform("any")
    is_last = ~rows.duplicated(key, keep="last")
    return has_no_result & (has_result | ~is_last)


def _refuse_duplicates(rows: pd.DataFrame, has_seeds: bool) -> None:
    """Raises `Invalid` where two rows are of the same run, and example."""
    key = [*KEY, "example"] if has_seeds else ["variant", "task", "example"]
    if not has_seeds and (rows["example"] == "all").all():
        return
    duplicates = rows[rows.duplicated(key, keep=False)].sort_values(key, kind="stable")
    if duplicates.empty:
        return
    first = duplicates.iloc[0]
    run = ", ".join(f"{name} {first[name]}" for name in key if first[name] not in ("", "all"))
    one, other, *_ = duplicates.index
    hint = (
        "Keep the one that counts, by --where COLUMN=VALUE, or name the column that tells them apart: "
        "--column ROLE NAME"
    )
    raise Invalid("", f"{one} and {other} are the same run: {run}", hint=hint)


def _refuse_other_examples(rows: pd.DataFrame) -> None:
    """Raises `Invalid` where a run lacks examples of its task; a run without a result may lack some."""
    has_failed = (rows["status"] == "failed").groupby([rows[name] for name in KEY]).transform("any")
    ended = rows[~has_failed]
    num_runs = ended.drop_duplicates(KEY).groupby("task").size()
    shares = ended.groupby(["task", "example"]).size().div(num_runs, level="task")
    lacking = shares[shares < 1]
    with Gather() as at:
        at.refuse(
            len(lacking),
            "RUNS",
            "every run of a task must have the same examples",
            f"not in all: {listed(lacking.index, 3)}",
            hint="Leave out examples that some runs lack",
        )
