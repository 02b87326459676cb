"""The variants that are judged where a search came first: those that its table says were chosen."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ablate.base.errors import AblateError
from ablate.core.search_table import SWEEP, TUNING, SearchTable
from ablate.study.designs import Variant
from ablate.study.experiment import Experiment
from ablate.study.searches import SearchSpec
from ablate.study.space import Point


def as_judged(experiment: Experiment, folder: Path, searched: str) -> Experiment:
    """A study as it was last reported in `folder`, after a search (`sweep`, `tuning`) or without one.

    Raises `AblateError` where the study searches another space by now.
    """
    kinds: Mapping[str, tuple[SearchSpec | None, str, Any]] = {
        "sweep": (experiment.search, SWEEP, swept),
        "tuning": (experiment.tune, TUNING, tuned),
    }
    spec, file, found = kinds.get(searched, (None, "", None))
    table = SearchTable.load(folder / file) if spec is not None else None
    if spec is None or table is None:
        return experiment
    if list(spec.space.parameters) != table.facts.parameters:
        name = experiment.study.name
        raise AblateError(
            f"{folder / file}: is of another space than {experiment.path} has now; run the study again, or name it "
            f"({name}) to have it as it was run"
        )
    judged: Experiment = found(experiment, spec, table)
    return judged


def swept(given: Experiment, spec: SearchSpec, searched: SearchTable) -> Experiment:
    """The baseline, what the search has chosen beside it, and the placebo."""
    baseline, task = given.variants[0], given.tasks[0]
    variants = [baseline]
    chosen = searched.winners
    for place in chosen.index:
        point = point_of(searched, spec, int(place))
        patches = spec.space.patches(point)
        config = given.patched(baseline.configs[0], patches)
        name = str(chosen.loc[place, "chosen"])
        if all(config != variant.configs[0] for variant in variants):
            tuned = {task: spec.space.labels(point)}
            variants.append(Variant(name, [config], patches, ("search",), tuned=tuned))
    variants += [variant for variant in given.variants if variant.placebo]
    paths = [p.path for p in spec.space.parameters if any(p.path in v.patches for v in variants)]
    return given.judging(variants, paths, "sweep")


def tuned(given: Experiment, spec: SearchSpec, searched: SearchTable) -> Experiment:
    """Every variant that was searched for, with the setting that was chosen for it, or as it was given."""
    table = searched.trials
    variants = []
    for variant in given.variants:
        configs, labels = list(variant.configs), {}
        mine = table[table["variant"] == variant.name]
        if not len(mine):
            continue
        for index, task in enumerate(given.tasks):
            rows = mine[(mine["task"] == task) & (mine["chosen"] != "")]
            if len(rows):
                point = point_of(searched, spec, int(rows.index[0]))
                configs[index] = given.patched(configs[index], spec.space.patches(point), index)
                labels[task] = spec.space.labels(point)
        variants.append(dataclasses.replace(variant, configs=configs, tuned=labels))
    names = [variant.name for variant in variants]
    judged = given.settling(names).judging(variants, given.design.paths, "tuning")
    left_out = [variant.name for variant in given.variants if variant.name not in names]
    return dataclasses.replace(judged, left_out=left_out)


def point_of(searched: SearchTable, spec: SearchSpec, place: int) -> Point:
    """The point of one row of a table of searches."""
    import pandas as pd

    row = searched.trials.loc[place]
    kinds: Mapping[str, Any] = {"int": int, "float": float, "choice": str}
    return {
        parameter.path: kinds[parameter.kind](row[parameter.path])
        for parameter in spec.space.parameters
        if not pd.isna(row[parameter.path])
    }
