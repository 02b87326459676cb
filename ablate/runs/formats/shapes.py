"""Tables that are not one row a run, turned into such: a chart of W&B, a column a seed, a column a variant, means.

Each shape is told by the names and cells of its columns, and named in the first line of the output.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pandas as pd

from ablate.base.errors import Invalid, listed
from ablate.base.once import put_once
from ablate.report.words import message
from ablate.runs.cells import is_number
from ablate.runs.content import digests_of_rows
from ablate.runs.formats.summary_columns import with_mean_columns
from ablate.runs.formats.summary_rows import summary_columns, without_summaries
from ablate.runs.formats.tables import ReadTable, read_table_file
from ablate.runs.no_variants import columns_without_variants
from ablate.runs.options import AnalysisOptions
from ablate.runs.reader import Reader, RunsFound

_BOUND = re.compile(r".+__(MIN|MAX)")
_OF_TIME = (
    "step",
    "_step",
    "epoch",
    "relative time (process)",
    "relative time (wall)",
    "_timestamp",
    "wall time",
)
"""The first columns of a chart of W&B, in small letters."""
_OF_SEED = re.compile(r"(seed|s|run|rep|trial)[ _=-]?(\d+)", re.IGNORECASE)
_METRIC_OF_SEED = re.compile(rf"(.+?)[ _./-]+{_OF_SEED.pattern}", re.IGNORECASE)
_METRIC_OF_FOLD = re.compile(r"(split|fold)[ _-]?(\d+)[ _./-]+(.+)", re.IGNORECASE)
"""A column of the results of a search by scikit-learn: `split0_test_score`."""
_MARKS = " _./-"
"""What stands between the names of a variant and a metric in the name of a column: `wide acc`, `wide_acc`."""
_METRIC, _VALUE = "metric", "value"
"""The columns of a table that has a row for each metric of a run."""


class TableReader(Reader):
    """Reads a file that is a table: text in columns, JSON, JSON lines, parquet."""

    looks_for = "a table of runs (CSV, TSV, JSON, JSON lines, parquet)"

    def knows(self, path: Path, options: AnalysisOptions) -> bool:
        """Returns whether a path is a file."""
        return not path.is_dir()

    def read(self, path: Path, options: AnalysisOptions) -> RunsFound:
        """Returns the runs of a table of any shape. Raises `Invalid`."""
        return shaped(read_table_file(path, options), options)


def shaped(read: ReadTable, options: AnalysisOptions) -> RunsFound:
    """Returns the runs of a table of any of the shapes, known again by the rows as they stand. Raises `Invalid`."""
    return replace(_shaped(read, options), content=digests_of_rows(read.table))


def _shaped(read: ReadTable, options: AnalysisOptions) -> RunsFound:
    """Returns the runs of a table of any of the shapes. Raises `Invalid`."""
    metric, baseline = options.metric, options.baseline
    read = without_summaries(read)
    names = [str(name) for name in read.table]
    if _runs_of_chart(names):
        return _of_chart(read)
    if metric not in names:
        seeds = [name for name in names if _OF_SEED.fullmatch(name) and _is_numeric(read.table[name])]
        if len(seeds) > 1:
            return _of_seed_columns(read, seeds, metric or "value")
        if metric and _is_long(read.table, metric):
            return _of_long(read)
        of_metrics = _columns_of_metrics(read.table)
        if len(of_metrics.get(metric, {})) > 1:
            return _of_metrics_and_seeds(read, of_metrics)
        if f"{metric}.{baseline}" in names:
            return _of_variant_columns(_of_one_metric(read, prefix=f"{metric}."), metric, baseline)
        mark = _mark_before(metric, baseline, names)
        if mark:
            return _of_variant_columns(_of_one_metric(read, suffix=mark + metric), metric, baseline)
        if baseline in names and _is_numeric(read.table[baseline]):
            return _of_variant_columns(read, metric or "value", baseline)
    is_of_wandb = "Name" in names and "State" in names
    read, means = with_mean_columns(read, options)
    return RunsFound(
        read.table,
        "a W&B runs export" if is_of_wandb else read.kind,
        metrics=[each.metric for each in means if each.is_in_cells],
        notes=read.notes,
        rows_are_runs=is_of_wandb,
        means=means,
    )


def _is_numeric(column: pd.Series) -> bool:
    present = column[column != ""]
    return len(present) > 0 and bool(present.map(is_number).all())


def _runs_of_chart(names: Sequence[str]) -> list[str]:
    """Returns the columns `RUN - METRIC` of a chart that W&B has exported, without those of bounds; else none.

    Beside them a chart has a column of steps, and perhaps of times.
    """
    lines = [name for name in names if not _BOUND.fullmatch(name)]
    runs = [name for name in lines if name.lower() not in _OF_TIME]
    is_chart = 0 < len(runs) < len(lines) and all(" - " in name for name in runs)
    return runs if is_chart else []


def _of_chart(read: ReadTable) -> RunsFound:
    """Returns a row for each run and step of a chart; its lower and upper lines are left out."""
    names = [str(name) for name in read.table]
    columns = _runs_of_chart(names)
    step = min(
        (name for name in names if name.lower() in _OF_TIME), key=lambda name: _OF_TIME.index(name.lower())
    )
    parts: dict[str, dict[str, pd.Series]] = {}
    for name in columns:
        run, _, metric = name.rpartition(" - ")
        put_once(parts.setdefault(run, {}), metric, read.table[name], said=name)
    _refuse_counted(columns)
    _refuse_taken(["name", "run", "step"], [*itertools.chain(*parts.values())])
    tables = []
    for run, metrics in parts.items():
        of_run = pd.DataFrame({"name": run, "run": run, "step": read.table[step], **metrics})
        of_run.index = of_run.index + f", {run}"
        tables.append(of_run[(of_run[[*metrics]] != "").any(axis=1)])
    table = pd.concat(tables).fillna("")
    measured = list(dict.fromkeys(itertools.chain(*parts.values())))
    roles = {"variant": ["run"], "run": ["name"], "step": ["step"]}
    return RunsFound(table, "a W&B chart export", roles, measured, list(read.notes))


def _refuse_counted(columns: Sequence[str]) -> None:
    """Raises `Invalid` for `relu - acc.1` beside `relu - acc`: what a second run called relu becomes in pandas."""
    twice = [name for name in columns if re.sub(r"\.\d+$", "", name) in {*columns} - {name}]
    if twice:
        hint = "Rename one of the runs in W&B, and export the chart again"
        raise Invalid("RUNS", "has two runs of one name", listed(twice), hint=hint)


def _of_seed_columns(read: ReadTable, seeds: Sequence[str], metric: str) -> RunsFound:
    """Returns a row for each variant and seed of a table that has a column a seed."""
    others = [name for name in read.table if name not in seeds]
    tables = []
    for name in seeds:
        match = _OF_SEED.fullmatch(name)
        assert match
        part = read.table[others].assign(seed=match[2], **{metric: read.table[name]})
        part.index = part.index + f", {name}"
        tables.append(part[part[metric] != ""])
    table = pd.concat(tables)
    notes = [*read.notes, message("analyse.seed_columns", list(seeds), metric)]
    return RunsFound(table, f"{read.kind} with a column a seed", {"seed": ["seed"]}, [metric], notes)


def _columns_of_metrics(table: pd.DataFrame) -> dict[str, dict[tuple[str, str], str]]:
    """Returns metric → (`seed` or `fold`, its number) → the column that has its values."""
    columns: dict[str, dict[tuple[str, str], str]] = {}
    for name in map(str, table):
        of_seed, of_fold = _METRIC_OF_SEED.fullmatch(name), _METRIC_OF_FOLD.fullmatch(name)
        if of_seed:
            put_once(columns.setdefault(of_seed[1], {}), ("seed", of_seed[3]), name, said=name)
        elif of_fold:
            put_once(columns.setdefault(of_fold[3], {}), ("fold", of_fold[2]), name, said=name)
    return columns


def _of_metrics_and_seeds(
    read: ReadTable, of_metrics: Mapping[str, Mapping[tuple[str, str], str]]
) -> RunsFound:
    """Returns a row for each variant and seed, or fold, of a table with a column for each metric and seed."""
    columns: list[str] = []
    numbers: dict[tuple[str, str], None] = {}
    for of_metric in of_metrics.values():
        columns += of_metric.values()
        numbers |= dict.fromkeys(of_metric)
    kinds = {kind for kind, _ in numbers}
    others = read.table.drop(columns=columns)
    _refuse_taken([*others], [*kinds, *of_metrics])
    tables = []
    for kind, number in numbers:
        values = {
            metric: read.table[of_metric[kind, number]]
            for metric, of_metric in of_metrics.items()
            if (kind, number) in of_metric
        }
        part = others.assign(**{kind: number}, **values)
        part.index = part.index + f", {kind} {number}"
        tables.append(part[(part[[*values]] != "").any(axis=1)])
    table = pd.concat(tables).fillna("")
    roles = {"seed": ["seed"]} if kinds == {"seed"} else {}
    notes = [*read.notes, message("analyse.metric_columns", columns, sorted(kinds), list(of_metrics))]
    kind_of_table = f"{read.kind} with a column for each metric and {' and '.join(sorted(kinds))}"
    return RunsFound(table, kind_of_table, roles, list(of_metrics), notes)


def _is_long(table: pd.DataFrame, metric: str) -> bool:
    """Returns whether a table has a row for each metric of a run, among them one metric."""
    return {_METRIC, _VALUE} <= {*table} and metric in table[_METRIC].unique()


def _of_long(read: ReadTable) -> RunsFound:
    """Returns a row for each run, with a column for each metric, of a table with a row for each metric of a run."""
    others = [str(name) for name in read.table if name not in (_METRIC, _VALUE)]
    metrics = [str(name) for name in read.table[_METRIC].unique()]
    _refuse_taken(others, metrics)
    count = read.table.groupby([*others, _METRIC], sort=False).cumcount()
    runs = read.table.groupby([*others, count], sort=False).ngroup()
    rows: dict[int, dict[str, str]] = {}
    places: dict[int, str] = {}
    for run, (place, row) in zip(runs, read.table.iterrows(), strict=True):
        places.setdefault(run, str(place))
        rows.setdefault(run, row[others].to_dict())[row[_METRIC]] = row[_VALUE]
    table = pd.DataFrame([*rows.values()], index=[*places.values()]).fillna("")
    return RunsFound(table, f"{read.kind} with a row for each metric", metrics=metrics, notes=read.notes)


def _mark_before(metric: str, baseline: str, names: Sequence[str]) -> str:
    """Returns what stands between variants and the metric in the names of columns; empty where these do not say so."""
    if not metric or not baseline:
        return ""
    for mark in _MARKS:
        if f"{baseline}{mark}{metric}" in names and not _begins_with_another(names, mark, metric):
            return mark
    return ""


def _begins_with_another(names: Sequence[str], mark: str, metric: str) -> bool:
    """Returns whether a column before a metric may be of another metric: `base_val_acc` beside `base_acc`."""
    variants = [name.removesuffix(mark + metric) for name in names if name.endswith(mark + metric)]
    return any(f"{name}{mark}" in other for name in variants for other in variants)


def _of_one_metric(read: ReadTable, *, prefix: str = "", suffix: str = "") -> ReadTable:
    """Returns the columns of one metric, `acc.base` or `base acc` as `base`, beside those that hold seeds."""
    renamed: dict[str, str] = {}
    for name in map(str, read.table):
        is_of_metric = name.startswith(prefix) and name.endswith(suffix)
        if is_of_metric or "seed" in name.lower():
            put_once(renamed, name.removeprefix(prefix).removesuffix(suffix), name)
    table = read.table[[*renamed.values()]].set_axis([*renamed], axis=1)
    return replace(read, table=table)


def _refuse_taken(others: Collection[str], new: Collection[str]) -> None:
    """Raises `Invalid` where a column that a shape adds has the name of another one."""
    taken = [name for name in new if name in others]
    if taken:
        raise Invalid("RUNS", "has columns with the names of others that its shape adds", listed(taken))


def _of_variant_columns(read: ReadTable, metric: str, baseline: str) -> RunsFound:
    """Returns a row for each variant and seed of a table that has a column a variant."""
    numbers = [name for name in read.table if _is_numeric(read.table[name])]
    seeds = [name for name in numbers if "seed" in str(name).lower()]
    if len(seeds) != 1:
        rule = "has a column for each variant, and must have one for the seeds beside them"
        hint = 'Call the column of seeds "seed", or write a row for each run: variant, seed and metric'
        raise Invalid("RUNS", rule, listed(map(str, read.table.columns)), hint=hint)
    variants = [str(name) for name in numbers if name not in seeds]
    summaries = summary_columns(read.table, variants)
    others = columns_without_variants(read.table, variants, baseline)
    variants = [name for name in variants if name not in (*summaries, *others)]
    tables = []
    for name in variants:
        part = pd.DataFrame({"variant": name, "seed": read.table[seeds[0]], metric: read.table[name]})
        part.index = part.index + f", {name}"
        tables.append(part[part[metric] != ""])
    notes = [*read.notes, message("analyse.variant_columns", list(variants), metric)]
    if summaries:
        notes.append(message("analyse.summary_columns", summaries))
    if others:
        notes.append(message("analyse.no_variants", others))
    roles = {"variant": ["variant"], "seed": ["seed"]}
    return RunsFound(pd.concat(tables), f"{read.kind} with a column a variant", roles, [metric], notes)
