"""A folder of tables: a file a variant, a seed, or a task, each with several runs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from ablate.base.errors import Invalid, listed
from ablate.base.numerals import whole_in
from ablate.report.words import message
from ablate.runs.formats.run_names import SEED_IN_NAME, without_match, without_seeds
from ablate.runs.formats.shapes import shaped
from ablate.runs.formats.tables import ReadTable, read_table_file
from ablate.runs.options import AnalysisOptions
from ablate.runs.reader import Reader, RunsFound
from ablate.runs.roles import NAMES_OF_VARIANTS
from ablate.runs.run_tree import files_below, run_files
from ablate.runs.settings import are_one_to_one, is_seed

_FILE = "file"
"""The column with the name of the file of a run, without its ending and its seed."""
_NUMBER_AT_END = re.compile(r"(?:^|(?<=[\W_]))(\d+)$")


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
        _refuse_other_columns(files, tables)
        notes: dict[str, None] = {}
        for read in tables:
            notes |= dict.fromkeys(read.notes)
        below = files_below(path)
        if below:
            notes[message("analyse.passed_over_below", [str(file) for file in below])] = None
        parts = _with_shared(tables)
        names = _named_parts(parts, [run.name for run in runs], notes, options.baseline)
        table = pd.concat(parts)
        percent = sorted({name for read in tables for name in read.percent})
        together = ReadTable(table, "a folder of tables", list(notes), percent)
        found = shaped(together, options)
        role = _role_of_files(table, names, options)
        has_seeds = any(is_seed(str(name)) for name in table)
        if role == "variant" and not has_seeds and not options.replicates:
            rule = "has a file for each variant, and does not say what the rows of a file are"
            hint = "--replicates takes each row for a run; a column seed or epoch would say otherwise"
            raise Invalid("RUNS", rule, listed(table.columns.drop(_FILE), 8), hint=hint)
        if role is not None:
            found.roles.setdefault(role, [_FILE])
        return found


def _refuse_other_columns(files: Sequence[Path], tables: Sequence[ReadTable]) -> None:
    """Raises `Invalid` for a file whose columns are not those of the first."""
    for file, read in zip(files, tables, strict=True):
        if {*read.table} != {*tables[0].table}:
            rule = "has tables with different columns"
            given = f"{files[0].name}: {listed(tables[0].table, 8)}; {file.name}: {listed(read.table, 8)}"
            raise Invalid("RUNS", rule, given, hint="Name one of the files, or a folder of like ones")


def _with_shared(tables: Sequence[ReadTable]) -> list[pd.DataFrame]:
    """Returns the tables with a column for each value that stands beside the runs of a file and differs by file."""
    names: dict[str, None] = {}
    for read in tables:
        names |= dict.fromkeys(read.shared)
    differing = {}
    for name in names:
        values = [read.shared.get(name, "") for read in tables]
        if len({*values}) > 1 and name not in tables[0].table:
            differing[name] = values
    parts = []
    for place, read in enumerate(tables):
        parts.append(read.table.assign(**{name: values[place] for name, values in differing.items()}))
    return parts


def _named_parts(
    parts: list[pd.DataFrame], names: list[str], notes: dict[str, None], baseline: str
) -> list[str]:
    """Adds what the names of files say to their tables, and returns the names without the seeds.

    A seed in a file counts more than a number in its name.
    """
    has_seeds = any(is_seed(str(name)) for name in parts[0])
    own_seeds = _own_seeds(parts)
    seeds = None
    if own_seeds is not None and baseline not in names:
        numbers, shorter = _numbers_apart(names, own_seeds)
        pairs = zip(names, numbers, own_seeds, strict=True)
        others = [name for name, number, seed in pairs if number not in (None, whole_in(seed))]
        if others:
            notes[message("analyse.seeds_of_files", others)] = None
        names = shorter
    elif not has_seeds:
        seeds = _seeds_in(names)
        names = without_seeds(names, seeds)
    if seeds is not None:
        notes[message("analyse.seeds_of_folders")] = None
    for place, part in enumerate(parts):
        if _FILE not in part and any(names):
            part = part.assign(**{_FILE: names[place]})
        parts[place] = part if seeds is None else part.assign(seed=seeds[place])
    return names


def _own_seeds(parts: Sequence[pd.DataFrame]) -> list[str] | None:
    """Returns the seed that each file says of all its rows, where files say several; else None."""
    columns = sorted((str(name) for name in parts[0] if is_seed(str(name))), key=len)
    for name in columns:
        if all(part[name].nunique() == 1 for part in parts):
            seeds = [str(part[name].iloc[0]) for part in parts]
            if len({*seeds}) > 1:
                return seeds
    return None


def _numbers_apart(names: Sequence[str], seeds: Sequence[str]) -> tuple[list[int | None], list[str]]:
    """Returns the number in the name of each file that says its own seed, and the names without these.

    A number that nothing marks as a seed counts where the files have the same numbers as seeds, or no other name.
    """
    own = {whole_in(seed) for seed in seeds}
    for pattern in (SEED_IN_NAME, _NUMBER_AT_END):
        matches = [pattern.search(name) for name in names]
        found = [match for match in matches if match is not None]
        if len(found) < len(names):
            continue
        numbers = [whole_in(match[1]) for match in found]
        shorter = [without_match(name, match) for name, match in zip(names, found, strict=True)]
        if not any(shorter) and pattern is _NUMBER_AT_END:
            return [None] * len(names), shorter
        if pattern is SEED_IN_NAME or {*numbers} == own:
            return numbers, shorter
    return [None] * len(names), [*names]


def _seeds_in(names: Sequence[str]) -> list[str] | None:
    """Returns the seed in the name of each file; None where one has none, or several."""
    matches = [SEED_IN_NAME.findall(name) for name in names]
    return [match[0] for match in matches] if all(len(match) == 1 for match in matches) else None


def _role_of_files(table: pd.DataFrame, names: Sequence[str], options: AnalysisOptions) -> str | None:
    """Returns what files are: variants where the baseline is one, else tasks.

    None where they are all alike, or say their variants themselves. Raises `Invalid` for a file that says another
    variant than its name does.
    """
    if _FILE not in table or table[_FILE].nunique() < 2:
        return None
    if _FILE in options.names_with_role:
        return None
    own = _own_variants(table, options.baseline)
    if not options.baseline or options.baseline not in names:
        is_same = any(are_one_to_one(table[_FILE], table[name]) for name in own)
        return None if is_same else "task"
    for name in own:
        differs = (table[name] == options.baseline) != (table[_FILE] == options.baseline)
        if differs.any() and "variant" not in options.named_roles:
            row = table[differs].iloc[0]
            rule = f"has files that say another {name} than their names do"
            given = f"{table.index[differs][0]}: {row[name]!r}, and its name says {row[_FILE]!r}"
            hint = f"--variant {name} takes what the files say; --variant {_FILE} takes their names"
            raise Invalid("RUNS", rule, given, hint=hint)
    return "variant"


def _own_variants(table: pd.DataFrame, baseline: str) -> list[str]:
    """Returns the columns with one value in each file, in which the baseline stands or whose name says variants."""
    columns = []
    for name in table.columns.drop(_FILE):
        has_baseline = (table[name] == baseline).any() if baseline else name in NAMES_OF_VARIANTS
        if has_baseline and (table.groupby(_FILE)[name].nunique() == 1).all():
            columns.append(str(name))
    return columns
