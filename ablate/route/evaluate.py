"""`ablate eval`: evaluates kept weights, without training.

    results/<study>/evaluation.csv   id, variant, task, seed, weights (final or best), slice, metric, value
    results/<study>/attention.npz    attention weights of one seed on a few examples, with an index

The slice `test` is the test split of the study's own task; any other is named by the settings that it changes. Each
call adds its slice to those in the files, and removes the rows of trials that the study no longer has.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ablate.base.errors import AblateError, Invalid, Problem, StudyError, listed, nearest
from ablate.base.locks import exclusive
from ablate.base.process import interruptible
from ablate.base.text import at_results, typed
from ablate.base.wording import counted
from ablate.core.cell import Cell
from ablate.core.facts import BASELINE
from ablate.core.record import Record
from ablate.core.trial import Checkpoint
from ablate.records.evaluated import TEST, AttentionMap, Evaluated
from ablate.records.folder import StudyFolder
from ablate.records.store import Store
from ablate.report import words
from ablate.route.choose import as_reported, study_path
from ablate.route.confirm import confirming
from ablate.route.publish import publish
from ablate.route.select import select
from ablate.study.designs.design import Resolve
from ablate.study.document import parse_set
from ablate.study.experiment import Experiment
from ablate.study.patch import apply_patches, has_path
from ablate.study.prepare import prepare

Config = Mapping[str, Any]


class NotEvaluated(StudyError):
    """All problems for which a study cannot be evaluated, at once."""

    def __str__(self) -> str:
        head = f"{counted(len(self.problems), 'problem')}; nothing was evaluated:"
        return "\n".join([head, *(f"  {problem}" for problem in self.problems)])


@dataclass(frozen=True)
class Slice:
    """The study's own task, or one with `changes` to it: dotted paths with values."""

    changes: Mapping[str, Any]

    @property
    def name(self) -> str:
        """That of its rows."""
        return ", ".join(f"{path}={value}" for path, value in self.changes.items()) or TEST

    def of(self, config: Config) -> Slice | None:
        """The slice with those changes that the task of a config has a setting for; None when it has none."""
        mine = {path: value for path, value in self.changes.items() if has_path(config, path)}
        return Slice(mine) if mine or not self.changes else None

    def task(self, config: Config, resolve: Resolve) -> Config:
        """The task of a config, changed. Raises `Invalid`."""
        changed: Config = resolve(apply_patches(config, self.changes))["task"]
        return changed


@dataclass(frozen=True)
class Asked:
    """What is to be evaluated."""

    sets: Sequence[str] = ()
    "`task.PATH=VALUE`, which apply to the tasks that have the setting."
    only: Sequence[str] = ()
    "Variants; empty: all."


def evaluate(
    path: Path, results: Path, say: Callable[[str], None], warn: Callable[[str], None], asked: Asked
) -> StudyFolder:
    """Evaluates the kept weights of a study, writes the results and its report, and returns its folder.

    `path` is a study file, or the name of a study or its results folder: then it is taken as it was run. Raises
    `NotEvaluated` for a slice that a model cannot be evaluated on, and `AblateError` where no weights have been kept.
    """
    try:
        path = study_path(path, results)
        given = confirming(prepare(path), results)
        folder = StudyFolder(results, given.study.name)
        experiment = as_reported(given, folder)
        if not experiment.workload.keeps_weights:
            rule = f"evaluates kept weights, and workload {experiment.study.workload} keeps none"
            raise StudyError([Problem(rule, ("workload",), experiment.study.workload, source=str(path))])
        every = experiment.cells()
        cells = [cell for cell in select(every, asked.only) if not asked.only or cell.variant in asked.only]
        slices = [Slice({})]
        if changes := _changes(asked.sets):
            slices.append(Slice(changes))
            _check(slices[1], experiment, {cell.variant for cell in cells})
    except StudyError as error:
        raise NotEvaluated(error.problems) from None
    store, ids = Store(results / "store", warn), {cell.id for cell in every}
    with exclusive(store.root, folder.name, say), interruptible():
        # Not before: another run of the study may just have written it.
        others = set(folder.evidence().trials["id"]) - ids
        kind, kept = _kept(cells, store, experiment, path, others)
        new = _evaluated(kept, kind, slices, store, experiment)
        folder.save_evaluated(folder.evaluated().of(ids).made_by(kind).updated(new))
        publish(folder, warn)
    done = words.say("evaluate.done", len(kept), list(dict.fromkeys(row["slice"] for row in new.rows)))
    say(f"{done}: {folder.path}")
    return folder


def _changes(sets: Sequence[str]) -> dict[str, Any]:
    """The changes of `--set`, which make one slice together."""
    changes: dict[str, Any] = {}
    problems = []
    for text in sets:
        try:
            name, value = parse_set(text)
            if not name.startswith("task."):
                raise ValueError(
                    "must be task.PATH=VALUE: only the task can be changed, not the trained weights"
                )
            changes[name] = value
        except ValueError as error:
            problems.append(Problem(str(error), source=f"--set {text}"))
    if problems:
        raise StudyError(problems)
    return changes


def _check(each: Slice, experiment: Experiment, names: set[str]) -> None:
    """Raises `StudyError` with everything that keeps the variants from being evaluated on a slice."""
    here = [(v.name, config) for v in experiment.variants if v.name in names for config in v.configs]
    if missing := [*_missing(each, [config for _, config in here])]:
        raise StudyError(missing)
    found: dict[str, tuple[Problem, list[str]]] = {}
    for name, config in here:
        if mine := each.of(config):
            try:
                experiment.workload.check_evaluation(config, mine.task(config, experiment.resolve))
            except Invalid as error:
                for problem in error.problems:
                    found.setdefault(str(problem), (problem, []))[1].append(name)
    able = sorted(names - {name for _, of in found.values() for name in of})
    hint = f"Evaluate only those without this problem: {' '.join(f'--only {name}' for name in able)}"
    if found:
        raise StudyError(
            replace(
                problem,
                rule=f"{problem.rule} (in {listed(dict.fromkeys(of), 4)})",
                source=f"--set {each.name}",
                hint=problem.hint or (hint if able else ""),
            )
            for problem, of in found.values()
        )


def _missing(each: Slice, configs: Sequence[Config]) -> Iterator[Problem]:
    """The settings that no task has, with those of each task."""
    tasks = {config["task"]["name"]: sorted({*config["task"]} - {"name"}) for config in configs}
    known = "; ".join(f"{name} has {listed(settings, 20)}" for name, settings in tasks.items())
    for path, value in each.changes.items():
        if not any(has_path(config, path) for config in configs):
            name = path.removeprefix("task.")
            hint = nearest(name, {key for config in configs for key in config["task"]})
            rule = f"no task of the study has {name!r}"
            yield Problem(rule, allowed=known, hint=hint, source=f"--set {path}={value}")


def _kept(
    cells: Sequence[Cell], store: Store, experiment: Experiment, path: Path, others: set[str]
) -> tuple[Checkpoint, list[tuple[Cell, Record]]]:
    """The kind of weights to evaluate, and the trials that have them; raises `AblateError` when there are none.

    `others` are trials of the study as it was last run that `path` does not have.
    """
    study, where = experiment.study, at_results(store.root.parent)
    records = {cell.id: store.load(cell.id) for cell in cells}
    ended = [(cell, r) for cell in cells if (r := records[cell.id]) and r.status == "completed"]
    asked = study.checkpoint != "none"
    kinds: list[Checkpoint] = [study.checkpoint] if asked else ["final", "best"]
    by_kind = {kind: [(c, r) for c, r in ended if store.has_weights(r, kind)] for kind in kinds}
    kind, kept = max(by_kind.items(), key=lambda item: len(item[1]))
    command = "sweep" if experiment.choice.by == "sweep" else "run"
    keeping = [] if asked else ["--set", "checkpoint=final"]
    how = words.say("evaluate.how", typed(command, path, *keeping, *where), asked)
    if not kept:
        said = words.say("evaluate.nothing", study.name, how)
        if any((record := store.load(i)) and store.weights(record) for i in others):
            said = words.say("evaluate.as_run", study.name, path, typed("eval", study.name, *where))
        raise AblateError(f"{store.trials}: {said}")
    having = {record.id for _, record in kept}
    lost = [cell.name for cell, record in ended if record.id not in having]
    lost += [cell.name for cell in cells if not records[cell.id]]
    if lost:
        store.warn(words.say("evaluate.left_out", len(lost), listed(lost, 3), how))
    return kind, kept


def _evaluated(
    kept: Sequence[tuple[Cell, Record]],
    kind: Checkpoint,
    slices: Sequence[Slice],
    store: Store,
    experiment: Experiment,
) -> Evaluated:
    rows: list[dict[str, Any]] = []
    maps: list[AttentionMap] = []
    seed = min(cell.seed for cell, _ in kept)
    made_by: dict[str, str] = {}
    for cell, record in sorted(kept, key=lambda pair: pair[0].variant != BASELINE):
        weights, config = store.weights(record), cell.trial.config
        if weights is None:
            continue
        place: dict[str, Any] = {
            "id": record.id,
            "variant": cell.variant,
            "task": cell.task,
            "seed": cell.seed,
        }
        for each in (mine for asked in slices if (mine := asked.of(config))):
            task = each.task(dict(config), experiment.resolve)
            found = experiment.workload.evaluate(cell.trial, weights, task)
            of = place | {"weights": kind, "slice": each.name}
            rows += [of | {"metric": metric, "value": value} for metric, value in found.metrics.items()]
            # The baseline comes first; a variant with the same attention adds no map.
            new = cell.variant == BASELINE or made_by.get(cell.task) != found.attention
            if each.name == TEST and cell.seed == seed and new:
                made_by.setdefault(cell.task, found.attention)
                maps += [
                    AttentionMap(**place, path=path, weights=w, kept=kind) for path, w in found.maps.items()
                ]
    return Evaluated(rows, maps)
