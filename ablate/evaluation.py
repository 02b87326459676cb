"""`ablate eval`: what kept weights do, without training again.

    results/<study>/evaluation.csv   id, variant, task, seed, slice, metric, value: one row a number
    results/<study>/attention.npz    attention weights of one seed, a few examples, with an index of what they are of

The slice `test` is the test split of the study's own task; another is named by what it changes. Each call adds
its slice to those that are there, of the trials that the study still has.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from ablate.errors import AblateError, Invalid, Problem, StudyError, listed
from ablate.execution.exclusive import exclusive, interruptible
from ablate.records.evaluated import TEST, AttentionMap, Evaluated
from ablate.records.evidence import BASELINE, Evidence
from ablate.records.store import Store
from ablate.selection import chosen
from ablate.study.experiment import Experiment, prepare
from ablate.study.load import parse_value, translated
from ablate.study.patch import apply_patches
from ablate.study.schema import config_model
from ablate.workload import Checkpoint, KeepsWeights

if TYPE_CHECKING:
    from rich.console import Console

    from ablate.records.record import Record
    from ablate.study.plan import Cell

Config = Mapping[str, Any]


@dataclass(frozen=True)
class Slice:
    """What is evaluated: the study's own task, or one that differs by `changes`."""

    name: str
    changes: Mapping[str, Any]

    def task(self, config: Config) -> Config:
        """The task of a config, changed; the study has been checked with it."""
        changed = apply_patches(config, self.changes)["task"]
        assert isinstance(changed, Mapping)
        return changed


def evaluate(
    path: Path, results: Path, console: Console, *, sets: Sequence[str] = (), only: Sequence[str] = ()
) -> Path:
    """Evaluates the kept weights of a study, writes what is found, and its report again; the study's folder.

    `path` is a study file, or the name of a study or its results folder: then it is taken as it was run. `sets`
    are `task.PATH=VALUE`; `only` names the variants to evaluate. Raises `StudyError` for a slice that a
    model cannot be evaluated on, and `AblateError` where no weights have been kept.
    """
    from ablate.publish import print_results, publish
    from ablate.run import Options, remember, unchanged

    options = Options(results=results)
    path = _study_file(path, results)
    up_to_date = unchanged(path, options) is not None
    experiment = prepare(path)
    workload = experiment.workload
    if not isinstance(workload, KeepsWeights):
        rule = f"evaluates kept weights, and workload {experiment.study.workload} keeps none"
        raise StudyError([Problem(rule, ("workload",), experiment.study.workload, source=str(path))])
    cells = [cell for cell in chosen(experiment.cells(), only) if not only or cell.variant in only]
    slices = [Slice(TEST, {}), *_slices(sets)]
    for each in slices[1:]:
        _check(each, experiment, workload, {cell.variant for cell in cells})
    store = Store(results / "store", lambda message: _say(console, f"warning: {message}", "yellow"))
    folder = results / experiment.study.name
    with (
        exclusive(store.root, experiment.study.name, lambda message: _say(console, message)),
        interruptible(),
    ):
        # Not before: another run of the study may just have written it.
        evidence = Evidence.load(folder)
        kept = _kept(cells, store, experiment, path, console)
        new = _evaluated(kept, slices, store, workload)
        everything = {cell.trial.id for cell in experiment.cells()}
        Evaluated.load(folder).of(everything).updated(new).save(folder)
        publish(evidence, folder)
        if up_to_date:
            remember(path, options, store, folder, list(everything))
    _say(console, f"Evaluated {len(kept)} trials on {' and on '.join(s.name for s in slices)}: {folder}")
    print_results(folder, console)
    return folder


def _study_file(path: Path, results: Path) -> Path:
    """The study that is meant; of a study that has run, with the options that it was run with."""
    for resolved in (path / "study.yaml", results / path.name / "study.yaml"):
        if not path.is_file() and resolved.is_file():
            return resolved
    return path


def _slices(sets: Sequence[str]) -> list[Slice]:
    """The slice that `--set` asks for, if any: all changes together."""
    changes: dict[str, Any] = {}
    problems = []
    for text in sets:
        name, equals, value = (part.strip() for part in text.partition("="))
        source = f"--set {text}"
        if not equals or not name.startswith("task.") or not all(name.split(".")):
            rule = "must be task.PATH=VALUE: weights are evaluated on another task, not changed"
            problems.append(Problem(rule, source=source))
            continue
        try:
            changes[name] = parse_value(value)
        except ValueError as error:
            problems.append(Problem(f"has a value that is not YAML: {error}", source=source))
    if problems:
        raise StudyError(problems)
    name = ", ".join(f"{path}={value}" for path, value in changes.items())
    return [Slice(name, changes)] if changes else []


def _check(each: Slice, experiment: Experiment, workload: KeepsWeights, names: set[str]) -> None:
    """Raises `StudyError` with everything that keeps the variants from being evaluated on a slice."""
    found: list[tuple[Problem, list[str]]] = []
    model = config_model(experiment.workload)
    for variant in experiment.variants:
        for config in variant.configs if variant.name in names else ():
            try:
                changed = apply_patches(config, each.changes)
                workload.check_evaluation(config, model.model_validate(changed).model_dump()["task"])
            except ValidationError as error:
                problems = list(translated(error, model, changed))
            except Invalid as error:
                problems = error.problems
            else:
                continue
            for problem in problems:
                known = next((names for other, names in found if other == problem), None)
                if known is None:
                    found.append((problem, [variant.name]))
                else:
                    known.append(variant.name)
    able = [name for name in sorted(names) if not any(name in of for _, of in found)]
    hint = f"Evaluate only those that can: {' '.join(f'--only {name}' for name in able)}" if able else ""
    if found:
        raise StudyError(
            replace(
                problem,
                rule=f"{problem.rule} (in {listed(dict.fromkeys(variants), 4)})",
                source=f"--set {each.name}",
                hint=problem.hint or hint,
            )
            for problem, variants in found
        )


def _kept(
    cells: Sequence[Cell], store: Store, experiment: Experiment, path: Path, console: Console
) -> list[tuple[Cell, Record]]:
    """The trials whose weights are there, all of one kind; raises `AblateError` when there are none."""
    records = {cell.trial.id: store.load(cell.trial.id) for cell in cells}
    outcomes = [(cell, r) for cell in cells if (r := records[cell.trial.id]) and r.status == "completed"]
    asked = experiment.study.checkpoint
    kinds: list[Checkpoint] = ["final", "best"] if asked == "none" else [asked]
    by_kind = {kind: [(c, r) for c, r in outcomes if store.has_weights(r, kind)] for kind in kinds}
    kept = max(by_kind.values(), key=len)
    flag = "" if asked != "none" else " --set checkpoint=final"
    flag += "" if store.root.parent == Path("results") else f" --results {store.root.parent}"
    how = f"`ablate run {path}{flag}` trains what is missing and keeps them"
    if asked == "none":
        how += "; or write `checkpoint: final` into the study and run it"
    if not kept:
        raise AblateError(f"{store.trials}: has no kept weights of {experiment.study.name}; {how}")
    without = [cell.name for cell, record in outcomes if record.id not in {r.id for _, r in kept}]
    missing = [cell.name for cell in cells if not records[cell.trial.id]]
    if without or missing:
        _say(
            console,
            f"warning: {len(without) + len(missing)} trials have no kept weights and are left out "
            f"({listed(without + missing, 3)}); {how}",
            "yellow",
        )
    return kept


def _evaluated(
    kept: Sequence[tuple[Cell, Record]], slices: Sequence[Slice], store: Store, workload: KeepsWeights
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
        for each in slices:
            found = workload.evaluate(cell.trial, weights, each.task(cell.trial.config))
            rows += [place | {"slice": each.name, "metric": m, "value": v} for m, v in found.metrics.items()]
            if each.name != TEST or cell.seed != seed:
                continue
            # The baseline comes first: a variant with its attention has nothing else to show.
            if cell.variant == BASELINE or made_by.get(cell.task) != found.attention:
                made_by.setdefault(cell.task, found.attention)
                maps += [AttentionMap(**place, path=path, weights=w) for path, w in found.maps.items()]
    return Evaluated(rows, maps)


def _say(console: Console, message: str, style: str | None = None) -> None:
    console.print(message, style=style, markup=False, highlight=False, soft_wrap=True)
