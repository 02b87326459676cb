"""Evaluates kept weights, without training.

The slice `test` is the test split of the study's own task; any other is named by the settings that it changes. Each
call adds its slice to those in the files of the study's folder, and removes the rows of trials that the study no longer
has (`records.evaluated`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from ablate.base.errors import AblateError, Problem, StudyError, listed
from ablate.base.locks import exclusive
from ablate.base.process import interruptible
from ablate.base.text import at_results, typed
from ablate.core.facts import BASELINE
from ablate.core.record import Record
from ablate.core.trial import Cell
from ablate.pipeline.prepare import reread
from ablate.pipeline.reporter import write_report
from ablate.pipeline.reports.reported import as_reported
from ablate.pipeline.requested import requested
from ablate.records.evaluated import COLUMNS, MAP_COLUMNS, TEST, Evaluated
from ablate.records.folder import StudyFolder
from ablate.records.store import Store
from ablate.report.words import message
from ablate.study.document import Document
from ablate.study.patch import apply_patches

if TYPE_CHECKING:
    from ablate.session.options import Options
    from ablate.study.study import Study

# Dotted path below `task` → value; of no change at all, the study's own task.
Changes = Mapping[str, Any]


def evaluate(
    path: Path,
    options: Options,
    say: Callable[[str], None],
    warn: Callable[[str], None],
    *,
    trust: bool = False,
) -> StudyFolder:
    """Evaluates the kept weights of a study, writes its report, and returns its folder.

    path: a study file; or the name of a study or its results folder, which is taken as it was run.

    options: `sets` change the task. trust: whether the code that a results folder names may run. Raises `StudyError`
    for a task that a model cannot be evaluated on, and `AblateError` where no weights have been kept.
    """
    given, _, folder = reread(path, replace(options, sets=(), only=()), trust=trust)
    study = as_reported(given, folder)
    if not study.workload.keeps_weights:
        name = study.workload.name
        rule = "keeps no weights that could be evaluated"
        raise StudyError([Problem(rule, ("workload",), name, source=str(given.path))])

    all_cells = study.cells()
    cells = requested(all_cells, options.only)
    if options.only:  # without the baseline, unless it is named
        cells = [cell for cell in cells if cell.variant in options.only]
    slices: list[Changes] = [{}]
    changes = _changes(options.sets)
    if changes:
        _refuse_incapable(changes, cells, study)
        slices.append(changes)

    store = Store(options.results_folder / "store", warn)
    with exclusive(store.root, folder.name, say), interruptible():
        folder.evidence()  # a report that can be read, before anything is evaluated
        kept = _kept(cells, store, study)
        new = _evaluated(kept, slices, store, study)
        current = Evaluated.load(folder).current({cell.id for cell in all_cells}, study.config.checkpoint)
        current.updated(new).save(folder)
        write_report(folder, warn)
    say(f"{message('evaluate.done', len(kept), [*new.rows['slice'].unique()])}: {folder.path}")
    return folder


def _changes(sets: Iterable[str]) -> Changes:
    """Returns the changes of `--set`, which make one slice together. Raises `StudyError`."""
    document = Document("")
    document.apply(sets)
    for keys, option in document.origins.items():
        if keys[0] != "task" or len(keys) < 2:
            rule = "must be task.PATH=VALUE: only the task can be changed, not the trained weights"
            document.note(Problem(rule, source=option))
    document.raise_problems()
    return {".".join(map(str, keys)): value for keys, value in document.given.items()}


def _slice(changes: Changes) -> str:
    """Returns the name of the slice that changes make."""
    if not changes:
        return TEST
    return ", ".join(f"{path}={value}" for path, value in changes.items())


def _refuse_incapable(changes: Changes, cells: Sequence[Cell], study: Study) -> None:
    """Raises `StudyError` with everything that keeps the variants from being evaluated on a slice."""
    from ablate.study.checks import in_variants

    def check(config: Mapping[str, Any]) -> None:
        task = study.resolve(apply_patches(config, changes))["task"]
        study.workload.check_evaluation(config, task)

    # Seeds share the config of their variant and task.
    cell_of_place = {(cell.variant, cell.task): cell for cell in cells}
    configs = [(cell.variant, dict(cell.trial.config)) for cell in cell_of_place.values()]
    problems: list[Problem] = []
    for problem in in_variants(check, configs):
        hint = problem.hint or "Evaluate only variants without this problem: --only VARIANT"
        problems.append(replace(problem, source=f"--set {_slice(changes)}", hint=hint))
    if problems:
        raise StudyError(problems)


def _kept(cells: Sequence[Cell], store: Store, study: Study) -> list[tuple[Cell, Record]]:
    """Returns the trials with the weights that the study keeps. Raises `AblateError` where there are none.

    Warns of completed trials without their weights, and of trials that have not run.
    """
    checkpoint = study.config.checkpoint
    kept: list[tuple[Cell, Record]] = []
    lost: list[str] = []
    for cell in cells:
        record = store.load(cell.id)
        if record is None:
            lost.append(cell.name)
        elif record.status == "completed":
            if store.has_weights(record, checkpoint):
                kept.append((cell, record))
            else:
                lost.append(cell.name)

    command = "sweep" if study.selection.by == "sweep" else "run"
    again = typed(command, study.path, *at_results(store.root.parent))
    remedy = message("evaluate.ask_first" if checkpoint == "none" else "evaluate.how", again)
    if not kept:
        raise AblateError(f"{store.trials}: has no kept weights of {study.config.name}; {remedy}")
    if lost:
        store.warn(message("evaluate.left_out", len(lost), listed(lost, 3), remedy))
    return kept


def _evaluated(
    kept: Sequence[tuple[Cell, Record]], slices: Sequence[Changes], store: Store, study: Study
) -> Evaluated:
    """Evaluates kept weights on each slice.

    Maps of attention are kept of the first seed, on the study's own task.
    """
    checkpoint = study.config.checkpoint
    first_seed = min(cell.seed for cell, _ in kept)
    rows: list[dict[str, object]] = []
    maps: list[dict[str, object]] = []
    attention_of: dict[str, str] = {}  # task → the attention of which it has maps first
    # The baseline comes first.
    for cell, record in sorted(kept, key=lambda pair: pair[0].variant != BASELINE):
        weights = store.weights(record) or b""
        place = {"id": record.id, "variant": cell.variant, "task": cell.task, "seed": cell.seed}
        for changes in slices:
            task = study.resolve(apply_patches(cell.trial.config, changes))["task"]
            evaluation = study.workload.evaluate(cell.trial, weights, task)
            slice_name = _slice(changes)
            for metric, value in evaluation.metrics.items():
                number = {"weights": checkpoint, "slice": slice_name, "metric": metric, "value": value}
                rows.append(place | number)
            if changes or cell.seed != first_seed:
                continue
            # A variant with the same attention as the baseline adds no map.
            if cell.variant != BASELINE and attention_of.get(cell.task) == evaluation.attention:
                continue
            attention_of.setdefault(cell.task, evaluation.attention)
            for layer_path, layer in evaluation.maps.items():
                maps.append(place | {"path": layer_path, "weights": layer, "kept": checkpoint})
    return Evaluated(pd.DataFrame(rows, columns=list(COLUMNS)), pd.DataFrame(maps, columns=list(MAP_COLUMNS)))
