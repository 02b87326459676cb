"""From a table of searches to the study that is judged, whose variants are the chosen settings."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ablate.base.errors import AblateError, Problem, StudyError, listed, nearest
from ablate.core.facts import BASELINE
from ablate.core.search_table import SearchTable
from ablate.records.folder import Kind, StudyFolder
from ablate.route.walk import as_walked
from ablate.search.table import best
from ablate.study.designs.design import Variant
from ablate.study.document import read_document
from ablate.study.experiment import Experiment
from ablate.study.schema import winner_names
from ablate.study.searches import SearchSpec
from ablate.study.space import Point


def spec_of(experiment: Experiment, kind: Kind) -> SearchSpec:
    """The study's section of a sweep or tuning, which must be there."""
    spec = experiment.search if kind == "sweep" else experiment.tune
    assert spec is not None
    return spec


def choose(experiment: Experiment, kind: Kind, table: SearchTable, say: Callable[[str], None]) -> Experiment:
    """Marks the best settings in the table as chosen, and returns the study with these as variants."""
    spec = spec_of(experiment, kind)
    if kind == "tuning":
        _mark_tuned(experiment, table, say)
        return judged(experiment, kind, table)
    places = best(table, BASELINE, experiment.tasks[0], spec.winners)
    names = winner_names(spec.winners)
    table.trials.loc[places, "chosen"] = names[: len(places)]
    if not places:
        say("warning: no setting of the search has a value, so there is no winner")
    found = judged(experiment, kind, table)
    for name in set(names[: len(places)]) - {variant.name for variant in found.variants}:
        say(f"The {name} is the baseline itself, so there is nothing to compare.")
    if places and (missing := names[len(places) :]):
        which = "on the front" if len(spec.objectives) > 1 else "different"
        say(f"note: there is no {listed(missing)}: only {len(places)} settings have a value and are {which}.")
    return found.settling([variant.name for variant in found.variants])


def _mark_tuned(experiment: Experiment, table: SearchTable, say: Callable[[str], None]) -> None:
    """Marks the best setting of every variant and task that was searched; one without any stays as it was given."""
    for variant in experiment.variants:
        for task in experiment.tasks:
            mine = (table.trials["variant"] == variant.name) & (table.trials["task"] == task)
            if mine.any():
                places = best(table, variant.name, task)
                table.trials.loc[places, "chosen"] = variant.name
                if not places:
                    where = f"{variant.name}{experiment.on(task)}"
                    say(f"warning: {where}: no setting has a value; it is compared as the study gives it")


def judged(experiment: Experiment, kind: Kind, table: SearchTable) -> Experiment:
    """The study with the chosen settings of the table as variants."""
    spec = spec_of(experiment, kind)
    return _swept(experiment, spec, table) if kind == "sweep" else _tuned(experiment, spec, table)


def as_reported(experiment: Experiment, folder: StudyFolder) -> Experiment:
    """The study as it was last reported, after a search or a path, or without one.

    Raises `AblateError` where the study now searches another space.
    """
    if experiment.walks and folder.has_report:
        return as_walked(experiment, folder.facts())
    kind = folder.evidence().facts.searched if folder.has_report else ""
    table = folder.search_table(kind)
    if table is None or (experiment.search if kind == "sweep" else experiment.tune) is None:
        return experiment
    found: Kind = "sweep" if kind == "sweep" else "tuning"
    if list(spec_of(experiment, found).space.parameters) != table.facts.parameters:
        raise AblateError(
            f"{folder.search_tables[found]}: is of another space than {experiment.path} has now; run the study "
            f"again, or give its name ({folder.name}) to evaluate it as it was run"
        )
    return judged(experiment, found, table)


def study_path(path: Path, results: Path) -> Path:
    """The study file that is meant by a file, or by the name or folder of a study: then the study as it was run.

    Raises `StudyError` for a path that is none of these.
    """
    if path.is_file():
        return path
    for folder in (StudyFolder.at(path), StudyFolder(results, path.name)):
        if folder.study_file.is_file():
            return folder.study_file
    rule = f"is neither a study file nor the name of a study under {results}"
    names = [folder.name for folder in StudyFolder.all(results)]
    hint = nearest(path, [*names, *sorted(map(str, path.parent.glob("*.yaml")))])
    raise StudyError([Problem(rule, allowed=listed(names), hint=hint, source=str(path))])


def report_folder(path: Path, results: Path) -> StudyFolder:
    """The folder of a report, from a study file, the name of a study, or the folder itself.

    Raises `AblateError` where there is none, and `StudyError` for an invalid file.
    """
    if (folder := StudyFolder.at(path)).has_report:
        return folder
    folder = StudyFolder(results, study_name(path))
    if not folder.has_report and not folder.path.is_dir() and not path.exists():
        names = [each.name for each in StudyFolder.all(results)]
        rule = f"is neither a study file nor the name of a study under {results}"
        hint = nearest(path.name, names) or "Run the study first"
        raise AblateError(str(Problem(rule, allowed=listed(names), hint=hint, source=str(path))))
    return folder


def study_name(path: Path) -> str:
    """The name in a study file, or the last part of a name or folder. Raises `StudyError` for an invalid file."""
    return str(read_document(path).data.get("name", path.stem)) if path.is_file() else path.name


def _swept(experiment: Experiment, spec: SearchSpec, table: SearchTable) -> Experiment:
    """The baseline, the chosen settings that differ from it, and the placebo."""
    baseline, task = experiment.variants[0], experiment.tasks[0]
    variants = [baseline]
    chosen = table.winners
    for place in chosen.index:
        point = _point(table, spec, int(place))
        patches = spec.space.patches(point)
        config = experiment.patched(baseline.configs[0], patches)
        if all(config != variant.configs[0] for variant in variants):
            name = str(chosen.loc[place, "chosen"])
            tuned = {task: spec.space.labels(point)}
            variants.append(Variant(name, [config], patches, ("search",), tuned=tuned))
    variants += [variant for variant in experiment.variants if variant.placebo]
    paths = [p.path for p in spec.space.parameters if any(p.path in v.patches for v in variants)]
    return experiment.judging(variants, paths, "sweep")


def _tuned(experiment: Experiment, spec: SearchSpec, table: SearchTable) -> Experiment:
    """Every variant whose settings were searched, with the chosen one, or as it was given."""
    variants = []
    for variant in experiment.variants:
        configs, labels = list(variant.configs), {}
        mine = table.trials[table.trials["variant"] == variant.name]
        if not len(mine):
            continue
        for index, task in enumerate(experiment.tasks):
            rows = mine[(mine["task"] == task) & (mine["chosen"] != "")]
            if len(rows):
                point = _point(table, spec, int(rows.index[0]))
                configs[index] = experiment.patched(configs[index], spec.space.patches(point), index)
                labels[task] = spec.space.labels(point)
        variants.append(dataclasses.replace(variant, configs=configs, tuned=labels))
    names = [variant.name for variant in variants]
    found = experiment.settling(names).judging(variants, experiment.design.paths, "tuning")
    left_out = [variant.name for variant in experiment.variants if variant.name not in names]
    return dataclasses.replace(found, left_out=left_out)


def _point(table: SearchTable, spec: SearchSpec, place: int) -> Point:
    """The point of one row of a table."""
    row = table.trials.loc[place]
    kinds: dict[str, Any] = {"int": int, "float": float, "choice": str}
    return {
        parameter.path: kinds[parameter.kind](row[parameter.path])
        for parameter in spec.space.parameters
        if row[parameter.path] is not None and row[parameter.path] == row[parameter.path]
    }
