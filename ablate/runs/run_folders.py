"""A folder a run: its settings and its results, as Hydra, Lightning, Hugging Face, Ray Tune and timm write them."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from ablate.base.errors import Invalid
from ablate.report.words import message
from ablate.runs.cells import number_in
from ablate.runs.logs import EXAMPLE, LogPatterns
from ablate.runs.metric_files import MetricRows, numbers_in, rows_of, settings_beside, status_in
from ablate.runs.options import AnalysisOptions
from ablate.runs.reader import Reader, RunsFound
from ablate.runs.roles import STEPS
from ablate.runs.run_history import Row, RunHistory, table_of
from ablate.runs.run_settings import choices_in, overrides_in, settings_in
from ablate.runs.run_tree import FileKind, RunFolder, has_files, run_files, run_folders

_MAX_RUNS = 20_000
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
        folders = run_folders(path, _kind_of_files(options))
        kind = _kind(folders)
        if not options.read and not folders:
            folders = run_files(path)
            kind = "files of runs"
        if len(folders) > _MAX_RUNS:
            rule = f"has {len(folders):,} runs, of which at most {_MAX_RUNS:,} are read"
            raise Invalid("RUNS", rule, str(path), hint="Name the folder of fewer runs")
        if not any(run.results for run in folders):
            rule = "has runs with settings, and no file with their results"
            hint = f"Say how their logs name the metric: {EXAMPLE}; or let each run write metrics.json"
            raise Invalid("RUNS", rule, str(path), hint=hint)
        read_file: Callable[[Path], MetricRows] = rows_of
        if options.read:
            read_file = LogPatterns(options.read).rows_of
        notes: list[str] = []
        runs = [_history_of(folder, read_file, notes) for folder in folders]
        return table_of(runs, kind, options, notes)


def _are_histories(files: Sequence[RunFolder]) -> bool:
    """Returns whether there are several files, each with one row, or with a row for each step and no words.

    A table of several runs has words, or no steps. Raises `Invalid`.
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
        if not steps or has_words:
            return False
    return True


def _kind_of_files(options: AnalysisOptions) -> FileKind:
    return "logs" if options.read else "metrics"


def _history_of(folder: RunFolder, read_file: Callable[[Path], MetricRows], notes: list[str]) -> RunHistory:
    """Returns the settings and results of one run; adds what is not sure to the notes. Raises `Invalid`."""
    settings = settings_in(folder.configs)
    overrides = None
    if folder.is_of_hydra:
        overrides = _overrides(folder, settings)
    files = [(file, read_file(file).under(folder.part_of(file))) for file in folder.results]
    most_rows = max((len(read.rows) for _, read in files), default=0)
    rows: list[Row] = []
    ends: list[tuple[Path, Row]] = []
    for file, read in files:
        notes += read.notes
        end = {name: value for name, value in read.end.items() if not name.startswith(_OF_STATE)}
        if file.name == _STATE:
            settings = {name: value for name, value in read.end.items() if name not in end} | settings
        ends.append((file, end))
        if len(read.rows) == 1 < most_rows:
            ends.append((file, read.rows[0]))
        else:
            rows += read.rows
    if not folder.configs:
        settings = settings_beside([*(end for _, end in ends if end), *rows]) | settings
    numbers = numbers_in(rows)
    ends = [(file, numbers_in([end])[0]) for file, end in ends]
    notes += _other_ends(numbers, ends)
    return RunHistory(
        folder.name,
        str(folder.results[-1] if len(folder.results) == 1 else folder.path),
        rows=numbers,
        settings=settings,
        overrides=overrides,
        status=status_in(rows),
        end=dict(itertools.chain.from_iterable(end.items() for _, end in ends)),
    )


def _overrides(folder: RunFolder, settings: Mapping[str, str]) -> dict[str, str] | None:
    """Returns the settings by which Hydra was called, with the choices of its groups; None where it says none.

    Raises `Invalid`.
    """
    hydra = folder.path / ".hydra"
    overrides = overrides_in(hydra / "overrides.yaml")
    if not overrides:
        return None
    groups = [name for name in overrides if name not in settings]
    choices = choices_in(hydra / "hydra.yaml") if groups else {}
    return overrides | {name: choices[name] for name in groups if name in choices}


def _other_ends(rows: Sequence[Row], ends: Sequence[tuple[Path, Row]]) -> list[str]:
    """Returns the sentences on files whose end of a run is another than its last step, which counts."""
    last: dict[str, str] = {}
    for row in rows:
        last |= row
    notes = []
    for file, end in ends:
        other = [name for name in end if name in last and number_in(end[name]) != number_in(last[name])]
        if other:
            notes.append(message("analyse.other_end", file.name, other))
    return notes


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
