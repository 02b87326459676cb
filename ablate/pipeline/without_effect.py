"""The variants of a user's own code whose first runs have the numbers of the baseline's: their flags do nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

from ablate.core.same_numbers import are_identical
from ablate.core.trial import Cell

if TYPE_CHECKING:
    from ablate.core.facts import Evidence
    from ablate.core.record import Record
    from ablate.study.study import Study

FIRST_PAIRS = 2
"""The seeds under which a variant is compared with the baseline before the others are trained."""
Place = tuple[str, str]
"""A variant and a task."""


def without_effect(
    study: Study, cells: Iterable[Cell], records: Mapping[str, Record], evidence: Callable[[], Evidence]
) -> set[Place]:
    """Returns where a variant has the baseline's numbers under every seed, in every digit and not by chance.

    cells: those of the first seeds. evidence: makes that of their records; asked for only where numbers are the same.
    """
    baseline = study.variants[0].name
    placebos = {variant.name for variant in study.variants if variant.placebo}
    runs = {(cell.variant, cell.task, cell.seed): records.get(cell.id) for cell in cells if cell.judged}
    pairs: dict[Place, list[bool]] = {}
    for (variant, task, seed), record in runs.items():
        if variant == baseline or variant in placebos:
            continue
        of_baseline = runs.get((baseline, task, seed))
        pairs.setdefault((variant, task), []).append(_is_same_run(record, of_baseline))
    places = {place for place, same in pairs.items() if all(same) and len(same) == FIRST_PAIRS}
    return places & _beyond_chance(baseline, evidence()) if places else set()


def _is_same_run(record: Record | None, of_baseline: Record | None) -> bool:
    """Returns whether a run has the numbers of another run, the baseline's, and both have completed."""
    if record is None or of_baseline is None or record.id == of_baseline.id:
        return False
    return record.status == of_baseline.status == "completed" and are_identical(record, of_baseline)


def _beyond_chance(baseline: str, evidence: Evidence) -> set[Place]:
    """Returns where runs are as those of the baseline, and the digits of their metrics are too many for chance."""
    # With pandas and scipy, which most runs do not need before they judge.
    from ablate.analysis.alike import alike_groups
    from ablate.analysis.runs import runs_of

    places: set[Place] = set()
    for task in evidence.facts.tasks:
        for group in alike_groups(runs_of(evidence), task):
            variants = {*group["variant"]}
            if baseline in variants:
                places |= {(variant, task.name) for variant in variants}
    return places
