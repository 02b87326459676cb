"""Seeds that a report leaves out, on which runs of its variants have failed."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from ablate.base.errors import AblateError
from ablate.core.trial import Cell
from ablate.pipeline.other_runs import StoredTrial, key_of_config, stored_trial
from ablate.records.folder import StudyFolder
from ablate.study.schema import PLACEBO


def failed_on_other_seeds(
    cells: Sequence[Cell], folder: StudyFolder, stored_trials: Sequence[StoredTrial]
) -> dict[str, list[int]]:
    """Returns variant → the seeds that a report leaves out, and on which the variant failed.

    Those count of plans and of other studies that have some of its seeds, too: seeds that are all others are not what
    was left of these. A single seed has no verdict, and leaves none out.

    cells: the judged ones of the report, without placebos. stored_trials: those in no report.
    """
    variants = {key_of_config(cell.trial.config): cell.variant for cell in cells}
    judged = {cell.seed for cell in cells}
    if len(judged) == 1:
        return {}
    planned: set[int] = set()
    for plan in folder.readable_plans():
        if not judged.isdisjoint(plan.seeds):
            planned |= {*plan.seeds}
    failed = [stored for stored in stored_trials if stored.seed in planned]
    failed += _listed_elsewhere(folder, judged)
    with_results = {(stored.config, stored.seed) for stored in stored_trials if stored.status != "failed"}

    seeds: dict[str, set[int]] = {}
    for stored in failed:
        variant = variants.get(stored.config)
        if variant is None or stored.status != "failed" or stored.seed in judged:
            continue
        if (stored.config, stored.seed) not in with_results:
            seeds.setdefault(variant, set()).add(stored.seed)
    return {variant: sorted(of_variant) for variant, of_variant in seeds.items()}


def _listed_elsewhere(folder: StudyFolder, judged: Collection[int]) -> Iterator[StoredTrial]:
    """Yields trials of other studies on other seeds than these: those that may have failed, of studies that have some.

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
