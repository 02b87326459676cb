"""The variants and seeds of runs that lie in folders: by their settings, or by the names of the folders."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd

from ablate.base.numerals import whole_in
from ablate.report.words import message
from ablate.runs.options import AnalysisOptions
from ablate.runs.seeds_in_names import seed_matches
from ablate.runs.settings import FOLDERS, is_fold, is_remark, is_seed

CONFIG = "config."
"""What the names of columns with settings begin with."""
SEED_IN_NAME = re.compile(r"(?:^|(?<=[\W_]))(?:seed|s|rep|run)[\s_=-]?(\d+)(?=$|[\W_])", re.IGNORECASE)
"""The seed in the name of a folder or file, such as that of `wide_s3/logs`."""
_NUMBER_LEVEL = re.compile(r"(?<![^/])(\d{1,6})(?=/)")
"""A folder whose name is a number, with others below it."""
_NUMBERED = re.compile(r"[^/\d][^/]*/(\d+)$")
_NUMBER_AT_END = re.compile(r"(?<=[\W_])(\d+)$")
_RUN = re.compile(r"/(version|run|trial|rep)[^/]*$", re.IGNORECASE)
"""The end of a path in which a tool has numbered the runs."""
_NUMBERING = re.compile(r"(version|run|trial|rep|seed|s|job|fold)?[-_ =]?\d*|\d[\d._:T-]*", re.IGNORECASE)
"""A part of a path that numbers runs, or says when they began."""
_FOLD = re.compile(r"(?:^|(?<=[\W_]))(?:fold|split|cv)[\s_=-]?(\d+)(?=$|[\W_])", re.IGNORECASE)
"""The fold in the name of a folder, such as that of `wide/fold_3`."""
_PART = re.compile(r"[/,]")
"""The marks between folders, and between the settings in the name of one: `lr=0.1,model=wide`."""
_MOST = 0.5
"""The share of names above which one without a seed is a stray."""
_CROSSED = 0.75
"""The share of variants and folders that have runs from which on folders are tasks."""
_REPEATS = {"rep", "repeat", "repetition", "replicate"}
"""Words in the names of settings that number repeats."""
_LEVEL = "folder_"
"""What the columns begin with that have one level of folders each, for calls that name them: `folder_2`."""
_TASK = "task"
"""The name of the setting that says what a run learns, which is no part of its variant."""
_MARKS = " _-/.,="


@dataclass(frozen=True)
class RunNames:
    """Columns that are added to the table of runs, a row a run, with their roles."""

    columns: dict[str, list[str]]
    roles: dict[str, list[str]]
    notes: list[str] = field(default_factory=list)


def named(
    runs: pd.DataFrame, options: AnalysisOptions, overrides: Sequence[Mapping[str, str]] = ()
) -> RunNames:
    """Returns the variant and the seed of each run.

    - runs: a row a run, with the column `run`, which has its name, and `config.NAME` for each setting.
    - overrides: the settings of each run by which its call names it, as that of Hydra does.

    A variant is named by the settings that differ between runs, where neither the call names a column nor the baseline
    stands in one; without such settings by the folder, less the seed. A setting called `task` is the task.
    """
    given = dict(options.columns)
    names = runs["run"].tolist()
    result = RunNames({}, {"run": ["run"]})
    pattern = options.seed or given.get("seed", "")
    pattern = CONFIG + pattern if CONFIG + pattern in runs and pattern not in runs else pattern
    if pattern and pattern not in runs:
        matches = seed_matches(runs["run"], pattern, runs.columns)
        result.columns["seed"] = [match[match.lastindex or 0] for match in matches]
        result.roles["seed"] = ["seed"]
        seeds: list[str] | None = result.columns["seed"]
        names = [without_match(name, match) for name, match in zip(names, matches, strict=True)]
    else:
        seeds = _add_seeds(runs, names, pattern, result)
        if seeds is not None and "seed" not in result.columns:
            names = _without_other_numbers(names, seeds, result.notes)
    if CONFIG + _TASK in runs and "task" not in given:
        result.roles["task"] = [CONFIG + _TASK]
    _add_folds(runs, names, result)
    _add_levels(names, seeds, options, result)
    if "variant" in given or "variant" in runs or _has_column_of(options.baseline, runs):
        _add_folders(_rest_of_names(runs, names, seeds), _known_variants(runs, options), seeds, result)
        return result
    settings = pd.DataFrame([*overrides]).fillna("") if overrides else None
    if settings is None:
        settings = runs[[name for name in runs if str(name).startswith(CONFIG)]]
        settings = settings.rename(columns=lambda name: str(name).removeprefix(CONFIG))
    others = [*itertools.chain(*result.roles.values()), *options.names_with_role]
    no_parts = [_TASK, *(name.removeprefix(CONFIG) for name in others)]
    differing = _differing(settings.drop(columns=no_parts, errors="ignore"), seeds, result.notes)
    variants = [_joined(row, differing) for row in settings.to_dict("records")]
    folders, parts = _by_folders(names, seeds, options.baseline)
    baseline = re.sub(r",\s*", ", ", options.baseline)
    is_by_folder = not differing or (options.baseline in folders and baseline not in variants)
    if is_by_folder:
        variants = folders
        _add_folders(parts, variants, seeds, result)
    result.columns["variant"] = variants
    result.roles["variant"] = ["variant"]
    if is_by_folder:
        result.notes.append(message("analyse.by_folder"))
    else:
        result.notes.append(message("analyse.by_settings", differing))
    return result


def _add_levels(
    names: Sequence[str], seeds: Sequence[str] | None, options: AnalysisOptions, result: RunNames
) -> None:
    """Adds a column for each level of folders that differs between runs, where the call names one of them."""
    if not any(name.startswith(_LEVEL) for name in options.names_with_role):
        return
    paths = [name.split("/") for name in _without_seeds(_without_shared([*names]), seeds)]
    if len({*map(len, paths)}) == 1:
        for number, level in enumerate(zip(*paths, strict=True), start=1):
            result.columns[f"{_LEVEL}{number}"] = [*level]


def _known_variants(runs: pd.DataFrame, options: AnalysisOptions) -> list[str]:
    """Returns the variant of each run in the columns that the call or its baseline names."""
    given = options.names_of("variant")
    columns = [name for name in given or ["variant"] if name in runs]
    if given and not columns:
        return [""] * len(runs)
    if not columns:
        settings = [name for name in runs if str(name).startswith(CONFIG)]
        columns = [name for name in settings if (runs[name] == options.baseline).any()][:1]
    return [", ".join(row) for row in runs[columns].itertuples(index=False, name=None)]


def _add_folders(
    folders: Sequence[str], variants: Sequence[str], seeds: Sequence[str] | None, result: RunNames
) -> None:
    """Adds a column with what folders say beside variant and seed: the task, where it is crossed as data sets are.

    Each variant with any has all, or nearly all, and several seeds of each; settings such as `lr=0.1` are no tasks.
    """
    if len({*folders}) < 2:
        return
    result.columns[FOLDERS] = [*folders]
    if seeds is None or "task" in result.roles or any("=" in folder or not folder for folder in folders):
        return
    runs = pd.DataFrame({"variant": variants, "folder": folders, "seed": seeds}).drop_duplicates()
    counts = runs.groupby(["variant", "folder"]).size()
    num_cells = runs["variant"].nunique() * runs["folder"].nunique()
    if runs["variant"].nunique() > 1 and len(counts) >= _CROSSED * num_cells and (counts > 1).all():
        result.roles["task"] = [FOLDERS]
        result.notes.append(message("analyse.tasks_of_folders", [*dict.fromkeys(folders)], FOLDERS))


def names_by_folder(files: Iterable[Path], root: Path) -> dict[Path, str]:
    """Returns file → the name of its folder, or the path to it where several folders have this name."""
    folders = {file: file.resolve().parent for file in files}
    counts = Counter(folder.name for folder in {*folders.values()})
    names = {}
    for file, folder in folders.items():
        is_only = counts[folder.name] == 1
        names[file] = folder.name if is_only else file.parent.relative_to(root).as_posix()
    return names


def _add_seeds(runs: pd.DataFrame, names: Sequence[str], given: str, result: RunNames) -> list[str] | None:
    """Adds the role of the column with the seeds; returns the seeds, None where nothing says them.

    A seed that is the same in all settings is that of none where the names of folders say others.
    """
    if given in runs:
        result.roles["seed"] = [given]
        return runs[given].tolist()
    columns = [str(name) for name in runs if is_seed(str(name)) and (runs[name] != "").all()]
    varying = [name for name in columns if runs[name].nunique() > 1]
    repeats = [str(name) for name in runs if _numbers_repeats(str(name), runs[str(name)])]
    if not varying and len(repeats) == 1:
        result.roles["seed"] = repeats
        result.notes.append(message("analyse.repeats", repeats[0]))
        return runs[repeats[0]].tolist()
    seeds = None if varying else _seeds_in(names)
    if seeds is None:
        # The shortest name is that of the run, before those of its parts: `seed`, `data.seed`.
        for name in sorted(varying or columns, key=len)[:1]:
            result.roles["seed"] = [name]
            return runs[name].tolist()
        return None
    result.columns["seed"] = seeds
    result.roles["seed"] = ["seed"]
    result.notes.append(message("analyse.seeds_of_folders"))
    return seeds


def _numbers_repeats(name: str, values: pd.Series) -> bool:
    """Returns whether a setting numbers the repeats of runs, by its name and by values that come again."""
    words = {*re.split(r"[^a-z]+", name.removeprefix(CONFIG).lower())}
    are_whole = values.map(lambda text: whole_in(text) is not None).all()
    return bool(
        name.startswith(CONFIG) and words & _REPEATS and are_whole and 1 < values.nunique() < len(values)
    )


def _seeds_in(names: Sequence[str]) -> list[str] | None:
    """Returns the seed in each name: marked as such, as in `wide_s3`, or a folder of its own, as in `wide/3`.

    A folder with others below it counts where the same numbers come again in others.
    Marked seeds may be missing in less than half of the names, those of stray folders, whose seed is empty. None where
    more names lack one, or a name has two.
    """
    for pattern in (SEED_IN_NAME, _NUMBERED, _NUMBER_LEVEL):
        matches = [pattern.findall(name) for name in names]
        num_found = sum(len(match) == 1 for match in matches)
        is_missing_in_few = pattern is SEED_IN_NAME and num_found > _MOST * len(names)
        if (num_found == len(names) or is_missing_in_few) and max(map(len, matches)) == 1:
            seeds = ["".join(match) for match in matches]
            if pattern is not _NUMBER_LEVEL or 2 * len({*seeds}) <= len(seeds):
                return seeds
    return None


def _without_other_numbers(names: list[str], seeds: Sequence[str], notes: list[str]) -> list[str]:
    """Returns names without the numbers that stand in the places of seeds, where runs say other seeds themselves.

    A number that nothing marks as a seed stands in its place where runs have the same numbers as seeds.
    """
    numbers = _seeds_in(names)
    if numbers is None:
        return names
    others = []
    shorter = []
    for name, number, seed in zip(names, numbers, seeds, strict=True):
        if number and whole_in(number) != whole_in(seed):
            others.append(name)
        shorter.append(_without_seed(name, number))
    are_marked = all(SEED_IN_NAME.search(name) for name in names)
    are_seeds = {*map(whole_in, numbers)} == {*map(whole_in, seeds)}
    if not others or not all(shorter) or not (are_marked or are_seeds):
        return names
    notes.append(message("analyse.seeds_of_files", others))
    return shorter


def _add_folds(runs: pd.DataFrame, names: Sequence[str], result: RunNames) -> None:
    """Adds a column with the fold of each run, of runs whose names all say one and whose settings do not."""
    matches = [_FOLD.search(name) for name in names]
    if not any(is_fold(str(column)) for column in runs):
        folds = [match[1] for match in matches if match is not None]
        if len(folds) == len(names):
            result.columns["fold"] = folds


def _rest_of_names(runs: pd.DataFrame, names: Sequence[str], seeds: Sequence[str] | None) -> list[str]:
    """Returns what is left of the name of each run without the folders that all share, its seed, and some of its parts.

    Those are the parts that number or date runs, and those whose value is that of one of the run's settings.
    """
    settings = runs[[name for name in runs if str(name).startswith(CONFIG) or name == "variant"]]
    rest = []
    shorter = _without_seeds(_without_shared([*names]), seeds)
    for name, row in zip(shorter, settings.to_dict("records"), strict=True):
        values = {*row.values()}
        parts = [part for part in _PART.split(name) if part.rpartition("=")[2] not in values]
        rest.append(_without_number("/".join(parts)))
    return rest


def _has_column_of(baseline: str, runs: pd.DataFrame) -> bool:
    """Returns whether a baseline is the value of a setting, or names columns with their values."""
    parts = [part.partition("=")[0].strip() for part in baseline.split(",")]
    if "=" in baseline and all(name in runs for name in parts):
        return True
    settings = [name for name in runs if str(name).startswith(CONFIG)]
    return bool(baseline) and any((runs[name] == baseline).any() for name in settings)


def _differing(settings: pd.DataFrame, seeds: Sequence[str] | None, notes: list[str]) -> list[str]:
    """Returns the settings that differ between runs, less seeds, and less text that says where a run lies."""
    differing = []
    left_out = []
    for name in settings:
        if settings[name].nunique() < 2 or is_seed(str(name)):
            continue
        if _says_where(settings[name], str(name), seeds):
            left_out.append(str(name))
        else:
            differing.append(str(name))
    if left_out:
        notes.append(message("analyse.left_out_settings", left_out))
    return differing


def _says_where(values: pd.Series, name: str, seeds: Sequence[str] | None) -> bool:
    """Returns whether a setting names the run or its place: words with such a name, or another in each run or seed."""
    present = values[values != ""]
    if pd.to_numeric(present, errors="coerce").notna().all():
        return False
    if is_remark(name):
        return True
    if seeds is None or len({*seeds}) < 2:
        return False
    # A word that is another in each run would leave no two runs of a variant.
    if values.is_unique and len({*seeds}) < len(seeds):
        return True
    pairs = zip(values, seeds, strict=True)
    return all(re.search(rf"(?<!\d){re.escape(seed)}(?!\d)", value) is not None for value, seed in pairs)


def _joined(settings: Mapping[str, str], names: Sequence[str]) -> str:
    """Returns `lr=0.1, opt=adam`, without the settings that a run does not have."""
    return ", ".join(f"{name}={settings[name]}" for name in names if settings[name] != "") or "default"


def _by_folders(
    names: Sequence[str], seeds: Sequence[str] | None, baseline: str
) -> tuple[list[str], list[str]]:
    """Returns the variants by the names of folders: all of a name but the seed, or the part in which the baseline is.

    And what else the names say of each run, as `lr=1` in `lr=1/wide/run0`: runs of one variant that differ in it are
    no replicates. Folders without seeds that lie together, as `wide/version_0` and `wide/version_1`, are runs of one
    variant.
    """
    names = _without_shared([*names])
    whole = without_seeds(names, seeds)
    nothing = [""] * len(names)
    if baseline in whole:
        return whole, nothing
    part = _part_with(baseline, names)
    if part is not None:
        parts = [name.split("/") for name in names]
        others = ["/".join([*path[:part], *path[part + 1 :]]) for path in parts]
        return [path[part] for path in parts], [
            _without_number(name) for name in _without_seeds(others, seeds)
        ]
    outer = [name.rpartition("/")[0] for name in names]
    is_together = seeds is None and all(outer) and len({*outer}) < len(names)
    is_numbered = is_together and all(_RUN.search(name) for name in names)
    return outer if is_numbered else whole, nothing


def _without_seeds(names: Sequence[str], seeds: Sequence[str] | None) -> list[str]:
    if seeds is None:
        return [*names]
    return [_without_seed(name, seed) for name, seed in zip(names, seeds, strict=True)]


def _without_number(name: str) -> str:
    """Returns a path without the parts that only number or date runs, as `version_3` does."""
    parts = [part for part in name.split("/") if not _NUMBERING.fullmatch(part)]
    return "/".join(parts)


def without_seeds(names: list[str], seeds: Sequence[str] | None) -> list[str]:
    """Returns the names of folders without the seed of each, or as they are where one is nothing but its seed."""
    if seeds is None:
        return names
    shorter = _without_seeds(names, seeds)
    return shorter if all(shorter) else names


def _without_seed(name: str, seed: str) -> str:
    """Returns a name without its seed, where the seed is marked as such, or ends the name."""
    for pattern in (SEED_IN_NAME, _NUMBER_AT_END, _NUMBER_LEVEL):
        for match in pattern.finditer(name):
            if match[1] == seed:
                return without_match(name, match)
    return name


def without_match(name: str, match: re.Match[str]) -> str:
    """Returns a name without the part that a pattern has found, and without the marks around it."""
    return (name[: match.start()].rstrip(_MARKS) + name[match.end() :]).strip(_MARKS)


def _without_shared(names: list[str]) -> list[str]:
    """Returns paths without the folders that all share at their beginnings and ends, or at any one place."""
    parts = [name.split("/") for name in names]
    if len({*names}) < 2:
        return names
    if len({*map(len, parts)}) == 1:
        varying = [place for place, level in enumerate(zip(*parts, strict=True)) if len({*level}) > 1]
        parts = [[path[place] for place in varying] for path in parts]
    for end in (0, -1):
        while min(map(len, parts)) > 1 and len({path[end] for path in parts}) == 1:
            parts = [path[1:] if end == 0 else path[:-1] for path in parts]
    return ["/".join(path) for path in parts]


def _part_with(baseline: str, names: Sequence[str]) -> int | None:
    """Returns the place in the paths of all runs at which the baseline stands in some; None where it stands in none."""
    paths = [name.split("/") for name in names]
    for place in range(min(map(len, paths))):
        if any(path[place] == baseline for path in paths):
            return place
    return None
