"""How often the trials of each variant failed or were trained again, beside the results that count."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ablate.base.errors import AblateError
from ablate.core.other_looks import SupersededRuns
from ablate.core.record import Record
from ablate.core.same_numbers import have_same_numbers, numbers_in
from ablate.core.trial import Cell
from ablate.pipeline.evidence.left_out import failed_on_other_seeds
from ablate.pipeline.evidence.other_runs import StoredTrial, key_of_config
from ablate.pipeline.evidence.reused import trained_as
from ablate.records.folder import StudyFolder
from ablate.records.store import Store
from ablate.records.superseded import Superseded, note_superseded, superseded_in
from ablate.study.study import Study


def count_superseded(
    study: Study,
    cells: Sequence[Cell],
    records: Mapping[str, Record],
    folder: StudyFolder,
    store: Store,
    stored_trials: Iterable[StoredTrial],
) -> dict[str, SupersededRuns]:
    """Returns variant → its failed and its replaced trainings; of variants that have some, without placebos.

    A record that was removed is known by a report that has other numbers of its trial, and is noted in the store. Of a
    training that is reused for later code, those count that came before it under its own id.

    cells: all that were asked for. stored_trials: those in no report, as `stored_elsewhere` returns them. Raises
    `AblateError`.
    """
    placebos = {variant.name for variant in study.variants if variant.placebo}
    judged = [cell for cell in cells if cell.judged and cell.variant not in placebos and cell.id in records]
    ended = [cell for cell in judged if records[cell.id].status != "failed"]
    note_superseded(store.root, _removed({cell.id for cell in ended}, records, folder), store.warn)
    counts = Counter((line.trial, line.why) for line in superseded_in(store.root))
    failed: Counter[str] = Counter()
    replaced_on: dict[str, dict[str, list[int]]] = {}
    for cell in ended:
        record = records[cell.id]
        failed[cell.variant] += record.attempts - 1
        for trial_id in {cell.id, trained_as(cell.id, record.environment)}:
            failed[cell.variant] += counts[trial_id, "failed"]
            seeds = replaced_on.setdefault(cell.variant, {}).setdefault(cell.task, [])
            seeds += [cell.seed] * counts[trial_id, "replaced"]
    asked_for = {cell.id for cell in cells}
    others = [stored for stored in stored_trials if stored.id not in asked_for]
    failed += _failed_with_other_code(ended, others)
    failed_on = failed_on_other_seeds(judged, folder, others)
    superseded: dict[str, SupersededRuns] = {}
    for variant in study.variants:
        of_variant = _with_seeds(failed[variant.name], replaced_on.get(variant.name, {}))
        of_variant = replace(of_variant, failed_on=failed_on.get(variant.name, []))
        if of_variant.failed or of_variant.replaced or of_variant.failed_on:
            superseded[variant.name] = of_variant
    return superseded


def _with_seeds(failed: int, replaced_on: Mapping[str, Sequence[int]]) -> SupersededRuns:
    """Returns the failed and replaced trainings of a variant. replaced_on: task → a seed for each replaced one."""
    on_tasks = {task: sorted(seeds) for task, seeds in replaced_on.items() if seeds}
    return SupersededRuns(failed, sum(map(len, on_tasks.values())), on_tasks)


def _removed(ids: set[str], records: Mapping[str, Record], folder: StudyFolder) -> list[Superseded]:
    """Returns the trainings that a report has otherwise, and whose records were gone before they were trained again."""
    removed: list[Superseded] = []
    noted = {line.trial for line in superseded_in(folder.results / "store")}
    for report in StudyFolder.all(folder.results):
        facts = report.reported_facts()
        if facts is None or facts.is_given:
            continue
        for row in _rows_of(report):
            record = records.get(row["id"]) if row["id"] in ids else None
            if record is None or record.started_at <= facts.reported:
                continue
            if row["status"] == "failed":
                # The driver knows failed trainings by their start, unless their records were gone.
                if record.id in noted:
                    continue
                removed.append(Superseded(record.id, "failed", facts.reported))
                noted.add(record.id)
            elif not have_same_numbers(numbers_in(row), record.metrics):
                removed.append(Superseded(record.id, "replaced", record.started_at))
                noted.add(record.id)
    return removed


def _rows_of(report: StudyFolder) -> list[dict[str, Any]]:
    """Returns the rows of the judged trials of a report; none where they cannot be read."""
    try:
        return [row for cell, row in report.rows() if cell.judged]
    except AblateError:
        return []


def _failed_with_other_code(cells: Sequence[Cell], stored_trials: Iterable[StoredTrial]) -> Counter[str]:
    """Returns variant → its stored trials that failed with other code, data or versions, on the same seeds."""
    variants = {(key_of_config(cell.trial.config), cell.seed): cell.variant for cell in cells}
    counts: Counter[str] = Counter()
    for stored in stored_trials:
        variant = variants.get((stored.config, stored.seed))
        if variant is not None and stored.status == "failed":
            counts[variant] += 1
    return counts
