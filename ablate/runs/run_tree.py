"""Folders of runs: which folder is a run, with the files of its settings and of its results."""

from __future__ import annotations

import itertools
import os
import re
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from ablate.base.errors import Invalid
from ablate.base.event_files import is_event_file
from ablate.base.files import unreadable
from ablate.report.words import message

FileKind = Literal["configs", "metrics", "logs", "events", "others"]

_CONFIGS = (
    *("config", "configuration", "cfg", "hparams", "hyperparams", "hyperparameters", "args", "arguments"),
    *("params", "parameters", "training_args", "settings", "options", "opt", "adapter_config"),
)
"""Names of files with settings, without their endings, in small letters."""
_METRICS = (
    *("trainer_state", "log_history", "metrics", "result", "results", "history", "progress", "log", "logs"),
    *("scores", "stats", "summary", "all_results", "eval", "evaluation", "test"),
)
"""Names of files with results, without their endings, in small letters."""
_OF_CONFIGS = (".yaml", ".yml", ".json", ".toml")
_OF_METRICS = (".csv", ".tsv", ".json", ".jsonl", ".ndjson")
_OF_TABLES = (".csv", ".tsv")
_OF_LOGS = (".log", ".out", ".txt", ".err")
PROGRESS = "progress.txt"
"""The file in which Spinning Up keeps a table of a run, with tabs between its columns."""
_RESULTS: tuple[FileKind, ...] = ("metrics", "events")
_TEXTS: tuple[FileKind, ...] = ("logs", "others")
MAX_RUNS = 20_000
_MAX_ENTRIES = 200_000
_MAX_DEPTH = 40
_MAX_NAME = 500
_CHECKPOINT = re.compile(r"(checkpoint|ckpt|step|epoch)[-_]?\d+")
_WHEN = re.compile(r"\d{10}\.\d+")
"""The name of a folder in which PyTorch keeps the hyperparameters of a run for TensorBoard."""
_SPLITS = ("train", "training", "val", "valid", "validation", "eval", "test")
"""Names of folders in which a run keeps the results of one part of the data."""
_PARTS = ("logs", "log", "csv", "tensorboard", "tb", "metrics", "results", "files", "lightning_logs", "runs")
"""Names of folders in which a run keeps its results."""
_ASIDE = ("debug", "tmp", "temp", "old", "backup", "bak", "sanity", "smoke")
"""Names of folders whose results are no others of a run that has its own beside them."""


@dataclass
class _Folder:
    """The files of one folder, by what they hold; those of `.hydra` are the settings of the folder around it."""

    files: dict[FileKind, list[Path]] = field(default_factory=dict)
    is_of_hydra: bool = False

    def has(self, kind: FileKind) -> bool:
        return bool(self.files.get(kind))


@dataclass(frozen=True)
class RunFolder:
    """A folder that holds one run."""

    path: Path
    name: str
    """Its path from the folder of all runs; the name of that folder, where it is the run itself."""
    configs: Sequence[Path]
    results: Sequence[Path]
    """The files of results of the kind that was asked for, the one that counts most last."""
    is_of_hydra: bool
    is_file: bool = False
    """Whether the run is one file in a folder that it shares with others."""

    def part_of(self, file: Path) -> str:
        """Returns `validation/` for results in a folder of one part of the data, which names its metrics; else ""."""
        for name in file.relative_to(self.path).parts[:-1]:
            if name.lower() in _SPLITS:
                return f"{name}/"
        return ""


def run_folders(root: Path, kind: FileKind, notes: list[str] | None = None) -> list[RunFolder]:
    """Returns the runs below a folder that has results of a kind, and those beside them that have none.

    A run is the folder that has the settings, which may keep its results in folders of its own. Adds to the notes which
    results are passed over. Raises `Invalid` for a folder that is too large.
    """
    folders = _contents(root)
    if kind == "metrics":
        others = _take_reports(root, folders)
        if others and notes is not None:
            notes.append(message("analyse.passed_over_below", [str(file) for file in others]))
    results: dict[Path, list[Path]] = {}
    for path, folder in folders.items():
        if folder.has(kind):
            results.setdefault(_without_parts(path, root, folders), []).extend(folder.files[kind])
    aside = _taken_aside(results, root)
    if aside and notes is not None:
        notes.append(message("analyse.passed_over_below", [str(file) for file in aside]))
    num_below = _num_below(results)
    runs: dict[Path, list[Path]] = {}
    for path, files in results.items():
        runs.setdefault(_owner(path, folders, num_below), []).extend(files)
    overviews = _taken_overviews(runs, folders)
    if overviews and notes is not None:
        notes.append(message("analyse.overviews", [str(path) for path in overviews]))
    others = _with_other_results(runs, folders, kind)
    if others and notes is not None:
        notes.append(message("analyse.other_results", [str(path) for path in others]))
    above_runs = {*_num_below(runs)}
    families = {path.parent for path in runs if folders[path].has("configs")}
    for path, folder in folders.items():
        is_beside_runs = path != root and path.parent in families and folder.has("configs")
        if path not in runs and (folder.is_of_hydra or is_beside_runs) and path not in above_runs:
            runs[path] = []
    return [
        RunFolder(
            path,
            path.relative_to(root).as_posix() if path != root else root.resolve().name,
            _configs(folders, path, runs[path]),
            _in_order(runs[path]),
            folders[path].is_of_hydra,
        )
        for path in sorted(runs, key=_natural)
    ]


def _take_reports(root: Path, folders: Mapping[Path, _Folder]) -> list[Path]:
    """Takes files of one name in several folders for results, where no name of a file says that it has some.

    They are JSON, or else tables, at the depth at which most of them lie; returns those that lie elsewhere. One file of
    results beside their folders sums them up.
    """
    others = [folder for path, folder in folders.items() if path != root or not _is_overview(folder)]
    has_other = any(folder.has(kind) for folder in others for kind in _RESULTS)
    files = [file for folder in folders.values() for file in folder.files.get("others", [])]
    files = [file for file in files if file.suffix.lower() in _OF_METRICS]
    if has_other or sum(file.parent == root for file in files) > 1:
        return []
    documents = [file for file in files if file.suffix.lower() not in _OF_TABLES]
    for candidates in (documents, files):
        counts = Counter((file.name, len(file.parts)) for file in candidates)
        if counts and max(counts.values()) > 1:
            break
    else:
        return []
    most = max(counts.values())
    names = {name for (name, _), count in counts.items() if count == most}
    reports = [file for file in candidates if counts[file.name, len(file.parts)] == most]
    for file in reports:
        folders[file.parent].files["others"].remove(file)
        folders[file.parent].files.setdefault("metrics", []).append(file)
    return [file for file in candidates if file.name in names and counts[file.name, len(file.parts)] < most]


def _is_overview(folder: _Folder) -> bool:
    """Returns whether a folder has one document with results, and no settings or events."""
    metrics = folder.files.get("metrics", [])
    has_more = folder.is_of_hydra or folder.has("configs") or folder.has("events")
    return len(metrics) == 1 and metrics[0].suffix.lower() == ".json" and not has_more


def _configs(folders: Mapping[Path, _Folder], path: Path, results: Sequence[Path]) -> list[Path]:
    """Returns the files of settings of a run: its own, or those beside its results, as beside the last checkpoint."""
    own = folders[path].files.get("configs")
    if own or not results:
        return own or []
    return folders[_in_order(results)[-1].parent].files.get("configs", [])


def run_files(root: Path) -> list[RunFolder]:
    """Returns a run for each table or JSON file that lies in a folder itself. Raises `Invalid`."""
    files = []
    for of_kind in _contents(root)[root].files.values():
        files += [file for file in of_kind if file.suffix.lower() in _OF_METRICS]
    stems = Counter(file.stem for file in files)
    runs = []
    for file in sorted(files, key=_natural):
        runs.append(run_file(file, file.stem if stems[file.stem] == 1 else file.name))
    return runs


def run_file(file: Path, name: str = "") -> RunFolder:
    """Returns the run that is one file, called by its stem unless it is given a name."""
    return RunFolder(file.parent, name or file.stem, [], [file], is_of_hydra=False, is_file=True)


def has_files(root: Path, kind: FileKind) -> bool:
    """Returns whether a folder has files of a kind at any depth. Raises `Invalid`."""
    return any(folder.has(kind) for folder in _contents(root).values())


def refuse_many(folders: Sequence[RunFolder], path: Path) -> None:
    """Raises `Invalid` for more runs below a path than are read."""
    if len(folders) > MAX_RUNS:
        rule = f"has {len(folders):,} runs, of which at most {MAX_RUNS:,} are read"
        raise Invalid("RUNS", rule, str(path), hint="Name the folder of fewer runs")


def log_files(root: Path) -> list[Path]:
    """Returns the logs below a folder, by their endings; without any, other files of text. Raises `Invalid`."""
    folders = _contents(root).values()
    for kind in _TEXTS:
        files = [*itertools.chain(*(folder.files.get(kind, []) for folder in folders))]
        texts = [file for file in files if kind == "logs" or _is_text(file)]
        if texts:
            return sorted(texts, key=_natural)
    return []


def _is_text(path: Path) -> bool:
    beginning = _beginning(path, 4096)
    return bool(beginning) and b"\0" not in beginning


def _contents(root: Path) -> dict[Path, _Folder]:
    """Returns each folder below a root with its files. Links to folders are not followed. Raises `Invalid`."""
    folders: dict[Path, _Folder] = {}
    todo = [(root, 0)]
    num_entries = 0
    while todo:
        path, depth = todo.pop()
        folder = folders.setdefault(path, _Folder())
        if depth > _MAX_DEPTH:
            rule = f"has folders inside one another, more than {_MAX_DEPTH} deep"
            raise Invalid("RUNS", rule, str(root), hint="Name the folder of the runs themselves")
        for entry in _entries(path, root):
            num_entries += 1
            if num_entries > _MAX_ENTRIES:
                rule = f"has more than {_MAX_ENTRIES:,} files and folders"
                raise Invalid("RUNS", rule, str(root), hint="Name the folder of the runs themselves")
            below = path / entry.name
            if entry.is_dir(follow_symlinks=False):
                if entry.name == ".hydra":
                    _add_hydra(folder, below)
                elif not entry.name.startswith((".", "__")):
                    todo.append((below, depth + 1))
                continue
            if not entry.name.startswith("."):
                folder.files.setdefault(_kind_of(below), []).append(below)
    return folders


def _entries(path: Path, root: Path) -> list[os.DirEntry[str]]:
    """Returns the entries of a folder by name. Raises `Invalid` for one that cannot be read."""
    try:
        with os.scandir(path) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except OSError as error:
        shown = path if len(str(path)) < _MAX_NAME else root
        raise Invalid("RUNS", f"has a folder that cannot be read: {error.strerror}", str(shown)) from None


def _add_hydra(folder: _Folder, hydra: Path) -> None:
    """Adds the settings that Hydra has written."""
    config = hydra / "config.yaml"
    if os.path.lexists(config):
        folder.is_of_hydra = True
        folder.files.setdefault("configs", []).insert(0, config)


def _kind_of(path: Path) -> FileKind:
    """Returns what a file holds, by its name."""
    stem, ending = path.stem.lower(), path.suffix.lower()
    if is_event_file(path.name):
        return "events"
    if ending in _OF_CONFIGS and stem in _CONFIGS:
        return "configs"
    if ending in _OF_METRICS and (stem in _METRICS or re.search(r"[-_](results|metrics|summary)$", stem)):
        return "metrics"
    if path.name.endswith(".log.json"):  # JSON lines, as OpenMMLab writes them
        return "metrics"
    if path.name == "log.txt" and _beginning(path, 1) == b"{":  # JSON lines, as DETR and MAE write them
        return "metrics"
    if path.name == PROGRESS and b"\t" in _beginning(path, 4096).partition(b"\n")[0]:
        return "metrics"
    return "logs" if ending in _OF_LOGS else "others"


def _beginning(path: Path, count: int) -> bytes:
    """Returns the first bytes of a plain file; none of anything else."""
    if unreadable(path, sys.maxsize) is not None:
        return b""
    try:
        with path.open("rb") as file:
            return file.read(count)
    except OSError:
        return b""


def _without_parts(path: Path, root: Path, folders: Mapping[Path, _Folder]) -> Path:
    """Returns the folder around checkpoints, and around folders of a split, that are none without it."""
    while path != root:
        name = path.name.lower()
        is_part = name in (*_SPLITS, *_PARTS) and not folders[path].has("configs")
        if not is_part and not _CHECKPOINT.fullmatch(name) and not _WHEN.fullmatch(name):
            return path
        path = path.parent
    return path


def _owner(path: Path, folders: Mapping[Path, _Folder], num_below: Mapping[Path, int]) -> Path:
    """Returns the folder of the run that has results in a folder: the nearest one with settings of one run alone.

    num_below: folder → how many folders with results lie below it.
    """
    above = [path, *(parent for parent in path.parents if parent in folders)]
    for parent in above:
        if folders[parent].is_of_hydra:
            return parent
    for parent in above:
        if folders[parent].has("configs"):
            is_of_one_run = num_below.get(parent, 0) + (parent == path) <= 1
            return parent if is_of_one_run else path
    return path


def _taken_aside(results: dict[Path, list[Path]], root: Path) -> list[Path]:
    """Removes and returns results in folders such as `debug` of folders that have results of their own."""
    owners = results.keys() - {root}
    places = [path for path in results if path.name.lower() in _ASIDE and path.parent in owners]
    return sorted(itertools.chain(*(results.pop(path) for path in places)), key=_natural)


def _taken_overviews(runs: dict[Path, list[Path]], folders: Mapping[Path, _Folder]) -> list[Path]:
    """Removes and returns folders without settings that have runs below them: their results sum up those."""
    above_runs = {*_num_below(runs)}
    overviews = []
    for path in [*runs]:
        is_run = folders[path].is_of_hydra or folders[path].has("configs")
        if path in above_runs and not is_run:
            del runs[path]
            overviews.append(path)
    return overviews


def _with_other_results(
    runs: Mapping[Path, Sequence[Path]], folders: Mapping[Path, _Folder], kind: FileKind
) -> list[Path]:
    """Returns folders with event files or metrics, whichever are not read, that belong to no run."""
    above_runs = {*_num_below(runs)}
    others = []
    for path, folder in folders.items():
        is_of_run = path in above_runs or any(place in runs for place in (path, *path.parents))
        has_results = any(folder.has(other) for other in _RESULTS if other != kind)
        if has_results and not is_of_run and kind in _RESULTS:
            others.append(path)
    return others


def files_below(root: Path) -> list[Path]:
    """Returns the tables and JSON files in the folders below one. Raises `Invalid`."""
    files = []
    for path, folder in _contents(root).items():
        if path != root:
            files += [file for of_kind in folder.files.values() for file in of_kind]
    return [file for file in sorted(files, key=_natural) if file.suffix.lower() in _OF_METRICS]


def _num_below(paths: Iterable[Path]) -> Counter[Path]:
    """Returns folder → how many of the paths lie below it."""
    counts: Counter[Path] = Counter()
    for path in paths:
        counts.update(path.parents)
    return counts


def _in_order(files: Sequence[Path]) -> list[Path]:
    """Returns files of results, those of the last checkpoint alone; the main file of a folder is last.

    A file with the history of a run counts more than one with its end; version 10 comes after version 9.
    """
    checkpoints = [file for file in files if _CHECKPOINT.fullmatch(file.parent.name.lower())]
    outside = [file for file in files if file not in checkpoints]
    if checkpoints and not any(file.stem == "trainer_state" for file in outside):
        last = max((file.parent for file in checkpoints), key=_natural)
        outside += [file for file in checkpoints if file.parent == last]
    return sorted(outside, key=lambda file: (-_rank(file), _natural(file)))


def _rank(file: Path) -> int:
    stem = file.stem.lower()
    return _METRICS.index(stem) if stem in _METRICS else len(_METRICS)


def _natural(path: Path) -> list[tuple[int, int, str]]:
    """Returns the key by which 10 comes after 9."""
    parts = re.split(r"(\d+)", str(path))
    return [(1, int(part), "") if part.isdecimal() else (0, 0, part) for part in parts]
