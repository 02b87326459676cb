"""Other runs of the variants of a report: in other folders, and trials in the store that no report has."""

import json
from collections.abc import Collection, Iterator
from pathlib import Path

from ablate.base.errors import AblateError
from ablate.core.facts import BASELINE, Evidence
from ablate.core.names import stem
from ablate.core.trial import Cell
from ablate.records.folder import StudyFolder
from ablate.study.patch import key_of
from ablate.study.sections import TUNING_SEEDS_FROM, in_words


def other_runs(folder: StudyFolder, evidence: Evidence) -> list[str]:
    """Returns the names of other reports of this study, or on a variant of it, and the seeds of others of its trials.

    A variant of another study is the same where its config is. Records that reports have are not read.
    """
    mine = _configs(folder)
    if not mine:
        return []
    names: list[str] = []
    reported = {*evidence.trials["id"]}
    for other in StudyFolder.all(folder.results):
        if other.name == folder.name:
            continue
        reported |= {cell.id for cell in _cells(other)}
        is_of_study = other.has_report and stem(other.name) == stem(folder.name)
        if is_of_study or not mine.isdisjoint(_configs(other)):
            names.append(other.name)

    # Tuning and stages train beside what is judged, or at other settings.
    reported |= {cell.id for cell in _cells(folder) if not cell.judged}
    seeds = set(_seeds_of(mine, folder.results / "store" / "trials", reported))
    seeds -= {*evidence.trials["seed"]}
    if seeds:
        names.append(f"seeds {in_words(sorted(seeds))} in the store")
    return names


def _cells(folder: StudyFolder) -> list[Cell]:
    """Returns the listed trials of a study; none where the list cannot be read, which its own run says."""
    try:
        return folder.trial_list.cells()
    except AblateError:
        return []


def _configs(folder: StudyFolder) -> set[str]:
    """Returns the configs of the variants of a report without its baseline and its placebo; none where unreadable."""
    configs: set[str] = set()
    try:
        judged = folder.variants() or {"variants": []}
        for variant in judged["variants"]:
            if variant["name"] == BASELINE or variant["placebo"]:
                continue
            configs |= {key_of(config) for config in variant["configs"]}
            for by_seed in variant.get("by_seed", {}).values():
                configs |= {key_of(config) for config in by_seed}
    except (OSError, ValueError, KeyError, TypeError):
        return set()
    return configs


def _seeds_of(configs: Collection[str], trials: Path, reported: Collection[str]) -> Iterator[int]:
    """Yields the seeds that judge of finished trials of some configs, but for the trials that reports have."""
    for path in trials.glob("*.json"):
        if path.stem in reported:
            continue
        try:
            record = json.loads(path.read_bytes())
            is_same = key_of(record["config"]) in configs and record["status"] in ("completed", "diverged")
            seed = int(record["seed"])
        except (OSError, ValueError, KeyError, TypeError):
            continue  # Where a study needs it, the store says what is wrong with it.
        if is_same and seed < TUNING_SEEDS_FROM:
            yield seed
