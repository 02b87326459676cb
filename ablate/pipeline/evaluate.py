"""Evaluates kept weights, without training.

The slice `test` is the test split of the study's own task; any other is named by the settings that it changes. Each
call adds its slice to those in the files of the study's folder, and removes the rows of trials that the study no longer
has (`records.evaluated`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
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
from ablate.pipeline.publish import publish
from ablate.pipeline.reported import as_reported
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

Changes = Mapping[str, Any]  # Dotted path below `task` → value; of no change at all, the study's own task.


def evaluate(
    path: Path, options: Options, say: Callable[[str], None], warn: Callable[[str], None]
) -> StudyFolder:
    """Evaluates the kept weights of a study, writes the results and its report, and returns its folder.

    `path` is a study file, or the name of a study or its results folder: then it is taken as it was run. The sets of
    `options` change its task. Raises `StudyError` for a task that a model cannot be evaluated on, and `AblateError`
    where no weights have been kept.
    """
    given, _, folder = reread(path, replace(options, sets=(), only=()))
    study = as_reported(given, folder)
    if not study.workload.keeps_weights:
        name = study.workload.name
        rule = f"evaluates kept weights, and workload {name} keeps none"
        raise StudyError([Problem(rule, ("workload",), name, source=str(given.path))])
    every = study.cells()
    cells = [
        cell for cell in requested(every, options.only) if not options.only or cell.variant in options.only
    ]
    if changes := _changes(options.sets):
        _check(changes, cells, study)
    store, ids = Store(options.results / "store", warn), {cell.id for cell in every}
    with exclusive(store.root, folder.name, say), interruptible():
        folder.evidence()  # a report that can be read, before anything is evaluated
        kept = _kept(cells, store, study)
        new = _evaluated(kept, [{}, *([changes] if changes else [])], store, study)
        Evaluated.load(folder).current(ids, study.config.checkpoint).updated(new).save(folder)
        publish(folder, warn)
    say(f"{message('evaluate.done', len(kept), [*new.rows['slice'].unique()])}: {folder.path}")
    return folder


def _changes(sets: Sequence[str]) -> Changes:
    """The changes of `--set`, which make one slice together. Raises `StudyError`."""
    asked = Document("")
    asked.apply(sets)
    for keys, option in asked.origins.items():
        if keys[0] != "task" or len(keys) < 2:
            asked.note(
                Problem(
                    "must be task.PATH=VALUE: only the task can be changed, not the trained weights",
                    source=option,
                )
            )
    asked.raise_problems()
    return {".".join(map(str, keys)): value for keys, value in asked.given.items()}


def _slice(changes: Changes) -> str:
    return ", ".join(f"{path}={value}" for path, value in changes.items()) or TEST


def _check(changes: Changes, cells: Sequence[Cell], study: Study) -> None:
    """Raises `StudyError` with everything that keeps the variants from being evaluated on a slice."""
    from ablate.study.checks import in_variants

    configs = [(c.variant, dict(c.trial.config)) for c in {(c.variant, c.task): c for c in cells}.values()]

    def check(config: Mapping[str, Any]) -> None:
        task = study.resolve(apply_patches(config, changes))["task"]
        study.workload.check_evaluation(config, task)

    if problems := in_variants(check, configs):
        raise StudyError(
            replace(
                problem,
                source=f"--set {_slice(changes)}",
                hint=problem.hint or "Evaluate those without this problem, by --only",
            )
            for problem in problems
        )


def _kept(cells: Sequence[Cell], store: Store, study: Study) -> list[tuple[Cell, Record]]:
    """The trials that have the weights that the study keeps; raises `AblateError` when there are none."""
    config = study.config
    found = [(cell, record) for cell in cells if (record := store.load(cell.id))]
    kept = [(c, r) for c, r in found if r.status == "completed" and store.has_weights(r, config.checkpoint)]
    command = "sweep" if study.selection.by == "sweep" else "run"
    again = typed(command, study.path, *at_results(store.root.parent))
    how = message("evaluate.how", again, config.checkpoint != "none")
    if not kept:
        raise AblateError(f"{store.trials}: has no kept weights of {config.name}; {how}")
    known = {record.id for _, record in kept} | {r.id for _, r in found if r.status != "completed"}
    if lost := [cell.name for cell in cells if cell.id not in known]:
        store.warn(message("evaluate.left_out", len(lost), listed(lost, 3), how))
    return kept


def _evaluated(
    kept: Sequence[tuple[Cell, Record]],
    slices: Sequence[Changes],
    store: Store,
    study: Study,
) -> Evaluated:
    rows: list[tuple[Any, ...]] = []
    maps: list[tuple[Any, ...]] = []
    seed, kind = min(cell.seed for cell, _ in kept), study.config.checkpoint
    made_by: dict[str, str] = {}
    for cell, record in sorted(kept, key=lambda pair: pair[0].variant != BASELINE):
        weights = store.weights(record) or b""
        place = record.id, cell.variant, cell.task, cell.seed
        for changes in slices:
            task = study.resolve(apply_patches(cell.trial.config, changes))["task"]
            found = study.workload.evaluate(cell.trial, weights, task)
            rows += [
                (*place, kind, _slice(changes), metric, value) for metric, value in found.metrics.items()
            ]
            # The baseline comes first; a variant with the same attention adds no map.
            new = cell.variant == BASELINE or made_by.get(cell.task) != found.attention
            if not changes and cell.seed == seed and new:
                made_by.setdefault(cell.task, found.attention)
                maps += [(*place, path, layer, kind) for path, layer in found.maps.items()]
    return Evaluated(pd.DataFrame(rows, columns=list(COLUMNS)), pd.DataFrame(maps, columns=list(MAP_COLUMNS)))
