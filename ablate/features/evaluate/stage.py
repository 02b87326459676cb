"""Evaluates kept weights, without training.

The slice `test` is the test split of the study's own task; any other is named by the settings that it changes. Each
call adds its slice to those in the files of the study's folder, and removes the rows of trials that the study no
longer has:

evaluation.csv   id, variant, task, seed, weights (final or best), slice, metric, value
attention.npz    attention weights of one seed on a few examples, with an index
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ablate.base.errors import AblateError, Problem, StudyError, listed
from ablate.base.files import replacing
from ablate.base.locks import exclusive
from ablate.base.process import interruptible
from ablate.base.text import at_results, typed
from ablate.core.facts import BASELINE, Evidence, frame_of
from ablate.core.record import Record
from ablate.core.trial import Cell
from ablate.records.folder import StudyFolder
from ablate.records.store import Store
from ablate.records.tables import read_csv, write_csv
from ablate.report.words import say as words
from ablate.study.document import Document, read_document
from ablate.study.patch import apply_patches

if TYPE_CHECKING:
    from ablate.route.options import Options
    from ablate.study.experiment import Experiment

Changes = Mapping[str, Any]  # Dotted path below `task` → value; of no change at all, the study's own task.


def evaluate(
    path: Path, options: Options, say: Callable[[str], None], warn: Callable[[str], None]
) -> StudyFolder:
    """Evaluates the kept weights of a study, writes the results and its report, and returns its folder.

    `path` is a study file, or the name of a study or its results folder: then it is taken as it was run. The sets of
    `options` change its task. Raises `StudyError` for a task that a model cannot be evaluated on, and `AblateError`
    where no weights have been kept.
    """
    # A report reads the rest of this file, and needs neither.
    from ablate.route.choose import as_reported, reread
    from ablate.route.publish import publish
    from ablate.route.trials import select

    given, folder, _ = reread(path, replace(options, sets=(), only=()))
    experiment = as_reported(given, folder)
    if not experiment.workload.keeps_weights:
        name = experiment.workload.name
        rule = f"evaluates kept weights, and workload {name} keeps none"
        raise StudyError([Problem(rule, ("workload",), name, source=str(given.path))])
    every = experiment.cells()
    cells = [cell for cell in select(every, options.only) if not options.only or cell.variant in options.only]
    if changes := _changes(options.sets):
        _check(changes, cells, experiment)
    store, ids = Store(options.results / "store", warn), {cell.id for cell in every}
    with exclusive(store.root, folder.name, say), interruptible():
        folder.evidence()  # a report that can be read, before anything is evaluated
        kept = _kept(cells, store, experiment)
        new = _evaluated(kept, [{}, *([changes] if changes else [])], store, experiment)
        Evaluated.load(folder).current(ids, experiment.study.checkpoint).updated(new).save(folder)
        publish(folder, warn)
    say(f"{words('evaluate.done', len(kept), [*new.rows['slice'].unique()])}: {folder.path}")
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


def _check(changes: Changes, cells: Sequence[Cell], experiment: Experiment) -> None:
    """Raises `StudyError` with everything that keeps the variants from being evaluated on a slice."""
    from ablate.study.checks import in_variants

    configs = [(c.variant, dict(c.trial.config)) for c in {(c.variant, c.task): c for c in cells}.values()]

    def check(config: Mapping[str, Any]) -> None:
        task = experiment.resolve(apply_patches(config, changes))["task"]
        experiment.workload.check_evaluation(config, task)

    if problems := in_variants(check, configs):
        raise StudyError(
            replace(
                problem,
                source=f"--set {_slice(changes)}",
                hint=problem.hint or "Evaluate those without this problem, by --only",
            )
            for problem in problems
        )


def _kept(cells: Sequence[Cell], store: Store, experiment: Experiment) -> list[tuple[Cell, Record]]:
    """The trials that have the weights that the study keeps; raises `AblateError` when there are none."""
    study = experiment.study
    found = [(cell, record) for cell in cells if (record := store.load(cell.id))]
    kept = [(c, r) for c, r in found if r.status == "completed" and store.has_weights(r, study.checkpoint)]
    command = "sweep" if experiment.choice.by == "sweep" else "run"
    again = typed(command, experiment.path, *at_results(store.root.parent))
    how = words("evaluate.how", again, study.checkpoint != "none")
    if not kept:
        raise AblateError(f"{store.trials}: has no kept weights of {study.name}; {how}")
    known = {record.id for _, record in kept} | {r.id for _, r in found if r.status != "completed"}
    if lost := [cell.name for cell in cells if cell.id not in known]:
        store.warn(words("evaluate.left_out", len(lost), listed(lost, 3), how))
    return kept


def _evaluated(
    kept: Sequence[tuple[Cell, Record]],
    slices: Sequence[Changes],
    store: Store,
    experiment: Experiment,
) -> Evaluated:
    rows: list[tuple[Any, ...]] = []
    maps: list[tuple[Any, ...]] = []
    seed, kind = min(cell.seed for cell, _ in kept), experiment.study.checkpoint
    made_by: dict[str, str] = {}
    for cell, record in sorted(kept, key=lambda pair: pair[0].variant != BASELINE):
        weights = store.weights(record) or b""
        place = record.id, cell.variant, cell.task, cell.seed
        for changes in slices:
            task = experiment.resolve(apply_patches(cell.trial.config, changes))["task"]
            found = experiment.workload.evaluate(cell.trial, weights, task)
            rows += [
                (*place, kind, _slice(changes), metric, value) for metric, value in found.metrics.items()
            ]
            # The baseline comes first; a variant with the same attention adds no map.
            new = cell.variant == BASELINE or made_by.get(cell.task) != found.attention
            if not changes and cell.seed == seed and new:
                made_by.setdefault(cell.task, found.attention)
                maps += [(*place, path, layer, kind) for path, layer in found.maps.items()]
    return Evaluated(pd.DataFrame(rows, columns=list(COLUMNS)), pd.DataFrame(maps, columns=list(MAP_COLUMNS)))


TABLE, MAPS = "evaluation.csv", "attention.npz"
COLUMNS = ("id", "variant", "task", "seed", "weights", "slice", "metric", "value")
# Of attention, a row a layer of a trial, by its path in the model. Weights: (examples, H, T_q, T_k), NaN in the rows
# and columns of padding. Kept: the weights of the trial that were evaluated, `final` or `best`.
MAP_COLUMNS = ("id", "variant", "task", "seed", "path", "weights", "kept")
TEST = "test"  # The slice that is the test split of the study's own task.


@dataclass(frozen=True)
class Evaluated:
    """Numbers, one row each with `COLUMNS`, and maps of attention, with `MAP_COLUMNS`."""

    rows: pd.DataFrame = field(default_factory=lambda: frame_of((), COLUMNS))
    maps: pd.DataFrame = field(default_factory=lambda: frame_of((), MAP_COLUMNS))
    left_out: int = 0  # Trials whose evaluations are not those of the study.

    @classmethod
    def load(cls, folder: StudyFolder) -> Evaluated:
        """All that is in the folder; empty where nothing was evaluated. Raises `AblateError`."""
        path, maps = folder.path / TABLE, frame_of((), MAP_COLUMNS)
        if not path.is_file():
            return cls()
        try:
            rows = pd.DataFrame(read_csv(path), columns=list(COLUMNS)).astype({"seed": int, "value": float})
            if (path := folder.path / MAPS).is_file():
                with np.load(path, allow_pickle=False) as arrays:
                    maps = pd.DataFrame(json.loads(str(arrays["index"])), columns=list(MAP_COLUMNS))
                    maps["weights"] = [arrays[name] for name in maps["weights"]]
        except (OSError, ValueError, KeyError, TypeError, zipfile.BadZipFile) as error:
            raise AblateError(
                f"{path}: cannot be read ({error}); remove it, and evaluate again with `ablate eval {folder.name}`"
            ) from error
        return cls(rows, maps)

    def current(self, ids: Collection[str], kind: str) -> Evaluated:
        """Those of these trials and of a kind of their weights."""
        rows = self.rows[self.rows["id"].isin([*ids]) & (self.rows["weights"] == kind)]
        maps = self.maps[self.maps["id"].isin([*ids]) & (self.maps["kept"] == kind)]
        return Evaluated(rows, maps, self.rows["id"].nunique() - rows["id"].nunique())

    def updated(self, new: Evaluated) -> Evaluated:
        """These evaluations, with those of the same trials and slices replaced by `new`."""
        rows = pd.concat([self.rows, new.rows], ignore_index=True)
        others = self.maps[~self.maps["id"].isin(new.rows["id"])]
        return Evaluated(
            rows.drop_duplicates(["id", "slice", "metric"], keep="last"),
            pd.concat([others, new.maps], ignore_index=True),
        )

    def save(self, folder: StudyFolder) -> None:
        """Writes both files, each whole or not at all."""
        write_csv(folder.path / TABLE, COLUMNS, self.rows.to_dict("records"))
        arrays: Mapping[str, Any] = {f"weights{i}": found for i, found in enumerate(self.maps["weights"])}
        index = self.maps.assign(weights=list(arrays)).to_dict("records")
        with replacing(folder.path / MAPS) as path, path.open("wb") as file:
            np.savez_compressed(file, allow_pickle=False, index=np.array(json.dumps(index)), **arrays)


def of_report(folder: StudyFolder, evidence: Evidence) -> Evaluated:
    """The evaluations of the trials that are reported, of the weights that the study keeps."""
    found = Evaluated.load(folder)
    if found.rows.empty:
        return found
    document = read_document(folder.study_file).data if folder.study_file.is_file() else {}
    return found.current(evidence.trials["id"], str(document.get("checkpoint", "none")))
