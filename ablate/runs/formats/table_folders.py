"""A folder of tables: a file a variant, a seed, or a task, each with several runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from ablate.base.errors import Invalid, listed
from ablate.report.words import message
from ablate.runs.formats.run_names import SEED_IN_NAME, without_seeds
from ablate.runs.formats.shapes import shaped
from ablate.runs.formats.tables import ReadTable, read_table_file
from ablate.runs.options import AnalysisOptions
from ablate.runs.reader import Reader, RunsFound
from ablate.runs.run_tree import files_below, run_files
from ablate.runs.settings import is_seed

_FILE = "file"
"""The column with the name of the file of a run, without its ending and its seed."""


class TableFolderReader(Reader):
    """Reads the tables of a folder as one, where they have the same columns."""

    looks_for = "tables with the same columns in one folder, a file a variant, a seed or a task"

    def knows(self, path: Path, options: AnalysisOptions) -> bool:
        """Returns whether a folder has several tables."""
        return path.is_dir() and len(run_files(path)) > 1

    def read(self, path: Path, options: AnalysisOptions) -> RunsFound:
        """Returns the runs of all tables, and what the names of their files say of them. Raises `Invalid`."""
        runs = run_files(path)
        files = [run.results[0] for run in runs]
        tables = [read_table_file(file, options) for file in files]
        for file, read in zip(files, tables, strict=True):
            if {*read.table} != {*tables[0].table}:
                rule = "has tables with different columns"
                given = f"{files[0].name}: {listed(tables[0].table, 8)}; {file.name}: {listed(read.table, 8)}"
                raise Invalid("RUNS", rule, given, hint="Name one of the files, or a folder of like ones")
        notes: dict[str, None] = {}
        for read in tables:
            notes |= dict.fromkeys(read.notes)
        below = files_below(path)
        if below:
            notes[message("analyse.passed_over_below", [str(file) for file in below])] = None
        names = [run.name for run in runs]
        seeds = None if any(is_seed(str(name)) for name in tables[0].table) else _seeds_in(names)
        names = without_seeds(names, seeds)
        parts = []
        for place, read in enumerate(tables):
            part = read.table
            if _FILE not in part:
                part = part.assign(**{_FILE: names[place]})
            parts.append(part if seeds is None else part.assign(seed=seeds[place]))
        if seeds is not None:
            notes[message("analyse.seeds_of_folders")] = None
        table = pd.concat(parts)
        percent = sorted({name for read in tables for name in read.percent})
        together = ReadTable(table, "a folder of tables", list(notes), percent)
        found = shaped(together, options.metric, options.baseline)
        role = _role_of_files(table, names, options)
        has_seeds = seeds is not None or any(is_seed(str(name)) for name in table)
        if role == "variant" and not has_seeds and not options.replicates:
            rule = "has a file for each variant, and does not say what the rows of a file are"
            hint = "--replicates takes each row for a run; a column seed or epoch would say otherwise"
            raise Invalid("RUNS", rule, listed(table.columns.drop(_FILE), 8), hint=hint)
        if role is not None:
            found.roles.setdefault(role, [_FILE])
        return found


def _seeds_in(names: Sequence[str]) -> list[str] | None:
    """Returns the seed in the name of each file; None where one has none, or several."""
    matches = [SEED_IN_NAME.findall(name) for name in names]
    return [match[0] for match in matches] if all(len(match) == 1 for match in matches) else None


def _role_of_files(table: pd.DataFrame, names: Sequence[str], options: AnalysisOptions) -> str | None:
    """Returns what files are: variants where the baseline is one, else tasks; None where they are all alike."""
    if table[_FILE].nunique() < 2 or any(_FILE in name.split(",") for _, name in options.columns):
        return None
    return "variant" if options.baseline in names else "task"
