"""A folder a run: its settings and its results, as Hydra, Lightning, Hugging Face, Ray Tune and timm write them."""

from __future__ import annotations

import functools
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from ablate.base.errors import Invalid
from ablate.core.ending import Ending
from ablate.report.words import message
from ablate.runs.cells import number_in
from ablate.runs.content import digest_of_files
from ablate.runs.ends.end_files import unmarked_ends
from ablate.runs.ends.run_ends import ending_beside
from ablate.runs.ends.slurm_accounts import account_files, endings_in_accounts
from ablate.runs.ends.statuses import more_telling
from ablate.runs.formats.logs import EXAMPLE, LogPatterns, found_nothing
from ablate.runs.formats.metric_files import MetricRows, ending_in, numbers_in, rows_of, settings_beside
from ablate.runs.formats.parts_in_names import told_apart
from ablate.runs.formats.parts_in_rows import labels_of, part_columns, without_columns
from ablate.runs.formats.run_history import Row, RunHistory, table_of
from ablate.runs.options import AnalysisOptions
from ablate.runs.reader import Reader, RunsFound
from ablate.runs.roles import STEPS
from ablate.runs.run_settings import choices_in, overrides_in, settings_in
from ablate.runs.run_tree import (
    FileKind,
    RunFolder,
    files_below,
    has_files,
    refuse_many,
    run_files,
    run_folders,
)
from ablate.runs.settings import is_seed

_HYDRA = ".hydra"
_STATE = "trainer_state.json"
_OF_STATE = ("num_train_epochs", "max_steps", "train_batch_size", "trial_params.")
"""What the names of settings begin with that Hugging Face keeps in the state of its trainer."""


class RunFolderReader(Reader):
    """Reads a folder in which each run has one of its own, with its settings and its results."""

    looks_for = (
        "a folder a run, with its settings (config, hparams, args, params: YAML, JSON or TOML) and its results "
        "(metrics, results, summary, history, progress: CSV, JSON or JSON lines), as those of Hydra, Lightning, "
        "Hugging Face, Ray Tune and timm"
    )

    def knows(self, path: Path, options: AnalysisOptions) -> bool:
        """Returns whether folders below a path have results beside settings, or there are several with results."""
        if not path.is_dir():
            return False
        runs = run_folders(path, _kind_of_files(options))
        with_results = [run for run in runs if run.results]
        with_settings = [run for run in runs if run.configs]
        if options.read:
            return bool(with_results and with_settings)
        if with_results:
            return bool(with_settings) or len(with_results) > 1
        if has_files(path, "events"):
            return False
        return any(run.is_of_hydra for run in runs) or _are_histories(run_files(path))

    def read(self, path: Path, options: AnalysisOptions) -> RunsFound:
        """Returns a row a run and step. Raises `Invalid`."""
        notes: list[str] = []
        folders = run_folders(path, _kind_of_files(options), notes)
        kind = _kind(folders)
        if not options.read and not folders:
            folders = run_files(path)
            kind = "files of runs"
            below = files_below(path)
            notes += [message("analyse.passed_over_below", [str(file) for file in below])] if below else []
        refuse_many(folders, path)
        if not any(run.results for run in folders):
            rule = "has runs with settings, and no file with their results"
            hint = f"Say how their logs name the metric: {EXAMPLE}; or let each run write metrics.json"
            raise Invalid("RUNS", rule, str(path), hint=hint)
        patterns = LogPatterns(options.read) if options.read else None
        files_of_runs = [_results_of(folder, options.metric, patterns) for folder in folders]
        if kind != "files of runs" and not options.read:
            files_of_runs, of_parts = told_apart(files_of_runs)
            notes += of_parts
        files_with_rows = [read.rows for files in files_of_runs for read in files.values()]
        parts = part_columns(files_with_rows, options)
        runs: list[RunHistory] = []
        folders_of_runs: list[RunFolder] = []
        for folder, files in zip(folders, files_of_runs, strict=True):
            of_folder = _of_seeds(_history_of(folder, files, parts, options, notes), files)
            runs += of_folder
            folders_of_runs += [folder] * len(of_folder)
        folders = folders_of_runs
        if options.read:
            # A text in which no pattern finds anything is a log only where a run has its settings.
            if not any(run.rows for run in runs):
                raise found_nothing(f"the logs below {path}", options)
            kept = [
                (folder, run) for folder, run in zip(folders, runs, strict=True) if run.rows or run.settings
            ]
            folders = [folder for folder, _ in kept]
            runs = [run for _, run in kept]
        if all(folder.is_of_hydra for folder in folders):
            overridden: dict[str, None] = {}
            for run in runs:
                overridden |= dict.fromkeys(run.overrides or {})
            runs = [_with_choices(folder, run, overridden) for folder, run in zip(folders, runs, strict=True)]
        runs = _with_accounts(path, folders, runs, notes)
        return table_of(_with_unmarked_ends(folders, runs), kind, options, notes)


def _are_histories(files: Sequence[RunFolder]) -> bool:
    """Returns whether there are several files, each with one row, or with a row for each step and no words.

    A table of several runs has words, several seeds, or no steps. Raises `Invalid`.
    """
    if len(files) < 2:
        return False
    for run in files:
        rows = rows_of(run.results[0]).rows
        if len(rows) < 2:
            continue
        numbers = numbers_in(rows)
        steps = [name for name in rows[0] if name.lower() in STEPS]
        has_words = any(value != "" and name not in numbers[0] for name, value in rows[0].items())
        has_seeds = any(is_seed(name) and len({row.get(name) for row in rows}) > 1 for name in rows[0])
        if not steps or has_words or has_seeds:
            return False
    return True


def _kind_of_files(options: AnalysisOptions) -> FileKind:
    return "logs" if options.read else "metrics"


def _results_of(folder: RunFolder, metric: str, patterns: LogPatterns | None) -> dict[Path, MetricRows]:
    """Returns what the files of results of one run say. Raises `Invalid`.

    patterns: those by which logs are read; None of files of metrics.
    """
    results = {}
    for file in folder.results:
        part = folder.part_of(file)
        # A file in a folder of a part has the metric without the name of the part.
        read = patterns.rows_of(file) if patterns else rows_of(file, metric.removeprefix(part))
        results[file] = read.under(part)
    return results


def _history_of(
    folder: RunFolder,
    files: Mapping[Path, MetricRows],
    parts: Sequence[str],
    options: AnalysisOptions,
    notes: list[str],
) -> RunHistory:
    """Returns the settings and results of one run; adds what is not sure to the notes. Raises `Invalid`.

    parts: the columns that tell the rows of a run apart which are no steps of it.
    """
    settings = settings_in(folder.configs, notes)
    overrides = overrides_in(folder.path / _HYDRA / "overrides.yaml") if folder.is_of_hydra else None
    most_rows = max((len(read.rows) for read in files.values()), default=0)
    rows: list[Row] = []
    end: dict[str, str] = {}
    for file, read in files.items():
        notes += read.notes
        if file.name == _STATE:
            settings = _settings_of_state(read.end) | settings
        end |= read.end
        if len(read.rows) == 1 < most_rows:
            end |= read.rows[0]
        else:
            rows += read.rows
    if not folder.configs:
        settings = settings_beside([end, *rows] if end else rows) | settings
    numbers = numbers_in(without_columns(rows, parts))
    (numbers_at_end,) = numbers_in([end])
    notes += _other_values(folder, files, numbers_at_end | _last_values(numbers))
    return RunHistory(
        folder.name,
        str(folder.results[-1] if len(folder.results) == 1 else folder.path),
        rows=numbers,
        settings=settings,
        overrides=overrides,
        ended=_ending_of(folder, rows, end, files.values()),
        end=numbers_at_end,
        labels=labels_of(rows, parts, options) if parts else (),
        content=digest_of_files([*folder.configs, *folder.results]),
    )


def _of_seeds(run: RunHistory, files: Mapping[Path, MetricRows]) -> list[RunHistory]:
    """Returns the run of each seed that the files of a folder have inside; the run itself where they have none."""
    values_of_seeds: dict[str, dict[str, str]] = {}
    for read in files.values():
        for seed, values in read.of_seeds.items():
            values_of_seeds.setdefault(seed, {}).update(values)
    if not values_of_seeds:
        return [run]
    settings = {name: value for name, value in run.settings.items() if not is_seed(name)}
    runs = []
    for seed, values in values_of_seeds.items():
        runs.append(
            replace(
                run,
                name=f"{run.name}/seed_{seed}",
                place=f"{run.place}, seed {seed}",
                rows=[*run.rows, *numbers_in([values])],
                labels=[*run.labels, None] if run.labels else (),
                settings=settings,
                known={**run.known, "seed": seed},
                content=f"{run.content}{seed}",
            )
        )
    return runs


def _ending_of(folder: RunFolder, rows: Sequence[Row], end: Row, files: Collection[MetricRows]) -> Ending:
    """Returns how a run ended, by its results and by what lies beside them."""
    says = [ending_beside(folder), ending_in(rows, end), *(read.ended for read in files)]
    return functools.reduce(more_telling, says)


def _with_accounts(
    root: Path, folders: Sequence[RunFolder], runs: Sequence[RunHistory], notes: list[str]
) -> list[RunHistory]:
    """Returns runs with the ends of the jobs of SLURM that have their names; notes accounts that have none of them."""
    files = account_files(root)
    endings = endings_in_accounts(files)
    if files and not any(folder.path.name in endings for folder in folders):
        notes.append(message("analyse.accounts", [file.name for file in files]))
    ended: list[RunHistory] = []
    for folder, run in zip(folders, runs, strict=True):
        account = endings.get(folder.path.name)
        ended.append(run if account is None else replace(run, ended=more_telling(run.ended, account)))
    return ended


def _with_unmarked_ends(folders: Sequence[RunFolder], runs: Sequence[RunHistory]) -> list[RunHistory]:
    """Returns runs of which one that lacks the mark of completed ones has not completed, if nothing else says."""
    unmarked = unmarked_ends(folders)
    marked: list[RunHistory] = []
    for folder, run in zip(folders, runs, strict=True):
        is_unmarked = run.ended.kind == "unknown" and folder.path in unmarked
        marked.append(replace(run, ended=unmarked[folder.path]) if is_unmarked else run)
    return marked


def _settings_of_state(state: Row) -> dict[str, str]:
    """Returns the settings that Hugging Face keeps in the state of its trainer."""
    return {name: value for name, value in state.items() if name.startswith(_OF_STATE)}


def _last_values(rows: Sequence[Row]) -> dict[str, str]:
    last: dict[str, str] = {}
    for row in rows:
        last |= row
    return last


def _other_values(folder: RunFolder, files: Mapping[Path, MetricRows], last: Row) -> list[str]:
    """Returns the sentences on files of a run that end with other values than those that count."""
    notes = []
    for file, read in files.items():
        (end,) = numbers_in([{**read.end, **_last_values(read.rows)}])
        shared = [name for name in end if name in last and end[name] != last[name]]
        other = [name for name in shared if number_in(end[name]) != number_in(last[name])]
        if other:
            notes.append(message("analyse.other_end", file.relative_to(folder.path).as_posix(), other))
    return notes


def _with_choices(folder: RunFolder, run: RunHistory, names: Collection[str]) -> RunHistory:
    """Returns a run of Hydra with the values of what the calls of other runs override. Raises `Invalid`.

    A name that its own call leaves out is a setting, or a group of settings of which it has the usual choice.
    """
    overrides = dict(run.overrides or {})
    absent = [name for name in names if name not in overrides and name not in run.settings]
    choices = choices_in(folder.path / _HYDRA / "hydra.yaml") if absent else {}
    for name in names:
        overrides.setdefault(name, run.settings.get(name, choices.get(name, "")))
    return replace(run, overrides=overrides)


def _kind(folders: Sequence[RunFolder]) -> str:
    """Returns which tool has written the folders, in words."""
    if len(folders) == 1 and folders[0].is_of_hydra:
        return "a Hydra run"
    kinds = {_tool_of(folder) for folder in folders if folder.results}
    return kinds.pop() if len(kinds) == 1 else "folders of runs"


def _tool_of(folder: RunFolder) -> str:
    """Returns which tool has written the folder of a run, in words, by the names of its files."""
    if folder.is_of_hydra:
        return "a Hydra multirun"
    results = {file.name for file in folder.results}
    configs = {file.name for file in folder.configs}
    if _STATE in results:
        return "Hugging Face trainer states"
    if "hparams.yaml" in configs and "metrics.csv" in results:
        return "Lightning logs"
    if "params.json" in configs and results & {"result.json", "progress.csv"}:
        return "Ray Tune results"
    if "args.yaml" in configs and "summary.csv" in results:
        return "timm runs"
    return "folders of runs"
