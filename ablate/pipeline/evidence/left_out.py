"""Seeds that a report leaves out, on which runs of its variants have failed."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from ablate.base.errors import AblateError
from ablate.core.trial import Cell
from ablate.pipeline.evidence.other_runs import StoredTrial, key_of_config, stored_trial
from ablate.records.folder import StudyFolder
from ablate.study.schema import PLACEBO


def failed_on_other_seeds(
    cells: Sequence[Cell], folder: StudyFolder, stored_trials: Sequence[StoredTrial]
) -> dict[str, list[int]]:
    """Returns variant → the seeds that a report does not judge, and on which that variant only failed.

    They are sought in plans of its study and in other studies that share a seed with the report; those that share none
    are separate experiments. A report on a single seed has no verdict, and leaves none out.

    cells: the judged ones of the report, without placebos. stored_trials: those that no other study lists.
    """
    variants = {key_of_config(cell.trial.config): cell.variant for cell in cells}
    judged = {cell.seed for cell in cells}
    if len(judged) == 1:
        return {}
    planned: set[int] = set()
    for plan in folder.readable_plans():
        if not judged.isdisjoint(plan.seeds):
            planned |= {*plan.seeds}
    candidates = [stored for stored in stored_trials if stored.seed in planned]
    candidates += _listed_elsewhere(folder, judged)
    with_results = {(stored.config, stored.seed) for stored in stored_trials if stored.status != "failed"}

    seeds: dict[str, set[int]] = {}
    for stored in candidates:
        variant = variants.get(stored.config)
        if variant is None or stored.status != "failed" or stored.seed in judged:
            continue
        if (stored.config, stored.seed) not in with_results:
            seeds.setdefault(variant, set()).add(stored.seed)
    return {variant: sorted(of_variant) for variant, of_variant in seeds.items()}


def _listed_elsewhere(folder: StudyFolder, judged: Collection[int]) -> Iterator[StoredTrial]:
    """Yields trials on other seeds, which may have failed, of other studies that share a seed with a report.

    judged: the seeds of the report.
    """
    for other in StudyFolder.listed(folder.results):
        if other.name == folder.name:
            continue
        try:
            seeds = {cell.seed for cell in other.trial_list.cells() if cell.judged}
            candidates = _that_may_have_failed(other) if not seeds.isdisjoint(judged) else []
        except AblateError:
            continue  # As a run of that study says.
        for cell in candidates:
            stored = None if cell.seed in judged else stored_trial(folder, cell.id)
            if stored is not None:
                yield stored


def _that_may_have_failed(other: StudyFolder) -> list[Cell]:
    """Returns the failed trials in a report, of variants with results; without a report, all that are listed.

    Where all runs of a variant failed, those that went badly are not the ones that are missing. Raises `AblateError`.
    """
    if not other.has_report:
        return [cell for cell in other.trial_list.cells() if cell.judged and cell.variant != PLACEBO]
    placebos = {*other.facts().placebos}
    rows = [
        (cell, row["status"]) for cell, row in other.rows() if cell.judged and cell.variant not in placebos
    ]
    with_results = {cell.variant for cell, status in rows if status != "failed"}
    return [cell for cell, status in rows if status == "failed" and cell.variant in with_results]
