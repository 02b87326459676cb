"""Other runs of the variants of a report: in other folders, and trials in the store that no report has."""

import json
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from ablate.base.errors import AblateError
from ablate.core.facts import BASELINE, OtherRuns
from ablate.core.names import stem
from ablate.core.trial import Cell
from ablate.records.folder import StudyFolder
from ablate.study.patch import key_of
from ablate.study.sections import TUNING_SEEDS_FROM

_JUDGES = ("metrics", "data")
"""Sections of a config of one's own code that train nothing."""


def other_runs(folder: StudyFolder, configs: Collection[str], trials: pd.DataFrame) -> OtherRuns:
    """Returns other reports of this study, or on a variant of it, and the seeds of other trials of its variants.

    A variant of another study is the same where its config is. Records that reports have are not read.
    configs: those of its variants, as `configs_in`; trials: as `Evidence.trials`.
    """
    if not configs:
        return OtherRuns()
    folders: list[str] = []
    reported = {*trials["id"]}
    for other in StudyFolder.all(folder.results):
        if other.name == folder.name:
            continue
        reported |= {cell.id for cell in _cells(other)}
        is_of_study = other.has_report and stem(other.name) == stem(folder.name)
        if is_of_study or not configs_of(other).isdisjoint(configs):
            folders.append(other.name)

    # Tuning and stages train beside what is judged, or at other settings.
    reported |= {cell.id for cell in _cells(folder) if not cell.judged}
    seeds = set(_seeds_of(configs, folder.results / "store" / "trials", reported))
    judged = {*trials["seed"].tolist()}
    return OtherRuns(folders, seeds=sorted(seeds - judged), retrained=sorted(seeds & judged))


def _cells(folder: StudyFolder) -> list[Cell]:
    """Returns the listed trials of a study; none where the list cannot be read, which its own run says."""
    try:
        return folder.trial_list.cells()
    except AblateError:
        return []


def configs_of(folder: StudyFolder) -> set[str]:
    """Returns the configs of the variants of a report, as `configs_in`; none where they cannot be read."""
    try:
        judged = folder.variants()
        return configs_in(judged) if judged is not None else set()
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return set()


def configs_in(judged: Mapping[str, Any]) -> set[str]:
    """Returns the configs of variants as they were judged, without those of the baseline and its placebo."""
    configs: set[str] = set()
    for variant in judged["variants"]:
        if variant["name"] == BASELINE or variant["placebo"]:
            continue
        configs |= {_key_of(config) for config in variant["configs"]}
        for by_seed in variant.get("by_seed", {}).values():
            configs |= {_key_of(config) for config in by_seed}
    return configs


def _key_of(config: Mapping[str, Any]) -> str:
    """Returns what is the same of configs by which the same is trained: whatever one's own code is judged by."""
    return key_of({name: value for name, value in config.items() if name not in _JUDGES})


def _seeds_of(configs: Collection[str], trials: Path, reported: Collection[str]) -> Iterator[int]:
    """Yields the seeds that judge of finished trials of some configs, but for the trials that reports have."""
    for path in trials.glob("*.json"):
        if path.stem in reported:
            continue
        try:
            record = json.loads(path.read_bytes())
            is_same = _key_of(record["config"]) in configs and record["status"] in ("completed", "diverged")
            seed = int(record["seed"])
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            continue  # Where a study needs it, the store says what is wrong with it.
        if is_same and seed < TUNING_SEEDS_FROM:
            yield seed
