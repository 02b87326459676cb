"""`ablate eval`: evaluates kept weights, without training.

    results/<study>/evaluation.csv   id, variant, task, seed, weights (final or best), slice, metric, value
    results/<study>/attention.npz    attention weights of one seed on a few examples, with an index

The slice `test` is the test split of the study's own task; any other is named by the settings that it changes. Each
call adds its slice to those in the files, and removes the rows of trials that the study no longer has.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ablate.base.errors import AblateError, Invalid, Problem, StudyError, listed, nearest
from ablate.base.locks import exclusive, interruptible
from ablate.base.typed import at_results, typed
from ablate.base.wording import counted
from ablate.core.facts import BASELINE
from ablate.core.trial import Checkpoint
from ablate.core.workload import Workload
from ablate.records.evaluated import TEST, AttentionMap, Evaluated
from ablate.records.folder import StudyFolder
from ablate.records.store import Store
from ablate.stages.cached import staying_current
from ablate.stages.choose import as_reported, study_path
from ablate.stages.confirm import confirming
from ablate.stages.options import Options
from ablate.stages.publish import publish
from ablate.stages.select import select
from ablate.study.designs.design import Resolve
from ablate.study.document import parse_value
from ablate.study.experiment import Experiment
from ablate.study.load import EMPTY
from ablate.study.patch import apply_patches, has_path, is_empty
from ablate.study.prepare import prepare

if TYPE_CHECKING:
    from ablate.core.cell import Cell
    from ablate.core.record import Record

Config = Mapping[str, Any]


class NotEvaluated(StudyError):
    """All problems for which a study cannot be evaluated, at once."""

    def __str__(self) -> str:
        head = f"{counted(len(self.problems), 'problem')}; nothing was evaluated:"
        return "\n".join([head, *(f"  {problem}" for problem in self.problems)])


@dataclass(frozen=True)
class Slice:
    """The study's own task, or one with `changes` to it: dotted paths with values."""

    name: str
    changes: Mapping[str, Any]

    def of(self, config: Config) -> Slice | None:
        """The slice with those changes that the task of a config has a setting for; None when it has none."""
        mine = {path: value for path, value in self.changes.items() if has_path(config, path)}
        return Slice(_slice_name(mine), mine) if mine or not self.changes else None

    def task(self, config: Config, resolve: Resolve) -> Config:
        """The task of a config, changed. Raises `Invalid`."""
        changed: Config = resolve(apply_patches(config, self.changes))["task"]
        return changed


def evaluate(
    path: Path,
    results: Path,
    say: Callable[[str], None],
    warn: Callable[[str], None],
    *,
    sets: Sequence[str] = (),
    only: Sequence[str] = (),
) -> StudyFolder:
    """Evaluates the kept weights of a study, writes the results and its report, and returns its folder.

    `path` is a study file, or the name of a study or its results folder: then it is taken as it was run. `sets`
    are `task.PATH=VALUE`, which apply to the tasks that have the setting; `only` names the variants to evaluate.
    Raises `NotEvaluated` for a slice that a model cannot be evaluated on, and `AblateError` where no weights have
    been kept.
    """
    try:
        path = study_path(path, results)
        given = confirming(prepare(path), results)
        folder = StudyFolder(results, given.study.name)
        experiment = as_reported(given, folder)
        options = Options(results=results, sweep=experiment.searched == "sweep")
        workload, cells, slices = _planned(experiment, path, sets, only)
    except StudyError as error:
        raise NotEvaluated(error.problems) from None
    store = Store(results / "store", warn)
    with exclusive(store.root, folder.name, say), interruptible(), staying_current(folder, path, options):
        # Not before: another run of the study may just have written it.
        evidence = folder.evidence()
        everything = {cell.id for cell in experiment.cells()}
        others = set(evidence.trials["id"]) - everything
        kind, kept = _kept(cells, store, experiment, path, others, warn)
        new = _evaluated(kept, kind, slices, store, workload, experiment.resolve)
        folder.save_evaluated(folder.evaluated().of(everything).made_by(kind).updated(new))
        publish(folder, warn)
    on = " and on ".join(dict.fromkeys(row["slice"] for row in new.rows))
    say(f"Evaluated {counted(len(kept), 'trial')} on {on}: {folder.path}")
    return folder


def _planned(
    experiment: Experiment, path: Path, sets: Sequence[str], only: Sequence[str]
) -> tuple[Workload, list[Cell], list[Slice]]:
    """The cells to evaluate, and the slices to evaluate them on; raises `StudyError`."""
    workload = experiment.workload
    if not workload.keeps_weights:
        rule = f"evaluates kept weights, and workload {experiment.study.workload} keeps none"
        raise StudyError([Problem(rule, ("workload",), experiment.study.workload, source=str(path))])
    cells = [cell for cell in select(experiment.cells(), only) if not only or cell.variant in only]
    slices = [Slice(TEST, {})]
    if changes := _changes(sets):
        slices.append(Slice(_slice_name(changes), changes))
        _check(slices[1], experiment, workload, {cell.variant for cell in cells})
    return workload, cells, slices


def _changes(sets: Sequence[str]) -> dict[str, Any]:
    """The changes of `--set`, which make one slice together."""
    changes: dict[str, Any] = {}
    problems = []
    for text in sets:
        name, equals, value = (part.strip() for part in text.partition("="))
        source = f"--set {text}"
        if not equals or not name.startswith("task.") or not all(name.split(".")):
            rule = "must be task.PATH=VALUE: only the task can be changed, not the trained weights"
            problems.append(Problem(rule, source=source))
            continue
        try:
            changes[name] = parse_value(value)
        except ValueError as error:
            problems.append(Problem(f"has a value that is not YAML: {error}", source=source))
        else:
            if is_empty(changes[name]):
                problems.append(Problem(EMPTY, source=source))
    if problems:
        raise StudyError(problems)
    return changes


def _slice_name(changes: Mapping[str, Any]) -> str:
    return ", ".join(f"{path}={value}" for path, value in changes.items()) or TEST


def _check(each: Slice, experiment: Experiment, workload: Workload, names: set[str]) -> None:
    """Raises `StudyError` with everything that keeps the variants from being evaluated on a slice."""
    found: dict[str, tuple[Problem, list[str]]] = {}
    _check_paths(each, experiment, names)
    for variant in experiment.variants:
        for config in variant.configs if variant.name in names else ():
            mine = each.of(config)
            if mine is None:
                continue
            try:
                workload.check_evaluation(config, mine.task(config, experiment.resolve))
            except Invalid as error:
                problems = error.problems
            else:
                continue
            for problem in problems:
                found.setdefault(str(problem), (problem, []))[1].append(variant.name)
    able = [name for name in sorted(names) if not any(name in of for _, of in found.values())]
    hint = (
        f"Evaluate only those without this problem: {' '.join(f'--only {name}' for name in able)}"
        if able
        else ""
    )
    if found:
        raise StudyError(
            replace(
                problem,
                rule=f"{problem.rule} (in {listed(dict.fromkeys(variants), 4)})",
                source=f"--set {each.name}",
                hint=problem.hint or hint,
            )
            for problem, variants in found.values()
        )


def _check_paths(each: Slice, experiment: Experiment, names: set[str]) -> None:
    """Raises `StudyError` for settings that no task has; it names the settings of each task."""
    configs = [c for variant in experiment.variants if variant.name in names for c in variant.configs]
    tasks = {config["task"]["name"]: config for config in configs}
    settings = "; ".join(
        f"{name} has {listed(sorted(set(config['task']) - {'name'}), 20)}" for name, config in tasks.items()
    )
    problems = [
        Problem(
            f"no task of the study has {path.removeprefix('task.')!r}",
            allowed=settings,
            hint=nearest(path.removeprefix("task."), {key for config in configs for key in config["task"]}),
            source=f"--set {path}={value}",
        )
        for path, value in each.changes.items()
        if not any(has_path(config, path) for config in configs)
    ]
    if problems:
        raise StudyError(problems)


def _kept(
    cells: Sequence[Cell],
    store: Store,
    experiment: Experiment,
    path: Path,
    others: Collection[str],
    warn: Callable[[str], None],
) -> tuple[Checkpoint, list[tuple[Cell, Record]]]:
    """The kind of weights to evaluate, and the trials that have them; raises `AblateError` when there are none.

    `others` are trials of the study as it was last run that `path` does not have.
    """
    records = {cell.trial.id: store.load(cell.trial.id) for cell in cells}
    outcomes = [(cell, r) for cell in cells if (r := records[cell.trial.id]) and r.status == "completed"]
    asked = experiment.study.checkpoint
    kinds: list[Checkpoint] = ["final", "best"] if asked == "none" else [asked]
    by_kind = {kind: [(c, r) for c, r in outcomes if store.has_weights(r, kind)] for kind in kinds}
    kind, kept = max(by_kind.items(), key=lambda item: len(item[1]))
    where = at_results(store.root.parent)
    keeping = [] if asked != "none" else ["--set", "checkpoint=final"]
    command = "sweep" if experiment.searched == "sweep" else "run"
    how = f"`{typed(command, path, *keeping, *where)}` trains the missing trials and keeps their weights"
    if asked == "none":
        how += "; or write `checkpoint: final` into the study, and run it"
    if not kept and any((record := store.load(i)) and store.weights(record) for i in others):
        name = experiment.study.name
        rule = f"has kept weights only of {name} as it was run with its options, not as {path} gives it"
        raise AblateError(
            f"{store.trials}: {rule}; `{typed('eval', name, *where)}` evaluates it as it was run"
        )
    if not kept:
        raise AblateError(f"{store.trials}: has no kept weights of {experiment.study.name}; {how}")
    without = [cell.name for cell, record in outcomes if record.id not in {r.id for _, r in kept}]
    missing = [cell.name for cell in cells if not records[cell.trial.id]]
    if without or missing:
        left_out = counted(len(without) + len(missing), "trial")
        warn(f"{left_out} without kept weights left out ({listed(without + missing, 3)}); {how}")
    return kind, kept


def _evaluated(
    kept: Sequence[tuple[Cell, Record]],
    kind: Checkpoint,
    slices: Sequence[Slice],
    store: Store,
    workload: Workload,
    resolve: Resolve,
) -> Evaluated:
    rows: list[dict[str, Any]] = []
    maps: list[AttentionMap] = []
    seed = min(cell.seed for cell, _ in kept)
    made_by: dict[str, str] = {}
    for cell, record in sorted(kept, key=lambda pair: pair[0].variant != BASELINE):
        weights = store.weights(record)
        if weights is None:
            continue
        place: dict[str, Any] = {
            "id": record.id,
            "variant": cell.variant,
            "task": cell.task,
            "seed": cell.seed,
        }
        for each in (mine for asked in slices if (mine := asked.of(cell.trial.config))):
            found = workload.evaluate(cell.trial, weights, each.task(dict(cell.trial.config), resolve))
            of = place | {"weights": kind, "slice": each.name}
            rows += [of | {"metric": metric, "value": value} for metric, value in found.metrics.items()]
            if each.name != TEST or cell.seed != seed:
                continue
            # The baseline comes first; a variant with the same attention adds no map.
            if cell.variant == BASELINE or made_by.get(cell.task) != found.attention:
                made_by.setdefault(cell.task, found.attention)
                maps += [
                    AttentionMap(**place, path=path, weights=w, kept=kind) for path, w in found.maps.items()
                ]
    return Evaluated(rows, maps)
