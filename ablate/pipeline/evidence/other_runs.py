"""Other runs of the variants of a report: in other folders, and trials in the store that are in no report."""

import json
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from ablate.base.errors import AblateError
from ablate.core.facts import BASELINE, Evidence
from ablate.core.judged_variants import JudgedVariant, JudgedVariants
from ablate.core.names import stem
from ablate.core.other_looks import OtherRuns
from ablate.core.same_numbers import have_same_numbers, numbers_in
from ablate.core.trial import Cell
from ablate.pipeline.evidence.reused import trained_as, trained_ids
from ablate.pipeline.evidence.shared_comparisons import shared_comparisons
from ablate.records.folder import StudyFolder
from ablate.study.patch import key_of
from ablate.study.sections import TUNING_SEEDS_FROM

_NOT_TRAINED = ("metrics", "data")
"""Sections of a config of a user's own code that change how a trial is judged, not how it is trained."""


@dataclass(frozen=True)
class StoredTrial:
    """A trial in the store."""

    id: str
    config: str
    """The key of its config, as `key_of_config` returns it."""
    seed: int
    status: str
    trained_as: str
    """The id under which it was trained."""


def other_runs(
    folder: StudyFolder, configs: Collection[str], evidence: Evidence, stored_trials: Iterable[StoredTrial]
) -> OtherRuns:
    """Returns the other reports on variants of a report, the seeds of their other trials, and who shares its runs.

    Every other report of the same study counts. A variant of another study is the same if its config is. configs: of
    the variants of the report, as `configs_in` returns them. stored_trials: those in no report, as `stored_elsewhere`
    returns them.
    """
    if not configs:
        return OtherRuns()
    trials = evidence.trials
    same_variants: list[str] = []
    same_runs: list[str] = []
    runs = _reported_runs(folder, trials.to_dict("records"), evidence.facts.plan.kept)
    for other in StudyFolder.all(folder.results):
        if other.name == folder.name:
            continue
        is_of_study = other.has_report and stem(other.name) == stem(folder.name)
        if is_of_study or not configs_of(other).isdisjoint(configs):
            same_variants.append(other.name)
            if _has_no_other_runs(other, configs, runs):
                same_runs.append(other.name)
    folders = [name for name in same_variants if name not in same_runs]

    times = Counter(
        (stored.config, stored.seed)
        for stored in stored_trials
        if stored.config in configs and stored.status in ("completed", "diverged")
    )
    stored_times: dict[int, int] = {}
    for (_, seed), count in times.items():
        stored_times[seed] = max(count, stored_times.get(seed, 0))
    seeds = {*stored_times}
    judged = {*trials["seed"].tolist()}
    shared = shared_comparisons(
        folder, evidence.facts, trials, reports_of_same_variants=same_variants, stored_times=stored_times
    )
    of_same_runs = [*same_runs, *shared.studies]
    return OtherRuns(
        folders,
        seeds=sorted(seeds - judged),
        retrained=sorted(seeds & judged),
        shared=[name for name in dict.fromkeys(of_same_runs) if name not in folders],
        comparisons=shared.count,
        level=shared.level,
    )


def _reported_runs(
    folder: StudyFolder, rows: Sequence[Mapping[Any, Any]], num_kept: int
) -> dict[str, dict[str, float | None]]:
    """Returns the id under which each run of a report was trained → its numbers. num_kept: as in `trained_ids`."""
    trained = trained_ids([row["id"] for row in rows], folder.results, num_kept)
    return {trained[row["id"]]: numbers_in(row) for row in rows}


def _has_no_other_runs(
    other: StudyFolder, configs: Collection[str], runs: Mapping[str, Mapping[str, float | None]]
) -> bool:
    """Returns whether all runs that another report has of some variants are runs of this one, with the same numbers.

    configs: of the variants. runs: those of this report, as `_reported_runs` returns them.
    """
    facts = other.reported_facts()
    try:
        judged = other.variants()
        rows = [(cell.variant, row) for cell, row in other.rows() if cell.judged]
    except AblateError:
        return False
    if facts is None or judged is None:
        return False
    names = {one.name for one in judged.variants if not _configs_of_variant(one).isdisjoint(configs)}
    of_variants = [row for variant, row in rows if variant in names - {BASELINE, *facts.placebos}]
    reported = _reported_runs(other, of_variants, facts.plan.kept)
    same = [
        name for name, numbers in reported.items() if name in runs and have_same_numbers(numbers, runs[name])
    ]
    return bool(reported) and len(same) == len(reported)


def _cells(folder: StudyFolder) -> list[Cell]:
    """Returns the listed trials of a study; none where the list cannot be read, as a run of that study says."""
    try:
        return folder.trial_list.cells()
    except AblateError:
        return []


def configs_of(folder: StudyFolder) -> set[str]:
    """Returns the configs of the variants of a report, as `configs_in` does; none where they cannot be read."""
    try:
        judged = folder.variants()
    except AblateError:
        return set()
    return configs_in(judged) if judged is not None else set()


def configs_in(judged: JudgedVariants) -> set[str]:
    """Returns a key for each config of the judged variants, without the baseline and its placebo."""
    configs: set[str] = set()
    for variant in judged.variants:
        if variant.name != BASELINE and not variant.placebo:
            configs |= _configs_of_variant(variant)
    return configs


def _configs_of_variant(variant: JudgedVariant) -> set[str]:
    """Returns a key for each config of a judged variant."""
    configs = {key_of_config(config) for config in variant.configs}
    for by_seed in variant.by_seed.values():
        configs |= {key_of_config(config) for config in by_seed}
    return configs


def key_of_config(config: Mapping[str, Any]) -> str:
    """Returns a key equal for configs that train the same: without the sections `metrics` and `data`."""
    return key_of({name: value for name, value in config.items() if name not in _NOT_TRAINED})


def stored_elsewhere(folder: StudyFolder, evidence: Evidence) -> list[StoredTrial]:
    """Returns the trials in the store on judging seeds that are neither in the evidence nor on a list of other studies.

    A training that was reused for later code is in the evidence where any of its records is. Trials of tuning and
    stages are no evidence, and no other runs either. Records of trials in a report are not read.
    """
    listed = {*evidence.trials["id"], *(cell.id for cell in _cells(folder) if not cell.judged)}
    for other in StudyFolder.all(folder.results):
        if other.name != folder.name:
            with suppress(AblateError):  # As a run of that study says.
                listed |= other.trial_list.ids()
    trained = {*trained_ids(evidence.trials["id"], folder.results, evidence.facts.plan.kept).values()}
    stored_trials: list[StoredTrial] = []
    for path in (folder.results / "store" / "trials").glob("*.json"):
        if path.stem in listed:
            continue
        stored = stored_trial(folder, path.stem)
        if stored is not None and stored.seed < TUNING_SEEDS_FROM and stored.trained_as not in trained:
            stored_trials.append(stored)
    return stored_trials


def stored_trial(folder: StudyFolder, trial_id: str) -> StoredTrial | None:
    """Returns a trial in the store of a study; None where its record is gone or cannot be read."""
    path = folder.results / "store" / "trials" / f"{trial_id}.json"
    try:
        record = json.loads(path.read_bytes())
        return StoredTrial(
            id=trial_id,
            config=key_of_config(record["config"]),
            seed=int(record["seed"]),
            status=str(record["status"]),
            trained_as=trained_as(trial_id, record["environment"]),
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None  # The store says what is wrong with a record when a study needs it.
