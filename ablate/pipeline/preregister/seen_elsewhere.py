"""The seeds on which other studies had begun to compare by the very trials of a study, before it was planned."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress

from ablate.base.errors import AblateError
from ablate.core.facts import BASELINE
from ablate.core.trial import Cell
from ablate.pipeline.preregister.seen_plans import SeenPlan, had_begun
from ablate.records.folder import StudyFolder
from ablate.records.store import Store

_Pairs = dict[tuple[str, str], dict[int, tuple[str, str]]]
"""Variant and task → seed → the ids of the judged trials of the baseline and of the variant."""


def seen_in_other_studies(
    cells: Iterable[Cell], folder: StudyFolder, store: Store, before: str
) -> list[SeenPlan]:
    """Returns a plan of the seeds on which each other study had begun a comparison, in the order of their last plans.

    A comparison of a variant with the baseline counts if it shares the trials of both with this study on any seed,
    whatever the names are. Folders that were removed count by their lists of trials.

    before: the date of the first plan on the seeds of this study.
    """
    pairs: set[tuple[str, str]] = set()
    for of_seeds in _pairs(cells).values():
        pairs |= {*of_seeds.values()}
    ids = {*itertools.chain.from_iterable(pairs)}
    of_study = {own.name for own in folder.of_study()}
    seen: list[tuple[str, SeenPlan]] = []
    for other in StudyFolder.listed(folder.results):
        if other.name in of_study:
            continue
        seeds = _seeds_seen(other, pairs, store, before) if _lists_some(other, ids) else []
        # As in a study itself, a single seed shows no verdict.
        if len(seeds) > 1:
            seen.append((_planned_at(other), SeenPlan(planned=seeds, looks=[], seeds=seeds)))
    seen.sort(key=lambda dated: dated[0])
    return [plan for _, plan in seen]


def _lists_some(other: StudyFolder, ids: Collection[str]) -> bool:
    """Returns whether another study lists any of these trials; not where its list cannot be read."""
    with suppress(AblateError):  # A run of that study says what is wrong.
        return not other.trial_list.ids().isdisjoint(ids)
    return False


def _seeds_seen(other: StudyFolder, pairs: set[tuple[str, str]], store: Store, before: str) -> list[int]:
    """Returns the seeds on which another study had begun the comparisons that share one of these pairs."""
    try:
        others = _pairs(other.trial_list.cells())
    except AblateError:
        return []  # As a run of that study says.
    seeds: set[int] = set()
    for of_seeds in others.values():
        if pairs.isdisjoint(of_seeds.values()):
            continue
        for seed, pair in of_seeds.items():
            if seed not in seeds and all(had_begun(trial_id, store, before) for trial_id in pair):
                seeds.add(seed)
    return sorted(seeds)


def _planned_at(other: StudyFolder) -> str:
    """Returns the date of a study's last plan; without a readable plan, that of its report; else an empty text."""
    plans = other.readable_plans()
    if plans:
        return plans[-1].declared
    try:
        report = other.trial_list.report()
    except AblateError:
        return ""
    return "" if report is None else str(report.facts.get("reported", ""))


def _pairs(cells: Iterable[Cell]) -> _Pairs:
    """Returns the judged trials of each variant beside those of the baseline."""
    judged: Sequence[Cell] = [cell for cell in cells if cell.judged]
    baselines = {(cell.task, cell.seed): cell.id for cell in judged if cell.variant == BASELINE}
    pairs: _Pairs = {}
    for cell in judged:
        baseline = baselines.get((cell.task, cell.seed))
        if cell.variant != BASELINE and baseline is not None:
            pairs.setdefault((cell.variant, cell.task), {})[cell.seed] = (baseline, cell.id)
    return pairs
