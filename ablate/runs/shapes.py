"""Tables that are not one row a run, turned into such: a chart of W&B, a column a seed, a column a variant, means.

Each shape is told by the names and cells of its columns, and named in the first line of the output.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from statistics import NormalDist

import numpy as np
import pandas as pd

from ablate.base.errors import Invalid, listed
from ablate.base.numerals import whole_in
from ablate.report.words import message
from ablate.runs.cells import is_number, is_spread_of_last_digits, mean_and_spread
from ablate.runs.options import AnalysisOptions
from ablate.runs.reader import Reader, RunsFound
from ablate.runs.tables import ReadTable, read_table_file

_BOUND = re.compile(r".+__(MIN|MAX)")
_OF_SEED = re.compile(r"(seed|s|run|rep|trial)[ _=-]?(\d+)", re.IGNORECASE)
_COUNTS = ("n", "n_seeds", "num_seeds", "seeds", "n_runs", "num_runs", "runs", "count")
"""Names of columns that say over how many runs a mean was taken."""


class TableReader(Reader):
    """Reads a file that is a table: text in columns, JSON, JSON lines, parquet."""

    looks_for = "a table of runs (CSV, TSV, JSON, JSON lines, parquet)"

    def knows(self, path: Path, options: AnalysisOptions) -> bool:
        """Returns whether a path is a file."""
        return not path.is_dir()

    def read(self, path: Path, options: AnalysisOptions) -> RunsFound:
        """Returns the runs of a table of any shape. Raises `Invalid`."""
        return shaped(read_table_file(path, options), options.metric, options.baseline)


def shaped(read: ReadTable, metric: str, baseline: str) -> RunsFound:
    """Returns the runs of a table of any of the shapes. Raises `Invalid`.

    metric, baseline: as the call names them; empty where it does not.
    """
    names = [str(name) for name in read.table]
    if any(_BOUND.fullmatch(name) for name in names) or _is_chart(names):
        return _of_chart(read)
    if metric not in names:
        seeds = [name for name in names if _OF_SEED.fullmatch(name) and _is_numeric(read.table[name])]
        if len(seeds) > 1:
            return _of_seed_columns(read, seeds, metric or "value")
        if baseline in names and _is_numeric(read.table[baseline]):
            return _of_variant_columns(read, metric or "value")
    summaries = [name for name in names if _is_summary(read.table[name])]
    if summaries:
        return _of_means(read, summaries)
    return RunsFound(read.table, _kind(read, names), notes=read.notes)


def _kind(read: ReadTable, names: Sequence[str]) -> str:
    """Returns what a table of one row a run is, in words."""
    is_of_wandb = "Name" in names and "State" in names
    return "a W&B runs export" if is_of_wandb else read.kind


def _is_numeric(column: pd.Series) -> bool:
    present = column[column != ""]
    return len(present) > 0 and bool(present.map(is_number).all())


def _is_chart(names: Sequence[str]) -> bool:
    """Returns whether the names are those of a chart that W&B has exported: `Step`, and `RUN - METRIC` for each run."""
    others = [name for name in names if name.lower() not in ("step", "relative time (process)", "_timestamp")]
    return len(others) < len(names) and len(others) > 0 and all(" - " in name for name in others)


def _of_chart(read: ReadTable) -> RunsFound:
    """Returns a row for each run and step of a chart; its lower and upper lines are left out."""
    step = str(read.table.columns[0])
    columns = [str(name) for name in read.table.columns[1:] if not _BOUND.fullmatch(str(name))]
    parts: dict[str, dict[str, pd.Series]] = {}
    for name in columns:
        run, _, metric = name.rpartition(" - ")
        parts.setdefault(run, {})[metric] = read.table[name]
    tables = []
    for run, metrics in parts.items():
        of_run = pd.DataFrame({"run": run, "step": read.table[step], **metrics})
        of_run.index = of_run.index + f", {run}"
        tables.append(of_run[(of_run[[*metrics]] != "").any(axis=1)])
    table = pd.concat(tables).fillna("")
    measured = list(dict.fromkeys(metric for metrics in parts.values() for metric in metrics))
    roles = {"variant": ["run"], "step": ["step"]}
    return RunsFound(table, "a W&B chart export", roles, measured, list(read.notes))


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


def _of_variant_columns(read: ReadTable, metric: str) -> RunsFound:
    """Returns a row for each variant and seed of a table that has a column a variant."""
    numbers = [name for name in read.table if _is_numeric(read.table[name])]
    seeds = [name for name in numbers if "seed" in str(name).lower()]
    if len(seeds) != 1:
        rule = "has a column for each variant, and must have one for the seeds beside them"
        raise Invalid("RUNS", rule, listed(map(str, read.table.columns)))
    variants = [name for name in numbers if name not in seeds]
    tables = []
    for name in variants:
        part = pd.DataFrame({"variant": name, "seed": read.table[seeds[0]], metric: read.table[name]})
        part.index = part.index + f", {name}"
        tables.append(part[part[metric] != ""])
    notes = [*read.notes, message("analyse.variant_columns", list(variants), metric)]
    roles = {"variant": ["variant"], "seed": ["seed"]}
    return RunsFound(pd.concat(tables), f"{read.kind} with a column a variant", roles, [metric], notes)


def _is_summary(column: pd.Series) -> bool:
    present = column[column != ""]
    return len(present) > 0 and bool(present.map(lambda text: mean_and_spread(text) is not None).all())


def _of_means(read: ReadTable, summaries: Sequence[str]) -> RunsFound:
    """Returns rows that have the mean and the standard deviation of each row of a table of `MEAN ± SD`.

    Welch's t depends on nothing else. Raises `Invalid` where no column says over how many runs.
    """
    counts = [name for name in read.table if str(name).lower() in _COUNTS]
    if not counts:
        rule = (
            f"has means with deviations, {listed(summaries)}, and must say over how many runs each was taken"
        )
        raise Invalid("RUNS", rule, hint="Add a column `n` with the number of runs")
    for name in summaries:
        unclear = read.table[name][read.table[name].map(is_spread_of_last_digits)]
        if len(unclear):
            rule = "may have an error of its last digits in brackets, or a deviation"
            raise Invalid(f"{unclear.index[0]}: {name}", rule, unclear.iloc[0], hint="Write 91.2 ± 0.4")
    rows = []
    places = []
    others = [name for name in read.table if name not in summaries and name != counts[0]]
    for place, row in read.table.iterrows():
        count = whole_in(row[counts[0]])
        if count is None or count < 2:
            raise Invalid(
                f"{place}: {counts[0]}", "must be a whole number of runs, two or more", row[counts[0]]
            )
        values = {name: _standing_for(row[name], count) for name in summaries}
        for number in range(count):
            rows.append({**row[others], **{name: values[name][number] for name in summaries}})
            places.append(f"{place}, run {number + 1}")
    table = pd.DataFrame(rows, index=places)
    notes = [*read.notes, message("analyse.summaries", list(summaries), counts[0])]
    return RunsFound(
        table, "a table of means with deviations", metrics=list(summaries), notes=notes, are_summaries=True
    )


def _standing_for(summary: str, count: int) -> list[str]:
    """Returns so many values that have the mean and the standard deviation of `MEAN ± SD`, spread as normal ones."""
    found = mean_and_spread(summary)
    assert found
    mean, deviation = float(found[0]), float(found[1])
    scores = np.array([NormalDist().inv_cdf((place + 0.5) / count) for place in range(count)])
    scores /= scores.std(ddof=1)
    return [repr(float(mean + deviation * score)) for score in scores]
