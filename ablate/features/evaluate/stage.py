"""Evaluates kept weights, without training.

The slice `test` is the test split of the study's own task; any other is named by the settings that it changes. Each
call adds its slice to those in the files, and removes the rows of trials that the study no longer has.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from ablate.base.errors import AblateError, Problem, StudyError, listed
from ablate.base.locks import exclusive
from ablate.base.process import interruptible
from ablate.base.text import at_results, typed
from ablate.core.facts import BASELINE
from ablate.core.record import Record
from ablate.core.trial import Cell, Checkpoint
from ablate.features.evaluate.kept import COLUMNS, TEST, AttentionMap, Evaluated
from ablate.records.folder import StudyFolder
from ablate.records.store import Store
from ablate.report.words import say as words
from ablate.route.choose import as_reported
from ablate.route.options import Options
from ablate.route.publish import publish
from ablate.route.revisit import reread
from ablate.route.trials import select
from ablate.study.checks import in_variants
from ablate.study.document import parse_set
from ablate.study.experiment import Experiment
from ablate.study.patch import apply_patches, has_path

Changes = Mapping[str, Any]
"""Dotted path below `task` → value; of no change at all, the study's own task."""


def evaluate(
    path: Path, options: Options, say: Callable[[str], None], warn: Callable[[str], None]
) -> StudyFolder:
    """Evaluates the kept weights of a study, writes the results and its report, and returns its folder.

    `path` is a study file, or the name of a study or its results folder: then it is taken as it was run. The sets of
    `options` change its task. Raises `StudyError` for a task that a model cannot be evaluated on, and `AblateError`
    where no weights have been kept.
    """
    given, folder, _ = reread(path, replace(options, sets=(), only=()))
    experiment = as_reported(given, folder)
    if not experiment.workload.keeps_weights:
        rule = f"evaluates kept weights, and workload {experiment.study.workload} keeps none"
        raise StudyError([Problem(rule, ("workload",), experiment.study.workload, source=str(given.path))])
    every = experiment.cells()
    cells = [cell for cell in select(every, options.only) if not options.only or cell.variant in options.only]
    changes = _changes(options.sets)
    _check(changes, cells, experiment)
    store, ids = Store(options.results / "store", warn), {cell.id for cell in every}
    with exclusive(store.root, folder.name, say), interruptible():
        folder.evidence()  # a report that can be read, before anything is evaluated
        kind, kept = _kept(cells, store, experiment)
        new = _evaluated(kept, kind, [{}, *([changes] if changes else [])], store, experiment)
        Evaluated.load(folder).current(ids, kind).updated(new).save(folder)
        publish(folder, warn)
    say(f"{words('evaluate.done', len(kept), [*new.rows['slice'].unique()])}: {folder.path}")
    return folder


def _changes(sets: Sequence[str]) -> Changes:
    """The changes of `--set`, which make one slice together. Raises `StudyError`."""
    changes: dict[str, Any] = {}
    problems = []
    for text in sets:
        try:
            name, changes[name] = parse_set(text)
            if not name.startswith("task."):
                raise ValueError(
                    "must be task.PATH=VALUE: only the task can be changed, not the trained weights"
                )
        except ValueError as error:
            problems.append(Problem(str(error), source=f"--set {text}"))
    if problems:
        raise StudyError(problems)
    return changes


def _slice(changes: Changes) -> str:
    return ", ".join(f"{path}={value}" for path, value in changes.items()) or TEST


def _own(changes: Changes, config: Mapping[str, Any]) -> Changes:
    """The changes for which the task of a config has a setting."""
    return {path: value for path, value in changes.items() if has_path(config, path)}


def _check(changes: Changes, cells: Sequence[Cell], experiment: Experiment) -> None:
    """Raises `StudyError` with everything that keeps the variants from being evaluated on a slice."""
    configs = [(c.variant, dict(c.trial.config)) for c in {(c.variant, c.task): c for c in cells}.values()]
    nowhere = {
        path: value for path, value in changes.items() if not any(has_path(c, path) for _, c in configs)
    }

    def check(config: Mapping[str, Any]) -> None:
        if mine := {**_own(changes, config), **nowhere}:
            task = experiment.resolve(apply_patches(config, mine))["task"]
            experiment.workload.check_evaluation(config, task)

    if problems := in_variants(check, configs):
        hint = "Evaluate those without this problem, by --only"
        raise StudyError(
            replace(problem, source=f"--set {_slice(changes)}", hint=problem.hint or hint)
            for problem in problems
        )


def _kept(
    cells: Sequence[Cell], store: Store, experiment: Experiment
) -> tuple[Checkpoint, list[tuple[Cell, Record]]]:
    """The kind of weights to evaluate, and the trials that have them; raises `AblateError` when there are none."""
    study, where = experiment.study, at_results(store.root.parent)
    found = [(cell, record) for cell in cells if (record := store.load(cell.id))]
    ended = [(cell, record) for cell, record in found if record.status == "completed"]
    kinds: list[Checkpoint] = ["final", "best"] if study.checkpoint == "none" else [study.checkpoint]
    by_kind = {kind: [(c, r) for c, r in ended if store.has_weights(r, kind)] for kind in kinds}
    kind, kept = max(by_kind.items(), key=lambda item: len(item[1]))
    keeping = ["--set", "checkpoint=final"] if study.checkpoint == "none" else []
    command = "sweep" if experiment.choice.by == "sweep" else "run"
    how = words("evaluate.how", typed(command, experiment.path, *keeping, *where), not keeping)
    if not kept:
        again = typed("eval", study.name, *where)
        raise AblateError(f"{store.trials}: {words('evaluate.nothing', study.name, how, again)}")
    lacking = {cell.id for cell in cells} - {record.id for _, record in kept}
    lacking -= {record.id for _, record in found if record.status != "completed"}
    if lost := [cell.name for cell in cells if cell.id in lacking]:
        store.warn(words("evaluate.left_out", len(lost), listed(lost, 3), how))
    return kind, kept


def _evaluated(
    kept: Sequence[tuple[Cell, Record]],
    kind: Checkpoint,
    slices: Sequence[Changes],
    store: Store,
    experiment: Experiment,
) -> Evaluated:
    rows: list[tuple[Any, ...]] = []
    maps: list[AttentionMap] = []
    seed = min(cell.seed for cell, _ in kept)
    made_by: dict[str, str] = {}
    for cell, record in sorted(kept, key=lambda pair: pair[0].variant != BASELINE):
        weights, config = store.weights(record), cell.trial.config
        place = record.id, cell.variant, cell.task, cell.seed
        for changes in slices:
            mine = _own(changes, config)
            if weights is None or (changes and not mine):
                continue
            task = experiment.resolve(apply_patches(config, mine))["task"]
            found = experiment.workload.evaluate(cell.trial, weights, task)
            rows += [(*place, kind, _slice(mine), metric, value) for metric, value in found.metrics.items()]
            # The baseline comes first; a variant with the same attention adds no map.
            new = cell.variant == BASELINE or made_by.get(cell.task) != found.attention
            if not mine and cell.seed == seed and new:
                made_by.setdefault(cell.task, found.attention)
                maps += [AttentionMap(*place, path, w, kind) for path, w in found.maps.items()]
    return Evaluated(pd.DataFrame(rows, columns=list(COLUMNS)), maps)
